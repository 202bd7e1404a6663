//! The acknowledgments of a direction's data, from the segments of the opposite direction.

use tcpexp_units::Timestamp;

use super::Classifier;
use super::behind::COPY_DELAY;
use crate::hops::Hops;
use crate::{DoubtedAck, Segment, StreamOffset};

/// Progress of the opposite direction's acknowledgments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) una: StreamOffset,
    pub(super) at: Timestamp,
    /// Time of the last advance of `una`.
    pub(super) advanced_at: Timestamp,
    window: u16,
    /// Identification of the latest ACK; 0 if it has none.
    ip_id: u16,
    /// For the ACKs that advanced `una`.
    hops: Hops,
    pub(super) is_window_closed: bool,
    /// True if an ACK since the last advance of `una` reports data above a gap.
    pub(super) is_loss_reported: bool,
}

impl Classifier {
    /// Processes a segment of the opposite direction; returns true if it is a duplicate ACK (RFC
    /// 5681, section 2; with SACK blocks, also if its window changed: RFC 6675, section 2).
    #[inline]
    pub fn acknowledge(&mut self, segment: &Segment) -> bool {
        let Some(ack) = segment.ack.filter(|_| !segment.flags.rst()) else {
            if segment.flags.syn() {
                self.acceptance.advertise(segment);
            }
            return false;
        };
        self.acceptance.advertise(segment);
        let is_selective = segment.sack_block_count() > 0;
        let mut is_duplicate = false;
        self.beginning.acknowledge(ack, segment, &self.copies);
        let at = segment.seen.at;
        let ip_id = segment.seen.ip_id.unwrap_or(0);
        // A SYN-ACK below an ACK of numbers never sent: the ACK is of an earlier connection.
        let is_of_new = segment.flags.syn()
            && self
                .sent
                .zip(self.acked)
                .is_some_and(|(sent, before)| before.una > sent.nxt);
        let higher = self.acked.map(|before| before.una).filter(|una| ack < *una);
        let is_refuted = higher.is_some_and(|una| self.refutes(una, ack));
        if is_refuted {
            self.disorder().doubted = None;
        }
        let (una, advanced_at, hops) = match &self.acked {
            Some(before) if ack <= before.una && !is_of_new && !is_refuted => {
                // A capture may have each packet twice.
                if is_copy(before, segment, ack, ip_id) {
                    return false;
                }
                is_duplicate = ack == before.una
                    && !segment.is_numbered()
                    && (before.window == segment.window || is_selective)
                    && self.sent.is_some_and(|sent| sent.nxt > ack);
                (before.una, before.advanced_at, before.hops)
            }
            before => {
                let mut hops = before.map(|before| before.hops).unwrap_or_default();
                hops.observe(segment.seen.ttl);
                (ack, at, hops)
            }
        };
        if self.sent.is_some_and(|sent| ack > sent.nxt) {
            self.pass_nxt(ack, una);
        }
        if is_duplicate || is_selective {
            self.report_gap(segment);
        }
        let was_reported = self
            .acked
            .is_some_and(|before| before.una == una && before.is_loss_reported);
        self.acked = Some(Acked {
            una,
            at,
            advanced_at,
            window: segment.window,
            ip_id,
            hops,
            is_window_closed: segment.window == 0 && !segment.flags.syn(),
            // The SACK blocks of an overtaken ACK may be acknowledged by now.
            is_loss_reported: was_reported || is_duplicate || (is_selective && una == ack),
        });
        is_duplicate
    }

    /// Records that an ACK reports data above a gap, if it does.
    #[cold]
    fn report_gap(&mut self, segment: &Segment) {
        if let Some((sent, disorder)) = self.sent.zip(self.disorder.as_deref_mut()) {
            // Without SACK, an ACK does not say which data it is for.
            let received = segment.sack_blocks().map(|block| block.1).max();
            disorder.gaps.report(received.unwrap_or(sent.nxt));
        }
    }

    /// Processes an acknowledgment number above `nxt`.
    #[cold]
    fn pass_nxt(&mut self, ack: StreamOffset, una: StreamOffset) {
        self.accept_window_probe(ack);
        if let Some(sent) = self.sent.filter(|sent| ack == una && ack > sent.nxt) {
            let disorder = self.disorder();
            disorder.doubted = Some(DoubtedAck::raised(disorder.doubted, ack, sent.nxt));
        }
    }

    /// True if `ack` shows that `una` is of data never sent.
    #[cold]
    fn refutes(&self, una: StreamOffset, ack: StreamOffset) -> bool {
        let disorder = self.disorder.as_deref();
        let doubted = disorder.and_then(|disorder| disorder.doubted);
        let doubted = doubted.filter(|doubted| doubted.ack == una);
        doubted.zip(self.nxt()).is_some_and(|(doubted, nxt)| {
            doubted.is_refuted_by(ack, nxt, |from, to| self.has_captured(from, to))
        })
    }

    /// Advances `nxt` over a window probe that `ack` shows to be accepted.
    fn accept_window_probe(&mut self, ack: StreamOffset) {
        let disorder = self.disorder.as_deref_mut();
        let end = disorder.and_then(|disorder| disorder.window_probe_end);
        if let (Some(end), Some(sent)) = (end, &mut self.sent)
            && (sent.nxt..=ack).contains(&end)
        {
            sent.nxt = end;
        }
    }
}

/// True if `segment`, with this acknowledgment number and Identification, is a duplicate record of an
/// ACK: of the latest one, or of an earlier one past a router.
#[inline]
fn is_copy(before: &Acked, segment: &Segment, ack: StreamOffset, ip_id: u16) -> bool {
    // An Identification of 0 identifies no packet.
    let is_latest = ip_id != 0
        && ip_id == before.ip_id
        && ack == before.una
        && segment.window == before.window
        && segment.seen.at - before.at < COPY_DELAY;
    is_latest || before.hops.is_past_router(segment.seen.ttl)
}
