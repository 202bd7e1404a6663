//! Properties that hold for every input.

use std::io::{self, Read};
use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::build::{Bytes, big, gzip, little, lz4, walk, zstd};
use crate::{Capture, Error};

/// Yields 1 to 7 bytes per read.
struct Drip {
    bytes: io::Cursor<Vec<u8>>,
    turn: usize,
}

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        let count = buffer.len().min(1 + self.turn * self.turn % 7);
        self.bytes.read(&mut buffer[..count])
    }
}

fn shown(capture: Result<Capture<'_>, Error>) -> String {
    match capture {
        Ok(capture) => walk(capture),
        Err(error) => format!("error: {error}"),
    }
}

fn dripped(bytes: &[u8]) -> String {
    shown(Capture::from_reader(Drip {
        bytes: io::Cursor::new(bytes.to_vec()),
        turn: 0,
    }))
}

fn at_once(bytes: &[u8]) -> String {
    shown(Capture::from_bytes(bytes))
}

/// Returns the lines of whole records.
fn records(shown: &str) -> Vec<&str> {
    shown
        .lines()
        .filter(|line| line.contains(" link "))
        .collect()
}

/// Generates a valid file and the end offsets of its records.
fn valid(packet_bytes: Range<usize>) -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let packets = vec((0..100_000_u32, vec(any::<u8>(), packet_bytes)), 0..12);
    (packets, any::<bool>(), 0..5_u8).prop_map(|(packets, swap, kind)| {
        let start = if swap { big() } else { little() };
        match kind {
            0 => pcap(start.pcap(0xa1b2_c3d4, 4), &packets),
            1 => pcap(start.pcap(0xa1b2_3c4d, 4), &packets),
            2 => pcap(start.pcap(0xa1b2_c3d4, 3), &packets),
            3 => pcapng(start.section().interface(1, 0, &[]), &packets),
            _ => pcapng(
                start.section().interface(1, 0, &[]).section().interface(
                    101,
                    0,
                    &[(9, &[9]), (2, b"lo")],
                ),
                &packets,
            ),
        }
    })
}

fn pcap(mut bytes: Bytes, packets: &[(u32, Vec<u8>)]) -> (Vec<u8>, Vec<usize>) {
    let mut ends = Vec::new();
    for (i, (fraction, packet)) in (0..).zip(packets) {
        bytes = bytes.record(1_700_000_000 + i, *fraction, 1_500, packet);
        ends.push(bytes.out.len());
    }
    (bytes.out, ends)
}

fn pcapng(mut bytes: Bytes, packets: &[(u32, Vec<u8>)]) -> (Vec<u8>, Vec<usize>) {
    let mut ends = Vec::new();
    // Microseconds within a day: the records after it decide whether a time further away is an outlier.
    for (units, packet) in packets {
        bytes = bytes
            .block(4, |body| body.u32(0))
            .packet(0, u64::from(*units) << 4, 1_500, packet);
        ends.push(bytes.out.len());
    }
    (bytes.out, ends)
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..600), start in 0..8_usize) {
        let starts = [
            little().out,
            little().pcap(0xa1b2_c3d4, 4).out,
            big().pcap(0xa1b2_cd34, 2).out,
            little().section().interface(1, 0, &[]).out,
            big().section().out,
            vec![0x1f, 0x8b, 8, 0],
            vec![0x28, 0xb5, 0x2f, 0xfd],
            vec![4, 0x22, 0x4d, 0x18],
        ];
        let file = [&starts[start][..], &bytes].concat();
        let (at_once, dripped) = (at_once(&file), dripped(&file));
        // The two may differ for corrupt compressed data: a decoder holds back output, and larger
        // reads hold back more.
        if start < 5 {
            prop_assert_eq!(at_once, dripped);
        }
    }

    #[test]
    fn a_file_with_changed_bytes_reads_the_same_from_a_slice_and_in_pieces(
        (file, _) in valid(0..80),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut file = file;
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        prop_assert_eq!(at_once(&file), dripped(&file));
    }

    #[test]
    fn every_truncation_yields_all_whole_records_before_it((file, ends) in valid(0..80)) {
        let whole = at_once(&file);
        prop_assert_eq!(records(&whole).len(), ends.len());
        prop_assert_eq!(records(&whole).len(), whole.lines().count());
        for cut in 28..file.len() {
            let shown = at_once(&file[..cut]);
            let kept = ends.iter().filter(|&&end| end <= cut).count();
            prop_assert_eq!(records(&shown), &records(&whole)[..kept], "cut at {}", cut);
        }
    }

    #[test]
    fn compression_changes_no_record((file, _) in valid(0..80)) {
        for compress in [gzip, zstd, lz4] {
            prop_assert_eq!(at_once(&compress(&file)), at_once(&file));
            prop_assert_eq!(dripped(&compress(&file)), at_once(&file));
        }
    }

    #[test]
    fn garbage_between_records_loses_no_record(
        // Packets are not empty: an empty packet gives no evidence that it is a record.
        (file, ends) in valid(1..80),
        garbage in vec(0xe0..=0xff_u8, 12..300),
    ) {
        prop_assume!(ends.len() >= 2);
        let (head, tail) = file.split_at(ends[0]);
        let damaged = [head, &garbage, tail].concat();
        let shown = at_once(&damaged);
        prop_assert_eq!(records(&shown).len(), ends.len(), "{}", shown);
        let skipped = format!("skipped {} bytes", garbage.len());
        prop_assert!(shown.contains(&skipped), "{}", shown);
    }
}
