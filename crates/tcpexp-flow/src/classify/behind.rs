//! Segments that start below the highest sequence number captured so far.

use tcpexp_units::TimeDelta;

use super::{Behind, Class, Classifier, Sent, Transmission, repeats};
use crate::cause::{
    LossRecoveryKind, MAX_ANSWER_DELAY, PathTimes, RetransmissionCause, RetransmissionEvidence,
    SHORTEST_TIMEOUT, is_expired,
};
use crate::identity::{Counters, OrderEvidence, SendOrder};
use crate::{Segment, StreamOffset};

/// Greatest delay between a packet and its duplicate record: a hundredth of [`SHORTEST_TIMEOUT`], so that no
/// retransmission timeout of Linux expires within it.
pub(crate) const COPY_DELAY: TimeDelta = TimeDelta::from_millis(2);
/// Less than the time between two full-sized packets that pass a bottleneck: at 1 Gb/s, 1,500 bytes
/// take 12 µs.
const BACK_TO_BACK: TimeDelta = TimeDelta::from_micros(10);

/// Largest IP packet of common links (jumbo frames). Longer captured packets were cut into several after the
/// capture, or joined before it, and took an Identification for each.
const MAX_PACKET_BYTES: i64 = 9_000;

/// A recovery: it lasts until all data sent before its start is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    until: StreamOffset,
    kind: LossRecoveryKind,
}

impl Recovery {
    /// True if data that begins at `start` was sent before the recovery began.
    pub(super) fn is_of(&self, start: StreamOffset) -> bool {
        start < self.until
    }
}

/// Least time between a packet and its retransmission, as captured; `is_answered` is true if an ACK came
/// in between, or if no ACKs are captured.
///
/// A retransmission answers ACKs of data sent after the original, so it comes at least one round trip
/// later; half of it allows for jitter. Without a round-trip time, only the silence of the other end
/// shows that it answers nothing. Without timestamps, a link that stalls may bring an original and its
/// retransmission together, except beside the sender.
fn soonest_retransmission(segment: &Segment, is_answered: bool, times: &PathTimes) -> TimeDelta {
    let Some(rtt) = times.shortest_rtt else {
        return if is_answered {
            BACK_TO_BACK
        } else {
            COPY_DELAY
        };
    };
    let half = TimeDelta::from_nanos(rtt.as_nanos() / 2);
    if segment.timestamps.is_some() {
        half
    } else if times.to_sender < half {
        half.min(COPY_DELAY)
    } else {
        half.min(BACK_TO_BACK)
    }
}

