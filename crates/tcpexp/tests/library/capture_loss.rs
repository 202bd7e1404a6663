//! Packets that a capture missed do not count as lost on the path.

use std::collections::HashMap;

use crate::common::path::Measurement;
use crate::common::retime::{Records, records};
use crate::common::{captures_in, fixture, spooled};
use tcpexp_pair::spp::{Fate, PathDirection};
use tcpexp_units::TimeDelta;

const FIXTURES: [&str; 4] = [
    "reno-2mbit-40ms-50p",
    "short-cubic-15-percent-loss",
    "short-cubic-reordering",
    "cubic-tso-split-10mbit",
];

/// Some records of a capture, as a file and by number.
struct Part {
    file: Vec<u8>,
    kept: Vec<u64>,
}

impl Part {
    /// The records that `keep` selects by number and by time since the first record.
    fn of(records: &Records, keep: impl Fn(u64, TimeDelta) -> bool) -> Self {
        let (first, _) = records.span();
        let (mut number, mut kept) = (0, Vec::new());
        let file = records.file(|at| {
            let keeps = keep(number, at - first);
            if keeps {
                kept.push(number);
            }
            number += 1;
            keeps.then_some(at)
        });
        Self { file, kept }
    }
}

/// Measures both parts, and checks the fates of absent packets against the whole captures.
///
/// Returns the number of packets reported as missed, and the number left undecided.
fn assert_no_false_loss(name: &str, src: &Records, dst: &Records, parts: [&Part; 2]) -> [u64; 2] {
    let all = |records| Part::of(records, |_, _| true);
    let measure = |[src, dst]: [&Part; 2]| {
        Measurement::of(&spooled("src", &src.file), &spooled("dst", &dst.file))
    };
    let truth = measure([&all(src), &all(dst)]);
    let fates = truth.packets.iter().filter_map(|packet| {
        let key = (packet.path_direction, packet.sent_record?);
        Some((key, packet.fate))
    });
    let mut arrived: HashMap<(PathDirection, u64), bool> = HashMap::new();
    for (key, fate) in fates {
        *arrived.entry(key).or_default() |= fate == Fate::Delivered;
    }
    let found = measure(parts);
    let mut said = [0; 2];
    for packet in &found.packets {
        let Some(record) = packet.sent_record else {
            continue;
        };
        let sender = usize::from(packet.path_direction == PathDirection::Back);
        let record = parts[sender].kept[usize::try_from(record).unwrap()];
        let arrived = arrived.get(&(packet.path_direction, record)).copied();
        match packet.fate {
            // A super-packet may be lost in part.
            Fate::Lost if !found.report.identification.recut => {
                assert_ne!(arrived, Some(true), "{name}: {packet:?}");
            }
            Fate::Missed => {
                assert_ne!(arrived, Some(false), "{name}: {packet:?}");
                said[0] += packet.packets;
            }
            Fate::LostOrMissed => said[1] += packet.packets,
            _ => {}
        }
    }
    said
}

fn pair(name: &str) -> [Records; 2] {
    let (src, dst) = captures_in(&fixture(name)).unwrap();
    [records(&src), records(&dst)]
}

/// True for the `percent` of records that a capture misses, chosen pseudo-randomly.
fn misses(number: u64, percent: u64) -> bool {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 100 < percent
}

#[test]
fn complete_captures_miss_no_packet() {
    for name in FIXTURES {
        let [src, dst] = pair(name);
        let parts = [&src, &dst].map(|records| Part::of(records, |_, _| true));
        let said = assert_no_false_loss(name, &src, &dst, [&parts[0], &parts[1]]);
        assert_eq!(said, [0, 0], "{name}");
    }
}

#[test]
fn packets_missed_at_random_are_not_lost() {
    for name in FIXTURES {
        let [src, dst] = pair(name);
        for percent in [1, 5] {
            let lossy = |records| Part::of(records, |number, _| !misses(number, percent));
            let whole = |records| Part::of(records, |_, _| true);
            let (part, other) = (lossy(&dst), whole(&src));
            let said = assert_no_false_loss(name, &src, &dst, [&other, &part]);
            let missed = dst_missed(&part);
            assert!(said[0] > missed / 4, "{name}: {said:?} of {missed}");
            assert_no_false_loss(name, &src, &dst, [&lossy(&src), &whole(&dst)]);
        }
    }
}

/// Number of records missing in a part.
fn dst_missed(part: &Part) -> u64 {
    part.kept.last().unwrap() + 1 - part.kept.len() as u64
}

#[test]
fn packets_missed_in_a_capture_gap_are_not_lost() {
    for name in FIXTURES {
        let [src, dst] = pair(name);
        let (from, to) = (TimeDelta::from_millis(700), TimeDelta::from_millis(1_700));
        let still = |records| Part::of(records, |_, at| at < from || to < at);
        let whole = |records| Part::of(records, |_, _| true);
        let said = assert_no_false_loss(name, &src, &dst, [&whole(&src), &still(&dst)]);
        assert!(said[0] + said[1] > 0, "{name}: {said:?}");
        assert_no_false_loss(name, &src, &dst, [&still(&src), &whole(&dst)]);
    }
}
