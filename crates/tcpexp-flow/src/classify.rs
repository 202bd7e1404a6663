//! The class of a segment: new, retransmitted, reordered on the path, duplicated, or a probe.
//!
//! A sender's counters (IPv4 Identification, `TSval`) take precedence over time. They show the
//! order of sending, and so whether a segment below the highest sequence number was sent late (a
//! retransmission) or arrived late (reordering). Time decides only where the counters do not, and
//! for the cause of a retransmission, which no field carries.

mod acked;
mod behind;
mod gaps;

use tcpexp_units::Timestamp;

use crate::cause::{PathTimes, RetransmissionCause};
use crate::coverage::{Beginning, missed};
use crate::identity::{Identity, OrderEvidence, SendOrder};
use crate::{FirstCopies, Holes, Segment, StreamOffset};
use acked::Acked;
pub(crate) use behind::COPY_DELAY;
use behind::Recovery;
use gaps::{Gap, Gaps};

/// Class of a segment in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Takes no sequence numbers, or, as the first SYN-ACK of a simultaneous open, only that of its SYN.
    Empty,
    /// Continues the stream, or leaves a gap.
    New,
    /// Starts below the highest sequence number captured so far.
    Behind(Behind),
    /// Duplicate of a packet captured just before, made by the capture or the path.
    Copy,
    /// Keep-alive: probes whether the other end is still there (RFC 9293, section 3.8.4).
    KeepAlive,
    /// Probes whether the other end's window is still closed (RFC 9293, section 3.8.6.1).
    WindowProbe,
}

/// A segment that starts below the highest sequence number captured so far.
/// [`Behind::is_reordered`] decides between a reordered segment and a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Order of sending, relative to the segments captured before it.
    pub sent: SendOrder,
    /// Source of the order.
    pub known_by: OrderEvidence,
    /// Cause, if it is a retransmission.
    pub cause: RetransmissionCause,
    /// True if the other end had already acknowledged all of it.
    pub is_acknowledged: bool,
}

impl Behind {
    /// True if it was reordered on the path; false if it is a retransmission.
    ///
    /// A host sends in order, so at the sender's own interface (`at_sender`) only the sender's counters
    /// prove that it was sent earlier, not the time.
    pub fn is_reordered(&self, at_sender: bool) -> bool {
        let is_counted = matches!(
            self.known_by,
            OrderEvidence::IpId | OrderEvidence::Timestamp
        );
        self.sent == SendOrder::Earlier && (is_counted || !at_sender)
    }
}

/// Classifies the segments of one direction, from the segments of both directions.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    copies: FirstCopies,
    sent: Option<Sent>,
    acked: Option<Acked>,
    identity: Identity,
    beginning: Beginning,
    /// `None` for most streams: they have no gaps.
    disorder: Option<Box<Disorder>>,
}

/// Progress of the direction's data.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// One past the highest sequence number captured.
    nxt: StreamOffset,
    /// The latest segment in sending order, and the one before it.
    latest: Transmission,
    before: Transmission,
    /// Time of the last transmission of the oldest outstanding segment, if `una` has not advanced
    /// since.
    head_at: Timestamp,
}

/// Range and capture time of one segment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: StreamOffset,
    at: Timestamp,
    /// Number of sequence numbers that it takes.
    numbers: u32,
    /// True if it is a SYN without ACK.
    is_bare_syn: bool,
}

impl Transmission {
    #[inline]
    fn of(segment: &Segment) -> Self {
        Self {
            start: segment.start,
            at: segment.seen.at,
            numbers: segment.numbers_taken(),
            is_bare_syn: segment.flags.syn() && segment.ack.is_none(),
        }
    }

    fn end(&self) -> StreamOffset {
        self.start.plus(self.numbers)
    }

    /// True if `segment` has the same range.
    fn has_range_of(&self, segment: &Segment) -> bool {
        self.start == segment.start && self.numbers == segment.numbers_taken()
    }
}

