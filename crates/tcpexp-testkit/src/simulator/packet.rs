//! Builds captured frames from simulated packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::load::{IpVersion, TcpLoad, UdpLoad, UdpPayload};
use super::network::{Direction, Point};
use super::receiver::SackBlocks;
use super::scenario::IpId;
use crate::frame::{FrameSpec, Transport, flag};
use crate::{Framing, Payload, TcpOptions};

const WINDOW_SHIFT: u8 = 10;

/// A packet in flight: a super-segment before it is split, or segments after they are merged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Id in the truth; pieces of a super-segment have consecutive ids.
    pub(crate) id: u64,
    pub(crate) slot: u32,
    pub(crate) direction: Direction,
    pub(crate) ip_id: u16,
    pub(crate) body: Body,
    pub(crate) retransmission: bool,
}

impl Packet {
    /// Number of packets that the network carries.
    pub(crate) fn pieces(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => segment.count.max(1),
            Body::Udp { .. } => 1,
        }
    }

    /// Returns one piece. Identification counts up, and only the last piece has PSH.
    pub(crate) fn piece(&self, number: u32, mode: IpId) -> Self {
        let mut piece = *self;
        let last = number + 1 == self.pieces();
        if let Body::Tcp(segment) = &mut piece.body
            && segment.count > 1
        {
            segment.first += number;
            segment.count = 1;
            segment.push &= last;
            piece.id += u64::from(number);
            piece.ip_id = match mode {
                IpId::Zero => 0,
                IpId::Wrapping(after) => {
                    (u32::from(piece.ip_id) + number).rem_euclid(after.into()) as u16
                }
                IpId::Counter | IpId::Random => piece.ip_id.wrapping_add(number as u16),
            };
        }
        piece
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Tcp(Segment),
    Udp { number: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Syn,
    SynAck,
    /// Data from the sending side; the last data segment carries FIN.
    Data,
    /// An acknowledgment without data, from either side.
    Ack,
    /// FIN of the receiving side, after it received all data.
    Fin,
}

/// A TCP segment, counted in segments rather than bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) kind: Kind,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) push: bool,
    /// On a segment of the receiving side: number of data segments received in order. On a segment
    /// of the sending side: 1 if it received FIN.
    pub(crate) ack: u32,
    pub(crate) sack: SackBlocks,
    pub(crate) sack_count: u8,
    pub(crate) ts_val: u32,
    pub(crate) ts_ecr: u32,
}

/// Properties that all packets of a flow share.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) number: u32,
    pub(crate) client: [(IpAddr, u16); 2],
    pub(crate) server: (IpAddr, u16),
    pub(crate) protocol: Protocol,
}

#[derive(Clone, Debug)]
pub(crate) enum Protocol {
    Tcp {
        load: TcpLoad,
        segments: u32,
        /// Initial sequence number of each direction.
        isn: [u32; 2],
    },
    Udp(UdpLoad),
}

impl Identity {
    pub(crate) fn new(number: u32, ip: IpVersion, nat: bool, protocol: Protocol) -> Self {
        // Every 50 000 flows have their own client address, so no two flows share address and port.
        let (block, port) = (number / 50_000, (number % 50_000) as u16);
        let at_src = (address(ip, [10, 1, 0, 1], block), 10_000 + port);
        let translated = (address(ip, [198, 51, 100, 1], block), 61_000 - port);
        let server_port = if matches!(protocol, Protocol::Tcp { .. }) {
            5001
        } else {
            5004
        };
        Self {
            number,
            client: [at_src, if nat { translated } else { at_src }],
            server: (address(ip, [203, 0, 113, 1], 0), server_port),
            protocol,
        }
    }

    /// Builds the frame as captured at a point.
    pub(crate) fn frame(&self, packet: &Packet, point: Point, framing: Framing) -> FrameSpec {
        let client = self.client[point as usize];
        let (from, to) = match packet.direction {
            Direction::Forward => (client, self.server),
            Direction::Reverse => (self.server, client),
        };
        let upstream = point == packet.direction.upstream();
        let (transport, payload) = match &packet.body {
            Body::Tcp(segment) => (
                self.tcp_header(packet.direction, segment),
                self.tcp_payload(segment),
            ),
            Body::Udp { number } => (Transport::Udp, self.datagram(*number)),
        };
        FrameSpec {
            framing,
            src: from.0,
            dst: to.0,
            src_port: from.1,
            dst_port: to.1,
            ip_id: packet.ip_id,
            ttl: if upstream { 64 } else { 57 },
            traffic_class: 0,
            transport,
            payload,
            min_frame_bytes: 0,
        }
    }

    /// Length of the transport payload in bytes.
    pub(crate) fn payload_bytes(&self, packet: &Packet) -> u32 {
        match &packet.body {
            Body::Tcp(segment) => self.tcp_payload(segment).len.into(),
            Body::Udp { number } => self.datagram(*number).len.into(),
        }
    }