impl Classifier {
    #[cold]
    pub(super) fn behind(
        &mut self,
        sent: Sent,
        segment: &Segment,
        fresh_bytes: u32,
        times: &PathTimes,
    ) -> Class {
        let nxt = sent.nxt;
        if sent.latest.is_bare_syn && segment.start == sent.latest.start && segment.ack.is_some() {
            return self.simultaneous_open(sent, segment);
        }
        if fresh_bytes == 0 && self.identity.is_past_router(segment) {
            return Class::Copy;
        }
        // An ACK of numbers never sent refuses a SYN instead (RFC 9293, section 3.5.1).
        let is_refused = |una| segment.flags.syn() && una > nxt;
        let is_acknowledged = self
            .una()
            .is_some_and(|una| segment.end() <= una && !is_refused(una));
        if self.is_copy(sent, segment)
            || (fresh_bytes == 0 && self.is_too_soon(sent, segment, is_acknowledged, times))
        {
            return Class::Copy;
        }
        self.disorder().behind = Some((Transmission::of(segment), Counters::of(segment)));
        let known = self.identity.out_of_order(segment);
        let (order, known_by) = match self.after_gap(segment, fresh_bytes, known) {
            // A retransmission that newer data has overtaken.
            (SendOrder::Earlier, OrderEvidence::IpId) if self.is_after_original(sent, segment) => {
                let is_known = fresh_bytes < segment.seen.payload_bytes;
                let known_by = if is_known {
                    OrderEvidence::Bytes
                } else {
                    OrderEvidence::IpId
                };
                (SendOrder::Later, known_by)
            }
            known @ (SendOrder::Earlier, _) if fresh_bytes == 0 && self.is_repaired(segment) => {
                known
            }
            (SendOrder::Earlier, OrderEvidence::IpId)
                if fresh_bytes == 0 && self.may_be_overtaken(sent, segment, times) =>
            {
                return repeats::undecided(is_acknowledged);
            }
            // A duplicate made by the path: a retransmission has a later Identification.
            (SendOrder::Earlier, OrderEvidence::IpId) if fresh_bytes == 0 => return Class::Copy,
            (SendOrder::Earlier | SendOrder::Unknown, _)
                if fresh_bytes == 0 && self.is_unasked(sent, segment, times) =>
            {
                return repeats::undecided(is_acknowledged);
            }
            _ if fresh_bytes == 0 => (SendOrder::Later, OrderEvidence::Bytes),
            // Retransmitted bytes together with new ones.
            (SendOrder::Unknown, _) if fresh_bytes < segment.seen.payload_bytes => {
                (SendOrder::Later, OrderEvidence::Bytes)
            }
            (SendOrder::Unknown, _) => match self.by_time(segment, times.shortest_rtt) {
                (SendOrder::Earlier, _) if self.has_no_cause(sent, segment, times) => {
                    (SendOrder::Earlier, OrderEvidence::NoCause)
                }
                known => known,
            },
            known => known,
        };
        let cause = self.cause(sent, segment, times);
        let mut now = Sent {
            nxt: nxt.max(segment.end()),
            ..sent
        };
        if order == SendOrder::Later && fresh_bytes > 0 {
            let (start, end) = (segment.payload_start(), segment.end());
            self.disorder().repaired.take(start, end);
        }
        // An overtaken segment is not the latest transmission, although it is captured last.
        if order != SendOrder::Earlier {
            now.before = sent.latest;
            now.latest = Transmission::of(segment);
            if self.is_head(segment) {
                now.head_at = segment.seen.at;
            }
        }
        self.sent = Some(now);
        Class::Behind(Behind {
            sent: order,
            known_by,
            cause,
            is_acknowledged,
        })
    }

    /// Processes the first SYN-ACK of an end that sent a SYN before: in a simultaneous open, it answers the
    /// other end's SYN (RFC 9293, section 3.5, figure 8).
    fn simultaneous_open(&mut self, sent: Sent, segment: &Segment) -> Class {
        self.sent = Some(Sent {
            latest: Transmission::of(segment),
            before: sent.latest,
            ..sent
        });
        Class::Empty
    }

    /// True if a retransmission of these bytes was captured before all other transmissions of them.
    fn is_repaired(&self, segment: &Segment) -> bool {
        let disorder = self.disorder.as_deref();
        disorder.is_some_and(|disorder| {
            let repaired = &disorder.repaired;
            repaired.has(segment.payload_start(), segment.end())
        })
    }

    fn is_copy(&self, sent: Sent, segment: &Segment) -> bool {
        if sent.latest.has_range_of(segment) && self.identity.is_same_count(segment) {
            return true;
        }
        if self.is_copy_of_behind(segment) {
            return true;
        }
        // A copy has the same Identification; another segment with the same start has a different one.
        sent.latest.start == segment.start
            && segment.seen.at - sent.latest.at < COPY_DELAY
            // A SYN is sent again after a second at the earliest (RFC 6298, section 2.1). But a listener answers each
            // copy of a SYN with a SYN-ACK of its own, and the copies may arrive together.
            && (self.identity.is_of(segment)
                || (segment.flags.syn() && !self.identity.is_other(segment)))
    }

    /// True if `segment` is a copy of the latest segment that started below `nxt`. The counters of that segment
    /// may be older than the latest ones, or random.
    fn is_copy_of_behind(&self, segment: &Segment) -> bool {
        let disorder = self.disorder.as_deref();
        let behind = disorder.and_then(|disorder| disorder.behind);
        let counters = Counters::of(segment);
        behind.is_some_and(|(transmission, own)| {
            // A random Identification may recur.
            let is_recent = segment.seen.at - transmission.at < COPY_DELAY;
            transmission.has_range_of(segment)
                && own == counters
                && counters.identify_packet()
                && (is_recent || self.identity.is_counter())
        })
    }

