//! Tunnels.

use tcpexp_wire::{LinkType, Tunnels, decode};

use crate::build::{
    HELLO, HELLO_V4, HELLO_V6, IPV4, UDP, ethernet, hello_v4, hello_v6, ipv4, ipv6, seen,
    seen_inside, seen_of, stack, udp,
};

const GRE: u8 = 47;

fn gre(header: &[u8], payload: &[u8]) -> String {
    seen_inside(LinkType::RAW, &ipv4(GRE, &stack(&[header, payload])))
}

#[test]
fn ip_in_ip_is_decoded_if_enabled() {
    for outer in [ipv4, ipv6] {
        let four = outer(4, &hello_v4());
        assert_eq!(seen(LinkType::RAW, &four), "IP-in-IP tunnel not entered");
        assert_eq!(seen_inside(LinkType::RAW, &four), HELLO_V4);
        let six = outer(41, &hello_v6());
        assert_eq!(seen(LinkType::RAW, &six), "IP-in-IP tunnel not entered");
        assert_eq!(seen_inside(LinkType::RAW, &six), HELLO_V6);
    }
}

#[test]
fn marks_on_the_outer_header_are_marks_of_the_packet_behind_the_tunnel() {
    const NOT_ECT: u8 = 0b00;
    const ECT_1: u8 = 0b01;
    const ECT_0: u8 = 0b10;
    const CE: u8 = 0b11;
    // RFC 6040, section 4.2. A packet without ECT is dropped.
    for (outer, inner, forwarded) in [
        (CE, ECT_0, CE),
        (CE, ECT_1, CE),
        (CE, NOT_ECT, NOT_ECT),
        (ECT_1, ECT_0, ECT_1),
        (ECT_0, ECT_1, ECT_1),
        (NOT_ECT, CE, CE),
    ] {
        let mut packet = hello_v4();
        packet[1] = inner;
        let mut packet = ipv4(4, &packet);
        packet[1] = outer;
        let wire_bytes = u32::try_from(packet.len()).unwrap();
        let decoded = decode(LinkType::RAW, &packet, wire_bytes, Tunnels::Entered);
        assert_eq!(
            decoded.unwrap().traffic_class,
            forwarded,
            "{outer:b} {inner:b}"
        );
    }
}

#[test]
fn gre_is_decoded_if_enabled() {
    let packet = ipv4(GRE, &stack(&[&[0, 0, 8, 0], &hello_v4()]));
    assert_eq!(seen(LinkType::RAW, &packet), "GRE tunnel not entered");
    assert_eq!(seen_inside(LinkType::RAW, &packet), HELLO_V4);
}

#[test]
fn each_optional_field_of_gre_is_skipped() {
    let (checksum, key, sequence) = (0x80_u8, 0x20, 0x10);
    for flags in [
        checksum,
        key,
        sequence,
        checksum | key,
        checksum | key | sequence,
    ] {
        let fields = vec![9; 4 * flags.count_ones() as usize];
        let header = stack(&[&[flags, 0, 0x86, 0xdd], &fields]);
        assert_eq!(gre(&header, &hello_v6()), HELLO_V6);
    }
}

#[test]
fn gre_carries_ethernet_and_ppp() {
    let frame = ethernet(IPV4, &hello_v4());
    assert_eq!(gre(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1], &frame), HELLO_V4);
    // RFC 2637: key, sequence and acknowledgment number, version 1.
    let header = [0x30, 0x81, 0x88, 0x0b, 0, 59, 0, 1, 0, 0, 0, 5, 0, 0, 0, 4];
    let ppp = stack(&[&[0xff, 0x03, 0x00, 0x21], &hello_v4()]);
    assert_eq!(gre(&header, &ppp), HELLO_V4);
}

#[test]
fn gre_with_another_payload_is_not_ip() {
    assert_eq!(gre(&[0, 0, 0, 0], &[]), "not IP");
    assert_eq!(gre(&[0x40, 0, 8, 0, 0, 0, 0, 0], &hello_v4()), "not IP");
    assert_eq!(gre(&[0, 7, 8, 0], &hello_v4()), "not IP");
}

/// Builds a VXLAN packet to `port` with a header that begins with `flags`.
fn vxlan(port: u16, flags: u8) -> Vec<u8> {
    let header = [flags, 0, 0, 0, 0, 0, 42, 0];
    let frame = ethernet(IPV4, &hello_v4());
    ipv4(UDP, &udp(port, &stack(&[&header, &frame])))
}

#[test]
fn vxlan_is_decoded_if_enabled() {
    for port in [4789, 8472] {
        assert_eq!(
            seen(LinkType::RAW, &vxlan(port, 8)),
            "VXLAN tunnel not entered"
        );
        assert_eq!(seen_inside(LinkType::RAW, &vxlan(port, 8)), HELLO_V4);
    }
}

#[test]
fn a_datagram_to_the_vxlan_port_without_a_vxlan_header_is_plain_udp() {
    let line = "10.0.0.1:40000 > 10.0.0.2:4789 udp 79 captured, 79 of 107 bytes";
    assert_eq!(seen(LinkType::RAW, &vxlan(4789, 0)), line);
    assert_eq!(seen_inside(LinkType::RAW, &vxlan(4789, 0)), line);
    let short = ipv4(UDP, &udp(4789, HELLO));
    let line = "10.0.0.1:40000 > 10.0.0.2:4789 udp hello, 5 of 33 bytes";
    assert_eq!(seen(LinkType::RAW, &short), line);
}

#[test]
fn a_datagram_to_the_vxlan_port_truncated_before_its_header_is_truncated() {
    let packet = vxlan(4789, 8);
    for tunnels in [Tunnels::Closed, Tunnels::Entered] {
        let line = seen_of(LinkType::RAW, &packet[..32], packet.len(), tunnels);
        assert_eq!(line, "cut before the end of the transport header");
    }
}

#[test]
fn an_inner_total_length_of_zero_means_the_rest_of_the_outer_packet() {
    let mut inner = hello_v4();
    (inner[2], inner[3]) = (0, 0);
    assert_eq!(seen_inside(LinkType::RAW, &ipv4(4, &inner)), HELLO_V4);
}

#[test]
fn eight_nested_tunnels_are_decoded_and_nine_are_not() {
    let nested = |depth: usize| (0..depth).fold(hello_v4(), |inner, _| ipv4(4, &inner));
    assert_eq!(seen_inside(LinkType::RAW, &nested(8)), HELLO_V4);
    assert_eq!(
        seen_inside(LinkType::RAW, &nested(9)),
        "too many nested tunnels"
    );
}
