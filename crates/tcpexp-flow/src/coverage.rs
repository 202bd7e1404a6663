//! Detection of data that a capture missed.

use crate::acceptance::Acceptance;
use crate::holes::Hole;
use crate::{DoubtedAck, FirstCopies, Holes, MAX_WINDOW_BYTES, Segment, StreamOffset};

/// The data of one direction that was captured, and the data that the other end acknowledged.
///
/// A receiver acknowledges only data that it has (RFC 9293, section 3.4). The capture missed the bytes
/// that were acknowledged and never captured, unless they were sent before the capture began.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    copies: FirstCopies,
    una: Option<StreamOffset>,
    doubted: Option<DoubtedAck>,
    /// One past the highest sequence number captured.
    nxt: Option<StreamOffset>,
    /// Sequence number of a FIN that left a gap.
    fin: Option<StreamOffset>,
    beginning: Beginning,
    acceptance: Acceptance,
}

impl Coverage {
    /// Adds a segment of this direction; returns the number of its payload bytes that were captured
    /// for the first time. The number includes the bytes of an earlier segment that seemed to be outside the
    /// receive window, if this segment shows that it was not.
    #[inline]
    pub fn send(&mut self, segment: &Segment) -> u32 {
        match self.nxt {
            Some(nxt) if segment.start > nxt && segment.is_numbered() => {
                self.send_ahead(nxt, segment)
            }
            _ => self.take(segment),
        }
    }

    /// Adds a segment that starts above `nxt`.
    #[cold]
    fn send_ahead(&mut self, nxt: StreamOffset, segment: &Segment) -> u32 {
        let confirmed = self.acceptance.take_confirmed(segment, nxt, self.una);
        let confirmed_bytes = confirmed.map_or(0, |aside| self.take(&aside));
        let nxt = self.nxt.unwrap_or(nxt);
        if self.acceptance.puts_aside(segment, nxt, self.una) {
            return confirmed_bytes;
        }
        confirmed_bytes + self.take(segment)
    }

    /// Adds a segment that is not above the receive window.
    #[inline]
    fn take(&mut self, segment: &Segment) -> u32 {
        let start = segment.payload_start();
        // A pure ACK before any data need not be where the stream begins.
        if segment.is_numbered() {
            match self.nxt {
                None => self.beginning.send(segment),
                Some(nxt) if segment.start != nxt => self.take_elsewhere(nxt, segment),
                Some(_) => {}
            }
            self.nxt = self.nxt.max(Some(segment.end()));
        }
        // A keep-alive of an end that has sent no data (RFC 9293, section 3.8.4), or a segment of an earlier
        // connection.
        if (self.beginning.is_syn(start) && !self.copies.has_any())
            || self.beginning.is_after(start)
        {
            return 0;
        }
        self.copies
            .take(start, start.plus(segment.seen.payload_bytes))
    }

    #[cold]
    fn take_elsewhere(&mut self, nxt: StreamOffset, segment: &Segment) {
        self.beginning.leave_gap(segment);
        if segment.start > nxt
            && let Some(fin) = segment.fin()
        {
            self.fin = Some(fin);
        }
    }

    /// Processes a segment of the other end: a SYN advertises a window although it acknowledges nothing.
    #[inline]
    pub fn acknowledge(&mut self, segment: &Segment) {
        self.acceptance.advertise(segment);
        if let Some(ack) = segment.ack {
            self.beginning.acknowledge(ack, segment, &self.copies);
            if Some(ack) > self.una {
                if self.nxt.is_some_and(|nxt| ack > nxt) {
                    self.doubt(ack);
                }
                self.una = Some(ack);
            } else if Some(ack) < self.una && self.refutes(ack) {
                self.doubted = None;
                self.una = Some(ack);
            }
        }
    }

    /// Records an ACK of data that was not captured.
    #[cold]
    fn doubt(&mut self, ack: StreamOffset) {
        let nxt = self.nxt.unwrap_or(ack);
        self.doubted = Some(DoubtedAck::raised(self.doubted, ack, nxt));
    }

