//! Round trips of one direction: from the capture point to the receiver and back.

use tcpexp_flow::{Coverage, Direction, FlowId, Segment, StreamOffset, SynOptions};
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use super::in_flight::{InFlight, Sacked, Timed};
use super::tsvals::{Echo, Tsvals};
use super::{AckClass, RttEstimate, RttMethod, SingleRttDirection, SingleRttRow, SingleRttSample};
use crate::MissedData;
use crate::earlier_copy::{Answered, answered};
use crate::missed_acks::AckWatch;
use crate::missing_samples::MissingSamples;
use crate::rto::{LinuxRto, Rfc6298Rto};

/// Samples of other ACKs for each ACK that may follow a missed one. A receiver with more ACKs that echo a later
/// segment always echoes the latest timestamp, contrary to RFC 7323, section 4.3.
const SAMPLES_PER_MISSED: u64 = 4;

/// The data of one direction and its answers.
#[derive(Debug, Default)]
pub(super) struct HalfPath {
    in_flight: InFlight,
    coverage: Coverage,
    acks: AckWatch,
    ack_gaps: u64,
    /// Number of ACKs whose echoes show that an earlier ACK was missed.
    later_echoes: u64,
    tsvals: Tsvals,
    order: Order,
    timers: Timers,
    handshake: Option<TimeDelta>,
    ambiguous_acks: u64,
    sequence_ack: Option<Box<Quantiles>>,
    timestamps: Option<Box<Quantiles>>,
    unasked: Option<Box<Quantiles>>,
}

/// Out-of-order data reported by the receiver.
#[derive(Debug, Default)]
struct Order {
    highest_sacked: Option<StreamOffset>,
    is_duplicated: bool,
    /// Window and IP ID of the latest ACK.
    latest: Option<(u16, Option<u16>)>,
}

#[derive(Debug, Default)]
struct Timers {
    rfc6298: Rfc6298Rto,
    linux: LinuxRto,
    missing: MissingSamples,
}

impl HalfPath {
    /// Records a packet towards the receiver.
    pub(super) fn send(&mut self, segment: &Segment, is_other_end_captured: bool) {
        if segment.is_numbered() {
            self.in_flight.send(segment, is_other_end_captured);
            self.coverage.send(segment);
            if !self.coverage.is_outside(segment) {
                self.acks.send(segment);
            }
        }
        if let Some((value, _)) = segment.timestamps {
            self.tsvals.send(value, segment, is_other_end_captured);
        }
    }

    /// Returns true if a packet towards the sender echoes a packet of this direction that the capture missed;
    /// once for each gap.
    #[inline]
    pub(super) fn take_echoed_gap(&mut self) -> bool {
        self.tsvals.take_gap()
    }

    /// Takes data of this direction that echoes a missed ACK between two captured ones. The samples since then
    /// may contain the wait for a later ACK.
    #[cold]
    pub(super) fn answer_missed_ack(&mut self, segment: &Segment) {
        // The receiver drops a segment outside its window. A gap that the data itself shows counts once.
        if !self.coverage.is_outside(segment) && !self.acks.misses_acks() {
            self.ack_gaps += 1;
            self.timers.missing.miss_any_number();
        }
    }

    /// Takes the options of both ends' SYNs; `direction` is that of the data.
    pub(super) fn open(&mut self, syns: [Option<SynOptions>; 2], direction: Direction) {
        self.acks.open(syns, direction);
    }

