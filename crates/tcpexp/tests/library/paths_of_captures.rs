//! Packet fates and delays in real captures.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::common::packets::{read, same};
use crate::common::path::Measurement;
use crate::common::retime::{Clock, retimed};
use crate::common::{Measured, captures_in, fixture, known_drops, shared, spooled};
use rayon::prelude::*;
use tcpexp::Recording;
use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::PathDirection;
use tcpexp_units::TimeDelta;

const FIXTURES: [&str; 5] = [
    "reno-2mbit-40ms-50p",
    "adsl-udp-upload",
    "cubic-tso-split-10mbit",
    "short-cubic-15-percent-loss",
    "short-cubic-reordering",
];
const ONE_CLOCK: Clock = Clock {
    ahead_seconds: 0,
    fast_ppm: 0,
};

fn folders() -> Vec<PathBuf> {
    let parents = ["captures", "captures/short"]
        .into_iter()
        .filter_map(shared);
    let shared = parents
        .flat_map(|parent| fs::read_dir(parent).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|folder| captures_in(folder).is_some());
    FIXTURES.map(fixture).into_iter().chain(shared).collect()
}

/// Checks that the counts equal those of `tcpexp rtt`, and the losses equal the drops of the path.
fn assert_losses_are_true(folder: &Path) {
    let (src, dst) = captures_in(folder).unwrap();
    let found = Measurement::of_files(&src, &dst);
    let measured = Measured::of_files(&src, &dst);
    let counts: Vec<_> = found.ended.iter().map(|f| f.summary.counts).collect();
    let expected: Vec<_> = measured.ended.iter().map(|f| f.counts).collect();
    assert_eq!(counts, expected, "{}", folder.display());
    let lost =
        PathDirection::BOTH.map(|path_direction| found.path_direction(path_direction).lost());
    if let Some(known) = known_drops(folder) {
        assert_eq!(lost, [known, 0], "{}", folder.display());
    }
}

/// Checks the delays of captures that share one clock: each delay is the difference of the packet's
/// two times.
fn assert_delays_are_true(folder: &Path) {
    let (src, dst) = captures_in(folder).unwrap();
    let found = Measurement::of_files(&src, &dst);
    let clock = &found.report.clock;
    assert!(!clock.skew().detected, "{}", folder.display());
    if found.report.identification.recut {
        return;
    }
    let captures = [read(&src), read(&dst)];
    let client = captures[0][0].ends.0.ip();
    let [src, dst] = &captures;
    for path_direction in PathDirection::BOTH {
        let (mut expected, offset) = match path_direction {
            PathDirection::Out => (same(src, dst), clock.offset().middle),
            PathDirection::Back => (same(dst, src), -clock.offset().middle),
        };
        expected
            .retain(|same| (same.ends.0.ip() == client) == (path_direction == PathDirection::Out));
        let expected: HashMap<_, _> = expected
            .iter()
            .map(|same| {
                let ports = [same.ends.0.port(), same.ends.1.port()];
                ((ports, same.departed, same.arrived), same)
            })
            .collect();
        let least = found
            .delivered(path_direction)
            .filter_map(|row| row.one_way_delay)
            .min();
        let mut times = HashSet::new();
        for row in found.delivered(path_direction) {
            let owd = row.one_way_delay.unwrap() + offset;
            let (sent, received) = match path_direction {
                PathDirection::Out => (row.sent_at.unwrap(), row.received_at.unwrap() + offset),
                PathDirection::Back => (row.sent_at.unwrap() - offset, row.received_at.unwrap()),
            };
            let key = (found.ports(row), sent, received);
            let same = expected.get(&key).unwrap_or_else(|| panic!("{row:?}"));
            assert_eq!(owd, same.arrived - same.departed);
            assert_eq!(row.queueing_delay, Some(owd - least.unwrap() - offset));
            times.insert(key);
        }
        // The measurement may leave packets undecided that the reference matcher identifies.
        let missed = expected.len() - times.len();
        assert!(
            missed as u64 <= found.path_direction(path_direction).unknown(),
            "{}",
            folder.display()
        );
    }
}

#[test]
fn lost_packets_match_the_drops_and_other_counts_match_rtt() {
    for folder in folders() {
        assert_losses_are_true(&folder);
    }
}

#[test]
fn delays_between_captures_of_one_clock_are_exact() {
    for folder in folders() {
        assert_delays_are_true(&folder);
    }
}

/// Measures a path with the destination's capture on `clock`.
fn measured_by(folder: &Path, clock: Clock) -> Measurement {
    let (src, dst) = captures_in(folder).unwrap();
    let (dst, _) = retimed(&dst, clock);
    Measurement::of(&Recording::open(&src).unwrap(), &spooled("dst", &dst))
}

