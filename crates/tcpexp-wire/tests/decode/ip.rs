//! IP headers: lengths, fragments, extension headers.

use tcpexp_wire::{LinkType, Tunnels, decode};

use crate::build::{
    HELLO, HELLO_V4, HELLO_V6, IPV4, IPV6, TCP, UDP, ethernet, hello_v4, hello_v6, ipv4,
    ipv4_with_options, ipv6, seen, seen_of, stack, tcp, udp,
};

fn raw(ip: &[u8]) -> String {
    seen(LinkType::RAW, ip)
}

#[test]
fn ttl_traffic_class_and_identification_come_from_the_header() {
    let v4 = hello_v4();
    let v4 = decode(LinkType::RAW, &v4, 0, Tunnels::Closed).unwrap();
    assert_eq!((v4.ttl, v4.traffic_class, v4.ip_id), (64, 2, Some(0x1234)));
    let v6 = hello_v6();
    let v6 = decode(LinkType::RAW, &v6, 0, Tunnels::Closed).unwrap();
    assert_eq!((v6.ttl, v6.traffic_class, v6.ip_id), (64, 2, None));
}

#[test]
fn ipv4_options_are_skipped() {
    let record_route = [7, 7, 4, 0, 0, 0, 0, 0];
    let line = raw(&ipv4_with_options(&record_route, TCP, &tcp(HELLO)));
    assert_eq!(line, HELLO_V4.replace("57", "65"));
}

#[test]
fn a_first_fragment_has_its_own_payload() {
    let mut first = hello_v4();
    first[6] = 0x20;
    assert_eq!(raw(&first), HELLO_V4);

    let mut first = ipv4(UDP, &udp(53, &[b'x'; 100])[..48]);
    first[6] = 0x20;
    assert_eq!(
        raw(&first),
        "10.0.0.1:40000 > 10.0.0.2:53 udp 40 captured, 40 of 68 bytes"
    );
}

#[test]
fn a_later_fragment_is_skipped() {
    let mut later = hello_v4();
    later[7] = 1;
    assert_eq!(raw(&later), "IP fragment other than the first");
    let header = [TCP, 0, 0x00, 0x08, 0, 0, 0, 9];
    let later = ipv6(44, &stack(&[&header, &tcp(HELLO)]));
    assert_eq!(raw(&later), "IP fragment other than the first");
}

#[test]
fn an_ipv6_fragment_header_yields_the_low_half_of_its_identification() {
    let header = [TCP, 0, 0x00, 0x01, 0xaa, 0xbb, 0xcc, 0xdd];
    let first = ipv6(44, &stack(&[&header, &tcp(HELLO)]));
    let packet = decode(LinkType::RAW, &first, 0, Tunnels::Closed).unwrap();
    assert_eq!(packet.ip_id, Some(0xccdd));
    assert_eq!(raw(&first), HELLO_V6.replace("77", "85"));
}

#[test]
fn extension_headers_are_skipped() {
    let hop_by_hop = [43, 0, 5, 2, 0, 0, 0, 0];
    let routing = [
        60, 2, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
    ];
    let destination = [51, 0, 1, 4, 0, 0, 0, 0];
    let authentication = [
        TCP, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
    ];
    let chain = stack(&[&hop_by_hop, &routing, &destination, &authentication]);
    let line = raw(&ipv6(0, &stack(&[&chain, &tcp(HELLO)])));
    assert_eq!(line, HELLO_V6.replace("77", "141"));
}

#[test]
fn an_authentication_header_is_skipped_in_ipv4() {
    let authentication = [TCP, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9];
    let line = raw(&ipv4(51, &stack(&[&authentication, &tcp(HELLO)])));
    assert_eq!(line, HELLO_V4.replace("57", "73"));
}

#[test]
fn an_extension_header_longer_than_the_packet_is_malformed() {
    assert_eq!(
        raw(&ipv6(60, &[TCP, 9, 0, 0, 0, 0, 0, 0])),
        "malformed IP header"
    );
    assert_eq!(raw(&ipv6(44, &[TCP, 0, 0, 0])), "malformed IP header");
    assert_eq!(raw(&ipv6(43, &[])), "malformed IP header");
}

