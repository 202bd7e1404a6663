//! Random packets and random filter expressions about them.

#![allow(
    clippy::cast_possible_truncation,
    reason = "random numbers are below small bounds"
)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tcpexp_testkit::{
    CaptureWriter, Container, Endian, FrameSpec, Framing, Interface, Payload, Prng, Transport,
};
use tcpexp_units::Timestamp;

/// One capture for each framing and snapshot length, with packets of all kinds.
pub(super) fn synthetic(snaplens: &[u32]) -> Vec<(String, Vec<u8>)> {
    let framings = [
        Framing::Ethernet,
        Framing::Vlan(5),
        Framing::QinQ(5, 7),
        Framing::RawIp,
        Framing::Sll,
        Framing::Sll2,
    ];
    let mut captures = Vec::new();
    for (place, framing) in framings.into_iter().enumerate() {
        for &snaplen in snaplens {
            let name = format!("synthetic-{place}-{snaplen}.pcap");
            let mut prng = Prng::new(place as u64);
            let interface = Interface {
                link_type: framing.link_type(),
                snaplen,
                ..Interface::default()
            };
            let mut writer =
                CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &[interface])
                    .unwrap();
            for number in 0..400 {
                let frame = random_frame(&mut prng, framing);
                let at = Timestamp::from_nanos(1_000_000_000 + number * 1_000_000);
                let wire_bytes = u32::try_from(frame.len()).unwrap();
                writer.write(at, &frame, wire_bytes).unwrap();
            }
            captures.push((name, writer.into_inner()));
        }
    }
    captures
}

fn random_frame(prng: &mut Prng, framing: Framing) -> Vec<u8> {
    // Some frames of a tagged capture have no tag.
    let framing = match framing {
        Framing::Vlan(_) | Framing::QinQ(..) if prng.chance_ppm(300_000) => Framing::Ethernet,
        other => other,
    };
    let is_v6 = prng.chance_ppm(400_000);
    let port = |prng: &mut Prng| [80, 443, 53, 5201, 22, 40_000][prng.below(6) as usize];
    let address = |prng: &mut Prng| {
        if is_v6 {
            IpAddr::V6(V6[prng.below(3) as usize])
        } else {
            IpAddr::V4(V4[prng.below(4) as usize])
        }
    };
    let transport = if prng.chance_ppm(400_000) {
        Transport::Udp
    } else {
        let FrameSpec { transport, .. } = FrameSpec::default();
        match transport {
            Transport::Tcp {
                seq,
                ack,
                window,
                options,
                ..
            } => Transport::Tcp {
                seq,
                ack,
                flags: prng.below(64) as u16,
                window,
                options,
            },
            other => other,
        }
    };
    let mut frame = FrameSpec {
        framing,
        src: address(prng),
        dst: address(prng),
        src_port: port(prng),
        dst_port: port(prng),
        ttl: 60 + prng.below(8) as u8,
        transport,
        payload: Payload::new(0, 0, prng.below(1_400) as u16),
        ..FrameSpec::default()
    }
    .to_bytes();
    let ip = framing.header_bytes();
    let other_protocol = [1, 58, 132, 2, 44, 50][prng.below(6) as usize];
    match (prng.below(10), is_v6) {
        // Another protocol, such as ICMP, or a fragment header in IPv6.
        (0 | 1, false) => frame[ip + 9] = other_protocol,
        (0 | 1, true) => frame[ip + 6] = other_protocol,
        // A fragment.
        (2, false) => frame[ip + 7] = prng.below(3) as u8,
        // Another protocol after the link header, such as ARP.
        (3, _) if ip >= 14 => {
            let field = if framing == Framing::Sll2 { 0 } else { ip - 2 };
            let ether_type = [0x0806_u16, 0x8035, 0x88cc, 0x0026][prng.below(4) as usize];
            frame[field..field + 2].copy_from_slice(&ether_type.to_be_bytes());
        }
        // Ethernet multicast and broadcast.
        (4, _) => {
            let first = prng.below(2) as u8 * 0xfe + 1;
            let end = frame.len().min(6);
            if framing.link_type() == 1 {
                frame[..end].fill(first);
            }
        }
        // IPv4 options.
        (5, false) => frame[ip] = 0x46,
        _ => {}
    }
    frame
}

const V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(10, 0, 0, 2),
    Ipv4Addr::new(192, 168, 1, 7),
    Ipv4Addr::new(224, 0, 0, 5),
];

const V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
];

/// An expression with parentheses up to `depth` deep.
pub(super) fn random_expression(prng: &mut Prng, depth: u32) -> String {
    let one = |prng: &mut Prng| {
        if depth == 0 || prng.chance_ppm(400_000) {
            random_condition(prng)
        } else {
            match prng.below(3) {
                0 => format!("not {}", random_condition(prng)),
                1 => format!("( {} )", random_expression(prng, depth - 1)),
                _ => format!("!({})", random_expression(prng, depth - 1)),
            }
        }
    };
    let mut expression = one(prng);
    for _ in 0..prng.below(3) {
        let join = ["and", "or", "&&", "||"][prng.below(4) as usize];
        expression = format!("{expression} {join} {}", one(prng));
    }
    expression
}

fn random_condition(prng: &mut Prng) -> String {
    let side = ["", "src ", "dst ", "src or dst ", "src and dst "][prng.below(5) as usize];
    let v4 = V4[prng.below(4) as usize];
    let v6 = V6[prng.below(3) as usize];
    let port = [80, 443, 53, 5201, 22, 40_000][prng.below(6) as usize];
    let transport = ["", "tcp ", "udp ", "sctp "][prng.below(4) as usize];
    let number = prng.below(70);
    match prng.below(15) {
        0 => format!("{side}host {v4}"),
        1 => format!("{side}host {v6}"),
        2 => format!(
            "{side}net {}.0/24",
            &v4.to_string()[..v4.to_string().rfind('.').unwrap()]
        ),
        3 => format!("ip {side}net {}", v4.octets()[0]),
        4 | 5 => format!("{transport}{side}port {port}"),
        6 => format!("{transport}{side}port {port} or 443"),
        7 => format!("{transport}{side}portrange {port}-{}", number * 100),
        8 => [
            "tcp", "udp", "ip", "ip6", "icmp", "icmp6", "arp", "rarp", "sctp", "igmp", "esp",
        ][prng.below(11) as usize]
            .to_owned(),
        9 => format!("vlan {}", 5 + prng.below(3)),
        10 => "vlan".to_owned(),
        11 => format!(
            "{} {}",
            ["less", "greater"][prng.below(2) as usize],
            number * 20
        ),
        12 => random_comparison(prng),
        13 => format!("ip[{}] & {number} > {}", prng.below(24), prng.below(60)),
        _ => format!(
            "tcp[{}:2] - {number} >= {}",
            prng.below(30),
            prng.below(60_000)
        ),
    }
}

/// A comparison with several operators. Constants are odd, and at most one operator is `%` or `^`, because
/// tcpdump refuses a constant divisor of 0.
fn random_comparison(prng: &mut Prng) -> String {
    const OPERATORS: [&str; 4] = ["+", "*", "|", "&"];
    let greedy = prng.below(4);
    let mut value = format!("ip[{}]", prng.below(20));
    for place in 0..3 {
        let operator = if greedy == place {
            ["%", "^"][prng.below(2) as usize]
        } else {
            OPERATORS[prng.below(4) as usize]
        };
        value = format!("{value} {operator} {}", prng.below(9) * 2 + 1);
    }
    format!("{value} < {}", prng.below(60))
}
