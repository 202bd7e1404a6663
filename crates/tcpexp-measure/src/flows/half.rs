//! State of one direction of a live connection.

use tcpexp_flow::{
    CeFeedback, Class, Classifier, Holes, PathTimes, SHORTEST_TIMEOUT, Seen, Segment, StreamOffset,
};
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp, prefetch};
use tcpexp_wire::is_congestion_experienced;

use super::out_of_sequence::OutOfSequence;
use super::outstanding::{AckRtt, Outstanding};
use crate::rto::LinuxRto;

/// Counters of one direction.
#[derive(Debug, Default)]
pub(super) struct Half {
    pub(super) counts: Counts,
    classifier: Classifier,
    outstanding: Outstanding,
    pub(super) rtt: Quantiles,
    /// The timer of this direction's sender.
    timer: LinuxRto,
    rare: Option<Box<Rare>>,
}

/// Sums over one direction's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) packets: u64,
    pub(super) data_packets: u64,
    pub(super) wire_bytes: u64,
    pub(super) ip_bytes: u64,
    pub(super) payload_bytes: u64,
    /// Times of the first and the last packet; valid only with packets.
    span: (Timestamp, Timestamp),
    pub(super) largest_payload_bytes: u32,
}

/// Counters that stay zero in most connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    pub(super) out_of_sequence: OutOfSequence,
    pub(super) repeated_bytes: u64,
    pub(super) copies: u64,
    pub(super) keep_alives: u64,
    pub(super) window_probes: u64,
    pub(super) duplicate_acks: u64,
    pub(super) zero_windows: u64,
    pub(super) duplicate_sacks: u64,
    /// True if the capture cut off options of this direction.
    pub(super) has_cut_options: bool,
    pub(super) ce_packets: u64,
    pub(super) ce_bytes: u64,
    /// Congestion marks reported by the other end.
    feedback: Option<Box<CeFeedback>>,
}

impl Counts {
    #[inline]
    pub(super) fn add(&mut self, seen: &Seen) {
        if self.packets == 0 {
            self.span.0 = seen.at;
        }
        self.span.1 = seen.at;
        self.packets += 1;
        self.data_packets += u64::from(seen.payload_bytes > 0);
        self.wire_bytes += u64::from(seen.wire_bytes);
        self.ip_bytes += u64::from(seen.ip_bytes);
        self.payload_bytes += u64::from(seen.payload_bytes);
        self.largest_payload_bytes = self.largest_payload_bytes.max(seen.payload_bytes);
    }

    /// Times of the first and the last packet; `None` without packets.
    pub(super) fn span(&self) -> Option<(Timestamp, Timestamp)> {
        (self.packets > 0).then_some(self.span)
    }
}

impl Rare {
    /// DCTCP's estimate α; `None` if unknown.
    pub(super) fn alpha(&self) -> Option<f64> {
        self.feedback.as_ref()?.alpha()
    }
}

impl Half {
    /// Processes a segment of this direction; returns its class. `path` is as for [`Classifier::segment`],
    /// without the timer.
    #[inline]
    pub(super) fn sends(&mut self, segment: &Segment, path: impl FnOnce() -> PathTimes) -> Class {
        let seen = &segment.seen;
        self.count(seen);
        if segment.window == 0 && !segment.flags.rst() && !segment.flags.syn() {
            self.rare().zero_windows += 1;
        }
        if segment.sack_block_count() > 0 || segment.has_cut_options() {
            self.count_sack(segment);
        }
        // Read `nxt` before the classifier advances it: only bytes below it were sent before.
        let nxt = self.classifier.nxt();
        let timer = &self.timer;
        let (class, fresh_bytes) = self
            .classifier
            .segment(segment, || with_timer(timer, path()));
        if !self.is_outside(segment)
            && let Some(feedback) = self.feedback_mut()
        {
            feedback.send(segment);
            if segment.flags.cwr() {
                feedback.on_cwr(segment.start);
            }
        }
        if fresh_bytes != seen.payload_bytes {
            // The fresh bytes of an earlier segment counted as repeated until now.
            let rare = self.rare();
            rare.repeated_bytes += u64::from(seen.payload_bytes);
            rare.repeated_bytes -= u64::from(fresh_bytes);
        }
        match class {
            Class::Empty => {}
            Class::New => self.outstanding.sent(segment.end(), seen.at),
            Class::Behind(behind) => {
                self.outstanding.sent_again();
                let end = nxt.map_or(segment.end(), |nxt| segment.end().min(nxt));
                // Count bytes that the capture missed too: they were sent before, or the segment
                // would not be out of order.
                let bytes = end.since(segment.payload_start()).max(0).cast_unsigned();
                let bytes = bytes.min(u64::from(seen.payload_bytes));
                self.rare().out_of_sequence.add(behind, bytes);
            }
            Class::Copy => self.rare().copies += 1,
            Class::KeepAlive => self.rare().keep_alives += 1,
            Class::WindowProbe => self.rare().window_probes += 1,
        }
        class
    }

