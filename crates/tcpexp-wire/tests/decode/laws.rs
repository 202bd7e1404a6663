//! Properties that hold for every input.

use etherparse::{LaxNetSlice, LaxSlicedPacket, PacketBuilder, TcpHeader, TransportSlice};
use proptest::prelude::*;
use tcpexp_wire::{LinkType, Packet, Skipped, Transport, Tunnels, decode, decode_usual, ip_bytes};

use crate::build::{
    HELLO, IPV4, IPV6, UDP, ethernet, hello_v4, hello_v6, ipv4, ipv6, line, seen_of, stack, udp,
};

/// Valid records of every kind, without tunnels.
fn plain() -> Vec<(LinkType, Vec<u8>)> {
    let v4 = &hello_v4()[..];
    let v6 = &hello_v6()[..];
    let datagram = &ipv4(UDP, &udp(53, HELLO))[..];
    let destination = ipv6(60, &stack(&[&[6, 0, 1, 4, 0, 0, 0, 0], &v6[40..]]));
    vec![
        (LinkType::ETHERNET, ethernet(IPV4, v4)),
        (LinkType::ETHERNET, ethernet(IPV6, v6)),
        (LinkType::ETHERNET, ethernet(IPV4, datagram)),
        (LinkType::ETHERNET, ethernet(IPV6, &destination)),
        (
            LinkType::ETHERNET,
            ethernet(0x8100, &stack(&[&[0, 5, 8, 0], v4])),
        ),
        (
            LinkType::ETHERNET,
            ethernet(0x8847, &stack(&[&[0, 2, 1, 64], v4])),
        ),
        (
            LinkType::ETHERNET,
            ethernet(0x8864, &stack(&[&[0x11, 0, 0, 1, 0, 59, 0, 0x21], v4])),
        ),
        (
            LinkType::ETHERNET,
            ethernet(65, &stack(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], v4])),
        ),
        (LinkType::LINUX_SLL, stack(&[&[0; 14], &[8, 0], v4])),
        (LinkType::LINUX_SLL2, stack(&[&[8, 0], &[0; 18], v4])),
        (LinkType::NULL, stack(&[&[2, 0, 0, 0], v4])),
        (LinkType::LOOP, stack(&[&[0, 0, 0, 2], v4])),
        (LinkType::PPP, stack(&[&[0xff, 3, 0, 0x21], v4])),
        (LinkType::RAW, v6.to_vec()),
    ]
}

/// Valid records of every kind.
fn valid() -> Vec<(LinkType, Vec<u8>)> {
    let frame = ethernet(IPV4, &hello_v4());
    let vxlan = ipv4(
        UDP,
        &udp(4789, &stack(&[&[8, 0, 0, 0, 0, 0, 42, 0], &frame])),
    );
    let gre = ipv4(47, &stack(&[&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1], &frame]));
    let mut valid = plain();
    valid.extend([
        (LinkType::RAW, vxlan),
        (LinkType::RAW, gre),
        (LinkType::RAW, ipv4(41, &hello_v6())),
    ]);
    valid
}

fn any_link() -> impl Strategy<Value = LinkType> {
    let supported: Vec<_> = (0..300)
        .map(LinkType)
        .filter(|link| link.is_supported())
        .collect();
    prop_oneof![9 => prop::sample::select(supported), 1 => any::<u16>().prop_map(LinkType)]
}

fn any_tunnels() -> impl Strategy<Value = Tunnels> {
    prop_oneof![Just(Tunnels::Closed), Just(Tunnels::Entered)]
}

/// Decodes a record, reads all of its options, and checks the properties of every packet.
fn check(link: LinkType, captured: &[u8], wire_bytes: u32, tunnels: Tunnels) {
    let outcome = decode(link, captured, wire_bytes, tunnels);
    let _ = line(&outcome);
    let Ok(packet) = outcome else { return };
    assert!(packet.payload.len() <= packet.payload_bytes as usize);
    assert!(packet.payload_bytes < packet.ip_bytes);
    if let Transport::Tcp(tcp) = packet.transport {
        let options = tcp.options;
        let _ = (options.timestamps(), options.of_syn());
        let _ = (options.of_ack(), options.sack_blocks().count());
        assert!(options.raw().len() <= 40);
        assert!(!options.is_cut() || packet.payload.is_empty());
    }
}

/// Prints all fields of a packet except the payload and the options.
fn fixed_fields(packet: &Packet<'_>) -> String {
    let mut packet = *packet;
    packet.payload = &[];
    if let Transport::Tcp(tcp) = &mut packet.transport {
        tcp.options = tcpexp_wire::TcpOptions::default();
    }
    format!("{packet:?}")
}

