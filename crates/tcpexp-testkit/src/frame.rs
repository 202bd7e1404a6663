//! Builds the bytes of one frame, with valid checksums.

use std::net::{IpAddr, Ipv4Addr};

use crate::checksum::Checksum;
use crate::options::TcpOptions;
use crate::payload::Payload;

/// TCP flag bits at their positions in the header; all but AE are in byte 13.
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u16 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x02;
    /// Reset the connection.
    pub const RST: u16 = 0x04;
    /// Push function.
    pub const PSH: u16 = 0x08;
    /// The acknowledgment number is valid.
    pub const ACK: u16 = 0x10;
    /// ECN echo (RFC 3168).
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u16 = 0x80;
    /// The highest bit of the ACE counter (RFC 9768).
    pub const AE: u16 = 0x100;
}

/// Link layer in front of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Ethernet II.
    #[default]
    Ethernet,
    /// Ethernet with one 802.1Q tag of this VLAN.
    Vlan(u16),
    /// Ethernet with an 802.1ad tag and an 802.1Q tag inside.
    QinQ(u16, u16),
    /// Nothing: the frame is the IP packet.
    RawIp,
    /// Linux cooked header, version 1.
    Sll,
    /// Linux cooked header, version 2.
    Sll2,
}

impl Framing {
    /// The link type of this framing in a capture file.
    pub const fn link_type(self) -> u32 {
        match self {
            Self::Ethernet | Self::Vlan(_) | Self::QinQ(..) => 1,
            Self::RawIp => 101,
            Self::Sll => 113,
            Self::Sll2 => 276,
        }
    }

    /// Length of the link header in bytes.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Ethernet => 14,
            Self::Vlan(_) => 18,
            Self::QinQ(..) => 22,
            Self::RawIp => 0,
            Self::Sll => 16,
            Self::Sll2 => 20,
        }
    }
}

/// The transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A UDP header.
    Udp,
    /// The header of an echo message of ICMP (RFC 792) or `ICMPv6` (RFC 4443). The source port is its
    /// identifier.
    Echo {
        /// True for a reply, false for a request.
        is_reply: bool,
        /// Sequence number.
        sequence: u16,
    },
    /// No header: the payload follows the IP header.
    None {
        /// Protocol number in the IP header.
        protocol: u8,
    },
    /// A TCP header.
    Tcp {
        /// Sequence number.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// Flag bits, see [`flag`].
        flags: u16,
        /// The window field as sent, not scaled.
        window: u16,
        /// Options.
        options: TcpOptions,
    },
}

/// All fields that determine the bytes of one frame.
///
/// ```
/// use tcpexp_testkit::{FrameSpec, Payload};
///
/// let frame = FrameSpec { payload: Payload::new(0, 0, 100), ..FrameSpec::default() };
/// assert_eq!(frame.to_bytes().len(), 14 + 20 + 20 + 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSpec {
    /// Link layer in front of the IP header.
    pub framing: Framing,
    /// Source address; selects IPv4 or IPv6.
    pub src: IpAddr,
    /// Destination address, of the same IP version.
    pub dst: IpAddr,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// IPv4 Identification; IPv6 has none.
    pub ip_id: u16,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// Traffic class: DSCP and ECN.
    pub traffic_class: u8,
    /// The TCP or UDP header.
    pub transport: Transport,
    /// The transport payload.
    pub payload: Payload,
    /// Minimum frame length; shorter frames get a trailer, as Ethernet pads to 60 bytes. The
    /// trailer is not zero, so a decoder that counts it as payload fails its tests.
    pub min_frame_bytes: u16,
}

impl Default for FrameSpec {
    /// An empty TCP segment with ACK between two private addresses.
    fn default() -> Self {
        Self {
            framing: Framing::Ethernet,
            src: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            dst: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
            src_port: 40_000,
            dst_port: 80,
            ip_id: 0,
            ttl: 64,
            traffic_class: 0,
            transport: Transport::Tcp {
                seq: 1,
                ack: 1,
                flags: flag::ACK,
                window: 65_535,
                options: TcpOptions::NONE,
            },
            payload: Payload::default(),
            min_frame_bytes: 0,
        }
    }
}

