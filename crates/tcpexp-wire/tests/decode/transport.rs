//! Transport headers.

use tcpexp_wire::{LinkType, SeqNum, TcpFlags, Transport, Tunnels, decode};

use crate::build::{HELLO, HELLO_V4, TCP, UDP, hello_v4, ipv4, seen, seen_of, tcp, udp};

const CUT: &str = "cut before the end of the transport header";

fn cut_at(bytes: usize) -> String {
    let packet = hello_v4();
    seen_of(
        LinkType::RAW,
        &packet[..bytes],
        packet.len(),
        Tunnels::Closed,
    )
}

#[test]
fn every_field_of_the_tcp_header_is_read() {
    let mut packet = hello_v4();
    packet[32] = 0x81;
    packet[33] = 0xff;
    packet[39] = 9;
    let packet = decode(LinkType::RAW, &packet, 0, Tunnels::Closed).unwrap();
    let Transport::Tcp(tcp) = packet.transport else {
        panic!("{packet:?}");
    };
    assert_eq!((tcp.seq, tcp.ack), (SeqNum(1000), SeqNum(2000)));
    assert_eq!(tcp.flags, TcpFlags::from_bits(0x1ff));
    assert_eq!((tcp.window, tcp.checksum, tcp.urgent), (500, 0xabcd, 9));
    assert_eq!(tcp.options.raw(), [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 3]);
    assert!(!tcp.options.is_cut());
}

#[test]
fn truncation_in_the_payload_keeps_the_length() {
    assert_eq!(cut_at(54), HELLO_V4.replace("hello", "he"));
    assert_eq!(cut_at(52), HELLO_V4.replace("hello", ""));
}

#[test]
fn truncation_in_the_options_loses_only_options() {
    for bytes in 40..52 {
        assert_eq!(cut_at(bytes), HELLO_V4.replace(" ts 7 3 hello", " "));
    }
    let packet = hello_v4();
    let packet = decode(LinkType::RAW, &packet[..45], 57, Tunnels::Closed).unwrap();
    let Transport::Tcp(tcp) = packet.transport else {
        panic!("{packet:?}");
    };
    assert_eq!(tcp.options.raw(), [1, 1, 8, 10, 0]);
    assert!(tcp.options.is_cut());
}

#[test]
fn truncation_in_the_fixed_header_loses_the_packet() {
    for bytes in 0..40 {
        assert_eq!(cut_at(bytes), CUT);
    }
}

#[test]
fn a_data_offset_below_five_is_malformed() {
    let mut segment = tcp(HELLO);
    segment[12] = 0x40;
    assert_eq!(
        seen(LinkType::RAW, &ipv4(TCP, &segment)),
        "malformed transport header"
    );
}

#[test]
fn a_tcp_header_longer_than_the_ip_payload_is_malformed() {
    let whole = ipv4(TCP, &tcp(&[])[..31]);
    assert_eq!(seen(LinkType::RAW, &whole), "malformed transport header");
    let short = ipv4(TCP, &tcp(&[])[..19]);
    assert_eq!(seen(LinkType::RAW, &short), "malformed transport header");
    let cut = &whole[..45];
    let line = seen_of(LinkType::RAW, cut, whole.len(), Tunnels::Closed);
    assert_eq!(line, "malformed transport header");
}

#[test]
fn a_udp_datagram_has_the_payload_length_of_its_header() {
    let datagram = ipv4(UDP, &udp(53, HELLO));
    let line = "10.0.0.1:40000 > 10.0.0.2:53 udp hello, 5 of 33 bytes";
    assert_eq!(seen(LinkType::RAW, &datagram), line);
    let cut = seen_of(LinkType::RAW, &datagram[..30], 33, Tunnels::Closed);
    assert_eq!(cut, line.replace("hello", "he"));
    for bytes in 0..28 {
        assert_eq!(
            seen_of(LinkType::RAW, &datagram[..bytes], 33, Tunnels::Closed),
            CUT
        );
    }
}

/// Decodes a datagram with 5 bytes of payload and a header length of `length`.
fn udp_length(length: u8) -> String {
    let mut datagram = udp(53, HELLO);
    datagram[5] = length;
    seen(LinkType::RAW, &ipv4(UDP, &datagram))
}

#[test]
fn the_smaller_of_udp_length_and_ip_length_counts() {
    let all = "10.0.0.1:40000 > 10.0.0.2:53 udp hello, 5 of 33 bytes";
    assert_eq!(udp_length(10), all.replace("hello, 5", "he, 2"));
    assert_eq!(udp_length(200), all);
    assert_eq!(udp_length(0), all);
    assert_eq!(udp_length(7), "malformed transport header");
}

#[test]
fn an_ip_payload_shorter_than_a_udp_header_is_malformed() {
    let datagram = ipv4(UDP, &udp(53, HELLO)[..7]);
    assert_eq!(seen(LinkType::RAW, &datagram), "malformed transport header");
}