fn option_bytes<'a>(packet: &Packet<'a>) -> &'a [u8] {
    match packet.transport {
        Transport::Tcp(tcp) => tcp.options.raw(),
        Transport::Udp(_) | Transport::Other(_) => &[],
    }
}

/// Number of captured bytes after the fixed header.
fn held(packet: &Packet<'_>) -> usize {
    option_bytes(packet).len() + packet.payload.len()
}

#[test]
fn the_ip_bytes_of_a_record_decode_as_a_raw_record_of_the_same_packet() {
    for (link, record) in valid() {
        let ip = ip_bytes(link, &record).unwrap();
        assert!(record.ends_with(ip));
        for tunnels in [Tunnels::Closed, Tunnels::Entered] {
            let whole = seen_of(link, &record, record.len(), tunnels);
            assert_eq!(seen_of(LinkType::RAW, ip, ip.len(), tunnels), whole);
        }
    }
    let arp = ethernet(0x0806, &[0; 28]);
    assert_eq!(ip_bytes(LinkType::ETHERNET, &arp), Err(Skipped::NotIp));
}

#[test]
fn a_truncated_record_is_skipped_or_yields_part_of_the_packet() {
    for (link, record) in plain() {
        let wire_bytes = u32::try_from(record.len()).unwrap();
        let whole = decode(link, &record, wire_bytes, Tunnels::Closed).unwrap();
        let mut was_cut = true;
        for bytes in 0..=record.len() {
            let outcome = decode(link, &record[..bytes], wire_bytes, Tunnels::Closed);
            match outcome {
                Err(reason) => {
                    assert!(was_cut, "{link}: more bytes gave less at {bytes}");
                    assert_eq!(reason, Skipped::Cut, "{link} at {bytes}");
                }
                Ok(part) => {
                    was_cut = false;
                    assert_eq!(fixed_fields(&part), fixed_fields(&whole));
                    assert!(whole.payload.starts_with(part.payload));
                    assert!(option_bytes(&whole).starts_with(option_bytes(&part)));
                    assert_eq!(held(&whole) - held(&part), record.len() - bytes);
                }
            }
        }
        assert!(!was_cut, "{link}");
    }
}

/// A segment on Ethernet with some bytes changed, cut, and with another length on the wire.
fn any_segment() -> impl Strategy<Value = (u16, Vec<u8>, u32)> {
    let whole = prop_oneof![
        Just((IPV4, ethernet(IPV4, &hello_v4()))),
        Just((IPV6, ethernet(IPV6, &hello_v6()))),
    ];
    let changes = prop::collection::vec((14..100_usize, any::<u8>()), 0..4);
    (whole, changes, 14..120_usize, 0..120_u32).prop_map(
        |((ether_type, mut frame), changes, captured, wire_bytes)| {
            for (at, byte) in changes {
                if let Some(place) = frame.get_mut(at) {
                    *place = byte;
                }
            }
            frame.truncate(captured);
            (ether_type, frame, wire_bytes)
        },
    )
}