/// State of a stream with gaps or with segments that start below `nxt`.
#[derive(Clone, Debug, Default)]
struct Disorder {
    gaps: Gaps,
    /// Sequence number of a FIN that left a gap.
    fin: Option<StreamOffset>,
    recovery: Option<Recovery>,
    /// Bytes whose first captured transmission was not the sender's first: their originals may still
    /// arrive.
    repaired: FirstCopies,
    /// `una` at the last tail loss probe.
    probed_at_una: Option<StreamOffset>,
    /// One past a byte that probed a closed window. The stream continues before this byte unless
    /// the receiver accepts it.
    window_probe_end: Option<StreamOffset>,
}

impl Classifier {
    /// Classifies the direction's next segment; returns its class and the number of its payload
    /// bytes that were captured for the first time.
    ///
    /// `times` is called only for segments that start below `nxt`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for each segment, with little to do for most"
    )]
    pub fn segment(
        &mut self,
        segment: &Segment,
        times: impl FnOnce() -> PathTimes,
    ) -> (Class, u32) {
        if segment.flags.syn() && self.opens_anew() {
            self.sent = None;
        }
        if let Some(sent) = self.sent
            && segment.is_numbered()
            && segment.start < sent.nxt
        {
            // The byte of a keep-alive is none of the stream (RFC 9293, section 3.8.4), also at the
            // sequence number of the SYN.
            if let Some(probe) = self.as_probe(sent, segment) {
                return (probe, 0);
            }
            let fresh_bytes = self.take(segment);
            let class = self.behind(sent, segment, fresh_bytes, &times());
            return (class, fresh_bytes);
        }
        let fresh_bytes = self.take(segment);
        (self.in_sequence(self.sent, segment), fresh_bytes)
    }

    /// Records the payload of a segment, and returns the number of bytes that were captured for the first
    /// time.
    #[inline]
    fn take(&mut self, segment: &Segment) -> u32 {
        let start = segment.payload_start();
        let end = start.plus(segment.seen.payload_bytes);
        self.copies.take(start, end)
    }

    /// True if only pure ACKs were sent. Before a SYN they belong to an earlier connection, which one end has
    /// forgotten: the other end answers its SYN with them (RFC 9293, section 3.5.1, figure 9).
    #[cold]
    fn opens_anew(&self) -> bool {
        !self.copies.has_any() && !self.beginning.is_known()
    }

    /// Classifies a segment that does not start below `nxt`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for nearly each segment, from one place"
    )]
    fn in_sequence(&mut self, sent: Option<Sent>, segment: &Segment) -> Class {
        let ahead = sent.map_or(0, |sent| segment.start.since(sent.nxt));
        if !segment.is_numbered() {
            // The sequence number of a pure ACK before any data shows where the stream begins.
            if sent.is_none() {
                self.go_on(segment);
            }
            return self.empty(ahead, segment);
        }
        if sent.is_none() {
            self.beginning.send(segment);
        }
        let is_next = sent.is_some() && ahead == 0;
        if is_next && segment.seen.payload_bytes == 1 && self.is_window_closed() {
            return self.window_probe(segment);
        }
        if ahead > 0
            && let Some(sent) = sent
        {
            self.leave_gap(sent, segment);
        }
        self.go_on(segment);
        Class::New
    }

    /// One past the highest sequence number captured.
    #[inline]
    pub fn nxt(&self) -> Option<StreamOffset> {
        self.sent.map(|sent| sent.nxt)
    }

    /// The bytes that the capture missed: see [`Coverage`](crate::Coverage).
    pub fn missed(&self) -> Holes {
        let fin = self.disorder.as_deref().and_then(|disorder| disorder.fin);
        match (self.sent, self.una()) {
            // Without data and SYN, a pure ACK has set `nxt`, and data may have been sent before the
            // capture began. After a SYN alone, one acknowledged number may be that of a FIN.
            (Some(sent), Some(una))
                if self.copies.has_any()
                    || (self.beginning.is_known() && (fin.is_some() || una > sent.nxt.plus(1))) =>
            {
                missed(&self.copies, sent.nxt, fin, una, self.beginning)
            }
            _ => Holes::default(),
        }
    }

    fn una(&self) -> Option<StreamOffset> {
        self.acked.map(|acked| acked.una)
    }

    fn is_window_closed(&self) -> bool {
        self.acked.is_some_and(|acked| acked.is_window_closed)
    }

    /// Records a byte that probes a closed window. The receiver may drop it. The sender then
    /// transmits it again, alone or with the data after it; neither is a retransmission.
    #[cold]
    fn window_probe(&mut self, segment: &Segment) -> Class {
        self.disorder().window_probe_end = Some(segment.end());
        Class::WindowProbe
    }

    /// Records the gap before `segment`, unless an earlier window probe fills it.
    #[cold]
    fn leave_gap(&mut self, sent: Sent, segment: &Segment) {
        let una = self.una();
        self.beginning.leave_gap(segment);
        let disorder = self.disorder();
        disorder.fin = segment.fin().or(disorder.fin);
        if disorder.window_probe_end != Some(segment.start) {
            let gap = Gap {
                start: sent.nxt,
                end: segment.start,
                at: segment.seen.at,
                is_after_retransmission: sent.latest.end() < sent.nxt,
            };
            disorder.gaps.leave(gap, una);
        }
    }

    #[cold]
    fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    #[inline]
    fn go_on(&mut self, segment: &Segment) {
        let at = segment.seen.at;
        let is_outstanding = |sent: &Sent| self.acked.is_some_and(|acked| acked.una < sent.nxt);
        // With nothing known to be outstanding, the segment counts as the head and starts the timer
        // (RFC 6298, section 5.1).
        let head_at = self
            .sent
            .filter(is_outstanding)
            .map_or(at, |sent| sent.head_at);
        let latest = Transmission::of(segment);
        self.sent = Some(Sent {
            nxt: segment.end(),
            latest,
            before: self.sent.map_or(latest, |sent| sent.latest),
            head_at,
        });
        if segment.is_numbered() {
            self.identity.in_order(segment);
        }
    }

    fn empty(&self, ahead: i64, segment: &Segment) -> Class {
        // Linux probes with the number before `snd_una` and without payload (`tcp_xmit_probe_skb`).
        let is_probe = ahead == -1 && segment.ack.is_some() && !segment.flags.rst();
        match (is_probe, self.is_window_closed()) {
            (false, _) => Class::Empty,
            (true, false) => Class::KeepAlive,
            (true, true) => Class::WindowProbe,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use insta::assert_snapshot;
    use tcpexp_testkit::script;
    use tcpexp_units::TimeDelta;
    use tcpexp_wire::{LinkType, Tunnels, decode};

    use super::*;
    use crate::{Arrival, Direction, FlowPacket, FlowTable};

    /// Formats the class of each numbered segment and each probe in a script; the round-trip time
    /// is 40 ms.
    fn classes(text: &str) -> String {
        let mut table = FlowTable::default();
        let mut classifiers = [(); 2].map(|()| Classifier::default());
        let mut lines = String::new();
        for (at, frame) in script::packets(text) {
            let wire_bytes = u32::try_from(frame.len()).unwrap();
            let packet = decode(LinkType::ETHERNET, &frame, wire_bytes, Tunnels::Closed).unwrap();
            let mut arrival = Arrival::new(0, at, wire_bytes, &packet);
            table.place(&mut arrival);
            let &FlowPacket::Tcp(segment) = arrival.packet() else {
                continue;
            };
            let direction = segment.seen.direction;
            let is_duplicate = classifiers[direction.opposite().index()].acknowledge(&segment);
            let classifier = &mut classifiers[direction.index()];
            let (class, _) = classifier.segment(&segment, || PathTimes {
                shortest_rtt: Some(TimeDelta::from_millis(40)),
                srtt: Some(TimeDelta::from_millis(40)),
                rto: TimeDelta::from_millis(240),
                ..PathTimes::default()
            });
            let way = if direction == Direction::Forward {
                '>'
            } else {
                '<'
            };
            let what = match class {
                Class::Empty if is_duplicate => "duplicate ACK".to_owned(),
                Class::Empty => continue,
                Class::Behind(behind) => {
                    let spurious = if behind.is_acknowledged {
                        " spurious"
                    } else {
                        ""
                    };
                    let Behind {
                        sent,
                        known_by,
                        cause,
                        ..
                    } = behind;
                    format!("sent {sent:?} by {known_by:?}, {cause:?}{spurious}")
                }
                other => format!("{other:?}"),
            };
            writeln!(lines, "{:.3} {way} {what}", at.as_nanos() as f64 / 1e9).unwrap();
        }
        lines
    }

    #[test]
    fn third_duplicate_ack_triggers_a_fast_retransmission() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.001 > 1001:2001(1000)
            0.002 > 2001:3001(1000)
            0.003 > 3001:4001(1000)
            0.040 < ack 1
            0.041 < ack 1
            0.042 < ack 1
            0.043 < ack 1
            0.043 > 1:1001(1000)
        "), @r"
        0.000 > New
        0.001 > New
        0.002 > New
        0.003 > New
        0.041 < duplicate ACK
        0.042 < duplicate ACK
        0.043 < duplicate ACK
        0.043 > sent Later by Bytes, FastRetransmit
        ");
    }

    #[test]
    fn timeout_starts_a_recovery_and_classifies_its_retransmissions() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.001 > 1001:2001(1000)
            0.002 > 2001:3001(1000)
            0.240 > 1:1001(1000)
            0.280 < ack 1001
            0.280 > 1001:2001(1000)
            0.320 < ack 3001
            0.321 > 3001:4001(1000)
        "), @r"
        0.000 > New
        0.001 > New
        0.002 > New
        0.240 > sent Later by Bytes, Timeout
        0.280 > sent Later by Bytes, AfterTimeout
        0.321 > New
        ");
    }

    #[test]
    fn timer_shorter_than_the_replayed_one_is_a_timeout_if_no_ack_shows_a_loss() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.040 < ack 1001
            0.041 > 1001:2001(1000)
            0.042 > 2001:3001(1000)
            0.190 > 1001:2001(1000)
            0.230 < ack 2001
            0.230 > 2001:3001(1000)
        "), @r"
        0.000 > New
        0.041 > New
        0.042 > New
        0.190 > sent Later by Bytes, Timeout
        0.230 > sent Later by Bytes, AfterTimeout
        ");
    }

    #[test]
    fn shorter_segments_within_a_round_trip_follow_from_a_smaller_path_mtu() {
        assert_snapshot!(classes("
            0.000 > 1:1461(1460)
            0.040 < ack 1461
            0.041 > 1461:2921(1460)
            0.041 > 2921:4381(1460)
            0.051 > 1461:2621(1160)
            0.051 > 2621:2921(300)
            0.051 > 2921:4081(1160)
        "), @r"
        0.000 > New
        0.041 > New
        0.041 > New
        0.051 > sent Later by Bytes, PathMtu
        0.051 > sent Later by Bytes, PathMtu
        0.051 > sent Later by Bytes, PathMtu
        ");
    }

    #[test]
    fn tail_sent_again_before_the_lost_head_is_a_probe() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.000 < ack 1
            0.000 > 1001:2001(1000)
            0.000 > 2001:3001(1000)
            0.000 > 3001:4001(1000)
            0.040 < ack 1 sack 4000:4001   // a part of the tail
            0.080 > 3001:4001(1000)
        "), @r"
        0.000 > New
        0.000 > New
        0.000 > New
        0.000 > New
        0.040 < duplicate ACK
        0.080 > sent Later by Bytes, TailLossProbe
        ");
    }

    #[test]
    fn lone_tail_is_probed_before_the_timeout() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.001 > 1001:2001(1000)
            0.040 < ack 1001
            0.120 > 1001:2001(1000)
            0.500 > 1001:2001(1000)
        "), @r"
        0.000 > New
        0.001 > New
        0.120 > sent Later by Bytes, TailLossProbe
        0.500 > sent Later by Bytes, Timeout
        ");
    }

    #[test]
    fn ip_ids_distinguish_reordering_from_retransmission() {
        // The receiver's view: 1001 was overtaken, 3001 was lost and retransmitted.
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 1 ts 10 1
            0.001 > 2001:3001(1000) id 3 ts 10 1
            0.002 > 1001:2001(1000) id 2 ts 10 1
            0.003 > 4001:5001(1000) id 5 ts 11 1
            0.060 > 3001:4001(1000) id 6 ts 15 1
        "), @r"
        0.000 > New
        0.001 > New
        0.002 > sent Earlier by IpId, ReorderingTimer
        0.003 > New
        0.060 > sent Later by IpId, FastRetransmit
        ");
    }

    #[test]
    fn timestamps_decide_without_ip_ids() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0 ts 10 1
            0.001 > 2001:3001(1000) id 0 ts 12 1
            0.002 > 1001:2001(1000) id 0 ts 11 1
            0.003 > 4001:5001(1000) id 0 ts 13 1
            0.060 > 3001:4001(1000) id 0 ts 70 1
        "), @r"
        0.000 > New
        0.001 > New
        0.002 > sent Earlier by Timestamp, ReorderingTimer
        0.003 > New
        0.060 > sent Later by Timestamp, FastRetransmit
        ");
    }

    #[test]
    fn time_decides_without_ip_ids_and_timestamps() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0
            0.001 > 2001:3001(1000) id 0
            0.002 > 1001:2001(1000) id 0
            0.003 > 4001:5001(1000) id 0
            0.060 > 3001:4001(1000) id 0
        "), @r"
        0.000 > New
        0.001 > New
        0.002 > sent Earlier by Time, ReorderingTimer
        0.003 > New
        0.060 > sent Later by Time, FastRetransmit
        ");
    }

    #[test]
    fn time_counts_from_the_gap_that_a_segment_fills() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0
            0.001 > 2001:3001(1000) id 0
            0.040 > 4001:5001(1000) id 0
            0.042 > 1001:2001(1000) id 0
            0.043 > 3001:4001(1000) id 0
        "), @r"
        0.000 > New
        0.001 > New
        0.040 > New
        0.042 > sent Later by Time, ReorderingTimer
        0.043 > sent Earlier by Time, FastRetransmit
        ");
    }

    #[test]
    fn time_is_no_evidence_between_half_a_round_trip_and_a_whole_one() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0
            0.001 > 2001:3001(1000) id 0
            0.001 > 4001:5001(1000) id 0
            0.002 > 6001:7001(1000) id 0
            0.020 > 1001:2001(1000) id 0
            0.022 > 3001:4001(1000) id 0
            0.042 > 5001:6001(1000) id 0
        "), @r"
        0.000 > New
        0.001 > New
        0.001 > New
        0.002 > New
        0.020 > sent Earlier by Time, ReorderingTimer
        0.022 > sent Unknown by Nothing, FastRetransmit
        0.042 > sent Later by Time, FastRetransmit
        ");
    }

    #[test]
    fn time_is_no_evidence_if_the_ack_of_a_retransmission_may_report_the_gap() {
        // 3001 was lost, and sent before the retransmission of 1001.
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0
            0.001 > 2001:3001(1000) id 0
            0.001 < ack 1001 sack 2001:3001
            0.041 > 1001:2001(1000) id 0
            0.041 < ack 3001
            0.070 > 4001:5001(1000) id 0
            0.070 < ack 3001 sack 4001:5001
            0.081 > 3001:4001(1000) id 0
        "), @r"
        0.000 > New
        0.001 > New
        0.041 > sent Later by Time, ReorderingTimer
        0.070 > New
        0.070 < duplicate ACK
        0.081 > sent Unknown by Nothing, ReorderingTimer
        ");
    }

    #[test]
    fn time_is_no_evidence_after_three_acks_that_report_the_gap() {
        // The round-trip time may be wrong: that of the handshake may be longer than others.
        let after = |acks: usize, ack: &str| {
            let acks = format!("0.002 < {ack}\n").repeat(acks);
            classes(&format!(
                "
                0.000 > 1:1001(1000) id 0
                0.001 > 2001:3001(1000) id 0
                {acks}
                0.016 > 1001:2001(1000) id 0
            "
            ))
        };
        assert_snapshot!(after(3, "ack 1001"), @r"
        0.000 > New
        0.001 > New
        0.002 < duplicate ACK
        0.002 < duplicate ACK
        0.016 > sent Earlier by Time, ReorderingTimer
        ");
        assert_snapshot!(after(4, "ack 1001"), @r"
        0.000 > New
        0.001 > New
        0.002 < duplicate ACK
        0.002 < duplicate ACK
        0.002 < duplicate ACK
        0.016 > sent Unknown by Nothing, ReorderingTimer
        ");
    }

    #[test]
    fn captured_bytes_repeated_with_new_ones_are_retransmitted() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0
            0.001 > 2001:3001(1000) id 0
            0.002 > 2001:4001(2000) id 0
        "), @r"
        0.000 > New
        0.001 > New
        0.002 > sent Later by Bytes, ReorderingTimer
        ");
    }

    #[test]
    fn original_that_arrives_after_its_retransmission_is_reordered() {
        let late = |fields: [&str; 5]| {
            let [first, third, fourth, again, second] = fields;
            classes(&format!(
                "
                0.000 > 1:1001(1000) {first}
                0.001 > 2001:3001(1000) {third}
                0.002 > 3001:4001(1000) {fourth}
                0.060 > 1001:2001(1000) {again}
                0.090 > 1001:2001(1000) {second}
            "
            ))
        };
        let by_ip_id = late(["id 1", "id 3", "id 4", "id 5", "id 2"]);
        assert_snapshot!(by_ip_id, @r"
        0.000 > New
        0.001 > New
        0.002 > New
        0.060 > sent Later by IpId, ReorderingTimer
        0.090 > sent Earlier by IpId, FastRetransmit
        ");
        let by_timestamp = late([
            "v6 ts 10 1",
            "v6 ts 12 1",
            "v6 ts 13 1",
            "v6 ts 70 1",
            "v6 ts 11 1",
        ]);
        assert_snapshot!(by_timestamp, @r"
        0.000 > New
        0.001 > New
        0.002 > New
        0.060 > sent Later by Timestamp, ReorderingTimer
        0.090 > sent Earlier by Timestamp, FastRetransmit
        ");
    }

    #[test]
    fn packet_captured_twice_is_not_a_retransmission() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 7
            0.001 > 1001:2001(1000) id 8
            0.001 > 1001:2001(1000) id 8
            0.002 > 2001:3001(1000) id 9
            0.090 > 1001:2001(1000) id 8
        "), @r"
        0.000 > New
        0.001 > New
        0.001 > Copy
        0.002 > New
        0.090 > Copy
        ");
    }

    #[test]
    fn duplicate_without_an_identification_is_not_a_retransmission() {
        let stamped = "
            0.0000 > . 1 ack 1 v6
            0.0000 < . 1 ack 1 v6
            0.0000 > 1:1001(1000) v6 ts 10 1
            0.0000 > 1:1001(1000) v6 ts 10 1
            0.0010 > 1001:2001(1000) v6 ts 11 1
            0.0011 > 2001:3001(1000) v6 ts 11 1
            0.0012 > 1001:2001(1000) v6 ts 11 1   // after one more packet
            0.0022 > 3001:4001(1000) v6 ts 12 1
            0.0042 > 1:1001(1000) v6 ts 10 1      // after several
            0.0400 < ack 4001 v6
            0.0500 > 4001:5001(1000) v6 ts 60 41
            0.2500 > 4001:5001(1000) v6 ts 260 41
        ";
        assert_snapshot!(classes(stamped), @r"
        0.000 > New
        0.000 > Copy
        0.001 > New
        0.001 > New
        0.001 > Copy
        0.002 > New
        0.004 > Copy
        0.050 > New
        0.250 > sent Later by Bytes, TailLossProbe
        ");
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 0
            0.001 > 1:1001(1000) id 0
            0.002 > 1001:2001(1000) id 0
            0.005 > 1001:2001(1000) id 0
        "), @r"
        0.000 > New
        0.001 > Copy
        0.002 > New
        0.005 > sent Later by Bytes, ReorderingTimer
        ");
    }

    #[test]
    fn smaller_segment_after_a_smaller_path_mtu_is_a_retransmission() {
        assert_snapshot!(classes("
            0.0000 > 1:1441(1440) v6 ts 10 1
            0.0003 > 1:1221(1220) v6 ts 10 1
            0.0004 > 1221:1441(220) v6 ts 10 1
        "), @r"
        0.000 > New
        0.000 > sent Later by Bytes, ReorderingTimer
        0.000 > sent Later by Bytes, FastRetransmit
        ");
    }

    #[test]
    fn packets_of_a_capture_that_has_each_twice_count_once() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) id 7 ts 10 1
            0.000 > 1:1001(1000) id 7 ts 10 1
            0.001 > 1001:2001(1000) id 8 ts 11 1
            0.001 > 1001:2001(1000) id 8 ts 11 1
            0.040 < ack 1 id 20 ts 50 1
            0.040 < ack 1 id 20 ts 50 1
            0.041 < ack 1 id 21 ts 51 1
            0.041 < ack 1 id 21 ts 51 1
            0.300 > 1:1001(1000) id 9 ts 310 1
            0.300 > 1:1001(1000) id 9 ts 310 1
            0.301 > 1001:2001(1000) id 10 ts 311 1
        "), @r"
        0.000 > New
        0.000 > Copy
        0.001 > New
        0.001 > Copy
        0.041 < duplicate ACK
        0.300 > sent Later by Bytes, Timeout
        0.300 > Copy
        0.301 > sent Later by Bytes, AfterTimeout
        ");
    }

    #[test]
    fn packets_of_a_router_count_once_if_its_queue_separates_their_records() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000) ttl 63 v6
            0.001 > 1001:2001(1000) ttl 63 v6
            0.005 > 1:1001(1000) ttl 62 v6
            0.006 > 1001:2001(1000) ttl 62 v6
            0.040 < ack 1 ttl 61 v6
            0.041 < ack 1 ttl 60 v6
            0.050 < ack 1 ttl 61 v6
            0.051 < ack 1 ttl 60 v6
            0.300 > 1:1001(1000) ttl 63 v6
            0.310 > 1:1001(1000) ttl 62 v6
        "), @r"
        0.000 > New
        0.001 > New
        0.005 > Copy
        0.006 > Copy
        0.050 < duplicate ACK
        0.300 > sent Later by Bytes, Timeout
        0.310 > Copy
        ");
    }

    #[test]
    fn retransmission_of_acknowledged_bytes_is_spurious() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.001 > 1001:2001(1000)
            0.040 < ack 2001
            0.300 > 1:1001(1000)
        "), @r"
        0.000 > New
        0.001 > New
        0.300 > sent Later by Bytes, Timeout spurious
        ");
    }

    #[test]
    fn probes_are_not_retransmissions() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.040 < ack 1001 win 0
            0.300 > 1000:1001(1)
            0.600 > 1001:1002(1)
            0.900 < ack 1002 win 500
            9.000 > . 1001
            9.040 < ack 1002 win 500
        "), @r"
        0.000 > New
        0.300 > WindowProbe
        0.600 > WindowProbe
        9.000 > KeepAlive
        ");
    }

    #[test]
    fn repeated_zero_window_probe_is_never_a_retransmission() {
        assert_snapshot!(classes("
            0.000 > 1:1001(1000)
            0.040 < ack 1001 win 0
            0.300 > 1001:1002(1)
            0.340 < ack 1001 win 0
            0.900 > 1001:1002(1)
            0.940 < ack 1001 win 0
            2.100 > 1001:1002(1)
            2.140 < ack 1001 win 5000
            2.141 > 1001:2001(1000)
            2.181 < ack 2001 win 0
            2.500 > 2001:2002(1)
            2.540 < ack 2002 win 0
            3.000 > 2002:2003(1)
            3.040 < ack 2003 win 5000
            3.041 > 2003:3003(1000)
        "), @r"
        0.000 > New
        0.300 > WindowProbe
        0.900 > WindowProbe
        2.100 > WindowProbe
        2.141 > New
        2.500 > WindowProbe
        3.000 > WindowProbe
        3.041 > New
        ");
    }

    #[test]
    fn repeated_unacknowledged_last_byte_is_a_retransmission() {
        assert_snapshot!(classes("
            0.000 > 1:2(1)
            0.300 > 1:2(1)
            0.340 < ack 2
            0.600 > P. 1:2(1) ack 1
        "), @r"
        0.000 > New
        0.300 > sent Later by Bytes, TailLossProbe
        0.600 > sent Later by Bytes, TailLossProbe spurious
        ");
    }

    #[test]
    fn syn_acks_of_a_simultaneous_open_are_not_retransmissions() {
        assert_snapshot!(classes("
            0.000 > S 0
            0.010 < S 0
            0.010 > S. 0 ack 1
            0.020 < S. 0 ack 1
            0.021 > 1:1001(1000) ack 1
            1.020 < S. 0 ack 1
        "), @r"
        0.000 > New
        0.010 < New
        0.021 > New
        1.020 < sent Later by Bytes, Timeout spurious
        ");
    }

    #[test]
    fn half_open_recovery_is_no_disorder() {
        let after = |earlier: &str| {
            classes(&format!(
                "
                0.000 > S 5000
                0.020 < . {earlier}
                0.020 > R 101
                1.000 > S 5000
                1.020 < S. 59000 ack 5001
                1.020 > . 5001 ack 59001
                1.030 > 5001:5201(200) ack 59001
                1.050 < 59001:60001(1000) ack 5201
            "
            ))
        };
        let expected = after("9101 ack 101");
        assert_snapshot!(expected, @r"
        0.000 > New
        1.000 > sent Later by Bytes, Timeout
        1.020 < New
        1.030 > New
        1.050 < New
        ");
        assert_eq!(after("70000 ack 101"), expected);
        assert_eq!(after("9101 ack 90101"), expected);
    }

    #[test]
    fn keep_alive_at_the_number_of_the_syn_brings_no_byte() {
        let mut classifier = Classifier::default();
        let mut table = FlowTable::default();
        let mut fresh = Vec::new();
        let text = "
            0.000 > S 0
            0.040 < S. 0 ack 1
            0.040 > . 1 ack 1
            9.000 > 0:1(1) ack 1
            9.500 > 1:101(100) ack 1
        ";
        for (at, frame) in script::packets(text) {
            let packet = decode(LinkType::ETHERNET, &frame, 0, Tunnels::Closed).unwrap();
            let mut arrival = Arrival::new(0, at, 0, &packet);
            table.place(&mut arrival);
            if let FlowPacket::Tcp(segment) = arrival.packet()
                && segment.seen.direction == Direction::Forward
            {
                fresh.push(classifier.segment(segment, PathTimes::default));
            }
        }
        assert_eq!(fresh[2..], [(Class::KeepAlive, 0), (Class::New, 100)]);
    }

    #[test]
    fn handshake_is_retransmitted_by_timeout() {
        assert_snapshot!(classes("
            0.000 > S 0
            1.000 > S 0
            1.040 < S. 0 ack 1
        "), @r"
        0.000 > New
        1.000 > sent Later by Bytes, Timeout
        1.040 < New
        ");
    }
}
