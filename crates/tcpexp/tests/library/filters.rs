//! Filter expressions against tcpdump, packet for packet.

#![allow(
    clippy::cast_possible_truncation,
    reason = "random numbers are below small bounds"
)]

use std::fs;
use std::io::{BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::Command;

use crate::common::{captures_in, fixture_folders, shared_folders};
use tcpexp::Filter;
use tcpexp_capture::{Capture, decompressed};
use tcpexp_testkit::{
    CaptureWriter, Container, Endian, FrameSpec, Framing, Interface, Payload, Prng, Transport,
    has_programs,
};
use tcpexp_units::Timestamp;
use tcpexp_wire::LinkType;

/// Expressions of people: each form of pcap-filter(7) that the parser knows.
const EXPRESSIONS: [&str; 72] = [
    "",
    "tcp",
    "udp",
    "ip",
    "ip6",
    "icmp",
    "icmp6",
    "arp",
    "sctp",
    "ip or ip6",
    "not tcp",
    "!udp && ip",
    "host 10.0.0.1",
    "src host 10.0.0.1",
    "dst 10.0.0.1",
    "src and dst host 10.0.0.1",
    "src or dst 10.0.0.2",
    "ip host 10.0.0.1",
    "arp host 10.0.0.1",
    "host 2001:db8::1",
    "ip6 src host 2001:db8::1",
    "host 10.0.0.1 and not 10.0.0.2",
    "host 10.0.0.1 or 2001:db8::1",
    "host (10.0.0.1 or 192.168.1.7)",
    "net 10",
    "net 10.0",
    "net 10.0.0.0/8",
    "net 192.168.0.0 mask 255.255.0.0",
    "src net 10.0.0.0/30",
    "net 0.0.0.0/0",
    "net 2001:db8::/32",
    "dst net 2001:db8::/126",
    "ip6 net ::/0",
    "port 80",
    "port 80 or 443",
    "port (80 or 443)",
    "not port 80 or 443",
    "port !80",
    "src port 80 or dst port 443",
    "tcp port 80",
    "udp src port 53",
    "tcp dst port 0x1bb",
    "src and dst port 5201",
    "portrange 80-443",
    "udp portrange 443-50",
    "tcp src portrange 5201-5201",
    "proto 17",
    "ip proto 1",
    "ip6 proto 58",
    "ip proto \\tcp or \\udp",
    "ether proto 0x0806",
    "ether proto \\ip6",
    "ether broadcast",
    "ether multicast",
    "ip multicast",
    "ip6 multicast",
    "less 100",
    "greater 1000",
    "len > 60 and len <= 1400",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[13] & 2 != 2",
    "ip[6:2] & 0x1fff != 0",
    "ip[8] < 64",
    "(ip[2:2] - ((ip[0] & 0xf) << 2)) > 100",
    "icmp[icmptype] = icmp-echo",
    "udp[4:2] >= 108",
    "ether[0] & 1 = 0",
    "ip6[6] = 6 or ip6[40] = 6",
    "tcp and (port 80 or host 10.0.0.2) and not src 10.0.0.1 || icmp",
    "not (tcp or udp) and ip",
    "host 10.0.0.1 && ! port 22 || ip6",
    "2 * len > 200 and -1 = 0xffffffff",
];

/// Expressions about VLAN tags. tcpdump refuses them in cooked and raw captures.
const WITH_TAGS: [&str; 9] = [
    "vlan",
    "vlan 5",
    "not vlan",
    "vlan and tcp",
    "vlan 5 and port 80",
    "vlan and vlan 7 and host 10.0.0.1",
    "tcp or vlan and udp",
    "vlan and ip6 and tcp port 443",
    "ether src 02:00:0a:00:00:01 or ether host 02:00:0a:00:00:02",
];

#[test]
fn filters_select_the_packets_that_tcpdump_selects() {
    if !has_programs(&["tcpdump"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (name, bytes) in captures() {
        let path = folder.path().join(&name);
        fs::write(&path, &bytes).unwrap();
        for expression in EXPRESSIONS.iter().chain(&WITH_TAGS) {
            compared += usize::from(agrees(&[], &name, &path, &bytes, expression));
        }
    }
    assert!(compared > 1_000, "{compared} comparisons");
}

#[test]
fn random_filters_select_the_packets_that_tcpdump_selects() {
    if !has_programs(&["tcpdump"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut prng = Prng::new(18);
    // The short captures break off inside the headers.
    let captures = synthetic(&[65_535, 60, 34, 20]);
    for (name, bytes) in &captures {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let count = std::env::var("TCPEXP_RANDOM_FILTERS").map_or(300, |count| count.parse().unwrap());
    let mut compared = 0;
    for _ in 0..count {
        let expression = random_expression(&mut prng, 3);
        let (name, bytes) = &captures[prng.below(captures.len() as u64) as usize];
        let path = folder.path().join(name);
        // The optimiser drops and moves loads of bytes, so it decides otherwise about some packets
        // that are cut inside their headers.
        let options = ["-O"];
        compared += usize::from(agrees(&options, name, &path, bytes, &expression));
    }
    assert!(compared > count / 2, "{compared} comparisons");
}

/// Compares the selected packets. Returns false if tcpdump refuses the expression for this link
/// type.
fn agrees(options: &[&str], name: &str, path: &Path, bytes: &[u8], expression: &str) -> bool {
    let filter = Filter::parse(expression).unwrap();
    let output = Command::new("tcpdump")
        .args(options)
        .args(["-r", path.to_str().unwrap(), "-w", "-", expression])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let rejects_all = message.contains("expression rejects all packets");
    if !output.status.success() && !rejects_all {
        let link_type = Capture::from_bytes(bytes).unwrap().interfaces()[0].link_type;
        assert!(
            LinkType(link_type) != LinkType::ETHERNET,
            "tcpdump refuses {expression:?} in {name}: {message}"
        );
        return false;
    }
    let expected = if rejects_all {
        Vec::new()
    } else {
        packets(&output.stdout, |_, _, _| true)
    };
    let selected = packets(bytes, |link, captured, wire_bytes| {
        filter.matches(link, captured, wire_bytes)
    });
    let wrong = expected.iter().zip(&selected).position(|(a, b)| a != b);
    assert!(
        expected == selected,
        "{expression:?} in {name}: tcpdump selects {} packets, the filter {}; first difference: {:02x?}",
        expected.len(),
        selected.len(),
        wrong.map(|place| (&expected[place], &selected[place]))
    );
    true
}

/// The selected packets: length on the wire and captured bytes.
fn packets(bytes: &[u8], selects: impl Fn(LinkType, &[u8], u32) -> bool) -> Vec<(u32, Vec<u8>)> {
    let mut capture = Capture::from_bytes(bytes).unwrap();
    let mut selected = Vec::new();
    while let Some(record) = capture.next_record() {
        let link = LinkType(record.link_type);
        if selects(link, record.captured, record.wire_bytes) {
            selected.push((record.wire_bytes, record.captured.to_vec()));
        }
    }
    selected
}

fn captures() -> Vec<(String, Vec<u8>)> {
    /// Each of the 80 expressions starts tcpdump, which reads the whole capture.
    const MAX_BYTES: usize = 1_000_000;
    let mut captures = synthetic(&[65_535, 60]);
    let folders = fixture_folders().into_iter().chain(shared_folders());
    for (file, _) in folders.filter_map(|folder| captures_in(&folder)) {
        let file = BufReader::new(fs::File::open(&file).unwrap());
        let mut bytes = Vec::new();
        decompressed(file).unwrap().read_to_end(&mut bytes).unwrap();
        if bytes.len() < MAX_BYTES {
            captures.push((format!("file-{}.pcap", captures.len()), bytes));
        }
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let kinds = [
        "fpcap+fpcap/tracefiles/linux-cooked-unsw-nb15.pcap",
        "arkime+arkime/tests/pcap/twovlan.pcap",
        "the-tcpdump-group+tcpdump/tests/802.1ad_QinQ.pcap",
        "the-tcpdump-group+tcpdump/tests/LINKTYPE_RAW_ipv6.pcap",
        "the-tcpdump-group+tcpdump/tests/LINKTYPE_IPV4.pcap",
        "the-tcpdump-group+tcpdump/tests/LINKTYPE_IPV6.pcap",
        "LibtraceTeam+libtrace/test/traces/vlan.pcap",
        "LibtraceTeam+libtrace/test/traces/100_sll.pcap",
    ];
    for file in kinds.map(|kind| corpus.join(kind)) {
        if let Ok(bytes) = fs::read(&file) {
            captures.push((format!("file-{}.pcap", captures.len()), bytes));
        }
    }
    captures
}

/// One capture for each framing and snapshot length, with packets of all kinds.
fn synthetic(snaplens: &[u32]) -> Vec<(String, Vec<u8>)> {
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

fn random_expression(prng: &mut Prng, depth: u32) -> String {
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
    match prng.below(14) {
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
        12 => format!("ip[{}] & {number} > {}", prng.below(24), prng.below(60)),
        _ => format!(
            "tcp[{}:2] - {number} >= {}",
            prng.below(30),
            prng.below(60_000)
        ),
    }
}
