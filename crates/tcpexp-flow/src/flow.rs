//! State of a live flow.

use std::net::SocketAddr;

use tcpexp_units::Timestamp;
use tcpexp_wire::{Packet, SeqNum, Tcp, TcpFlags};

use crate::{AfterReset, Direction, End, FlowId, FlowKey, StreamOffset};

/// Upper bound on the sequence numbers that a SYN takes: its own and the data of one IP packet.
const MAX_SYN_BYTES: u32 = 1 << 16;

/// The fields of a segment's header that place it in the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) seq: SeqNum,
    pub(crate) ack: SeqNum,
    pub(crate) flags: TcpFlags,
    pub(crate) payload_bytes: u32,
    /// IPv4 Identification; 0 if it has none.
    pub(crate) ip_id: u16,
}

impl Numbers {
    #[inline]
    pub(crate) fn of(tcp: &Tcp<'_>, packet: &Packet<'_>) -> Self {
        Self {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            payload_bytes: packet.payload_bytes,
            ip_id: packet.ip_id.unwrap_or(0),
        }
    }
}

/// Evidence for the initiator of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InitiatorKnown {
    /// The initiator sent the SYN.
    Syn,
    /// The responder sent a SYN-ACK; the SYN itself was not captured.
    SynAck,
    /// The initiator sent the first captured packet, of a connection that was already open or of a
    /// protocol without a handshake. May be wrong.
    FirstPacket,
}

impl InitiatorKnown {
    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::FirstPacket => "first_packet",
        }
    }
}

/// One flow: a TCP connection, or the packets of another protocol between two endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Number of the flow in this capture.
    pub id: FlowId,
    /// Protocol and endpoints.
    pub key: FlowKey,
    /// End that opened the flow.
    pub initiator: End,
    /// Evidence for the initiator.
    pub initiator_known: InitiatorKnown,
    /// Capture time of the first packet.
    pub first_seen: Timestamp,
    /// Capture time of the latest packet.
    pub last_seen: Timestamp,
    /// The flow that carried this QUIC connection before, with other addresses or ports: its
    /// handshake has the connection ID of this flow's first packet. `None` if no flow matches, or if the
    /// ends exchanged the connection ID in encrypted packets.
    pub continues: Option<FlowId>,
    pub(crate) streams: [Stream; 2],
    /// The end that sent a RST, until the connection is seen to go on.
    pub(crate) reset: Option<(End, AfterReset)>,
    pub(crate) shed: bool,
    pub(crate) began_beside: bool,
}

/// One direction of a TCP connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    /// Sequence number of the SYN.
    pub(crate) isn: Option<SeqNum>,
    /// One past the highest sequence number captured; before any is captured, the latest
    /// acknowledgment by the other end.
    furthest: Option<StreamOffset>,
    captured: bool,
    finished: bool,
    /// True if the receiver must have dropped the latest FIN: other data has its sequence number.
    is_fin_dropped: bool,
    /// One past the sequence numbers captured before the latest FIN, and the number of the FIN. It is not of the
    /// connection if the stream continues before it, or with other data at its number.
    fin_ahead: Option<(StreamOffset, StreamOffset)>,
    /// IPv4 Identification of the latest SYN; 0 if it has none.
    syn_ip_id: u16,
    /// Most payload of a SYN with the latest initial sequence number (RFC 7413).
    syn_payload_bytes: u32,
}

impl Flow {
    /// Returns the address and port of the initiator.
    pub fn initiator(&self) -> SocketAddr {
        self.key.endpoint(self.initiator)
    }

    /// Returns the address and port of the responder.
    pub fn responder(&self) -> SocketAddr {
        self.key.endpoint(self.initiator.opposite())
    }

    /// Returns the direction of a packet from `sender`.
    pub fn direction(&self, sender: End) -> Direction {
        if sender == self.initiator {
            Direction::Forward
        } else {
            Direction::Reverse
        }
    }