    /// True if `segment`, whose bytes were captured before, follows its original sooner than any loss
    /// detection allows: the network or the capture duplicated the packet. Needs no Identification.
    fn is_too_soon(
        &self,
        sent: Sent,
        segment: &Segment,
        is_acknowledged: bool,
        times: &PathTimes,
    ) -> bool {
        let has_ip_id = segment.seen.ip_id.is_some_and(|id| id != 0);
        if has_ip_id || segment.flags.syn() || self.identity.is_later(segment) {
            return false;
        }
        // A retransmission has a later timestamp than all data sent before it.
        if self.identity.is_stamped_earlier(segment) {
            return !is_acknowledged && self.is_intact() && !self.is_repaired(segment);
        }
        // A segment after a reduction of the path MTU repeats bytes at once (RFC 4821), but in another
        // range.
        [sent.latest, sent.before].iter().any(|original| {
            let is_answered = self.acked.is_none_or(|acked| acked.at >= original.at);
            let soonest = soonest_retransmission(segment, is_answered, times);
            original.has_range_of(segment) && segment.seen.at - original.at < soonest
        })
    }

    /// True if no ACK reports a loss and no recovery is in progress.
    pub(super) fn is_intact(&self) -> bool {
        let recovery = self
            .disorder
            .as_ref()
            .and_then(|disorder| disorder.recovery);
        let is_recovering =
            recovery.is_some_and(|recovery| self.una().is_none_or(|una| una < recovery.until));
        self.acked.is_some_and(|acked| !acked.is_loss_reported) && !is_recovering
    }

    /// The order of sending of a segment that the sender's counters show to be older than the latest one.
    ///
    /// Newer data may have overtaken a retransmission too. But no original was sent after data above its gap.
    fn after_gap(
        &self,
        segment: &Segment,
        fresh_bytes: u32,
        known: (SendOrder, OrderEvidence),
    ) -> (SendOrder, OrderEvidence) {
        if known.0 != SendOrder::Earlier || fresh_bytes == 0 {
            return known;
        }
        let gaps = self.disorder.as_deref().map(|disorder| &disorder.gaps);
        gaps.and_then(|gaps| gaps.around(segment.payload_start(), segment.end()))
            .and_then(|gap| self.identity.evidence_after(gap.beyond, segment))
            .map_or(known, |known_by| (SendOrder::Later, known_by))
    }

    /// The order of sending, by the time since the segment's gap was left.
    ///
    /// A retransmission answers an ACK of data above the gap, so it comes at least one round trip after
    /// that data. Away from the sender, one sample may be all that is known of the sender's part of the
    /// round trip, and too long: by an address resolution, or by a radio link that wakes up. So below one
    /// round trip, the order is known only if less than half has passed and too few ACKs reported the gap.
    fn by_time(
        &self,
        segment: &Segment,
        shortest_rtt: Option<TimeDelta>,
    ) -> (SendOrder, OrderEvidence) {
        let gaps = self.disorder.as_deref().map(|disorder| &disorder.gaps);
        let known = gaps.and_then(|gaps| {
            let gap = gaps.around(segment.payload_start(), segment.end())?;
            let rtt = shortest_rtt?;
            let age = segment.seen.at - gap.at;
            if age >= rtt {
                return Some(SendOrder::Later);
            }
            let is_early = age < TimeDelta::from_nanos(rtt.as_nanos() / 2);
            (is_early && !gaps.is_reported(gap)).then_some(SendOrder::Earlier)
        });
        known.map_or((SendOrder::Unknown, OrderEvidence::Nothing), |order| {
            (order, OrderEvidence::Time)
        })
    }

    /// True if fewer packets were sent after `segment` than its original must have been sent before: all data
    /// above it is newer than the original.
    fn is_after_original(&self, sent: Sent, segment: &Segment) -> bool {
        let packet_bytes = [
            segment.numbers_taken(),
            sent.latest.numbers,
            sent.before.numbers,
        ]
        .into_iter()
        .fold(MAX_PACKET_BYTES, |most, bytes| most.max(bytes.into()));
        let data_bytes = sent.nxt.since(segment.end());
        self.identity.ids_behind(segment) < data_bytes / packet_bytes
    }

