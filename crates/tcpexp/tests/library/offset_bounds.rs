//! The offset between two clocks lies within its stated bounds for any cut of the captures.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::retime::{Records, records};
use crate::common::{captures_in, fixture, shared, spooled};
use rayon::prelude::*;
use tcpexp::{Clocks, Error, PathOptions, Recording, RttOptions, path, rtt};
use tcpexp_pair::spp::Offset;
use tcpexp_units::TimeDelta;

/// Captures whose two points share one clock: the true offset is zero.
const FIXTURES: [&str; 4] = [
    "reno-2mbit-40ms-50p",
    "adsl-udp-upload",
    "cubic-tso-split-10mbit",
    "short-cubic-15-percent-loss",
];
/// Number of cuts per pair.
const CUTS_OF_FIXTURES: u64 = 6;
/// Total number of cuts for the captures next to the repository, with `cargo test -- --ignored`.
const CUTS_OF_ALL: u64 = 2_000;
/// The resolution of the clocks limits the accuracy of the offset.
const RESOLUTION: TimeDelta = TimeDelta::from_micros(1);

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Both captures of an experiment.
struct Pair {
    name: PathBuf,
    src: Records,
    dst: Records,
}

impl Pair {
    fn of(folder: &Path) -> Self {
        let (src, dst) = captures_in(folder).unwrap();
        Self {
            name: folder.to_owned(),
            src: records(&src),
            dst: records(&dst),
        }
    }

    /// Cuts a capture to a random interval of at least a hundredth of its length.
    fn cut(records: &Records, random: &mut Random) -> Vec<u8> {
        let (first, last) = records.span();
        let hundredth = (last - first).as_nanos() / 100;
        let from = random.below(90).cast_signed();
        let to = from + 1 + random.below(100 - from.unsigned_abs()).cast_signed();
        let at = |hundredths: i64| first + TimeDelta::from_nanos(hundredth * hundredths);
        records.file(|time| (at(from) <= time && time <= at(to)).then_some(time))
    }

    /// Offsets that `path` and `rtt` report for a random cut; `None` if the cuts have nothing in
    /// common.
    fn offsets(&self, seed: u64) -> Option<[Offset; 2]> {
        let mut random = Random(seed);
        let src = spooled("src", &Self::cut(&self.src, &mut random));
        let dst = spooled("dst", &Self::cut(&self.dst, &mut random));
        let by_path = path(&src, &dst, &PathOptions::default(), |_| Ok::<(), Error>(())).ok()?;
        let by_rtt = rtt(&src, &dst, &RttOptions::default(), |_| Ok::<(), Error>(())).unwrap();
        Some([by_path.clock.offset(), by_rtt.clock.offset()])
    }

    /// Checks one cut and returns the bound, if any.
    fn assert_bounded(&self, seed: u64) -> Option<TimeDelta> {
        let [by_path, by_rtt] = self.offsets(seed)?;
        assert_eq!(by_path, by_rtt, "{} {seed}", self.name.display());
        let error = by_path.error()?;
        assert!(error >= TimeDelta::ZERO);
        assert!(
            by_path.middle.abs() <= error + RESOLUTION,
            "{} {seed}: {by_path:?}",
            self.name.display()
        );
        Some(error)
    }
}

/// Checks `cuts` cuts of each pair and returns the number of cuts with a bound.
fn assert_all_bounded(pairs: &[Pair], cuts: u64) -> usize {
    let seeds: Vec<u64> = (0..cuts).collect();
    let bounds = seeds.par_iter().flat_map_iter(|seed| {
        let pairs = pairs.iter();
        pairs.filter_map(move |pair| pair.assert_bounded(*seed))
    });
    bounds.count()
}

#[test]
fn true_offset_is_within_the_bounds_of_any_part_of_a_capture() {
    let pairs = FIXTURES.map(|name| Pair::of(&fixture(name)));
    let bounded = assert_all_bounded(&pairs, CUTS_OF_FIXTURES);
    assert!(bounded > pairs.len(), "{bounded}");
}

#[test]
#[ignore = "takes minutes: 2,000 cuts"]
fn true_offset_is_within_the_bounds_of_two_thousand_parts_of_captures() {
    let folders = shared("captures").into_iter();
    let folders = folders.flat_map(|parent| fs::read_dir(parent).unwrap());
    let folders = folders.map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| captures_in(folder).is_some());
    let pairs: Vec<Pair> = FIXTURES
        .map(fixture)
        .into_iter()
        .chain(folders)
        .map(|folder| Pair::of(&folder))
        .collect();
    let cuts = CUTS_OF_ALL / pairs.len() as u64 + 1;
    let bounded = assert_all_bounded(&pairs, cuts);
    assert!(bounded > 1_000, "{bounded}");
}

#[test]
fn symmetric_path_bounds_the_offset_within_10_microseconds() {
    let (src, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let (src, dst) = (
        Recording::open(&src).unwrap(),
        Recording::open(&dst).unwrap(),
    );
    let options = PathOptions::default().symmetric(true);
    let report = path(&src, &dst, &options, |_| Ok::<(), Error>(())).unwrap();
    let offset = report.clock.offset();
    assert!(offset.middle.abs() <= offset.error().unwrap(), "{offset:?}");
    assert!(
        offset.error().unwrap() < TimeDelta::from_micros(10),
        "{offset:?}"
    );
}

#[test]
fn captures_with_one_clock_have_exact_delays_although_their_paths_differ() {
    let (src, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let (src, dst) = (
        Recording::open(&src).unwrap(),
        Recording::open(&dst).unwrap(),
    );
    let options = PathOptions::default().clocks(Clocks::One);
    let mut errors = Vec::new();
    let report = path(&src, &dst, &options, |batch| {
        let packets = batch.packets.iter();
        errors.extend(packets.filter_map(|packet| packet.one_way_delay_error));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(report.clock.offset().middle, TimeDelta::ZERO);
    assert_eq!(report.clock.offset().error(), Some(TimeDelta::ZERO));
    assert!(report.clock.steps().is_empty() && report.clock.suspected_steps().is_empty());
    let largest = errors.into_iter().max().unwrap();
    assert!(largest <= TimeDelta::from_micros(2), "{largest:?}");
}