    /// Processes a packet from the receiver with the acknowledgment number `ack`.
    pub(super) fn answer(
        &mut self,
        segment: &Segment,
        ack: StreamOffset,
        flow: FlowId,
        rows: &mut impl Extend<SingleRttRow>,
    ) {
        // The order before this ACK counts: its own SACK blocks may begin a disorder.
        let was_in_order = self.order.is_kept();
        // Compare before `acknowledge` moves the floor to `ack`.
        let is_duplicate = self.in_flight.is_duplicate(ack);
        let has_missed_acks = self.acks.on_ack(segment, ack);
        let segments = has_missed_acks.then(|| self.in_flight.segments_before(ack));
        let acked = self.in_flight.acknowledge(ack);
        self.coverage.acknowledge(segment);
        let sacked = self.sack(segment);
        let echoed = segment.timestamps.map(|(_, echo)| echo);
        let answered = acked
            .timed
            .map_or(Answered::Segment, |timed| answered(timed.stamp, echoed));
        let is_of_earlier_copy = answered == Answered::EarlierCopy;
        let is_late = answered == Answered::LaterSegment && self.follows_missed_ack();
        self.ambiguous_acks += u64::from(acked.is_ambiguous || is_of_earlier_copy || is_late);
        let class = match (acked.is_new, sacked.is_new) {
            (true, _) if was_in_order => AckClass::Cumulative,
            (true, _) => AckClass::AfterReordering,
            (false, true) => AckClass::Selective,
            (false, false) => AckClass::Duplicate,
        };
        if acked.is_new {
            self.order.advance(ack);
        }
        self.order
            .observe(segment, is_duplicate && class == AckClass::Duplicate);
        let at = segment.seen.at;
        // A clock that was set back in between shows no time.
        let echo = echoed
            .and_then(|echo| self.tsvals.echo(echo, ack))
            .filter(|echo| echo.of.at <= at);
        let timed = acked.timed.filter(|_| !is_of_earlier_copy);
        let timed = timed.or(sacked.timed).filter(|timed| timed.at <= at);
        let has_missed_data = acked.has_missed || sacked.has_missed;
        // A missed ACK may have answered first.
        let (timed, echo) = if has_missed_acks || has_missed_data || is_late {
            self.ack_gaps += u64::from(has_missed_acks);
            let is_disordered = !was_in_order || !acked.is_new || segment.sack_block_count() > 0;
            let segments = segments.filter(|_| !is_disordered && !has_missed_data);
            self.pass_gap(is_disordered, segments);
            (None, None)
        } else {
            if is_of_earlier_copy {
                // The sender times the ACK by its echo.
                self.timers.missing.miss(1);
            }
            (timed, echo)
        };
        // As in `tcp_ack_update_rtt`, an echo counts only on an ACK of new data.
        self.time(at, ack, timed, echo.filter(|_| acked.is_new));
        let timed_class = match acked.timed.filter(|_| !is_of_earlier_copy) {
            Some(timed) if timed.is_syn => AckClass::Handshake,
            Some(_) => class,
            None => AckClass::Selective,
        };
        let by_sequence = timed.map(|timed| self.by_sequence(at, &timed, timed_class));
        // A later echo of the same value also contains the time since its first echo.
        let echo = echo.filter(|echo| echo.is_first);
        let by_timestamp = echo.map(|echo| self.by_timestamp(at, &echo, class));
        let (rfc6298, linux) = if by_sequence.is_some() || by_timestamp.is_some() {
            self.timers.estimates()
        } else {
            (None, None)
        };
        rows.extend(by_sequence.into_iter().chain(by_timestamp).map(|found| {
            SingleRttRow::Sample(SingleRttSample {
                at,
                flow,
                direction: segment.seen.direction.opposite(),
                rtt: found.rtt,
                method: found.method,
                ack_class: found.class,
                offset: Some(found.offset),
                error: None,
                rfc6298,
                linux,
            })
        }));
    }

    /// Returns the summary.
    pub(super) fn end(&mut self) -> SingleRttDirection {
        let (rfc6298, linux) = self.timers.estimates();
        let summary = |quantiles: &mut Option<Box<Quantiles>>| quantiles.as_mut()?.summary();
        SingleRttDirection {
            handshake: self.handshake,
            sequence_ack: summary(&mut self.sequence_ack),
            timestamps: summary(&mut self.timestamps),
            unasked: summary(&mut self.unasked),
            spin_bit: None,
            quic_handshake: None,
            ambiguous_acks: self.ambiguous_acks,
            missed: MissedData {
                ack_gaps: self.ack_gaps + u64::from(self.acks.misses_acks()),
                ..MissedData::of(&self.coverage.missed())
            },
            rfc6298,
            linux,
        }
    }

    /// True if an ACK of a later segment than the oldest one it acknowledges follows an ACK that the capture
    /// missed. Otherwise, the receiver always echoes the latest timestamp.
    #[cold]
    fn follows_missed_ack(&mut self) -> bool {
        self.later_echoes += 1;
        let samples = self.sequence_ack.as_ref();
        let samples = samples.map_or(0, |quantiles| quantiles.count());
        self.later_echoes <= 1 + samples / SAMPLES_PER_MISSED
    }

    /// Passes packets that the capture missed, before an ACK of this number of segments, if known. If data
    /// `is_disordered`, SACK blocks in the missed ACKs may have reported any of the data in flight.
    #[cold]
    fn pass_gap(&mut self, is_disordered: bool, acked: Option<u32>) {
        match acked {
            Some(segments) => self.timers.missing.miss(segments.max(1)),
            None => self.timers.missing.miss_any_number(),
        }
        if is_disordered {
            self.in_flight.doubt();
        }
    }