#[test]
fn tcp_in_ip_on_ethernet_is_usual() {
    for frame in [ethernet(IPV4, &hello_v4()), ethernet(IPV6, &hello_v6())] {
        let wire_bytes = u32::try_from(frame.len()).unwrap();
        assert!(decode_usual(LinkType::ETHERNET, &frame, wire_bytes).is_some());
        assert!(decode_usual(LinkType::RAW, &frame[14..], wire_bytes - 14).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Most segments on Ethernet are decoded by a path of their own.
    #[test]
    fn segment_on_ethernet_is_the_one_of_its_ip_packet((ether_type, frame, wire_bytes) in any_segment()) {
        let raw = if ether_type == IPV4 { LinkType::IPV4 } else { LinkType::IPV6 };
        let wire_bytes = wire_bytes.max(14);
        let on_ethernet = decode(LinkType::ETHERNET, &frame, wire_bytes, Tunnels::Closed);
        let alone = decode(raw, &frame[14..], wire_bytes - 14, Tunnels::Closed);
        prop_assert_eq!(format!("{on_ethernet:?}"), format!("{alone:?}"));
        if let Some(usual) = decode_usual(LinkType::ETHERNET, &frame, wire_bytes) {
            prop_assert_eq!(format!("{:?}", Ok::<_, Skipped>(usual)), format!("{alone:?}"));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        link in any_link(),
        captured in prop::collection::vec(any::<u8>(), 0..160),
        wire_bytes: u32,
        tunnels in any_tunnels(),
    ) {
        check(link, &captured, wire_bytes, tunnels);
    }

    #[test]
    fn damaged_valid_packets_never_panic(
        (link, mut record) in prop::sample::select(valid()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        kept: prop::sample::Index,
        wire_bytes: u32,
        tunnels in any_tunnels(),
    ) {
        for (place, byte) in damage {
            let place = place.index(record.len());
            record[place] = byte;
        }
        let kept = kept.index(record.len() + 1);
        check(link, &record[..kept], wire_bytes, tunnels);
    }

    #[test]
    fn a_damaged_packet_decodes_alike_on_ethernet_and_linux_cooked(
        (link, record) in prop::sample::select(valid()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        kept: prop::sample::Index,
        longer in 0_usize..200,
    ) {
        let mut ip = ip_bytes(link, &record).unwrap().to_vec();
        let ether_type: [u8; 2] = if ip[0] >> 4 == 6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        for (place, byte) in damage {
            let place = place.index(ip.len());
            ip[place] = byte;
        }
        let wire_bytes = ip.len() + longer;
        ip.truncate(kept.index(ip.len() + 1));
        let on_ethernet = [&[0; 12], &ether_type[..], &ip].concat();
        let cooked = [&[0; 14], &ether_type[..], &ip].concat();
        prop_assert_eq!(
            seen_of(LinkType::ETHERNET, &on_ethernet, wire_bytes + 14, Tunnels::Closed),
            seen_of(LinkType::LINUX_SLL, &cooked, wire_bytes + 16, Tunnels::Closed)
        );
    }

    #[test]
    fn a_valid_packet_decodes_as_in_etherparse(packet in any_valid()) {
        let ours = decode(LinkType::ETHERNET, &packet, 0, Tunnels::Closed).unwrap();
        let theirs = LaxSlicedPacket::from_ethernet(&packet).unwrap();
        let (source, destination): (std::net::IpAddr, std::net::IpAddr) = match theirs.net.unwrap() {
            LaxNetSlice::Ipv4(ip) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            LaxNetSlice::Ipv6(ip) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            LaxNetSlice::Arp(_) => unreachable!(),
        };
        prop_assert_eq!(ours.addresses.source(), source);
        prop_assert_eq!(ours.addresses.destination(), destination);
        let payload = match (ours.transport, theirs.transport.unwrap()) {
            (Transport::Tcp(ours_tcp), TransportSlice::Tcp(tcp)) => {
                prop_assert_eq!(ours.ports.source, tcp.source_port());
                prop_assert_eq!(ours.ports.destination, tcp.destination_port());
                prop_assert_eq!(ours_tcp.seq.0, tcp.sequence_number());
                prop_assert_eq!(ours_tcp.ack.0, tcp.acknowledgment_number());
                prop_assert_eq!(ours_tcp.window, tcp.window_size());
                prop_assert_eq!(ours_tcp.flags.syn(), tcp.syn());
                prop_assert_eq!(ours_tcp.flags.ae(), tcp.ns());
                prop_assert_eq!(ours_tcp.options.raw(), tcp.options());
                tcp.payload().to_vec()
            }
            (Transport::Udp(_), TransportSlice::Udp(udp)) => {
                prop_assert_eq!(ours.ports.source, udp.source_port());
                prop_assert_eq!(ours.ports.destination, udp.destination_port());
                udp.payload().to_vec()
            }
            (ours, theirs) => panic!("{ours:?} is not {theirs:?}"),
        };
        prop_assert_eq!(ours.payload, &payload[..]);
        prop_assert_eq!(ours.payload_bytes as usize, payload.len());
    }
}

prop_compose! {
    /// Generates an Ethernet frame with up to one VLAN tag, either IP version, TCP or UDP, and
    /// padding.
    fn any_valid()(
        tagged: bool,
        v4: Option<([u8; 4], [u8; 4])>,
        v6: ([u8; 16], [u8; 16]),
        tcp: Option<(u32, u32, u16, bool, bool)>,
        // Avoids the VXLAN ports.
        ports in (any::<u16>(), 0..4_000_u16),
        options in prop::collection::vec(any::<u8>(), 0..=40),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) -> Vec<u8> {
        let mut frame = Vec::new();
        let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let ip = match (tagged, v4) {
            (false, Some((source, destination))) => link.ipv4(source, destination, 64),
            (false, None) => link.ipv6(v6.0, v6.1, 64),
            (true, Some((source, destination))) => {
                link.single_vlan(5.try_into().unwrap()).ipv4(source, destination, 64)
            }
            (true, None) => link.single_vlan(5.try_into().unwrap()).ipv6(v6.0, v6.1, 64),
        };
        match tcp {
            Some((seq, ack, window, syn, ns)) => {
                let mut header = TcpHeader::new(ports.0, ports.1, seq, window);
                (header.acknowledgment_number, header.syn, header.ns) = (ack, syn, ns);
                header.set_options_raw(&options).unwrap();
                ip.tcp_header(header).write(&mut frame, &payload).unwrap();
            }
            None => ip.udp(ports.0, ports.1).write(&mut frame, &payload).unwrap(),
        }
        frame.resize(frame.len().max(60), 0);
        frame
    }
}
