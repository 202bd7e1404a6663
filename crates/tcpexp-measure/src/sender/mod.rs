//! The sender's congestion state: reconstructed from packets, or read from a kernel's log.
//!
//! A capture at the sender shows every segment that leaves and every ACK that arrives. The replay
//! counts the segments in the network from them as the sender's kernel does (RFC 6675, RFC 8985). A
//! sender that fills its congestion window has exactly this window in the network. For other
//! senders, the kernel's rules are replayed. [`CwndSource`] states which of the two methods gave a
//! sample.
//!
//! A capture elsewhere shows the events in a different order. TCP timestamps (RFC 7323) recover the
//! sender's order, because data echoes the latest ACK that reached the sender before the data left.
//!
//! Which segments the sender considered lost depends on rules that packets do not show, but the
//! retransmissions show the outcome. A first pass ([`Hindsight`]) therefore collects all
//! retransmissions, and a second pass replays the sender with this knowledge.
//!
//! Neither the sender nor a capture beside it shows which packets were lost. A second capture at
//! the receiver does ([`DataFates`]): with it, each retransmission reports whether it was
//! necessary, and each recovery reports how many lost packets it repaired.
//!
//! ```
//! use tcpexp_flow::Packets;
//! use tcpexp_measure::sender::{Hindsight, SenderOptions, SenderRow, sender_state};
//!
//! /// Prints the windows of all senders in a capture; `open` starts at its first packet.
//! fn print<P: Packets>(open: impl Fn() -> P) -> Result<(), std::fmt::Error> {
//!     let (hindsight, _) = Hindsight::of(&mut open());
//!     sender_state(&mut open(), &hindsight, SenderOptions::default(), |rows| {
//!         for row in rows {
//!             if let SenderRow::Sample(sample) = row {
//!                 println!("{} {:?} {}", sample.flow, sample.cwnd_segments, sample.cwnd_source.name());
//!             }
//!         }
//!         Ok(())
//!     })?;
//!     Ok(())
//! }
//! ```

mod ack_gaps;
mod backoff;
mod control;
mod data_gaps;
mod delivery;
mod drain;
mod echo_watch;
mod ecn_signs;
mod engine;
mod event;
mod event_id;
mod fates;
mod freebsd_rto;
mod front;
mod handshake;
mod hindsight;
mod hints;
mod increase;
mod lengths;
mod limits;
mod losses;
mod lost;
mod model;
mod options;
mod pacing;
mod profile;
mod progress;
mod pulses;
mod receiver;
mod recovery;
mod reduction;
mod retransmission;
mod retransmissions;
mod row;
mod sample;
mod scale;
mod scoreboard;
mod side;
mod stamps;
mod summary;
mod survey;
mod undecided;
mod unseen;
mod unsent_acks;
mod window;

#[cfg(test)]
mod tests;

pub use control::CongestionFamily;
pub use event_id::{EventId, EventKind, NoEventId};
pub use fates::DataFates;
pub use hindsight::Hindsight;
pub use hints::CongestionHint;
pub use limits::LimitedTime;
pub use lost::LostPackets;
pub use model::{ModelFit, ModelPhase, PathModel};
pub use options::SenderOptions;
pub use profile::Profile;
pub use recovery::{RecoveryEpoch, RecoveryKind};
pub use retransmission::{EarlierCopy, Retransmission};
pub use row::SenderRow;
pub use sample::{CwndSource, Limit, Phase, SenderSample};
pub use scale::WindowScale;
pub use summary::SenderSummary;

use front::FlowReplay;

pub use tcpexp_flow::RetransmissionCause;

use tcpexp_flow::Flow;

use crate::{Both, Either, Meter, Metered, meter, meter_along_with};
use tcpexp_flow::{Arrival, Packets};

/// Reconstructs the state of all TCP senders of a capture.
///
/// This is the second pass, over the packets that [`Hindsight::of`] has read.
///
/// The rows of one sender are in time order. A sample whose window only the sender's next action
/// shows is delayed until then, so rows of different flows may be slightly out of order. An error
/// returned by `sink` ends the measurement.
pub fn sender_state<E: Send>(
    packets: &mut impl Packets,
    hindsight: &Hindsight,
    options: SenderOptions,
    sink: impl FnMut(Vec<SenderRow>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    meter(
        packets,
        |flow| FlowReplay::new(hindsight, options, flow.id),
        sink,
    )
}

/// [`sender_state`], with a measurement of all packets and a second meter for each flow in the same
/// pass: see [`meter_along_with`].
pub fn sender_state_along_with<M: Meter, E: Send>(
    packets: &mut impl Packets,
    hindsight: &Hindsight,
    options: SenderOptions,
    listen: impl FnMut(&mut [Arrival]) + Send,
    begin: impl Fn(&Flow) -> M + Sync,
    sink: impl FnMut(Vec<Either<SenderRow, M::Row>>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    meter_along_with(
        packets,
        listen,
        |flow| Both(FlowReplay::new(hindsight, options, flow.id), begin(flow)),
        sink,
    )
}
