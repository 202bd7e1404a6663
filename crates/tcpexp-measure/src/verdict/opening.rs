//! How a connection was opened.

use tcpexp_flow::{Direction, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{Packet, Transport};

use crate::tls::{TlsHandshake, TlsTimes};

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
    tcp_handshake: Option<TimeDelta>,
    tls: TlsHandshake,
}

impl OpeningMeter {
    /// Begins with the flow's first packet, captured at `began`.
    pub fn new(began: Timestamp) -> Self {
        Self {
            began,
            syns: [0; 2],
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
            self.syns[direction.index()] += 1;
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