    /// Returns the initial sequence number of `sender`, if its SYN was captured.
    pub fn isn(&self, sender: End) -> Option<SeqNum> {
        self.streams[sender as usize].isn
    }

    /// True if both ends sent a FIN, or either sent a RST that ended the connection.
    pub fn is_closed(&self) -> bool {
        self.reset.is_some() || self.streams.iter().all(|stream| stream.finished)
    }

    /// True if the receiver must have dropped the latest FIN of a direction: its sender has sent other data at the
    /// sequence number of the FIN (RFC 9293, section 3.10.7.4).
    pub fn is_fin_dropped(&self, direction: Direction) -> bool {
        let sender = match direction {
            Direction::Forward => self.initiator,
            Direction::Reverse => self.initiator.opposite(),
        };
        self.streams[sender as usize].is_fin_dropped
    }

    /// True if the flow began with a SYN while another flow between the same endpoints was open, or had been reset
    /// shortly before. An open flow goes on until the other end accepts the SYN, or the sender of the SYN continues
    /// after it; a reset flow takes segments that are still in flight.
    pub fn began_beside_another(&self) -> bool {
        self.began_beside
    }

    /// True if the flow ended early, because too many were alive: its later packets are in another
    /// flow.
    pub fn was_shed(&self) -> bool {
        self.shed
    }

    /// Processes a RST, or a segment after a RST.
    #[cold]
    pub(crate) fn after_reset(&mut self, sender: End, tcp: &Numbers, start: StreamOffset) {
        if tcp.flags.rst() {
            self.reset.get_or_insert((sender, AfterReset::default()));
            return;
        }
        let acked = &self.streams[sender.opposite() as usize];
        let ack = tcp.flags.ack().then(|| acked.place(tcp.ack));
        let is_numbered = tcp.payload_bytes > 0 || tcp.flags.syn() || tcp.flags.fin();
        let start = is_numbered.then_some(start);
        self.reset = self.reset.and_then(|(by, mut after)| {
            let is_refuted = after.is_refuted_by(sender == by, start, ack);
            (!is_refuted).then_some((by, after))
        });
    }

    /// True if an end has sent more than its SYN, and the connection has not ended.
    pub(crate) fn is_established(&self) -> bool {
        let has_gone_on = |stream: &Stream| stream.is_captured() && !stream.has_only_opened();
        !self.is_closed() && self.streams.iter().any(has_gone_on)
    }

    /// True if a RST ended the connection after both ends had opened it: segments may be in flight. A refused
    /// SYN opens none.
    pub(crate) fn is_reset(&self) -> bool {
        let responder = &self.streams[self.initiator.opposite() as usize];
        let is_refused =
            self.streams[self.initiator as usize].has_only_opened() && responder.isn.is_none();
        self.reset.is_some() && !self.is_opening() && !is_refused
    }

    /// True if at most one end has sent.
    pub(crate) fn is_opening(&self) -> bool {
        !self.streams.iter().all(Stream::is_captured)
    }

    /// True if `tcp` from `sender` may open a new connection between the same endpoints. If this connection is
    /// [established](Self::is_established), later packets show whether it does.
    ///
    /// Ports are reused (RFC 9293, section 3.4.1): a SYN with a different initial sequence number
    /// than the one captured is not a retransmission, and a SYN in the middle of a connection does
    /// not belong to it. If the other end has only sent a bare SYN, the two ends may open the
    /// connection simultaneously (section 3.5). After both ends have sent a FIN, the initial sequence
    /// number may be the same by chance, or because a simple stack uses a constant, unless the SYN is a
    /// late duplicate of the first.
    pub(crate) fn is_reused_by(&self, sender: End, tcp: &Numbers) -> bool {
        let own = &self.streams[sender as usize];
        let other = &self.streams[sender.opposite() as usize];
        if !tcp.flags.syn() {
            return false;
        }
        if own.isn == Some(tcp.seq) {
            return !tcp.flags.ack() && own.finished && other.finished && !own.has_sent(tcp);
        }
        if tcp.flags.ack() {
            // A server without state for a SYN (RFC 4987, section 3.6) may answer a retransmitted
            // SYN with a different initial sequence number.
            own.is_captured() && !other.opened_for(tcp)
        } else {
            own.is_captured() || !other.has_only_opened()
        }
    }
}

