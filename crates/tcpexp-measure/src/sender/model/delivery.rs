//! What an ACK changes, as the models of the path see it.

use tcpexp_units::{TimeDelta, Timestamp};

/// State of loss repair (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sender) enum Repairing {
    #[default]
    Nothing,
    Losses,
    AfterTimeout,
}

/// What an ACK changes.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct Delivery {
    pub(in crate::sender) at: Timestamp,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub(in crate::sender) segments: u32,
    /// Number of the latest transmission among them, and its round-trip time if the segment was sent
    /// once.
    pub(in crate::sender) latest: Option<(u64, Option<TimeDelta>)>,
    /// Segments in the network before and after the ACK.
    pub(in crate::sender) prior_in_flight: u32,
    pub(in crate::sender) in_flight: u32,
    /// Segments newly considered lost.
    pub(in crate::sender) lost: u32,
    pub(in crate::sender) repairing: Repairing,
    pub(in crate::sender) smss_bytes: u32,
}