    /// Stream position of the first byte of a segment.
    fn position(&self, segment: u32) -> u64 {
        match &self.protocol {
            Protocol::Tcp { load, .. } => load.position(segment),
            Protocol::Udp(_) => 0,
        }
    }

    fn tcp_payload(&self, segment: &Segment) -> Payload {
        if segment.kind != Kind::Data {
            return Payload::default();
        }
        let position = self.position(segment.first);
        let end = self.position(segment.first + segment.count);
        let len = u16::try_from(end - position).expect("a super-segment fits an IP packet");
        Payload::new(self.number, position, len)
    }

    fn tcp_header(&self, direction: Direction, segment: &Segment) -> Transport {
        let Protocol::Tcp {
            load,
            segments,
            isn,
        } = &self.protocol
        else {
            unreachable!("only TCP flows send segments");
        };
        let own = isn[direction.index()];
        let peer = isn[direction.opposite().index()];
        let sends_data = direction == load.direction;
        // The FIN on the last data segment occupies one sequence number.
        let data_seq = |isn: u32, number: u32| {
            let fin = u32::from(number == *segments && *segments > 0);
            isn.wrapping_add(1 + fin)
                .wrapping_add(self.position(number) as u32)
        };
        let seq = match segment.kind {
            Kind::Syn | Kind::SynAck => own,
            _ if sends_data => data_seq(own, segment.first),
            Kind::Fin => own.wrapping_add(1),
            _ => own.wrapping_add(1 + segment.first),
        };
        let ack = match segment.kind {
            Kind::Syn => 0,
            Kind::SynAck => peer.wrapping_add(1),
            _ if sends_data => peer.wrapping_add(1 + segment.ack),
            _ => data_seq(peer, segment.ack),
        };
        let last = segment.kind == Kind::Data && segment.first + segment.count == *segments;
        let flags = match segment.kind {
            Kind::Syn => flag::SYN,
            Kind::SynAck => flag::SYN | flag::ACK,
            Kind::Fin => flag::FIN | flag::ACK,
            _ => flag::ACK | (u16::from(segment.push) * flag::PSH) | (u16::from(last) * flag::FIN),
        };
        Transport::Tcp {
            seq,
            ack,
            flags,
            window: match segment.kind {
                // The window of a SYN is never scaled (RFC 7323, section 2.2).
                Kind::Syn | Kind::SynAck => 64_240,
                _ => window(load, sends_data),
            },
            options: options(load, segment, |number| data_seq(peer, number)),
        }
    }

    fn datagram(&self, number: u64) -> Payload {
        let Protocol::Udp(load) = &self.protocol else {
            unreachable!("only UDP streams send datagrams");
        };
        let number = (load.payload == UdpPayload::Numbered).then_some(number);
        Payload {
            number,
            ..Payload::new(self.number, 0, load.payload_bytes)
        }
    }
}

/// The window field. The data's receiver announces what its load sets.
fn window(load: &TcpLoad, sends_data: bool) -> u16 {
    match load.receive_window_segments {
        Some(segments) if !sends_data => {
            let bytes = segments * u32::from(load.mss);
            // Rounded up, so that it has room for all of them.
            bytes.div_ceil(1 << WINDOW_SHIFT).min(u16::MAX.into()) as u16
        }
        _ => 64_240,
    }
}

fn options(load: &TcpLoad, segment: &Segment, seq: impl Fn(u32) -> u32) -> TcpOptions {
    let none = TcpOptions::NONE;
    if matches!(segment.kind, Kind::Syn | Kind::SynAck) {
        // The option counts no TCP options (RFC 6691), so timestamps shorten the payload by 12
        // bytes.
        let mut options = none.mss(load.mss + if load.timestamps { 12 } else { 0 });
        if load.sack {
            options = options.sack_permitted();
        }
        if load.timestamps {
            options = options.timestamps(segment.ts_val, segment.ts_ecr);
        }
        return options.window_scale(WINDOW_SHIFT);
    }
    let mut options = none;
    if load.timestamps {
        options = options
            .nop()
            .nop()
            .timestamps(segment.ts_val, segment.ts_ecr);
    }
    if segment.sack_count > 0 {
        let blocks = segment.sack.map(|(start, end)| (seq(start), seq(end)));
        options = options
            .nop()
            .nop()
            .sack(&blocks[..segment.sack_count.into()]);
    }
    options
}

fn address(ip: IpVersion, [a, b, c, d]: [u8; 4], block: u32) -> IpAddr {
    match ip {
        IpVersion::V4 => Ipv4Addr::new(a, b, c, d + block as u8).into(),
        IpVersion::V6 => Ipv6Addr::new(
            0x2001,
            0xDB8,
            a.into(),
            b.into(),
            c.into(),
            0,
            0,
            u16::from(d) + block as u16,
        )
        .into(),
    }
}