impl Stream {
    /// True if any packet of the stream was captured.
    fn is_captured(&self) -> bool {
        self.captured
    }

    /// True if `syn` is a record of the latest SYN; false if it has no Identification.
    fn has_sent(&self, syn: &Numbers) -> bool {
        syn.ip_id != 0 && syn.ip_id == self.syn_ip_id
    }

    /// Number of bytes from the furthest sequence number to `seq`; negative if `seq` is before it, `None` if none
    /// is known.
    pub(crate) fn ahead(&self, seq: SeqNum) -> Option<i64> {
        let furthest = self.furthest?;
        Some(furthest.nearest(seq).since(furthest))
    }

    /// Number of bytes from the end of the SYN to `seq`: 0 also within the data that the SYN carries. `None` if no
    /// SYN was captured, or if `seq` is not after it.
    pub(crate) fn after_syn(&self, seq: SeqNum) -> Option<i64> {
        let from_isn = seq.0.wrapping_sub(self.isn?.0).cast_signed();
        let ahead = self.ahead(seq)?;
        (from_isn > 0).then_some(ahead.max(0))
    }

    /// Returns the offset of `seq` in the stream.
    #[inline]
    pub(crate) fn place(&self, seq: SeqNum) -> StreamOffset {
        match self.furthest {
            Some(furthest) => furthest.nearest(seq),
            None => StreamOffset::first(seq),
        }
    }

