//! The sender's congestion state: reconstructed from packets, or read from a kernel's log.
//!
//! A capture at the sender shows every segment that leaves and every ACK that arrives, so what is in
//! the network can be counted as the sender's kernel counts it (RFC 6675, RFC 8985). A sender that
//! fills its congestion window has just as much in the network. Where it does not, its kernel's
//! rules are replayed, and the sample says so ([`CwndSource`]).
//!
//! A capture elsewhere shows events in another order than the sender's. With timestamps (RFC 7323)
//! the order is known all the same: data echoes the latest ACK that its sender had heard.
//!
//! Which segments a sender took for lost depends on rules that packets do not show. But it sends
//! them again: so a first pass ([`Hindsight`]) collects what is sent again, and a second one replays
//! the sender with that knowledge.
//!
//! What was truly lost a sender does not know, and a capture at its side does not show. One at the
//! other end does ([`DataFates`]): then each retransmission tells whether it had to be, and each
//! recovery how many packets it was about.
//!
//! ```
//! use tcpexp_measure::Packets;
//! use tcpexp_measure::sender::{Hindsight, SenderOptions, SenderRow, sender_state};
//!
//! /// Prints the windows of all senders in a capture; `open` starts at its first packet.
//! fn print<P: Packets>(open: impl Fn() -> P) -> Result<(), std::fmt::Error> {
//!     let hindsight = Hindsight::of(&mut open());
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

mod backoff;
mod control;
mod delivery;
mod drain;
mod engine;
mod event;
mod fates;
mod front;
mod hindsight;
mod hints;
mod lengths;
mod limits;
mod losses;
mod options;
mod pacing;
mod profile;
mod progress;
mod receiver;
mod recovery;
mod reduction;
mod retransmission;
mod retransmissions;
mod row;
mod sample;
mod scale;
mod scoreboard;
mod stamps;
mod summary;
mod undecided;
mod window;

#[cfg(test)]
mod tests;

pub use control::CongestionFamily;
pub use fates::DataFates;
pub use hindsight::Hindsight;
pub use hints::CongestionHint;
pub use limits::LimitedTime;
pub use options::SenderOptions;
pub use profile::Profile;
pub use recovery::{RecoveryEpoch, RecoveryKind};
pub use retransmission::{EarlierCopy, Retransmission};
pub use row::SenderRow;
pub use sample::{CwndSource, Limit, Phase, SenderSample};
pub use scale::WindowScale;
pub use summary::SenderSummary;

use front::FlowReplay;

pub use tcpexp_flow::Cause;

use tcpexp_flow::Flow;

use crate::{Both, Either, Meter, Metered, Packets, meter};

/// Reconstructs the state of all TCP senders of a capture: the second pass, after that of
/// [`Hindsight::of`] over the same packets.
///
/// The rows of one sender come in order of time. A sample whose window shows only in what the sender
/// does next comes that much later, so rows of several flows may be slightly out of order. `sink`'s
/// error ends the measurement.
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

/// The same, and measures each flow with a meter as well, in one pass.
pub fn sender_state_along_with<M: Meter, E: Send>(
    packets: &mut impl Packets,
    hindsight: &Hindsight,
    options: SenderOptions,
    begin: impl Fn(&Flow) -> M + Sync,
    sink: impl FnMut(Vec<Either<SenderRow, M::Row>>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    meter(
        packets,
        |flow| Both(FlowReplay::new(hindsight, options, flow.id), begin(flow)),
        sink,
    )
}
