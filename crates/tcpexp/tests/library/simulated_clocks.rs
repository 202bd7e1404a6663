//! Round-trip times with clocks that have an offset, a skew or steps.

use crate::common::truth::{both_ways, check};
use crate::common::{Measured, spooled};
use tcpexp_testkit::{CaptureSpec, ClockStep, Point, Prng, Resolution, Scenario, UdpLoad, script};
use tcpexp_units::{Skew, TimeDelta};

/// Ten seconds of telephony, with a download and an upload that lose packets.
fn traffic() -> Scenario {
    let micros = CaptureSpec {
        resolution: Resolution::Micros,
        ..CaptureSpec::default()
    };
    Scenario {
        tcp: both_ways(500_000, 4),
        udp: vec![UdpLoad::default()],
        jitter: TimeDelta::from_millis(1),
        loss_ppm: 10_000,
        src: micros,
        dst: micros,
        ..Scenario::default()
    }
}

const OFFSETS: [i64; 5] = [-10_000, -1, 0, 1, 10_000];
const SKEWS_PPM: [i64; 4] = [-200, -20, 20, 200];

#[test]
fn offset_is_between_its_bounds_and_changes_nothing_else() {
    let expected = check(&traffic());
    for offset in OFFSETS.map(TimeDelta::from_seconds) {
        let checked = check(&Scenario {
            offset,
            ..traffic()
        });
        checked.assert_losses_are_known();
        assert_eq!(checked.samples(), expected.samples());
        let found = checked.measured.report.clock.offset();
        assert!(
            found.lower <= Some(offset) && Some(offset) <= found.upper,
            "{found:?}"
        );
        assert!(!checked.measured.report.clock.skew().detected);
        assert_eq!(checked.measured.report.clock.steps(), []);
    }
}

#[test]
fn skew_is_found_and_removed() {
    for ppm in SKEWS_PPM {
        for offset in [0, -7_000].map(TimeDelta::from_seconds) {
            // Without jitter, the smallest delays stay constant.
            let jitter = TimeDelta::ZERO;
            let skew = Skew::from_ppt(ppm * 1_000_000);
            let checked = check(&Scenario {
                offset,
                skew,
                jitter,
                ..traffic()
            });
            let found = checked.measured.report.clock.skew();
            assert!(found.detected, "{ppm}: {found:?}");
            assert!(
                (found.skew.as_ppm_f64() - ppm as f64).abs() < 1.0,
                "{ppm}: {found:?}"
            );
            checked.assert_losses_are_known();
        }
    }
}

#[test]
fn clock_step_loses_only_the_samples_across_it() {
    let expected = check(&traffic()).samples();
    for point in [Point::Src, Point::Dst] {
        for by in [-3_600_000, -1_000, -30, 30, 1_000, 3_600_000].map(TimeDelta::from_millis) {
            let clock_step = Some(ClockStep {
                point,
                at: TimeDelta::from_millis(1_500),
                by,
            });
            let checked = check(&Scenario {
                clock_step,
                ..traffic()
            });
            let found = checked.measured.report.clock.steps();
            assert!(
                matches!(found, [step] if step.point.index() == point as usize),
                "{found:?}"
            );
            assert!(
                (found[0].size - by).abs() < TimeDelta::from_millis(2),
                "{found:?}"
            );
            for summary in &checked.measured.ended {
                assert!(
                    summary.duration < TimeDelta::from_seconds(11),
                    "{summary:?}"
                );
            }
            let missing = expected - checked.samples();
            let report = (&checked.measured.report, &checked.measured.ended);
            assert!(
                missing < 60,
                "{missing} of {expected} less for {clock_step:?}: {report:?}"
            );
        }
    }
}

#[test]
fn clock_step_and_skew_are_distinguished() {
    for (point, seed) in [(Point::Src, 1), (Point::Dst, 2)] {
        for by in [-500, 500].map(TimeDelta::from_millis) {
            let checked = check(&Scenario {
                seed,
                jitter: TimeDelta::ZERO,
                skew: Skew::from_ppt(100_000_000),
                clock_step: Some(ClockStep {
                    point,
                    at: TimeDelta::from_millis(2_500),
                    by,
                }),
                ..traffic()
            });
            let clock = &checked.measured.report.clock;
            assert_eq!(clock.steps().len(), 1, "{clock:?}");
            let skew = clock.skew();
            assert!((skew.skew.as_ppm_f64() - 100.0).abs() < 2.0, "{skew:?}");
        }
    }
}

/// Pings each half second over a path of 20 ms with up to 1 ms of jitter, which loses one packet in a
/// hundred each way. The destination's clock is set back by 70 ms after 90 s. Returns both captures, and
/// the number of lost packets.
fn pings(seed: u64) -> ([Vec<u8>; 2], u64) {
    const SET_AT_US: u64 = 90_000_000;
    let mut random = Prng::new(seed);
    let mut lost = 0;
    let mut lines: [Vec<(u64, String)>; 2] = Default::default();
    let mut see = |point: Point, at_us: u64, what: &str| {
        let is_set = point == Point::Dst && at_us >= SET_AT_US;
        let shown_us = at_us + 10_000_000 - if is_set { 70_000 } else { 0 };
        lines[point as usize].push((
            at_us,
            format!(
                "{}.{:06} {what}",
                shown_us / 1_000_000,
                shown_us % 1_000_000
            ),
        ));
    };
    for number in 0..360 {
        let sent_us = number * 500_000;
        let arrives_us = sent_us + 20_000 + random.below(1_000);
        let answered_us = arrives_us + 20_000 + random.below(1_000);
        see(
            Point::Src,
            sent_us,
            &format!("> echo {number} 56 id {number}"),
        );
        if random.chance_ppm(10_000) {
            lost += 1;
            continue;
        }
        see(
            Point::Dst,
            arrives_us,
            &format!("> echo {number} 56 id {number}"),
        );
        see(
            Point::Dst,
            arrives_us + 50,
            &format!("< reply {number} 56 id {number}"),
        );
        if random.chance_ppm(10_000) {
            lost += 1;
            continue;
        }
        see(
            Point::Src,
            answered_us,
            &format!("< reply {number} 56 id {number}"),
        );
    }
    let captures = lines.map(|lines| {
        let text: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        script::capture(&text.join("\n"))
    });
    (captures, lost)
}

#[test]
fn suspected_clock_step_makes_no_losses() {
    let mut suspected = 0;
    for seed in 0..20 {
        let ([src, dst], lost) = pings(seed);
        let measured = Measured::of(&spooled("src", &src), &spooled("dst", &dst)).unwrap();
        if measured.report.clock.suspected_steps().is_empty() {
            continue;
        }
        suspected += 1;
        let found = measured.total(|counts| counts.lost);
        assert_eq!(found, lost, "seed {seed}");
    }
    assert!(suspected > 0);
}