#[test]
fn a_total_length_of_zero_means_the_length_of_the_frame() {
    let mut big = ipv4(TCP, &tcp(&vec![b'x'; 60_000]));
    (big[2], big[3]) = (0, 0);
    let big = ethernet(IPV4, &big);
    let line = "10.0.0.1:40000 > 10.0.0.2:5201 PA seq 1000 ack 2000 win 500 ts 7 3";
    assert_eq!(
        seen(LinkType::ETHERNET, &big),
        format!("{line} 60000 captured, 60000 of 60052 bytes")
    );
    assert_eq!(
        seen_of(LinkType::ETHERNET, &big[..96], 180_066, Tunnels::Closed),
        format!("{line} 30 captured, 180000 of 180052 bytes")
    );
}

#[test]
fn a_payload_length_of_zero_means_the_length_of_the_frame() {
    let mut big = hello_v6();
    (big[4], big[5]) = (0, 0);
    let big = ethernet(IPV6, &big);
    assert_eq!(seen(LinkType::ETHERNET, &big), HELLO_V6);
    assert_eq!(
        seen_of(LinkType::ETHERNET, &big, 180_086, Tunnels::Closed),
        HELLO_V6.replace("5 of 77", "180000 of 180072")
    );
}

#[test]
fn the_padding_after_an_ipv6_header_without_a_next_one_is_no_payload() {
    let mut frame = ethernet(IPV6, &ipv6(59, &[]));
    frame.resize(60, 0);
    let seen = seen(LinkType::ETHERNET, &frame);
    assert!(seen.ends_with("0 of 40 bytes"), "{seen}");
}

/// Builds an IPv6 packet of length zero with a jumbo payload option of `length`.
fn jumbogram(length: u32) -> Vec<u8> {
    let [a, b, c, d] = length.to_be_bytes();
    let hop_by_hop = [TCP, 0, 0xc2, 4, a, b, c, d];
    let mut packet = ipv6(0, &stack(&[&hop_by_hop, &tcp(HELLO)]));
    (packet[4], packet[5]) = (0, 0);
    packet
}

#[test]
fn the_jumbo_payload_option_sets_the_length() {
    let line = HELLO_V6.replace("5 of 77", "100000 of 100080");
    assert_eq!(raw(&jumbogram(100_040)), line);
    let mut padded = jumbogram(100_048);
    padded.splice(40..42, [TCP, 1, 0, 0, 5, 2, 0, 0, 1, 0]);
    assert_eq!(
        raw(&padded),
        HELLO_V6.replace("5 of 77", "100000 of 100088")
    );
}

#[test]
fn no_packet_is_longer_than_the_longest_super_packet() {
    let line = HELLO_V6.replace("5 of 77", "524240 of 524320");
    assert_eq!(raw(&jumbogram(u32::MAX)), line);
    let mut big = ipv4(TCP, &tcp(HELLO));
    (big[2], big[3]) = (0, 0);
    let line = seen_of(LinkType::RAW, &big, 4_000_000_000, Tunnels::Closed);
    assert!(line.ends_with("524228 of 524280 bytes"), "{line}");
}

#[test]
fn a_jumbogram_truncated_in_its_option_is_truncated() {
    let cut = &jumbogram(100_040)[..44];
    let line = seen_of(LinkType::RAW, cut, 100_080, Tunnels::Closed);
    assert_eq!(line, "cut before the end of the transport header");
}

#[test]
fn an_ip_length_beyond_the_end_of_the_frame_is_used() {
    let mut shortened = hello_v4();
    (shortened[2], shortened[3]) = (0x05, 0xdc);
    assert_eq!(raw(&shortened), HELLO_V4.replace("5 of 57", "1448 of 1500"));
}

#[test]
fn a_header_that_contradicts_itself_is_malformed() {
    let mut short_header = hello_v4();
    short_header[0] = 0x44;
    assert_eq!(raw(&short_header), "malformed IP header");
    let mut short_total = hello_v4();
    (short_total[2], short_total[3]) = (0, 19);
    assert_eq!(raw(&short_total), "malformed IP header");
    let wrong_version = ethernet(IPV4, &hello_v6());
    assert_eq!(
        seen(LinkType::ETHERNET, &wrong_version),
        "malformed IP header"
    );
}