    /// One past the highest sequence number captured.
    pub(super) fn nxt(&self) -> Option<StreamOffset> {
        self.classifier.nxt()
    }

    /// Adds a round-trip time between the two ends, from the ACK of this direction's data before
    /// `una`.
    #[inline]
    pub(super) fn time(&mut self, rtt: TimeDelta, una: StreamOffset) {
        let nxt = self.classifier.nxt().unwrap_or(una);
        self.timer.sample(rtt, una, nxt);
    }

    /// Prefetches heap data.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.outstanding.prefetch();
        if let Some(last) = self.rtt.last_stored() {
            prefetch(last);
        }
    }

    /// Counts a packet of this direction, of any protocol.
    #[inline]
    pub(super) fn count(&mut self, seen: &Seen) {
        self.counts.add(seen);
        if is_congestion_experienced(seen.traffic_class) {
            let rare = self.rare();
            rare.ce_packets += 1;
            rare.ce_bytes += u64::from(seen.ip_bytes);
        }
    }

    /// Releases memory once the connection is closed.
    #[cold]
    pub(super) fn shrink(&mut self) {
        self.outstanding.shrink();
    }

    #[cold]
    fn count_sack(&mut self, segment: &Segment) {
        if segment.reports_duplicate() {
            self.rare().duplicate_sacks += 1;
        }
        if segment.has_cut_options() {
            self.rare().has_cut_options = true;
        }
    }

    /// Counts a duplicate ACK in this direction.
    #[cold]
    pub(super) fn count_duplicate_ack(&mut self) {
        self.rare().duplicate_acks += 1;
    }

    /// Sets the negotiated reporting of marks.
    #[cold]
    pub(super) fn expect_feedback(&mut self, feedback: Option<CeFeedback>) {
        if feedback.is_some() || self.rare.is_some() {
            self.rare().feedback = feedback.map(Box::new);
        }
    }

    /// Number of packets that the other end reports as marked; `None` if unknown.
    pub(super) fn ce_reported_packets(&self) -> Option<u64> {
        self.rare.as_ref()?.feedback.as_ref()?.packets()
    }

    /// Number of payload bytes captured more than once.
    pub(super) fn repeated_bytes(&self) -> u64 {
        let repeated = self.rare.as_ref().map_or(0, |rare| rare.repeated_bytes);
        repeated - u64::from(self.classifier.confirmed_bytes())
    }

    /// True if this direction's latest segment is outside the receive window.
    pub(super) fn is_outside(&self, segment: &Segment) -> bool {
        self.classifier.is_outside(segment)
    }

    /// See [`Classifier::has_late_fin`].
    pub(super) fn has_late_fin(&self) -> bool {
        self.classifier.has_late_fin()
    }

    /// The bytes that the capture missed.
    pub(super) fn missed(&self) -> Holes {
        self.classifier.missed()
    }

    /// The rare counters, if any was used.
    pub(super) fn rarities(&self) -> Option<&Rare> {
        self.rare.as_deref()
    }

    #[inline]
    fn feedback_mut(&mut self) -> Option<&mut CeFeedback> {
        self.rare.as_mut()?.feedback.as_deref_mut()
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Processes a segment of the opposite direction; returns the round-trip times shown by its ACK,
    /// and whether it is a duplicate ACK.
    #[inline]
    pub(super) fn is_acknowledged(&mut self, segment: &Segment) -> (Option<AckRtt>, bool) {
        let nxt = self.classifier.nxt();
        if let Some(feedback) = self.feedback_mut() {
            feedback.on_ack(segment);
            if let Some(nxt) = nxt {
                feedback.estimate(nxt);
            }
        }
        let is_duplicate = self.classifier.acknowledge(segment);
        let rtt = segment
            .ack
            .filter(|_| !segment.flags.rst())
            .and_then(|ack| self.outstanding.acknowledged(ack, segment.seen.at, nxt));
        if let Some(rtt) = rtt {
            self.rtt.add(rtt.sample);
        }
        (rtt, is_duplicate)
    }
}

/// Adds the sender's smoothed round-trip time and timeout.
#[cold]
fn with_timer(timer: &LinuxRto, path: PathTimes) -> PathTimes {
    let srtt = timer.srtt();
    PathTimes {
        srtt,
        rto: srtt.map_or(SHORTEST_TIMEOUT, |_| timer.rto()),
        ..path
    }
}
