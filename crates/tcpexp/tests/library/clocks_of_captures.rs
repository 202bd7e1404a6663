//! Real captures with the timestamps of other clocks give the same round-trip times.

use crate::common::retime::{Clock, retimed};
use crate::common::{Measured, captures_in, fixture, spooled};
use tcpexp::Recording;
use tcpexp_pair::spp::{Point, RttSample};
use tcpexp_units::{TimeDelta, Timestamp};

const FIXTURES: [&str; 3] = [
    "reno-2mbit-40ms-50p",
    "adsl-udp-upload",
    "cubic-tso-split-10mbit",
];
/// This bottleneck runs in user space. Its smallest delay varies too much for a skew estimate
/// within 1 ppm.
const UNSTEADY: &str = "short-cubic-reordering";
const ONE_CLOCK: Clock = Clock {
    ahead_seconds: 0,
    fast_ppm: 0,
};
const THREE_HOURS: i64 = 3 * 3600;

/// Measures a pair with the destination's capture on `clock`. Also returns the start time of that
/// capture.
fn measured(name: &str, clock: Clock) -> (Measured, Timestamp) {
    let (src, dst) = captures_in(&fixture(name)).unwrap();
    let (dst, start) = retimed(&dst, clock);
    let src = Recording::open(&src).unwrap();
    (Measured::of(&src, &spooled("dst", &dst)).unwrap(), start)
}

/// Sorts the samples in an order independent of the clocks.
fn sorted(measured: Measured) -> Vec<RttSample> {
    let mut samples = measured.samples;
    samples.sort_by_key(|s| (s.reference, s.flow, s.direction, s.time));
    samples
}

/// Checks that the measurement finds the same pairs and the same times on `clock`.
fn assert_same_as_on_one_clock(name: &str, clock: Clock) {
    let (expected, start) = measured(name, ONE_CLOCK);
    assert!(!expected.report.clock.skew().detected, "{name}");
    let (found, _) = measured(name, clock);
    let skew = found.report.clock.skew();
    assert_eq!(
        skew.detected,
        clock.fast_ppm != 0,
        "{name}, {clock:?}: {skew:?}"
    );
    if skew.detected {
        let off = skew.skew.as_ppm_f64() - clock.fast_ppm as f64;
        assert!(off.abs() < 1.0, "{name}, {clock:?}: {skew:?}");
    }
    assert_eq!(found.report.clock.steps(), [], "{name}, {clock:?}");
    assert_eq!(
        found.total(|c| c.lost),
        expected.total(|c| c.lost),
        "{name}, {clock:?}"
    );
    let (found, expected) = (sorted(found), sorted(expected));
    assert_eq!(found.len(), expected.len(), "{name}, {clock:?}");
    for (found, expected) in found.iter().zip(&expected) {
        let (time, rtt) = match expected.reference {
            Point::Src => (expected.time, expected.rtt),
            // The destination's own clock measures times at the destination.
            Point::Dst => {
                let gained = expected.rtt.as_nanos() * clock.fast_ppm / 1_000_000;
                let rtt = expected.rtt + TimeDelta::from_nanos(gained);
                (clock.shows(start, expected.time), rtt)
            }
        };
        assert_eq!(
            (found.reference, found.flow, found.direction, found.time),
            (expected.reference, expected.flow, expected.direction, time),
            "{name}, {clock:?}"
        );
        let off = (found.rtt - rtt).abs();
        assert!(
            off <= TimeDelta::from_micros(2),
            "{name}, {clock:?}: {found:?}, {expected:?}"
        );
    }
}

#[test]
fn hours_between_the_clocks_change_nothing() {
    for name in FIXTURES.into_iter().chain([UNSTEADY]) {
        for ahead_seconds in [-THREE_HOURS, THREE_HOURS] {
            assert_same_as_on_one_clock(
                name,
                Clock {
                    ahead_seconds,
                    fast_ppm: 0,
                },
            );
        }
    }
}

#[test]
fn skew_of_the_other_clock_is_found_and_removed() {
    for name in FIXTURES {
        for fast_ppm in [-200, 200] {
            assert_same_as_on_one_clock(
                name,
                Clock {
                    ahead_seconds: 0,
                    fast_ppm,
                },
            );
        }
    }
}

#[test]
fn hours_of_offset_and_skew_together_are_removed() {
    for ahead_seconds in [-THREE_HOURS, THREE_HOURS] {
        for fast_ppm in [-200, 200] {
            assert_same_as_on_one_clock(
                FIXTURES[0],
                Clock {
                    ahead_seconds,
                    fast_ppm,
                },
            );
        }
    }
}