    /// True if `ack` shows that `una` is of data never sent.
    #[cold]
    fn refutes(&self, ack: StreamOffset) -> bool {
        let doubted = self.doubted.filter(|doubted| Some(doubted.ack) == self.una);
        doubted.zip(self.nxt).is_some_and(|(doubted, nxt)| {
            doubted.is_refuted_by(ack, nxt, |from, to| self.copies.has(from, to))
        })
    }

    /// True if the segment, the latest of this direction, is outside the receive window, as far as known.
    pub fn is_outside(&self, segment: &Segment) -> bool {
        self.acceptance.has_aside(segment) || self.beginning.is_after(segment.start)
    }

    /// The bytes that the capture missed.
    pub fn missed(&self) -> Holes {
        let confirmed = |nxt| self.acceptance.acknowledged(nxt, self.una);
        if let Some(aside) = self.nxt.and_then(confirmed) {
            let mut whole = self.clone();
            whole.acceptance = Acceptance::default();
            whole.take(aside);
            return whole.missed();
        }
        match (self.nxt, self.una) {
            (Some(nxt), Some(una)) => missed(&self.copies, nxt, self.fin, una, self.beginning),
            _ => Holes::default(),
        }
    }
}

/// The bytes below `una` that were never captured. `nxt` is one past the highest sequence number
/// captured, and `fin` the sequence number of a FIN that left a gap.
pub(crate) fn missed(
    copies: &FirstCopies,
    nxt: StreamOffset,
    fin: Option<StreamOffset>,
    una: StreamOffset,
    beginning: Beginning,
) -> Holes {
    // An ACK further ahead of the data is not of the connection, and its sender ignores it (RFC 9293,
    // section 3.10.7.4).
    if una.since(nxt) > MAX_WINDOW_BYTES {
        return Holes::default();
    }
    // Without a SYN, captured data precedes the beginning, and `holes_below` ignores it.
    let first_byte = beginning.from.map(|from| from.plus(1));
    let mut holes = copies.holes_below(una, first_byte);
    if let (Some(end), Some(fin)) = (copies.end().or(first_byte), fin)
        && end < fin.min(una)
    {
        holes.certain.push((end, fin.min(una)));
    }
    // The sequence number of a FIN is not payload, so `nxt` counts, and not the highest range.
    if nxt < una {
        holes.certain.push((nxt, una));
    }
    let may_be_before = |hole: &Hole| beginning.from.is_none_or(|from| hole.0 < from);
    let certain = holes.certain.partition_point(may_be_before);
    let certain = holes.certain.split_off(certain);
    holes.possible = std::mem::replace(&mut holes.certain, certain);
    holes
}

/// Offset from which all data was sent after the capture of the flow began.
///
/// A capture without the SYN may begin within a recovery: then its first data is a retransmission, and
/// the data above it was sent before. A receiver that has data above a gap reports it in SACK blocks
/// (RFC 2018, section 4). So an ACK of captured data without blocks shows that all data above it
/// arrived later, and was sent after the captured data, unless packets overtake each other.
///
/// A receiver without SACK reports nothing, and a capture may cut the blocks off. Then the captured data
/// can be a retransmission only if at least [`RUN_BYTES`] in a row were lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beginning {
    from: Option<StreamOffset>,
    /// True if the offset is that of a SYN.
    is_syn: bool,
}

/// Number of captured bytes in a row before an ACK: with segments of 1448 bytes, 45 of them. The longest
/// run of lost data in 19 captures with full queues and random losses has 17 packets.
const RUN_BYTES: i64 = 65_536;

impl Beginning {
    /// Adds the first segment of the stream that takes a sequence number.
    pub(crate) fn send(&mut self, segment: &Segment) {
        self.from = segment.flags.syn().then_some(segment.start);
        self.is_syn = segment.flags.syn();
    }

    /// Adds a segment that does not continue the stream. The second SYN-ACK of a server that sends cookies has another
    /// initial sequence number (RFC 4987, section 3.6).
    pub(crate) fn leave_gap(&mut self, segment: &Segment) {
        if segment.flags.syn() {
            self.send(segment);
        }
    }

