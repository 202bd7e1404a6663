//! How a connection was opened.

use tcpexp_flow::{Direction, SHORTEST_TIMEOUT, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{Packet, Transport};

use crate::tls::{TlsHandshake, TlsTimes};

/// A SYN that follows another one sooner is a second record of it: the first timeout is one second (RFC
/// 6298, section 2.1), and Linux never waits less than this.
const COPY_GAP: TimeDelta = SHORTEST_TIMEOUT;

/// How a connection was opened, on the clock of its capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Time of the flow's first packet.
    pub began: Timestamp,
    /// Time from the first SYN to the ACK of the SYN-ACK; `None` unless both were captured.
    pub tcp_handshake: Option<TimeDelta>,
    /// True if the capture has a SYN or SYN-ACK. Otherwise it began in the middle of the connection.
    pub has_syn: bool,
    /// Number of SYNs and SYN-ACKs that were sent again.
    pub repeated_syns: u64,
    /// The TLS handshake; `None` without one.
    pub tls: Option<TlsTimes>,
}

/// Follows a connection until it is open.
#[derive(Debug)]
pub struct OpeningMeter {
    began: Timestamp,
    /// By direction.
    syns: [u64; 2],
    latest_syns: [Option<Timestamp>; 2],
    tcp_handshake: Option<TimeDelta>,
    tls: TlsHandshake,
}

impl OpeningMeter {
    /// Begins with the flow's first packet, captured at `began`.
    pub fn new(began: Timestamp) -> Self {
        Self {
            began,
            syns: [0; 2],
            latest_syns: [None; 2],
            tcp_handshake: None,
            tls: TlsHandshake::default(),
        }
    }

    /// Takes the flow's next packet; `start` is the offset of its first sequence number.
    pub fn packet(
        &mut self,
        direction: Direction,
        at: Timestamp,
        start: StreamOffset,
        packet: &Packet<'_>,
    ) {
        let Transport::Tcp(tcp) = &packet.transport else {
            return;
        };
        if tcp.flags.syn() {
            let before = self.latest_syns[direction.index()].replace(at);
            let is_copy = before.is_some_and(|before| at - before < COPY_GAP);
            self.syns[direction.index()] += u64::from(!is_copy);
            // Data in a SYN (TCP Fast Open, RFC 7413) has its offset after the SYN.
            let start = start.plus(1);
            self.tls
                .payload(direction, at, start, packet.payload_bytes, packet.payload);
            return;
        }
        let is_answer = direction == Direction::Forward && tcp.flags.ack();
        if is_answer && self.tcp_handshake.is_none() && !self.syns.contains(&0) {
            self.tcp_handshake = Some(at - self.began);
        }
        self.tls
            .payload(direction, at, start, packet.payload_bytes, packet.payload);
    }

    /// The opening so far.
    pub fn opening(&self) -> Opening {
        Opening {
            began: self.began,
            tcp_handshake: self.tcp_handshake,
            has_syn: self.syns.iter().any(|syns| *syns > 0),
            repeated_syns: self.syns.iter().map(|syns| syns.saturating_sub(1)).sum(),
            tls: self.tls.times(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{FlowTable, Packets};
    use tcpexp_testkit::scripted::Scripted;

    use super::*;

    fn repeated_syns(script: &str) -> u64 {
        let mut table = FlowTable::default();
        let mut meter = None;
        Scripted::new(script).show(usize::MAX, |sighted| {
            let tracked = table.place(&mut sighted.arrival());
            let meter = meter.get_or_insert_with(|| OpeningMeter::new(sighted.at));
            let start = tracked.start.unwrap();
            meter.packet(tracked.direction, sighted.at, start, sighted.packet);
        });
        meter.unwrap().opening().repeated_syns
    }

    #[test]
    fn a_second_record_of_a_syn_is_no_repeated_syn() {
        let once = "0.000 > S\n1.020 < S.\n1.020 >";
        let doubled = "0.000 > S\n0.000 > S 0\n1.020 < S.\n1.021 < S. 0\n1.021 >";
        let repeated = "0.000 > S\n1.000 > S 0\n1.020 < S.\n1.020 >";
        assert_eq!([once, doubled, repeated].map(repeated_syns), [0, 0, 1]);
    }
}
