//! The output of SPP 0.4.2 for real captures, compared with this module's.

use std::fs::{self, File};
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;

use flate2::read::GzDecoder;
use tcpexp_units::Timestamp;

use super::{Columns, FieldMask, Options, Spp};
use crate::spp::Point;

fn unzip(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Timestamp and IPv4 bytes of each record of a little-endian microsecond Ethernet pcap file.
fn ipv4_records(pcap: &[u8]) -> Vec<(Timestamp, &[u8])> {
    assert_eq!(pcap[..4], 0xa1b2_c3d4_u32.to_le_bytes());
    assert_eq!(pcap[20..24], 1_u32.to_le_bytes(), "link type");
    let mut records = Vec::new();
    let mut left = &pcap[24..];
    while !left.is_empty() {
        let (header, rest) = left.split_at(16);
        let field = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let micros = i64::from(field(0)) * 1_000_000 + i64::from(field(4));
        let (frame, rest) = rest.split_at(field(8) as usize);
        if frame[12..14] == [0x08, 0x00] {
            records.push((Timestamp::from_nanos(micros * 1_000), &frame[14..]));
        }
        left = rest;
    }
    records
}

fn lines(folder: &Path) -> Vec<String> {
    let mut spp = Spp::new(Options {
        mask: FieldMask(16895),
        ..Options::between(Ipv4Addr::new(172, 16, 10, 3), Ipv4Addr::new(172, 16, 11, 2))
    });
    for (point, file) in [(Point::Src, "src.pcap.gz"), (Point::Dst, "dst.pcap.gz")] {
        for (at, ipv4) in ipv4_records(&unzip(&folder.join(file))) {
            spp.observe(point, at, ipv4);
        }
    }
    let columns = Columns {
        turnaround: true,
        delays: true,
    };
    spp.pairs()
        .map(|pair| pair.line(columns).to_string())
        .collect()
}

#[test]
fn real_captures_yield_the_lines_of_the_original_tool() {
    // The captures are not part of this repository.
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(folders) = fs::read_dir(captures) else {
        return;
    };
    for folder in folders.map(|entry| entry.unwrap().path()) {
        let expected = folder.join("spp-0.4.2.txt.gz");
        if expected.exists() {
            let expected = String::from_utf8(unzip(&expected)).unwrap();
            let found = lines(&folder);
            let different = found.iter().zip(expected.lines()).find(|(f, e)| f != e);
            assert_eq!(different, None, "{}", folder.display());
            assert_eq!(
                found.len(),
                expected.lines().count(),
                "{}",
                folder.display()
            );
        }
    }
}
