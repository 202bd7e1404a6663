//! Names the congestion control of TCP senders.
//!
//! The rules of each known control are replayed on the ACKs, losses and round-trip times that the
//! sender saw. The control whose predicted windows equal the reconstructed ones is the answer, if it
//! is the only one: where several controls would have sent the same data, or no control would have,
//! the answer is a reason instead.
//!
//! The input consists of the rows of [`sender_state`](crate::sender::sender_state).
//!
//! ```
//! use tcpexp_measure::naming::Namer;
//! use tcpexp_measure::sender::SenderRow;
//!
//! fn print(rows: &[SenderRow]) {
//!     let mut namer = Namer::default();
//!     for named in rows.iter().filter_map(|row| namer.see(row)) {
//!         match named.answer {
//!             Ok(control) => println!("{} {}", named.flow, control.name()),
//!             Err(reason) => println!("{} {}", named.flow, reason.name()),
//!         }
//!     }
//! }
//! ```

mod candidate;
mod control;
mod decline;
mod likelihood;
mod model;
mod named;
mod observer;
mod rules;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use tcpexp_flow::{Direction, FlowId};

use crate::sender::SenderRow;
use observer::Observer;

pub use candidate::Fit;
pub use control::Control;
pub use named::{Evidence, Named, SlowStartExit, Unnamed};

/// Names the senders whose rows it sees.
///
/// Memory: about 4 kB for each sender whose flow goes on.
#[derive(Debug, Default)]
pub struct Namer {
    senders: HashMap<(FlowId, Direction), Observer>,
}

impl Namer {
    /// Takes a row. Returns the answer at the end of a sender.
    pub fn see(&mut self, row: &SenderRow) -> Option<Named> {
        match row {
            SenderRow::Sample(sample) => {
                let key = (sample.flow, sample.direction);
                self.sender(key).sample(sample);
                None
            }
            SenderRow::Recovery(epoch) => {
                let key = (epoch.flow, epoch.direction);
                self.sender(key).recovered(epoch);
                None
            }
            SenderRow::Retransmission(_) => None,
            SenderRow::Summary(summary) => {
                let key = (summary.flow, summary.direction);
                let sender = self.senders.remove(&key);
                Some(sender.unwrap_or_else(Observer::new).name(summary))
            }
        }
    }

    fn sender(&mut self, key: (FlowId, Direction)) -> &mut Observer {
        self.senders.entry(key).or_insert_with(Observer::new)
    }
}