    /// True if the stream's SYN was captured and has this sequence number, the only one below the first
    /// byte.
    pub(crate) fn is_syn(self, start: StreamOffset) -> bool {
        self.from == Some(start)
    }

    /// True if a segment that starts here precedes the stream's SYN: it is of an earlier connection.
    pub(crate) fn is_after(self, start: StreamOffset) -> bool {
        self.is_syn && Some(start) < self.from
    }

    /// True if the capture of the stream is known to begin at some byte.
    pub(crate) fn is_known(self) -> bool {
        self.from.is_some()
    }

    /// Adds an acknowledgment number from the other end, and its segment.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        ack: StreamOffset,
        segment: &Segment,
        copies: &FirstCopies,
    ) {
        if self.from.is_none()
            && segment.sack_block_count() == 0
            && copies.has_run_before(ack, RUN_BYTES)
        {
            self.from = Some(ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::script;
    use tcpexp_wire::{LinkType, Tunnels, decode};

    use super::*;
    use crate::cause::PathTimes;
    use crate::{Arrival, Classifier, Direction, FlowPacket, FlowTable};

    /// Number of bytes in this direction that the capture of a script missed.
    fn missed_in(direction: Direction, text: &str) -> u64 {
        let mut table = FlowTable::default();
        let mut coverage = Coverage::default();
        let mut classifier = Classifier::default();
        for (at, frame) in script::packets(text) {
            let packet = decode(LinkType::ETHERNET, &frame, 0, Tunnels::Closed).unwrap();
            let mut arrival = Arrival::new(0, at, 0, &packet);
            table.place(&mut arrival);
            let &FlowPacket::Tcp(segment) = arrival.packet() else {
                continue;
            };
            if segment.seen.direction == direction {
                coverage.send(&segment);
                classifier.segment(&segment, PathTimes::default);
            } else {
                coverage.acknowledge(&segment);
                classifier.acknowledge(&segment);
            }
        }
        assert_eq!(coverage.missed(), classifier.missed());
        coverage.missed().bytes()
    }

    fn missed(text: &str) -> u64 {
        missed_in(Direction::Forward, text)
    }

    /// As for [`missed`], after a handshake and before an ACK of this number.
    fn missed_of(data: &str, ack: u32) -> u64 {
        missed(&format!(
            "
            0.00 > S 0
            0.04 < S. 0 ack 1
            0.04 > . 1 ack 1
            {data}
            0.90 < . 1 ack {ack}
        "
        ))
    }

    #[test]
    fn data_between_the_syn_and_the_first_captured_data_is_missed() {
        assert_eq!(missed_of("0.1 > 1001:3001(2000) ack 1", 3001), 1000);
        let reordered = "0.1 > 1001:3001(2000) ack 1\n0.2 > 501:601(100) ack 1";
        assert_eq!(missed_of(reordered, 3001), 900);
        // Only acknowledged data was certainly sent.
        assert_eq!(missed_of("0.1 > 1001:3001(2000) ack 1", 401), 400);
        assert_eq!(missed("0.1 > 1001:3001(2000)\n0.2 < . 1 ack 3001"), 0);
    }

    #[test]
    fn data_between_the_last_captured_data_and_the_fin_is_missed() {
        assert_eq!(missed_of("0.1 > 1:1001(1000)\n0.2 > F 3001", 3002), 2000);
        assert_eq!(missed_of("0.1 > 1:1001(1000)\n0.2 > F 3001", 2001), 1000);
        assert_eq!(missed_of("0.2 > F 3001", 3002), 3000);
        let in_order = "0.1 > 1:1001(1000)\n0.2 > F 1001";
        assert_eq!(missed_of(in_order, 1002), 0);
        let late = "0.1 > 1:1001(1000)\n0.2 > F 2001\n0.3 > 1001:2001(1000)";
        assert_eq!(missed_of(late, 2002), 0);
        let with_data = "0.1 > 1:1001(1000)\n0.2 > F 2001:3001(1000)";
        assert_eq!(missed_of(with_data, 3002), 1000);
    }

    #[test]
    fn data_of_a_syn_that_is_sent_again_is_not_missed() {
        assert_eq!(
            missed(
                "
                0.00 > S 0:500(500)
                0.04 < S. 0 ack 1
                0.05 > 1:501(500) ack 1
                0.06 > F 501 ack 1
                0.10 < . 1 ack 502
            "
            ),
            0
        );
    }

    #[test]
    fn probe_before_any_data_hides_no_missed_data() {
        let probe = "0.1 > 0:1(1) ack 1\n0.2 > 1001:2001(1000) ack 1";
        assert_eq!(missed_of(probe, 2001), 1000);
    }

    #[test]
    fn second_syn_ack_with_another_sequence_number_misses_nothing() {
        let cookies = "
            0.000 > S 100
            0.001 < S. 200 ack 101
            1.000 > S 100
            1.001 < S. 7777 ack 101
            1.010 > . 101 ack 7778
            1.020 < 7778:7788(10) ack 101
            1.030 > . 101 ack 7788
        ";
        assert_eq!(missed_in(Direction::Reverse, cookies), 0);
    }

    #[test]
    fn segment_outside_the_window_hides_no_missed_data() {
        let windowed = |data: &str| {
            missed(&format!(
                "
                0.00 > S 0 wscale 0
                0.04 < S. 0 ack 1 win 8000 wscale 0
                0.10 > 1:1001(1000) ack 1
                {data}
            "
            ))
        };
        let forged = "0.11 > 30001:31001(1000) ack 1\n";
        let gap = "0.12 > 2001:3001(1000) ack 1\n0.16 < . 1 ack 3001";
        assert_eq!(windowed(&format!("{forged}{gap}")), 1000);
        assert_eq!(windowed(&format!("{forged}0.2 < . 1 ack 31001")), 29_000);
        let continued = "0.12 > 31001:32001(1000) ack 1\n0.2 < . 1 ack 32001";
        assert_eq!(windowed(&format!("{forged}{continued}")), 29_000);
    }

    #[test]
    fn ack_of_data_never_sent_shows_no_missed_data() {
        let forged = "0.05 > 1:1001(1000)\n0.06 < . 1 ack 900001";
        let goes_on =
            |lines: &str| missed(&format!("0.00 > S 0\n0.04 < S. 0 ack 1\n{forged}\n{lines}"));
        assert_eq!(goes_on("0.07 > 1001:2001(1000)\n0.10 < . 1 ack 2001"), 0);
        assert_eq!(goes_on("0.07 > F 1001\n0.10 < . 1 ack 1002"), 0);
        assert_eq!(goes_on("0.07 > F 1001:1101(100)\n0.10 < . 1 ack 1102"), 0);
        let twice = "0.07 < . 1 ack 900001\n0.08 > 1001:2001(1000)\n0.08 < . 1 ack 950001\n0.10 < . 1 ack 2001";
        assert_eq!(goes_on(twice), 0);
    }

    #[test]
    fn second_ack_of_data_never_sent_is_withdrawn_as_the_first() {
        let gap = "
            0.00 > S 0
            0.04 < S. 0 ack 1
            0.05 > 1:1001(1000)
            0.06 < . 1 ack 900001
            0.07 > 1001:2001(1000)
            0.08 < . 1 ack 2001
            0.09 > 3001:4001(1000)
            0.10 < . 1 ack 950001
            0.11 > 4001:5001(1000)
            0.12 < . 1 ack 5001
        ";
        assert_eq!(missed(gap), 1000);
    }

    #[test]
    fn late_ack_does_not_make_missed_data_unsent() {
        let data = |ack: u32| {
            format!(
                "0.05 > 1:1001(1000)\n0.06 < . 1 ack 5001\n0.07 > 5001:6001(1000)\n0.08 < . 1 ack {ack}"
            )
        };
        for late in [501, 1001, 3001, 5001, 6001] {
            let missed = missed(&format!("0.00 > S 0\n0.04 < S. 0 ack 1\n{}", data(late)));
            assert_eq!(missed, 4000, "{late}");
        }
    }
}