    fn is_head(&self, segment: &Segment) -> bool {
        self.una().is_none_or(|una| segment.start <= una)
    }

    /// Returns the cause of the segment, if it is a retransmission.
    fn cause(&mut self, sent: Sent, segment: &Segment, times: &PathTimes) -> RetransmissionCause {
        let (at, una, acked) = (segment.seen.at, self.una(), self.acked);
        // Earliest capture times of data that responds to an ACK: `to_sender` is the round-trip
        // time between capture point and sender.
        let earliest_response_at = acked.map(|acked| acked.at + times.to_sender);
        let armed_at = self.armed_at(sent, times);
        let is_head = self.is_head(segment);
        let is_loss_reported = acked.is_some_and(|acked| acked.is_loss_reported);
        let disorder = self.disorder();
        let recovery = disorder.recovery;
        let repair = recovery
            .filter(|recovery| una.is_none_or(|una| una < recovery.until))
            .map(|recovery| recovery.kind);
        let evidence = RetransmissionEvidence {
            is_head,
            is_tail: segment.end() == sent.nxt,
            is_answer: earliest_response_at
                .is_some_and(|earliest| at - earliest < MAX_ANSWER_DELAY),
            has_acks: acked.is_some(),
            is_loss_reported,
            // Without a scoreboard, any reported loss may still be unrepaired.
            owes: is_loss_reported || repair.is_some(),
            repair,
            may_probe: times.may_probe && (una.is_none() || disorder.probed_at_una != una),
            waited: at - armed_at,
            idle: at
                - earliest_response_at
                    .map_or(sent.latest.at, |earliest| earliest.max(sent.latest.at)),
            srtt: times.srtt,
            rto: times.rto,
        };
        // Only the retransmission timer retransmits a SYN, unless its data exceeds the path MTU.
        let is_shorter = segment.numbers_taken() < sent.latest.numbers;
        let syn = sent.latest;
        let is_first_again = syn.is_bare_syn && syn.numbers > 1 && una == Some(syn.start.plus(1));
        if is_first_again && !segment.flags.syn() {
            disorder.refused = una.zip(Some(syn.end()));
        }
        let is_refused = disorder.is_refused(segment);
        if is_refused {
            // What is sent again from here on was sent after the SYN-ACK, so it may be lost.
            disorder.refused = disorder.refused.map(|(_, end)| (segment.end(), end));
        }
        // The first copy answers the SYN-ACK; the rest of the SYN's data may follow from a timeout.
        let is_in_time = is_first_again || !is_expired(evidence.waited, evidence.rto);
        let cause = if is_refused && is_in_time {
            RetransmissionCause::RefusedSynData
        } else if segment.flags.syn() && is_shorter && evidence.waited < SHORTEST_TIMEOUT {
            RetransmissionCause::PathMtu
        } else if segment.flags.syn() {
            RetransmissionCause::Timeout
        } else {
            evidence.cause()
        };
        let begins = match cause {
            RetransmissionCause::Timeout => Some(LossRecoveryKind::Timeout),
            RetransmissionCause::FastRetransmit | RetransmissionCause::ReorderingTimer => {
                Some(LossRecoveryKind::Fast)
            }
            RetransmissionCause::PathMtu if repair != Some(LossRecoveryKind::PathMtu) => {
                Some(LossRecoveryKind::PathMtu)
            }
            RetransmissionCause::TailLossProbe => {
                disorder.probed_at_una = una;
                None
            }
            RetransmissionCause::AfterTimeout
            | RetransmissionCause::PathMtu
            | RetransmissionCause::RefusedSynData
            | RetransmissionCause::Spurious => None,
        };
        // A fast retransmission within a recovery does not move its end (RFC 6675, section 5).
        let goes_on = repair == begins && begins == Some(LossRecoveryKind::Fast);
        if let Some(kind) = begins.filter(|_| !goes_on) {
            disorder.recovery = Some(Recovery {
                until: sent.nxt,
                kind,
            });
        }
        cause
    }
}
