//! Decodes real captures, if present; passes without them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tcpexp_wire::{LinkType, Skipped, Tally, Transport, Tunnels, decode};

/// Counts for one file.
#[derive(Default)]
struct Read {
    tally: Tally,
    tcp: u64,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus")
}

/// Returns every uncompressed little-endian classic pcap, with its path in the corpus.
fn captures(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(bytes) = fs::read(&path) else { continue };
            let magic = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
            if bytes.len() >= 24 && matches!(magic, Some(0xa1b2_c3d4 | 0xa1b2_3c4d)) {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy();
                found.push((name.into_owned(), bytes));
            }
        }
    }
    found.sort_unstable();
    found
}

fn link_type(file: &[u8]) -> LinkType {
    LinkType(u16::from_le_bytes([file[20], file[21]]))
}

/// Returns captured bytes and original length of each record up to the first broken record.
fn records(file: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let mut rest = &file[24..];
    std::iter::from_fn(move || {
        let (header, after) = rest.split_first_chunk::<16>()?;
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let (captured, after) = after.split_at_checked(word(8) as usize)?;
        rest = after;
        Some((captured, word(12)))
    })
}

fn read(file: &[u8], tunnels: Tunnels) -> Read {
    let mut read = Read::default();
    for (captured, wire_bytes) in records(file) {
        let outcome = decode(link_type(file), captured, wire_bytes, tunnels);
        read.tally.observe(&outcome);
        if outcome.is_ok_and(|packet| matches!(packet.transport, Transport::Tcp(_))) {
            read.tcp += 1;
        }
    }
    read
}

/// TCP packets per file according to the inventory of the corpus.
fn inventory() -> BTreeMap<String, u64> {
    let table = fs::read_to_string(corpus().join("INVENTORY.md")).unwrap_or_default();
    let rows = table.lines().filter_map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        Some((cells.get(1)?.to_string(), cells.get(5)?.parse().ok()?))
    });
    rows.collect()
}

#[test]
fn every_record_of_a_real_capture_is_used_or_skipped() {
    for (name, file) in captures(&corpus()) {
        for tunnels in [Tunnels::Closed, Tunnels::Entered] {
            let tally = read(&file, tunnels).tally;
            let skipped: u64 = tally.skipped().map(|(_, count)| count).sum();
            assert_eq!(
                tally.used() + skipped,
                records(&file).count() as u64,
                "{name}"
            );
            assert_eq!(tally.skipped_for(Skipped::NoTimestamp), 0, "{name}");
        }
    }
}

/// Files where the inventory count differs: name, expected TCP packets, and the reason.
const EXCEPTIONS: [(&str, u64, &str); 6] = [
    (
        "pcap_flow_lab_showcase.pcap",
        1118,
        "the inventory does not look into everything we do",
    ),
    (
        "bigtcp-ipv4-vxlan-ipv4.pcap",
        1,
        "the inventory does not enter VXLAN",
    ),
    (
        "bigtcp-ipv4-vxlan-ipv6.pcap",
        1,
        "the inventory does not enter VXLAN",
    ),
    (
        "bigtcp-ipv6-vxlan-ipv4.pcap",
        1,
        "the inventory does not enter VXLAN",
    ),
    (
        "bigtcp-ipv6-vxlan-ipv6.pcap",
        1,
        "the inventory does not enter VXLAN",
    ),
    (
        "tcp_header_heapoverflow.pcap",
        0,
        "cut in the fixed TCP header",
    ),
];

#[test]
fn a_real_capture_has_the_tcp_packets_that_its_inventory_counts() {
    let inventory = inventory();
    for (name, file) in captures(&corpus()) {
        let Some(&counted) = inventory.get(&name) else {
            continue;
        };
        if !link_type(&file).is_supported() {
            continue;
        }
        let exception = EXCEPTIONS.iter().find(|(file, ..)| name.ends_with(file));
        let expected = exception.map_or(counted, |(_, count, _)| *count);
        let tcp = read(&file, Tunnels::Entered).tcp;
        assert_eq!(tcp, expected, "{name} {exception:?}");
    }
}
