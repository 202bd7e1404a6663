//! Round-trip times of real captures, checked packet by packet.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::packets::{Ends, Same, Seen, read, same, same_bytes};
use crate::common::{Measured, captures_in, fixture, known_drops, shared};
use rayon::prelude::*;
use tcpexp_flow::Direction;
use tcpexp_pair::spp::{Point, RttSample};
use tcpexp_units::Timestamp;

const FIXTURES: [&str; 5] = [
    "reno-2mbit-40ms-50p",
    "adsl-udp-upload",
    "cubic-tso-split-10mbit",
    "short-cubic-15-percent-loss",
    "short-cubic-reordering",
];

/// A measured capture pair, with reference data from an independent reader.
struct Pair {
    measured: Measured,
    captures: [Vec<Seen>; 2],
    /// Packets in both captures, on their way out and back.
    same: [Vec<Same>; 2],
}

impl Pair {
    fn open(folder: &Path) -> Self {
        let (src, dst) = captures_in(folder).unwrap();
        let measured = Measured::of_files(&src, &dst);
        let captures = [read(&src), read(&dst)];
        let [src, dst] = &captures;
        let find = if measured.report.identification.recut {
            same_bytes
        } else {
            same
        };
        let client = src[0].ends.0.ip();
        let [mut out, mut back] = [find(src, dst), find(dst, src)];
        out.retain(|same| same.ends.0.ip() == client);
        back.retain(|same| same.ends.1.ip() == client);
        Self {
            measured,
            captures,
            same: [out, back],
        }
    }

    fn ends(&self, sample: &RttSample) -> Ends {
        let flow = self.measured.flow(sample.flow);
        match sample.direction {
            Direction::Forward => (flow.initiator, flow.responder),
            Direction::Reverse => (flow.responder, flow.initiator),
        }
    }

    /// Returns the two packets of a sample.
    fn packets(&self, sample: &RttSample) -> [Same; 2] {
        let (near, far) = self.ends(sample);
        let arrived = sample.time + sample.owd_out;
        let departed = arrived + sample.turnaround;
        [
            Same {
                ends: (near, far),
                departed: sample.time,
                arrived,
            },
            Same {
                ends: (far, near),
                departed,
                arrived: departed + sample.owd_back,
            },
        ]
    }

    /// Returns each change from an arriving to a departing packet at the destination, by flow: the
    /// last arrival before it and the first departure after it.
    fn turns(&self) -> HashSet<[Same; 2]> {
        let mut flows: HashMap<Ends, Vec<(Timestamp, bool, Same)>> = HashMap::new();
        for same in &self.same[0] {
            flows
                .entry(same.ends)
                .or_default()
                .push((same.arrived, true, *same));
        }
        for same in &self.same[1] {
            let ends = (same.ends.1, same.ends.0);
            flows
                .entry(ends)
                .or_default()
                .push((same.departed, false, *same));
        }
        let mut turns = HashSet::new();
        for mut passed in flows.into_values() {
            // A packet that departs at the time of an arrival does not follow it.
            passed.sort_by_key(|(at, arrived, _)| (*at, *arrived));
            for neighbours in passed.windows(2) {
                if let [(_, true, out), (_, false, back)] = neighbours {
                    turns.insert([*out, *back]);
                }
            }
        }
        turns
    }
}

/// At most one pair in this many may be uncertain in these captures.
const MIN_CERTAIN: u64 = 200;

/// Checks that each change from an arriving to a departing packet gives a sample of these two
/// packets, unless the clocks may have moved between them by more than the round-trip time.
fn assert_samples_are_turns(pair: &Pair) {
    let real: [HashSet<&Same>; 2] = [pair.same[0].iter().collect(), pair.same[1].iter().collect()];
    let mut turned = HashSet::new();
    for sample in &pair.measured.samples {
        let [first, second] = pair.packets(sample);
        let [out, back] = match sample.reference {
            Point::Src => [&real[0], &real[1]],
            Point::Dst => [&real[1], &real[0]],
        };
        assert!(out.contains(&first), "{first:?} of {sample:?}");
        assert!(back.contains(&second), "{second:?} of {sample:?}");
        assert_eq!(sample.rtt, sample.owd_out + sample.owd_back, "{sample:?}");
        if sample.reference == Point::Src {
            turned.insert([first, second]);
        }
    }
    let turns = pair.turns();
    let missed: Vec<_> = turns.difference(&turned).collect();
    let more: Vec<_> = turned.difference(&turns).take(3).collect();
    let uncertain = pair.measured.report.totals.uncertain;
    assert!(
        missed.len() as u64 <= uncertain && more.is_empty(),
        "{missed:#?} {more:#?}"
    );
    // These clocks are good, so few pairs may be given up: those at the ends of the captures.
    assert!(
        uncertain * MIN_CERTAIN <= pair.measured.samples.len() as u64,
        "{uncertain} pairs are uncertain"
    );
}

/// Checks that the losses equal the drops of the path, and the difference between the captures.
fn assert_losses_are_true(folder: &Path, pair: &Pair) {
    let measured = &pair.measured;
    assert_eq!(
        measured.total(|c| c.unseen_upstream),
        0,
        "{:#?}",
        measured.ended
    );
    if let Some(known) = known_drops(folder) {
        assert_eq!(measured.total(|c| c.lost), known, "{:#?}", measured.ended);
    }
    if measured.report.identification.recut {
        return;
    }
    let client = pair.captures[0][0].ends.0.ip();
    let [[out, came_back], [arrived, back]] = pair.captures.each_ref().map(|packets| {
        let is_from_client = |seen: &&Seen| seen.ends.0.ip() == client;
        let from_client = packets.iter().filter(is_from_client).count() as u64;
        [from_client, packets.len() as u64 - from_client]
    });
    let missing = measured.total(|c| c.lost + c.outside);
    assert_eq!(
        missing,
        (out - arrived) + (back - came_back),
        "{:#?}",
        measured.ended
    );
}

fn assert_exact(folder: &Path) {
    println!("{}", folder.display());
    let pair = Pair::open(folder);
    assert_samples_are_turns(&pair);
    assert_losses_are_true(folder, &pair);
}

#[test]
fn each_change_of_direction_yields_a_round_trip_time_and_each_drop_is_counted() {
    for name in FIXTURES {
        assert_exact(&fixture(name));
    }
}

#[test]
fn shared_captures_yield_each_round_trip_time_and_drop() {
    let parents = ["captures", "captures/short"]
        .into_iter()
        .filter_map(shared);
    let folders: Vec<PathBuf> = parents
        .flat_map(|parent| fs::read_dir(parent).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|folder| captures_in(folder).is_some())
        .collect();
    folders.par_iter().for_each(|folder| assert_exact(folder));
}
