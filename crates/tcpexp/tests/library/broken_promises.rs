//! Captures that once broke a promise. Both points of each pair have one clock, unless a test says
//! otherwise. The captures lie next to the repository; without them the tests pass.

use crate::common::shared;
use tcpexp::{Error, PathOptions, PathReport, Recording, RttOptions, path, rtt};
use tcpexp_pair::spp::{Fate, RttSample};
use tcpexp_units::TimeDelta;

const fn millis(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

/// Resolution of most captures.
const MICROSECOND: TimeDelta = TimeDelta::from_micros(1);

/// Results of `path` and `rtt`.
struct Results {
    report: PathReport,
    samples: Vec<RttSample>,
}

impl Results {
    /// Checks what holds for each pair with one clock, within `tick`.
    fn assert_true(&self, tick: TimeDelta) {
        let offset = self.report.clock.offset();
        if let Some(error) = offset.error() {
            assert!(error >= TimeDelta::ZERO, "{offset:?}");
            assert!(offset.middle.abs() <= error + tick, "{offset:?}");
        }
        for sample in &self.samples {
            let owds = [sample.owd_out, sample.owd_back];
            assert!(owds.iter().all(|owd| *owd >= -tick), "{sample:?}");
            let off = (sample.rtt - sample.owd_out - sample.owd_back).abs();
            assert!(off <= sample.rtt_error + tick, "{sample:?}");
        }
    }

    fn count(&self, fate: Fate) -> u64 {
        let path_directions = self.report.totals.path_directions.iter();
        let counts = path_directions.map(|path_direction| match fate {
            Fate::Lost => path_direction.lost(),
            Fate::Missed => path_direction.missed(),
            _ => path_direction.lost_or_missed(),
        });
        counts.sum()
    }
}

/// Measures a pair; `None` without the captures.
fn measured(name: &str) -> Option<Result<Results, Error>> {
    let folder = shared("repro")?.join(name);
    let [src, dst] = ["A.pcap.gz", "B.pcap.gz"].map(|file| folder.join(file));
    let [src, dst] = [src, dst].map(|file| Recording::open(&file).unwrap());
    let mut samples = Vec::new();
    let by_path = path(&src, &dst, &PathOptions::default(), |batch| {
        samples.extend(batch.samples);
        Ok::<(), Error>(())
    });
    let mut by_rtt_samples = Vec::new();
    let by_rtt = rtt(&src, &dst, &RttOptions::default(), |batch| {
        by_rtt_samples.extend(batch.samples);
        Ok::<(), Error>(())
    });
    Some(by_path.map(|report| {
        assert_eq!(report.clock.offset(), by_rtt.unwrap().clock.offset());
        assert_eq!(samples, by_rtt_samples);
        Results { report, samples }
    }))
}

#[test]
fn true_offset_is_within_its_bound() {
    for name in ["offset-bound", "offset-bound-mininet"] {
        if let Some(results) = measured(name) {
            results.unwrap().assert_true(MICROSECOND);
        }
    }
}

#[test]
fn equal_datagrams_at_a_constant_rate_are_refused_or_matched_rightly() {
    for name in [
        "udp-16bit-id-capdrop",
        "udp-periodic-capdrop",
        "udp-periodic-late-start",
    ] {
        match measured(name) {
            Some(Ok(results)) => {
                results.assert_true(MICROSECOND);
                assert!(results.report.clock.steps().is_empty(), "{name}");
            }
            Some(Err(error)) => assert!(matches!(error, Error::Compare { .. }), "{error}"),
            None => {}
        }
    }
}

#[test]
fn packets_missed_by_a_capture_are_not_lost() {
    // The path drops 18 of the packets that both captures would have shown.
    for (name, least_missed) in [
        ("capture-hole-1s-called-network-loss", 100),
        ("capture-loss-called-network-loss", 40),
    ] {
        if let Some(results) = measured(name) {
            let results = results.unwrap();
            results.assert_true(MICROSECOND);
            assert!(results.count(Fate::Missed) >= least_missed, "{name}");
            assert!(results.count(Fate::Lost) <= 18, "{name}");
        }
    }
}

#[test]
fn records_out_of_order_cost_no_samples() {
    if let Some(results) = measured("record-order-false-loss") {
        let results = results.unwrap();
        results.assert_true(MICROSECOND);
        assert!(results.samples.len() > 800, "{}", results.samples.len());
        assert!(results.count(Fate::Lost) <= 28);
    }
}

#[test]
fn step_of_a_millisecond_is_found() {
    if let Some(results) = measured("clock-step-1ms-silent") {
        let results = results.unwrap();
        let [step] = results.report.clock.steps() else {
            panic!("{:?}", results.report.clock.steps());
        };
        assert!((step.size.abs() - millis(1)).abs() < TimeDelta::from_micros(10));
        // The base delay is 35 ms each way.
        let least = results.samples.iter().map(|sample| sample.rtt).min();
        assert!(least.unwrap() >= millis(70), "{least:?}");
    }
}

#[test]
fn coarse_clock_is_reported_and_shows_no_wrong_rate() {
    let coarse = [
        ("coarse-clock-10ms-bottleneck", 10),
        ("coarse-clock-negative-bound", 100),
    ];
    for (name, tick_ms) in coarse {
        if let Some(results) = measured(name) {
            let results = results.unwrap();
            let tick = millis(tick_ms);
            results.assert_true(tick + tick);
            assert!(results.report.clock.ticks().contains(&tick), "{name}");
            for path_direction in &results.report.totals.path_directions {
                // The bottleneck has 4 Mbit/s.
                let rate = path_direction.bottleneck_bps.unwrap_or(4_000_000);
                assert!((3_600_000..4_400_000).contains(&rate), "{name}: {rate}");
            }
        }
    }
}

#[test]
fn segments_without_identification_and_syn_are_measured() {
    if let Some(results) = measured("id0-nots-nosyn-all-ambiguous") {
        let results = results.unwrap();
        results.assert_true(MICROSECOND);
        assert!(!results.samples.is_empty());
    }
}

#[test]
fn packets_that_look_alike_are_not_called_unseen() {
    if let Some(results) = measured("awb-not-seen-at-both") {
        let results = results.unwrap();
        results.assert_true(millis(1));
        assert_eq!(results.count(Fate::Lost), 0);
    }
}
