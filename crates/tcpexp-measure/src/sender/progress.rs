//! The progress that one ACK reports.

use tcpexp_units::Timestamp;

/// What one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Segments newly acknowledged, be it selectively.
    pub(super) delivered: u32,
    /// Segments that the cumulative acknowledgment covers for the first time.
    pub(super) cumulative: u32,
    /// Whether one of these had been retransmitted.
    pub(super) has_retransmitted: bool,
    /// When the first of those was sent that were sent once and newly acknowledged.
    pub(super) first_acked: Option<Timestamp>,
    pub(super) first_sacked: Option<Timestamp>,
}

impl Progress {
    /// When what the round-trip time is measured on was sent, as Linux chooses it.
    pub(super) fn timed(&self) -> Option<Timestamp> {
        let acked = self.first_acked.filter(|_| !self.has_retransmitted);
        acked.or(self.first_sacked)
    }
}
