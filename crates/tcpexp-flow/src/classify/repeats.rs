//! Segments whose bytes were all captured before, and that may be retransmissions or duplicates of the path.

use tcpexp_units::{TimeDelta, Timestamp};

use super::{Behind, Class, Classifier, Sent};
use crate::Segment;
use crate::cause::{
    PathTimes, RetransmissionCause, is_expired, is_within_round_trip, may_be_probe_after,
};
use crate::identity::{OrderEvidence, SendOrder};

/// The class of a segment that repeats captured bytes, if it may be a retransmission or a duplicate.
pub(super) fn undecided(is_acknowledged: bool) -> Class {
    Class::Behind(Behind {
        sent: SendOrder::Unknown,
        known_by: OrderEvidence::Bytes,
        cause: RetransmissionCause::Spurious,
        is_acknowledged,
    })
}

impl Classifier {
    /// True if nothing that the capture shows makes the sender send `segment` again. Then the path may have
    /// duplicated it.
    #[cold]
    pub(super) fn is_unasked(&self, sent: Sent, segment: &Segment, times: &PathTimes) -> bool {
        // After a reduction of the path MTU, the sender repeats its data in shorter segments.
        let is_shorter = segment.numbers_taken() < sent.latest.numbers;
        !is_shorter && self.has_no_cause(sent, segment, times)
    }

    /// True if no ACK has reported data above `segment` or refused it in a SYN, and no timer expires within a
    /// round trip (RFC 6298, section 2). False without ACKs or a round-trip time: the sender may have had a
    /// reason to retransmit.
    #[cold]
    pub(super) fn has_no_cause(&self, sent: Sent, segment: &Segment, times: &PathTimes) -> bool {
        let disorder = self.disorder.as_deref();
        let is_asked = disorder.is_some_and(|disorder| {
            let recovery = disorder.recovery.as_ref();
            disorder.gaps.is_reported_above(segment.start)
                || disorder.is_refused(segment)
                || recovery.is_some_and(|recovery| recovery.is_of(segment.start))
        });
        let waited = segment.seen.at - self.armed_at(sent, times);
        self.acked.is_some_and(|acked| !acked.is_loss_reported)
            && !is_asked
            && !segment.flags.syn()
            && times
                .srtt
                .is_some_and(|srtt| is_within_round_trip(waited, srtt))
    }

    /// True if `segment`, which the sender's counter shows to be older than the latest segment, may be a
    /// retransmission that newer data has overtaken: the sender had a reason to retransmit it.
    #[cold]
    pub(super) fn may_be_overtaken(
        &self,
        sent: Sent,
        segment: &Segment,
        times: &PathTimes,
    ) -> bool {
        if self.acked.is_none() {
            return false;
        }
        // The newer data that overtook it may have been sent after a silence, and restarts the timer.
        let armed_at = self.armed_at(sent, times).min(sent.before.at);
        let waited = segment.seen.at - armed_at;
        let may_be_probe = times
            .srtt
            .is_some_and(|srtt| may_be_probe_after(waited, srtt));
        let packet_bytes = sent.latest.numbers.max(sent.before.numbers).max(1);
        let data_bytes = sent.nxt.since(segment.end());
        // The original left before all data above it. Packets may be shorter than the latest two.
        let is_near = self.identity.ids_behind(segment) < data_bytes / i64::from(packet_bytes);
        is_expired(waited, times.rto) || may_be_probe || (is_near && !self.is_intact())
    }

    /// The restart of the retransmission timer, by the data and the ACKs captured: when `una` advances and when the
    /// head is retransmitted (RFC 6298, sections 5.3 and 5.6).
    pub(super) fn armed_at(&self, sent: Sent, times: &PathTimes) -> Timestamp {
        let to_sender: TimeDelta = times.to_sender;
        let advanced_at = self.acked.map(|acked| acked.advanced_at + to_sender);
        advanced_at.map_or(sent.head_at, |advanced| advanced.max(sent.head_at))
    }
}
