//! Builds packets for the tests, and prints decoded packets as one line.

use tcpexp_wire::{LinkType, Packet, Skipped, Tcp, Transport, Tunnels, decode};

/// Payload of five bytes.
pub(crate) const HELLO: &[u8] = b"hello";
/// Decoded line of `ethernet(IPV4, &ipv4(TCP, &tcp(HELLO)))` in any wrapping.
pub(crate) const HELLO_V4: &str =
    "10.0.0.1:40000 > 10.0.0.2:5201 PA seq 1000 ack 2000 win 500 ts 7 3 hello, 5 of 57 bytes";
/// Decoded line of `ethernet(IPV6, &ipv6(TCP, &tcp(HELLO)))` in any wrapping.
pub(crate) const HELLO_V6: &str =
    "fd00::1:40000 > fd00::2:5201 PA seq 1000 ack 2000 win 500 ts 7 3 hello, 5 of 77 bytes";

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;

/// Concatenates layers from the outside in.
pub(crate) fn stack(layers: &[&[u8]]) -> Vec<u8> {
    layers.concat()
}

/// Builds a segment with the timestamps option.
pub(crate) fn tcp(payload: &[u8]) -> Vec<u8> {
    let ports = [0x9c, 0x40, 0x14, 0x51];
    let seq = 1000_u32.to_be_bytes();
    let ack = 2000_u32.to_be_bytes();
    let offset_flags_window = [0x80, 0x18, 0x01, 0xf4];
    let checksum_urgent = [0xab, 0xcd, 0, 0];
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 3];
    let header = [ports, seq, ack, offset_flags_window, checksum_urgent].concat();
    stack(&[&header, &timestamps, payload])
}

pub(crate) fn udp(destination: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = destination.to_be_bytes();
    let [length_high, length_low] = be16(payload.len() + 8);
    let header = [0x9c, 0x40, high, low, length_high, length_low, 0xab, 0xcd];
    stack(&[&header, payload])
}

/// Builds a packet from 10.0.0.1 to 10.0.0.2, TTL 64, ECT(0), identification 0x1234.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_with_options(&[], protocol, payload)
}

pub(crate) fn ipv4_with_options(options: &[u8], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header_bytes = 20 + options.len();
    let ihl = u8::try_from(header_bytes / 4).unwrap();
    let [high, low] = be16(header_bytes + payload.len());
    let header = [
        0x40 | ihl,
        2,
        high,
        low,
        0x12,
        0x34,
        0,
        0,
        64,
        protocol,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
    ];
    stack(&[&header, options, payload])
}

/// Builds a packet from `fd00::1` to `fd00::2`, hop limit 64, ECT(0).
pub(crate) fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = be16(payload.len());
    let mut header = [0; 40];
    header[..8].copy_from_slice(&[0x60, 0x20, 0, 0, high, low, next_header, 64]);
    (header[8], header[23]) = (0xfd, 1);
    (header[24], header[39]) = (0xfd, 2);
    stack(&[&header, payload])
}

pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    stack(&[&[0x02; 12], &ether_type.to_be_bytes(), payload])
}

pub(crate) fn hello_v4() -> Vec<u8> {
    ipv4(TCP, &tcp(HELLO))
}

pub(crate) fn hello_v6() -> Vec<u8> {
    ipv6(TCP, &tcp(HELLO))
}

/// Decodes a record that holds the whole frame; tunnels are closed.
pub(crate) fn seen(link: LinkType, frame: &[u8]) -> String {
    seen_of(link, frame, frame.len(), Tunnels::Closed)
}

/// Decodes a record that holds the whole frame; tunnels are entered.
pub(crate) fn seen_inside(link: LinkType, frame: &[u8]) -> String {
    seen_of(link, frame, frame.len(), Tunnels::Entered)
}

/// Decodes a record of a frame that had `wire_bytes` bytes.
pub(crate) fn seen_of(
    link: LinkType,
    captured: &[u8],
    wire_bytes: usize,
    tunnels: Tunnels,
) -> String {
    let wire_bytes = u32::try_from(wire_bytes).unwrap();
    line(&decode(link, captured, wire_bytes, tunnels))
}

/// Prints a packet, or the reason for skipping it, as one line.
pub(crate) fn line(outcome: &Result<Packet<'_>, Skipped>) -> String {
    let packet = match outcome {
        Ok(packet) => packet,
        Err(reason) => return reason.to_string(),
    };
    let (source, destination) = (packet.addresses.source(), packet.addresses.destination());
    let ports = packet.ports;
    let transport = match packet.transport {
        Transport::Udp(_) => "udp".into(),
        Transport::Other(other) => format!("protocol {}", other.protocol),
        Transport::Tcp(tcp) => segment(&tcp),
    };
    let payload = match packet.payload {
        short if short.len() < 10 => short.escape_ascii().to_string(),
        long => format!("{} captured", long.len()),
    };
    let (payload_bytes, ip_bytes) = (packet.payload_bytes, packet.ip_bytes);
    format!(
        "{source}:{} > {destination}:{} {transport} {payload}, {payload_bytes} of {ip_bytes} bytes",
        ports.source, ports.destination,
    )
}

fn segment(tcp: &Tcp<'_>) -> String {
    let (flags, seq, ack, window) = (tcp.flags, tcp.seq.0, tcp.ack.0, tcp.window);
    let fixed = format!("{flags} seq {seq} ack {ack} win {window}");
    match tcp.options.timestamps() {
        Some((tsval, tsecr)) => format!("{fixed} ts {tsval} {tsecr}"),
        None => fixed,
    }
}

fn be16(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap().to_be_bytes()
}
