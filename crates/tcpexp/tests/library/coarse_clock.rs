//! Measurements on one capture whose clock advances in long steps.

use tcpexp::{
    BinWidth, CaptureOptions, CwndOptions, Error, LimitCause, Recording, ThroughputOptions,
    Verdict, cwnd, flows, single_rtt, throughput, why,
};
use tcpexp_measure::rtt::{RttMethod, SingleRttRow, SingleRttSample};
use tcpexp_measure::sender::SenderRow;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::common::retime::records_in;
use crate::common::{limited_upload, spooled};

/// A capture at the source of an upload that the path limits; the round-trip time is at least 40 ms.
fn capture() -> Vec<u8> {
    limited_upload().src
}

fn recording(file: &[u8]) -> Recording {
    spooled("capture", file)
}

/// The capture as a clock with this tick would have it.
fn coarse(file: &[u8], tick: TimeDelta) -> Recording {
    let tick_ns = tick.as_nanos();
    let shown = |at: Timestamp| Timestamp::from_nanos(at.as_nanos().div_euclid(tick_ns) * tick_ns);
    recording(&records_in(file).file(|at| Some(shown(at))))
}

/// The tick of the clock, as each command reports it.
fn ticks(capture: &Recording) -> [Option<TimeDelta>; 5] {
    let options = CaptureOptions::default();
    let cwnd_options = CwndOptions::default();
    let by_flows = flows(capture, &options, |connections| {
        for connection in connections {
            assert_eq!(connection.coarse_tick, ticks_of_flow(capture));
        }
        Ok::<(), Error>(())
    });
    let by_rtt = single_rtt(capture, &options, |_| Ok::<(), Error>(()));
    let by_cwnd = cwnd(capture, None, &cwnd_options, |_| Ok::<(), Error>(()));
    let bins = ThroughputOptions::new(BinWidth::new(TimeDelta::from_seconds(1)).unwrap());
    let by_throughput = throughput(capture, &bins, |_| Ok::<(), Error>(()));
    let by_why = why(capture, None, &cwnd_options);
    [
        by_flows.unwrap().coarse_tick,
        by_rtt.unwrap().coarse_tick,
        by_cwnd.unwrap()[0].coarse_tick,
        by_throughput.unwrap().capture.coarse_tick,
        by_why.unwrap().infos[0].coarse_tick,
    ]
}

fn ticks_of_flow(capture: &Recording) -> Option<TimeDelta> {
    let info = tcpexp::CaptureInfo::read(capture, &CaptureOptions::default());
    info.unwrap().coarse_tick
}

fn samples(capture: &Recording) -> Vec<SingleRttSample> {
    let mut samples = Vec::new();
    let result = single_rtt(capture, &CaptureOptions::default(), |rows| {
        samples.extend(rows.into_iter().filter_map(|row| match row {
            SingleRttRow::Sample(sample) if sample.method == RttMethod::SequenceAck => Some(sample),
            _ => None,
        }));
        Ok::<(), Error>(())
    });
    assert!(result.is_ok());
    samples
}

fn verdict(capture: &Recording) -> Verdict {
    let report = why(capture, None, &CwndOptions::default()).unwrap();
    report.verdicts[0].row
}

#[test]
fn every_command_on_one_capture_reports_the_tick_of_a_coarse_clock() {
    let file = capture();
    assert_eq!(ticks(&recording(&file)), [None; 5]);
    for millis in [1, 4, 10, 100] {
        let tick = TimeDelta::from_millis(millis);
        assert_eq!(ticks(&coarse(&file, tick)), [Some(tick); 5]);
    }
}

#[test]
fn true_round_trip_time_lies_within_the_error_of_a_coarse_clock() {
    let file = capture();
    let exact = samples(&recording(&file));
    assert!(exact.len() > 1_000);
    assert!(exact.iter().all(|sample| sample.error.is_none()));
    for millis in [1, 10, 100] {
        let rounded = samples(&coarse(&file, TimeDelta::from_millis(millis)));
        assert_eq!(rounded.len(), exact.len());
        for (rounded, exact) in rounded.iter().zip(&exact) {
            let off = (rounded.rtt - exact.rtt).abs();
            assert!(Some(off) < rounded.error, "{rounded:?} for {exact:?}");
        }
    }
}

#[test]
fn smoothed_round_trip_time_below_the_tick_is_unknown() {
    let capture = coarse(&capture(), TimeDelta::from_millis(100));
    let mut shortest: Option<TimeDelta> = None;
    let result = cwnd(&capture, None, &CwndOptions::default(), |rows| {
        for row in rows {
            if let SenderRow::Sample(sample) = row.row {
                shortest = [shortest, sample.srtt].into_iter().flatten().min();
            }
        }
        Ok::<(), Error>(())
    });
    assert!(result.is_ok());
    let is_above = shortest.is_some_and(|srtt| srtt >= TimeDelta::from_millis(100));
    assert!(is_above, "{shortest:?}");
}

#[test]
fn no_cause_that_rests_on_round_trip_times_is_named_where_the_clock_is_too_coarse() {
    let file = capture();
    let exact = verdict(&recording(&file));
    assert_ne!(exact.main, LimitCause::NotCertain);
    let little_rounded = verdict(&coarse(&file, TimeDelta::from_millis(1)));
    assert_eq!(little_rounded.main, exact.main);
    let tick = TimeDelta::from_millis(100);
    let found = verdict(&coarse(&file, tick));
    assert_eq!(found.main, LimitCause::NotCertain, "{found:?}");
    assert_eq!(found.evidence.unresolved_by_tick, Some(tick));
    assert_eq!(found.evidence.base_rtt, None);
}