impl FrameSpec {
    /// Returns the whole frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out, u32::MAX);
        out
    }

    /// Clears `out`, writes the first `snaplen` bytes of the frame to it, and returns the length on
    /// the wire.
    pub fn write(&self, out: &mut Vec<u8>, snaplen: u32) -> u32 {
        let wire_len = self.wire_len();
        let snaplen = snaplen.min(wire_len) as usize;
        out.clear();
        self.write_link(out);
        self.write_ip(out);
        self.write_transport(out);
        // The headers alone may exceed the snapshot length, and `resize` then cuts them.
        self.payload.write(out, snaplen.saturating_sub(out.len()));
        out.resize(snaplen, 0xA5);
        wire_len
    }

    /// Length on the wire in bytes, including the link header.
    pub fn wire_len(&self) -> u32 {
        let whole = self.framing.header_bytes() + self.ip_bytes();
        (whole as u32).max(self.min_frame_bytes.into())
    }

    /// Length of the IP packet in bytes.
    pub(crate) fn ip_bytes(&self) -> usize {
        (if self.src.is_ipv4() { 20 } else { 40 }) + self.transport_bytes()
    }

    fn transport_bytes(&self) -> usize {
        let header = match &self.transport {
            Transport::Udp | Transport::Echo { .. } => 8,
            Transport::None { .. } => 0,
            Transport::Tcp { options, .. } => 20 + options.as_bytes().len(),
        };
        header + usize::from(self.payload.len)
    }

    const fn protocol(&self) -> u8 {
        match self.transport {
            Transport::Udp => 17,
            Transport::Echo { .. } if self.src.is_ipv4() => 1,
            Transport::Echo { .. } => 58,
            Transport::None { protocol } => protocol,
            Transport::Tcp { .. } => 6,
        }
    }

    fn write_link(&self, out: &mut Vec<u8>) {
        let ether_type: u16 = if self.src.is_ipv4() { 0x0800 } else { 0x86DD };
        let tag = |out: &mut Vec<u8>, tpid: u16, vlan: u16| {
            out.extend(tpid.to_be_bytes());
            out.extend((vlan & 0x0FFF).to_be_bytes());
        };
        match self.framing {
            Framing::RawIp => return,
            Framing::Sll => {
                // Packet type 0 (to this host), ARPHRD_ETHER, address of 6 bytes, padded to 8.
                out.extend([0, 0, 0, 1, 0, 6]);
                out.extend(mac(self.src));
                out.extend([0, 0]);
                out.extend(ether_type.to_be_bytes());
                return;
            }
            Framing::Sll2 => {
                out.extend(ether_type.to_be_bytes());
                // Reserved, interface 2, ARPHRD_ETHER, packet type 0 (to this host), address of 6
                // bytes.
                out.extend([0, 0, 0, 0, 0, 2, 0, 1, 0, 6]);
                out.extend(mac(self.src));
                out.extend([0, 0]);
                return;
            }
            Framing::Ethernet | Framing::Vlan(_) | Framing::QinQ(..) => {
                out.extend(mac(self.dst));
                out.extend(mac(self.src));
            }
        }
        match self.framing {
            Framing::Vlan(vlan) => tag(out, 0x8100, vlan),
            Framing::QinQ(outer, inner) => {
                tag(out, 0x88A8, outer);
                tag(out, 0x8100, inner);
            }
            _ => {}
        }
        out.extend(ether_type.to_be_bytes());
    }

    fn write_ip(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let total =
                    u16::try_from(self.ip_bytes()).expect("an IPv4 packet has 16 bits of length");
                out.extend([0x45, self.traffic_class]);
                out.extend(total.to_be_bytes());
                out.extend(self.ip_id.to_be_bytes());
                // 0x40 is the Don't Fragment flag, which path MTU discovery sets (RFC 1191).
                out.extend([0x40, 0, self.ttl, self.protocol(), 0, 0]);
                out.extend(src.octets());
                out.extend(dst.octets());
                let sum = Checksum::default().bytes(&out[start..]).finish();
                out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let carried = u16::try_from(self.transport_bytes())
                    .expect("an IPv6 packet has 16 bits of length");
                let class = self.traffic_class;
                out.extend([0x60 | class >> 4, class << 4, 0, 0]);
                out.extend(carried.to_be_bytes());
                out.extend([self.protocol(), self.ttl]);
                out.extend(src.octets());
                out.extend(dst.octets());
            }
            _ => panic!("{} and {} are of two IP versions", self.src, self.dst),
        }
    }

    fn write_transport(&self, out: &mut Vec<u8>) {
        let start = out.len();
        if !matches!(
            self.transport,
            Transport::Echo { .. } | Transport::None { .. }
        ) {
            out.extend(self.src_port.to_be_bytes());
            out.extend(self.dst_port.to_be_bytes());
        }
        let length = self.transport_bytes() as u16;
        let checksum_at = match &self.transport {
            Transport::None { .. } => return,
            Transport::Echo { is_reply, sequence } => {
                let [request, reply] = if self.src.is_ipv4() {
                    [8, 0]
                } else {
                    [128, 129]
                };
                out.extend([if *is_reply { reply } else { request }, 0, 0, 0]);
                out.extend(self.src_port.to_be_bytes());
                out.extend(sequence.to_be_bytes());
                start + 2
            }
            Transport::Udp => {
                out.extend(length.to_be_bytes());
                out.extend([0, 0]);
                start + 6
            }
            Transport::Tcp {
                seq,
                ack,
                flags,
                window,
                options,
            } => {
                let options = options.as_bytes();
                out.extend(seq.to_be_bytes());
                out.extend(ack.to_be_bytes());
                // The data offset n / 4 fills the upper half of its byte: (n / 4) << 4 is n << 2.
                let words = ((20 + options.len()) << 2) as u16;
                out.extend((words << 8 | flags).to_be_bytes());
                out.extend(window.to_be_bytes());
                out.extend([0; 4]);
                out.extend_from_slice(options);
                start + 16
            }
        };
        // The payload's sum comes from a table: the snapshot length may cut the bytes themselves.
        // The checksum of ICMP covers no addresses (RFC 792), that of ICMPv6 does (RFC 4443).
        let before = match self.transport {
            Transport::Echo { .. } if self.src.is_ipv4() => Checksum::default(),
            _ => self.pseudo_header().word(length),
        };
        let sum = before
            .bytes(&out[start..])
            .word(self.payload.sum())
            .finish();
        // RFC 768: a UDP checksum of zero means "no checksum", so zero is sent as all ones.
        let sum = if sum == 0 && self.transport == Transport::Udp {
            0xFFFF
        } else {
            sum
        };
        out[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    fn pseudo_header(&self) -> Checksum {
        let sum = Checksum::default().word(self.protocol().into());
        [self.src, self.dst]
            .into_iter()
            .fold(sum, |sum, address| match address {
                IpAddr::V4(address) => sum.bytes(&address.octets()),
                IpAddr::V6(address) => sum.bytes(&address.octets()),
            })
    }
}

/// Derives a locally administered hardware address from the IP address.
fn mac(address: IpAddr) -> [u8; 6] {
    let [a, b, c, d] = match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => *address
            .octets()
            .last_chunk()
            .expect("16 bytes have a last 4"),
    };
    [2, 0, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(bytes: &[u8]) -> Checksum {
        Checksum::default().bytes(bytes)
    }

    /// Sums header and segment as a receiver does: a valid checksum gives all ones.
    fn received_sums(frame: &FrameSpec) -> Vec<u16> {
        let bytes = frame.to_bytes();
        let ip = &bytes[frame.framing.header_bytes()..];
        let (header, addresses) = if frame.src.is_ipv4() {
            (20, 12..20)
        } else {
            (40, 8..40)
        };
        let segment = &ip[header..frame.ip_bytes()];
        let whole = sum(&ip[addresses])
            .word(frame.protocol().into())
            .word(segment.len() as u16)
            .word(sum(segment).folded());
        let mut sums = vec![whole.folded()];
        if frame.src.is_ipv4() {
            sums.push(sum(&ip[..20]).folded());
        }
        sums
    }

    proptest! {
        #[test]
        fn every_checksum_is_valid(
            stream in any::<u32>(), len in 0..2000_u16, number in any::<Option<u64>>(),
            udp in any::<bool>(), v6 in any::<bool>(), ip_id in any::<u16>(),
            framing in prop::sample::select(vec![
                Framing::Ethernet, Framing::Vlan(5), Framing::QinQ(5, 6), Framing::RawIp,
                Framing::Sll, Framing::Sll2,
            ]),
        ) {
            let mut frame = FrameSpec {
                framing, ip_id, min_frame_bytes: 60,
                payload: Payload { number, ..Payload::new(stream, 77, len) },
                ..FrameSpec::default()
            };
            if udp { frame.transport = Transport::Udp; }
            if v6 {
                frame.src = "2001:db8::1".parse().unwrap();
                frame.dst = "2001:db8::2".parse().unwrap();
            }
            prop_assert!(received_sums(&frame).iter().all(|sum| *sum == 0xFFFF));
            prop_assert_eq!(frame.to_bytes().len(), frame.wire_len() as usize);
        }
    }

    #[test]
    fn a_snaplen_truncates_the_frame_and_keeps_its_wire_length() {
        let frame = FrameSpec {
            payload: Payload::new(0, 0, 1460),
            ..FrameSpec::default()
        };
        let mut cut = Vec::new();
        assert_eq!(frame.write(&mut cut, 96), 1514);
        assert_eq!(cut, frame.to_bytes()[..96]);
    }
}
