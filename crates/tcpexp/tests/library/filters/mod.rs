//! Filter expressions against tcpdump, packet for packet.

mod random;

use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::Command;

use crate::common::{captures_in, fixture_folders, shared_folders};
use random::{random_expression, synthetic};
use tcpexp::Filter;
use tcpexp_capture::{Capture, decompressed};
use tcpexp_testkit::{Prng, has_programs};
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
        let (name, bytes) = &captures[usize::try_from(prng.below(captures.len() as u64)).unwrap()];
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