/// Returns the largest error of a queueing delay.
fn worst_error(truth: &Measurement, found: &Measurement) -> TimeDelta {
    let key = |row: &PathPacket| {
        (
            row.path_direction,
            row.sent_record,
            row.received_record,
            row.fate,
        )
    };
    let truth = truth
        .packets
        .iter()
        .map(|row| (key(row), row.queueing_delay));
    let truth: HashMap<_, _> = truth.collect();
    assert_eq!(truth.len(), found.packets.len());
    let error = |row: &PathPacket| {
        let expected = truth.get(&key(row)).unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!(row.queueing_delay.is_some(), expected.is_some(), "{row:?}");
        Some((row.queueing_delay? - (*expected)?).abs())
    };
    let errors = found.packets.iter().filter_map(error);
    errors.max().unwrap()
}

/// Checks that other clocks change almost nothing.
fn assert_same_by(folder: &Path, clocks: &[(i64, i64)]) {
    let truth = measured_by(folder, ONE_CLOCK);
    for &(hours, fast_ppm) in clocks {
        let clock = Clock {
            ahead_seconds: hours * 3600,
            fast_ppm,
        };
        let found = measured_by(folder, clock);
        let worst = worst_error(&truth, &found);
        assert!(
            worst <= TimeDelta::from_micros(20),
            "{}, {clock:?}: {worst}",
            folder.display()
        );
    }
}

#[test]
fn queueing_delays_are_within_20_microseconds_for_all_clocks() {
    for name in FIXTURES {
        assert_same_by(&fixture(name), &[(-3, -200), (3, 200), (3, 0)]);
    }
}

#[test]
fn queueing_delays_of_shared_captures_are_within_20_microseconds() {
    let folders = folders();
    let others = folders.par_iter().skip(FIXTURES.len());
    others.for_each(|folder| assert_same_by(folder, &[(-3, 200), (3, -200)]));
}

#[test]
fn reordered_packets_are_those_the_path_held_back() {
    let folder = fixture("short-cubic-reordering");
    let (src, dst) = captures_in(&folder).unwrap();
    let found = Measurement::of_files(&src, &dst);
    let log = fs::File::open(folder.join("drops.log.gz")).unwrap();
    let mut lines = String::new();
    let mut log = flate2::read::GzDecoder::new(log);
    log.read_to_string(&mut lines).unwrap();
    let held_back = lines.lines().filter(|line| line.starts_with('o')).count();
    assert_eq!(
        found.path_direction(PathDirection::Out).reordered,
        held_back as u64
    );
    assert_eq!(found.path_direction(PathDirection::Back).reordered, 0);
}

#[test]
fn configuration_of_a_bottleneck_is_measured_from_its_captures() {
    let (src, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let found = Measurement::of_files(&src, &dst);
    let millis = |delay: TimeDelta| delay.as_nanos() as f64 / 1e6;
    // 20 ms each way.
    let least = PathDirection::BOTH.map(|path_direction| {
        found
            .path_direction(path_direction)
            .one_way_delay
            .unwrap()
            .min
    });
    let base_rtt = millis(least[0] + least[1]);
    assert!((base_rtt - 40.0).abs() < 0.05, "{base_rtt}");
    assert_eq!(
        found.report.clock.offset().error(),
        Some(TimeDelta::from_nanos((least[0] + least[1]).as_nanos() / 2))
    );
    // The rate is 2 Mbit/s of Ethernet frames, which are 14 bytes longer than their IP packets.
    let rate = found
        .path_direction(PathDirection::Out)
        .bottleneck_bps
        .unwrap() as f64;
    assert!(
        (rate / (2e6 * 1500.0 / 1514.0) - 1.0).abs() < 0.001,
        "{rate}"
    );
    // Each packet directly behind another one waits 6 ms longer.
    let full: Vec<_> = found
        .delivered(PathDirection::Out)
        .filter(|p| p.ip_bytes == 1500)
        .collect();
    let mut steps: Vec<f64> = Vec::new();
    for pair in full.windows(2) {
        let between = pair[1].sent_at.unwrap() - pair[0].sent_at.unwrap();
        let was_busy = pair[0].queueing_delay.unwrap() > TimeDelta::from_millis(12);
        if was_busy && between.abs() < TimeDelta::from_micros(50) {
            steps.push(millis(
                pair[1].queueing_delay.unwrap() - pair[0].queueing_delay.unwrap(),
            ));
        }
    }
    assert!(steps.len() > 1_000, "{}", steps.len());
    let wrong = steps.iter().filter(|step| (*step - 6.056).abs() > 0.05);
    assert!(wrong.count() <= steps.len() / 1000);
    // A full queue holds 50 packets.
    let full_queue = millis(
        found
            .path_direction(PathDirection::Out)
            .queueing_delay
            .unwrap()
            .max,
    );
    assert!((full_queue - 300.0).abs() < 3.0, "{full_queue}");
}