    /// Processes the SACK blocks; the timed segment is the lowest of all blocks.
    #[inline]
    fn sack(&mut self, segment: &Segment) -> Sacked {
        let mut all = Sacked::default();
        for (left, right) in segment.sack_blocks() {
            let sacked = self.in_flight.sack(left, right);
            all.has_missed |= sacked.has_missed;
            all.timed = match (all.timed, sacked.timed) {
                (Some(a), Some(b)) if b.offset < a.offset => Some(b),
                (a, b) => a.or(b),
            };
            if sacked.is_new {
                all.is_new = true;
                self.order.highest_sacked = self.order.highest_sacked.max(Some(right));
            }
        }
        all
    }

    /// Adds the sample of an ACK to the sender's timers.
    fn time(&mut self, at: Timestamp, ack: StreamOffset, timed: Option<Timed>, echo: Option<Echo>) {
        let sent = timed.map(|timed| timed.at);
        // As in `tcp_ack_update_rtt`, sequence numbers take precedence over timestamps.
        let Some(sent) = sent.or(echo.map(|echo| echo.of.at)) else {
            return;
        };
        let snd_nxt = self.in_flight.furthest().unwrap_or(ack);
        self.timers.missing.sample();
        self.timers.rfc6298.sample(at - sent);
        self.timers.linux.sample(at - sent, ack, snd_nxt);
    }

    fn by_sequence(&mut self, at: Timestamp, timed: &Timed, class: AckClass) -> Found {
        let rtt = at - timed.at;
        self.sequence_ack.get_or_insert_default().add(rtt);
        if class == AckClass::Handshake {
            self.handshake = self.handshake.or(Some(rtt));
        }
        Found {
            rtt,
            method: RttMethod::SequenceAck,
            class,
            offset: timed.offset,
        }
    }

    fn by_timestamp(&mut self, at: Timestamp, echo: &Echo, class: AckClass) -> Found {
        let rtt = at - echo.of.at;
        let (class, quantiles) = match (echo.is_asked, echo.of.is_syn) {
            // A receiver need not answer a pure ACK, so its echo may come at any later time.
            (false, _) => (AckClass::Unasked, &mut self.unasked),
            (true, true) => (AckClass::Handshake, &mut self.timestamps),
            (true, false) => (class, &mut self.timestamps),
        };
        quantiles.get_or_insert_default().add(rtt);
        if class == AckClass::Handshake {
            self.handshake = self.handshake.or(Some(rtt));
        }
        Found {
            rtt,
            method: RttMethod::Timestamps,
            class,
            offset: echo.of.offset,
        }
    }
}

/// A round-trip time and its source.
struct Found {
    rtt: TimeDelta,
    method: RttMethod,
    class: AckClass,
    offset: StreamOffset,
}

impl Order {
    fn is_kept(&self) -> bool {
        self.highest_sacked.is_none() && !self.is_duplicated
    }

    /// Records an ACK of new data; keeps data above `ack` that its SACK blocks report.
    fn advance(&mut self, ack: StreamOffset) {
        self.is_duplicated = false;
        self.highest_sacked = self.highest_sacked.filter(|highest| *highest > ack);
    }

    /// Records an ACK. `may_be_duplicate` is true if it acknowledges no new data while data is in
    /// flight.
    fn observe(&mut self, segment: &Segment, may_be_duplicate: bool) {
        let latest = (segment.window, segment.seen.ip_id.filter(|id| *id != 0));
        // A window update is not a duplicate ACK (RFC 5681, section 2), and a duplicate record is
        // one ACK.
        let is_repeated = self.latest.is_some_and(|(window, ip_id)| {
            window == latest.0 && (ip_id.is_none() || ip_id != latest.1)
        });
        self.is_duplicated |= may_be_duplicate && is_repeated && !segment.is_numbered();
        self.latest = Some(latest);
    }
}

impl Timers {
    /// The estimates of RFC 6298 and of Linux; `None` while missing samples may change them.
    fn estimates(&self) -> (Option<RttEstimate>, Option<RttEstimate>) {
        if self.missing.keeps_srtt() {
            (self.rfc6298(), self.linux())
        } else {
            (None, None)
        }
    }

    fn rfc6298(&self) -> Option<RttEstimate> {
        Some(RttEstimate {
            srtt: self.rfc6298.srtt()?,
            rttvar: self.rfc6298.rttvar()?,
            rto: self.rfc6298.rto(),
        })
    }

    fn linux(&self) -> Option<RttEstimate> {
        Some(RttEstimate {
            srtt: self.linux.srtt()?,
            rttvar: self.linux.rttvar()?,
            rto: self.linux.rto(),
        })
    }
}
