//! The sender's congestion state: reconstructed from packets, or read from a kernel's log.

mod delivery;
mod drain;
mod engine;
mod event;
mod front;
mod hindsight;
mod hints;
mod lengths;
mod limits;
mod pacing;
mod profile;
mod receiver;
mod recovery;
mod reduction;
mod resent;
mod sample;
mod scale;
mod scoreboard;
mod stamps;
mod summary;
mod undecided;
mod window;

#[cfg(test)]
mod tests;

pub use hindsight::Hindsight;
pub use hints::{CongestionFamily, CongestionHint};
pub use limits::LimitedTime;
pub use profile::Profile;
pub use recovery::{RecoveryEpoch, RecoveryKind};
pub use resent::{Resent, ResentCause};
pub use sample::{CwndSource, Limit, Phase, SenderSample};
pub use summary::SenderSummary;

use front::FlowReplay;
use profile::Growth;

use crate::{Metered, Packets, Position, meter};

/// What can be set.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderOptions {
    /// Where the capture was taken, from the view of all data; told from the packets if `None`.
    pub position: Option<Position>,
    /// Whose rules are replayed.
    pub profile: Profile,
}

/// What a reconstruction yields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderRow {
    /// The state when an ACK arrived.
    Sample(SenderSample),
    /// A recovery, when it is over.
    Recovery(RecoveryEpoch),
    /// Data sent again.
    Resent(Resent),
    /// A sender whose flow is over.
    Summary(SenderSummary),
}

/// Reconstructs the state of all TCP senders of a capture: the second pass, after that of
/// [`Hindsight::of`] over the same packets.
///
/// Rows come in the order of the packets; `sink`'s error ends the measurement.
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
