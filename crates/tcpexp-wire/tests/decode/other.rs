//! Protocols other than TCP and UDP.

use tcpexp_wire::{LinkType, Packet, Transport, Tunnels, decode};

use crate::build::{HELLO, ipv4, ipv6, seen, seen_of, stack};

const ICMP: u8 = 1;
const ESP: u8 = 50;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
const DCCP: u8 = 33;
const UDP_LITE: u8 = 136;

fn raw(packet: &[u8]) -> String {
    seen(LinkType::RAW, packet)
}

fn decoded(packet: &[u8]) -> Packet<'_> {
    decode(LinkType::RAW, packet, 0, Tunnels::Closed).unwrap()
}

/// Builds an echo with identifier 4660 and sequence number 0x4142, in ASCII "AB".
fn echo(kind: u8) -> Vec<u8> {
    stack(&[&[kind, 0, 0xab, 0xcd, 0x12, 0x34, 0x41, 0x42], HELLO])
}

#[test]
fn an_echo_has_its_identifier_as_ports_and_its_sequence_number_in_the_payload() {
    for kind in [8, 0] {
        assert_eq!(
            raw(&ipv4(ICMP, &echo(kind))),
            "10.0.0.1:4660 > 10.0.0.2:4660 protocol 1 ABhello, 7 of 33 bytes"
        );
    }
    for kind in [128, 129] {
        assert_eq!(
            raw(&ipv6(ICMPV6, &echo(kind))),
            "fd00::1:4660 > fd00::2:4660 protocol 58 ABhello, 7 of 53 bytes"
        );
    }
}

#[test]
fn other_icmp_messages_have_no_ports() {
    let unreachable = stack(&[&[3, 1, 0xab, 0xcd, 0, 0, 0, 0], HELLO]);
    assert_eq!(
        raw(&ipv4(ICMP, &unreachable)),
        "10.0.0.1:0 > 10.0.0.2:0 protocol 1 \\x00\\x00\\x00\\x00hello, 9 of 33 bytes"
    );
}

#[test]
fn sctp_has_ports_and_its_chunks_are_payload() {
    let header = [0x9c, 0x40, 0, 80, 1, 2, 3, 4, 0x12, 0x34, 0x10, 0x01];
    let packet = ipv4(SCTP, &stack(&[&header, HELLO]));
    assert_eq!(
        raw(&packet),
        "10.0.0.1:40000 > 10.0.0.2:80 protocol 132 hello, 5 of 37 bytes"
    );
    let Transport::Other(other) = decoded(&packet).transport else {
        panic!("SCTP is neither TCP nor UDP");
    };
    assert_eq!(other.checksum, 0x1234 ^ 0x1001);
}

#[test]
fn the_rest_of_a_header_is_not_data() {
    let data_bytes = |protocol, header: &[u8]| {
        let packet = ipv4(protocol, &stack(&[header, HELLO]));
        let packet = decoded(&packet);
        let Transport::Other(other) = packet.transport else {
            panic!("neither TCP nor UDP");
        };
        packet.payload_bytes - other.header_rest_bytes
    };
    assert_eq!(data_bytes(ICMP, &[8, 0, 0, 0, 0, 1, 0, 2]), 5);
    assert_eq!(data_bytes(ICMP, &[3, 1, 0, 0, 0, 0, 0, 0]), 5);
    assert_eq!(data_bytes(UDP_LITE, &[0, 1, 0, 2, 0, 8, 0, 0]), 5);
    let mut dccp = [0; 16];
    dccp[4] = 4;
    assert_eq!(data_bytes(DCCP, &dccp), 5);
    // An offset beyond the end of the packet.
    dccp[4] = 255;
    assert_eq!(data_bytes(DCCP, &dccp), 0);
    assert_eq!(data_bytes(ESP, &[]), 5);
}

#[test]
fn protocols_without_ports_are_all_payload() {
    for protocol in [ESP, 89, 253] {
        let line = format!("10.0.0.1:0 > 10.0.0.2:0 protocol {protocol} hello, 5 of 25 bytes");
        assert_eq!(raw(&ipv4(protocol, HELLO)), line);
    }
    // No next header (RFC 8200, section 4.7).
    assert_eq!(
        raw(&ipv6(59, &[])),
        "fd00::1:0 > fd00::2:0 protocol 59 , 0 of 40 bytes"
    );
}

#[test]
fn a_header_that_the_capture_cuts_is_distinguished_from_one_that_was_never_sent() {
    let whole = ipv4(ICMP, &echo(8));
    for (bytes, header) in [(25, 6), (21, 4)] {
        let cut = seen_of(LinkType::RAW, &whole[..bytes], whole.len(), Tunnels::Closed);
        assert_eq!(cut, "cut before the end of the transport header");
        let short = ipv4(ICMP, &echo(8)[..header - 1]);
        assert_eq!(raw(&short), "malformed transport header");
    }
    let sctp = ipv4(SCTP, &[0; 11]);
    assert_eq!(raw(&sctp), "malformed transport header");
}