    /// Processes an acknowledgment by the other end, the only source for the position of a stream
    /// whose own packets are not captured.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: SeqNum) {
        if !self.captured {
            self.furthest = Some(self.place(ack));
        }
    }

    /// True if its SYN was captured and no sequence number after it and its data.
    fn has_only_opened(&self) -> bool {
        let syn_bytes = self.syn_payload_bytes.wrapping_add(1);
        self.captured
            && self.isn.is_some_and(|isn| {
                let end = SeqNum(isn.0.wrapping_add(syn_bytes));
                self.furthest.map(StreamOffset::seq) == Some(end)
            })
    }

    /// True if the SYN-ACK `answer` acknowledges the stream's SYN, possibly with data that the SYN
    /// carried (RFC 7413).
    fn opened_for(&self, answer: &Numbers) -> bool {
        self.isn
            .is_some_and(|isn| (1..=MAX_SYN_BYTES).contains(&answer.ack.0.wrapping_sub(isn.0)))
    }

    /// Processes a FIN, or a segment after a FIN: a receiver drops a FIN outside its window, without ACK or
    /// with the acknowledgment of data never sent (RFC 9293, section 3.10.7.4), and this end sends on.
    #[cold]
    fn finish(&mut self, tcp: &Numbers, start: StreamOffset) {
        let end = start.plus(tcp.payload_bytes);
        if tcp.flags.fin() {
            let nxt = self.furthest.filter(|nxt| self.captured && start > *nxt);
            self.fin_ahead = Some((nxt.unwrap_or(end), end));
            self.finished = true;
            self.is_fin_dropped = false;
        } else if let Some((nxt, fin)) = self.fin_ahead
            && nxt == fin
        {
            // A keep-alive after a FIN may have one byte at its number (RFC 9293, section 3.8.4).
            if start == fin && tcp.payload_bytes > 1 {
                self.fin_ahead = None;
                self.finished = false;
                self.is_fin_dropped = true;
            }
        } else if let Some((nxt, fin)) = self.fin_ahead
            && tcp.payload_bytes > 0
        {
            if end == fin {
                // The path reordered the FIN and the data before it.
                self.fin_ahead = None;
                self.finished = true;
            } else if start == nxt {
                self.fin_ahead = Some((end, fin));
                self.finished = false;
            }
        }
    }

    /// Processes a segment; returns the offset of its first byte.
    #[inline]
    pub(crate) fn advance(&mut self, tcp: &Numbers) -> StreamOffset {
        let flags = tcp.flags;
        let start = self.place(tcp.seq);
        if flags.rst() && self.is_captured() {
            // The sequence number of a RST is copied from the segment it refuses, or forged.
            return start;
        }
        if flags.syn() {
            // A SYN is often sent again without its data (RFC 7413, section 4.1.3.1).
            let before = Some(self.syn_payload_bytes).filter(|_| self.isn == Some(tcp.seq));
            self.syn_payload_bytes = tcp.payload_bytes.max(before.unwrap_or(0));
            self.isn = Some(tcp.seq);
            self.syn_ip_id = tcp.ip_id;
        }
        if flags.fin() || self.fin_ahead.is_some() {
            self.finish(tcp, start);
        }
        // SYN and FIN take one sequence number each (RFC 9293, section 3.4).
        let numbered = u32::from(flags.syn()) + u32::from(flags.fin());
        let end = start.plus(tcp.payload_bytes).plus(numbered);
        if !self.captured || self.furthest.is_none_or(|furthest| end > furthest) {
            self.furthest = Some(end);
        }
        self.captured = true;
        start
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::trace::{flows, initiators, table};

    #[test]
    fn sender_of_the_syn_is_the_initiator() {
        let handshake = "
            0.000 > S
            0.010 < S.
            0.020 > .
        ";
        assert_snapshot!(initiators(handshake), @"0: 10.0.0.1:40000 to 10.0.0.2:80 by syn");
        assert_snapshot!(table(handshake), @r"
        flow 0 forward +0
        flow 0 reverse +0
        flow 0 forward +1
        ");
    }

    #[test]
    fn receiver_of_the_syn_ack_is_the_initiator() {
        let answer = "
            0.010 < S. 0 ack 1
            0.020 > 1:101(100)
        ";
        assert_snapshot!(initiators(answer), @"0: 10.0.0.1:40000 to 10.0.0.2:80 by syn_ack");
        assert_snapshot!(table(answer), @r"
        flow 0 reverse +0
        flow 0 forward +0
        ");
    }

    #[test]
    fn without_a_handshake_the_first_sender_is_the_initiator() {
        let middle = "
            0.000 < 1:101(100)
            0.010 > ack 101
        ";
        assert_snapshot!(initiators(middle), @"0: 10.0.0.2:80 to 10.0.0.1:40000 by first_packet");
        assert_snapshot!(table(middle), @r"
        flow 0 forward +0
        flow 0 reverse +0
        ");
    }

    #[test]
    fn a_syn_after_its_syn_ack_changes_nothing() {
        let swapped = "
            0.010 < S. 0 ack 1
            0.011 > S 0
            0.020 > .
        ";
        assert_snapshot!(initiators(swapped), @"0: 10.0.0.1:40000 to 10.0.0.2:80 by syn_ack");
        assert_eq!(flows(swapped), [0, 0, 0]);
    }

    #[test]
    fn retransmitted_handshake_stays_in_its_flow() {
        let flows = flows(
            "
            0.000 > S 700
            1.000 > S 700
            3.000 > S 700
            3.010 < S. 900 ack 701
            4.010 < S. 900 ack 701
            4.020 > 701:711(10) ack 901
            4.500 > S 700
        ",
        );
        assert_eq!(flows, [0; 7]);
    }

    #[test]
    fn each_flow_has_its_own_ports() {
        let flows = flows(
            "
            0.000 > S
            0.000 > S flow 1
            0.001 > udp 8
            0.010 < S. flow 1
            0.010 < S.
            0.011 < udp 8
        ",
        );
        assert_eq!(flows, [0, 1, 2, 1, 0, 2]);
    }

    #[test]
    fn ipv6_flows_are_separate_flows() {
        let text = "
            0.000 > S
            0.000 > S v6
            0.010 < S. v6
        ";
        assert_eq!(flows(text), [0, 1, 1]);
        assert_snapshot!(initiators(text), @r"
        0: 10.0.0.1:40000 to 10.0.0.2:80 by syn
        1: [2001:db8::1]:40000 to [2001:db8::2]:80 by syn
        ");
    }

    #[test]
    fn a_different_initial_sequence_number_is_a_new_connection() {
        let open = "
            0.000 > S 100
            0.010 < S. 200 ack 101
            0.020 > 101:111(10) ack 201
            0.500 > S 5000
            0.510 < S. 6000 ack 5001
            0.520 > 5001:5011(10) ack 6001
        ";
        assert_eq!(flows(open), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn ports_are_reused_after_fin_and_after_rst() {
        let flows = flows(
            "
            0.000 > S 100
            0.010 < S. 200 ack 101
            0.020 > F 101 ack 201
            0.030 < F 201 ack 102
            0.040 > . 102 ack 202
            0.100 > S 5000
            0.110 < R. 0 ack 5001
            0.200 > S 9000
            0.210 < S. 800 ack 9001
        ",
        );
        assert_eq!(flows, [0, 0, 0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn ports_are_reused_with_the_same_initial_sequence_number_after_both_fins() {
        let after = |syn: &str, closing: &str| {
            flows(&format!(
                "
                0.000 > S 100 id 5
                0.010 < S. 200 ack 101
                0.020 > . 101 ack 201
                {closing}
                0.300 > S 100 {syn}
                0.310 < S. 7000 ack 101
            "
            ))[5..]
                .to_vec()
        };
        let fins = "0.030 > F 101 ack 201\n0.040 < F 201 ack 102";
        assert_eq!(after("id 9", fins), [1, 1]);
        assert_eq!(after("id 0", fins), [1, 1]);
        // A late duplicate of the first SYN, and connections that are not closed.
        assert_eq!(after("id 5", fins)[0], 0);
        assert_eq!(
            after("id 9", "0.03 > F 101 ack 201\n0.04 < . 201 ack 102")[0],
            0
        );
        assert_eq!(after("id 9", "0.03 > F 101 ack 201\n0.04 < R 201")[0], 0);
    }

    #[test]
    fn refused_syn_is_sent_again_in_its_flow() {
        let flows = flows(
            "
            0.0 > S 100
            0.1 < R. 0 ack 101
            0.5 > S 100
            0.6 < R. 0 ack 101
        ",
        );
        assert_eq!(flows, [0; 4]);
    }

    #[test]
    fn other_data_at_the_number_of_a_fin_shows_that_the_receiver_dropped_it() {
        let after = |sent: &str| {
            flows(&format!(
                "
                0.000 > S 100
                0.010 < S. 200 ack 101
                0.020 < F 201 ack 101
                0.030 > F 101 ack 9999
                {sent}
                0.500 > S 100
            "
            ))[5]
        };
        assert_eq!(after("0.040 > 101:1101(1000) ack 202"), 0);
        // A keep-alive.
        assert_eq!(after("0.040 > 101:102(1) ack 202"), 1);
    }

    #[test]
    fn ports_may_be_reused_by_the_other_end() {
        let flows = flows(
            "
            0.000 > S 100
            0.010 < S. 200 ack 101
            0.020 > R 101
            0.500 < S 7000
            0.510 > S. 8000 ack 7001
        ",
        );
        assert_eq!(flows, [0, 0, 0, 1, 1]);
    }

    #[test]
    fn syn_in_the_middle_of_a_connection_starts_a_new_one() {
        let from_captured_end = flows("0 > 1:11(10)\n1 > S 900\n2 < S. 0 ack 901");
        assert_eq!(from_captured_end, [0, 1, 1]);
        let from_silent_end = flows("0 > 1:11(10)\n1 < S 900\n2 > S. 0 ack 901");
        assert_eq!(from_silent_end, [0, 1, 1]);
        let answered_only = flows("0 < 1:11(10)\n1 < S. 900 ack 7\n2 > . 7 ack 901");
        assert_eq!(answered_only, [0, 1, 1]);
    }

    #[test]
    fn late_syn_of_a_simultaneous_open_stays_in_the_flow() {
        let text = "
            0.000 > S 100
            0.001 < S 200
            0.010 > S. 100 ack 201
            0.011 < S. 200 ack 101
            0.020 > 101:111(10) ack 201
            0.030 < S 200
        ";
        assert_eq!(flows(text), [0; 6]);
        assert_snapshot!(initiators(text), @"0: 10.0.0.1:40000 to 10.0.0.2:80 by syn");
    }

    #[test]
    fn a_simultaneous_open_with_data_in_the_syns_is_one_flow() {
        let crossing = "
            0.000 > S 100:1100(1000)
            0.005 < S 200:700(500)
            0.006 > S. 100 ack 201
            0.050 < S. 200 ack 1101
            0.060 < 201:701(500) ack 1101
        ";
        assert_eq!(flows(crossing), [0; 5]);
        let sent_again_without_data = "
            0.000 > S 100:1100(1000)
            1.000 > S 100
            1.005 < S 200
            1.006 > S. 100 ack 201
        ";
        assert_eq!(flows(sent_again_without_data), [0; 4]);
        let gone_on = "
            0.000 > S 100:1100(1000)
            0.001 > 1101:2101(1000)
            0.005 < S 200
            0.006 > S. 9000 ack 201
        ";
        assert_eq!(flows(gone_on), [0, 0, 1, 1]);
    }

    #[test]
    fn second_syn_ack_with_any_sequence_number_stays_in_the_flow() {
        let cookies = "
            0.000 > S 100
            0.001 < S. 200 ack 101
            1.000 > S 100
            1.001 < S. 7777 ack 101
            1.010 > . 101 ack 7778
            1.020 < 7778:7788(10) ack 101
        ";
        assert_eq!(flows(cookies), [0; 6]);
        let with_data_in_the_syn = "
            0.000 > S 100:600(500)
            0.001 < S. 200 ack 601
            0.500 < S. 300 ack 101
            0.900 < S. 400 ack 9000000
        ";
        assert_eq!(flows(with_data_in_the_syn), [0, 0, 0, 1]);
    }

    #[test]
    fn offsets_increase_when_sequence_numbers_wrap() {
        assert_snapshot!(table("
            0.000 > 4294966296:460(1460)
            0.001 > 460:1920(1460)
            0.002 < ack 1920
            0.300 > 4294966296:460(1460)    // sent again
            0.301 > 1920:3380(1460)
        "), @r"
        flow 0 forward +0
        flow 0 forward +1460
        flow 0 reverse +0
        flow 0 forward +0
        flow 0 forward +2920
        ");
    }

    #[test]
    fn segments_before_the_first_captured_one_have_an_offset() {
        assert_snapshot!(table("
            0.000 > 1000:2000(1000)
            0.001 > 0:1000(1000)
            0.002 > 4294966296:0(1000)
            0.003 > 2000:3000(1000)
        "), @r"
        flow 0 forward +0
        flow 0 forward -1000
        flow 0 forward -2000
        flow 0 forward +1000
        ");
    }

    #[test]
    fn sequence_number_of_a_reset_does_not_advance_the_stream() {
        assert_snapshot!(table("
            0.000 > 1:1001(1000)
            0.001 > R 2000000000        // made up by someone who wants to cut the connection
            0.002 > R 4000000000        // and again
            0.003 > 1001:2001(1000)
        "), @r"
        flow 0 forward +0
        flow 0 forward +1999999999
        flow 0 forward -294967297
        flow 0 forward +1000
        ");
    }

    #[test]
    fn datagrams_have_no_stream_offset() {
        assert_snapshot!(table("
            0.000 > udp 100
            0.001 < udp 100
        "), @r"
        flow 0 forward
        flow 0 reverse
        ");
    }
}
