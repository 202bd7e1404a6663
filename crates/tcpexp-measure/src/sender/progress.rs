//! The progress reported by one ACK.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

/// The segments that one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub(super) delivered: u32,
    /// Segments that the cumulative acknowledgment newly covers.
    pub(super) cumulative: u32,
    /// True if one of the segments in `cumulative` was retransmitted.
    pub(super) has_retransmitted: bool,
    /// Start of the lowest newly acknowledged segment that was sent once.
    pub(super) lowest_original: Option<StreamOffset>,
    /// Send time of the first segment newly acknowledged by the cumulative acknowledgment and sent
    /// once.
    pub(super) first_acked: Option<Timestamp>,
    pub(super) first_sacked: Option<Timestamp>,
    /// Number of the latest transmission newly acknowledged, and its round-trip time if the segment
    /// was sent once.
    pub(super) latest: Option<(u64, Option<TimeDelta>)>,
}

impl Progress {
    /// Records a segment newly acknowledged that was sent once.
    pub(super) fn arrive_once(&mut self, start: StreamOffset) {
        let lowest = self.lowest_original.get_or_insert(start);
        *lowest = start.min(*lowest);
    }

    /// Records a segment newly acknowledged.
    pub(super) fn arrive(&mut self, transmission: u64, rtt: Option<TimeDelta>) {
        if self.latest.is_none_or(|(latest, _)| transmission > latest) {
            self.latest = Some((transmission, rtt));
        }
    }

    /// Round-trip time that congestion controls measure: of the latest segment. As in
    /// `tcp_clean_rtx_queue`, a retransmitted segment below the acknowledgment number spoils it.
    pub(super) fn latest_rtt(&self) -> Option<TimeDelta> {
        let is_spoiled = self.has_retransmitted && self.first_sacked.is_none();
        self.latest.and_then(|(_, rtt)| rtt).filter(|_| !is_spoiled)
    }

    /// Send time of the segment that Linux measures the round-trip time on.
    pub(super) fn timed(&self) -> Option<Timestamp> {
        let acked = self.first_acked.filter(|_| !self.has_retransmitted);
        // As in `tcp_ack_update_rtt`, a SACKed segment is timed only if no acknowledged segment is.
        acked.or(self.first_sacked)
    }
}
