//! Measurements on one capture that missed packets.

use tcpexp::{
    BinWidth, CaptureOptions, CwndOptions, Error, LimitCause, MissedData, Recording,
    ThroughputOptions, Verdict, cwnd, flows, single_rtt, throughput, why,
};
use tcpexp_units::TimeDelta;

use crate::common::retime::records_in;
use crate::common::{limited_upload, spooled};

/// Begin and end of the hole, from the first record on.
const HOLE: (TimeDelta, TimeDelta) = (TimeDelta::from_seconds(3), TimeDelta::from_seconds(5));

/// Captures at the source and at the destination of an upload that the path limits.
fn captures() -> [Vec<u8>; 2] {
    let captures = limited_upload();
    [captures.src, captures.dst]
}

/// The same capture without the records within [`HOLE`].
fn with_hole(file: &[u8]) -> Recording {
    let records = records_in(file);
    let (first, _) = records.span();
    let kept = records.file(|at| (at - first < HOLE.0 || HOLE.1 < at - first).then_some(at));
    recording(&kept)
}

fn recording(file: &[u8]) -> Recording {
    spooled("capture", file)
}

/// What each command says that the capture missed.
fn missed(capture: &Recording) -> [MissedData; 4] {
    let options = CaptureOptions::default();
    let by_flows = flows(capture, &options, |_| Ok::<(), Error>(())).unwrap();
    let by_rtt = single_rtt(capture, &options, |_| Ok::<(), Error>(())).unwrap();
    let by_cwnd = cwnd(capture, None, &CwndOptions::default(), |_| {
        Ok::<(), Error>(())
    });
    let bins = ThroughputOptions::new(BinWidth::new(TimeDelta::from_seconds(1)).unwrap());
    let by_throughput = throughput(capture, &bins, |_| Ok::<(), Error>(()));
    [
        by_flows.missed,
        by_rtt.missed,
        by_cwnd.unwrap()[0].missed,
        by_throughput.unwrap().capture.missed,
    ]
    // `flows` and `throughput` measure no round-trip times, so they do not look for missed ACKs.
    .map(|missed| MissedData {
        ack_gaps: 0,
        ..missed
    })
}

fn verdict(capture: &Recording) -> Verdict {
    let report = why(capture, None, &CwndOptions::default()).unwrap();
    report.verdicts[0].row
}

#[test]
fn every_command_on_one_capture_counts_the_data_that_a_hole_hides() {
    for file in captures() {
        assert_eq!(missed(&recording(&file)), [MissedData::default(); 4]);
        let found = missed(&with_hole(&file));
        assert_eq!(found, [found[0]; 4]);
        assert_eq!(found[0].directions, 1);
        // 4 Mbit/s with headers of 52 bytes per 1500.
        let sent = 4_000_000 / 8 * 2 * 96 / 100;
        assert!(
            (sent * 9 / 10..=sent * 11 / 10).contains(&found[0].bytes),
            "{found:?} of {sent}"
        );
    }
}

#[test]
fn nothing_is_blamed_for_the_time_in_a_hole_of_the_capture() {
    for file in captures() {
        let (whole, holed) = (verdict(&recording(&file)), verdict(&with_hole(&file)));
        let time = |verdict: &Verdict, cause: LimitCause| verdict.times[cause.index()];
        // Around the hole, up to a round trip is also unknown.
        let round = TimeDelta::from_millis(200);
        for cause in [
            LimitCause::Application,
            LimitCause::ReceiverWindow,
            LimitCause::Timeouts,
        ] {
            let more = time(&holed, cause) - time(&whole, cause);
            assert!(more < round, "{cause:?} {more:?} {holed:?}");
        }
        let unknown = time(&holed, LimitCause::NotCertain) - time(&whole, LimitCause::NotCertain);
        assert!(unknown >= HOLE.1 - HOLE.0, "{unknown:?} {holed:?}");
        assert_eq!(whole.evidence.missed_bytes, 0);
        assert!(holed.evidence.missed_bytes > 500_000, "{holed:?}");
    }
}

#[test]
fn data_before_a_capture_that_begins_within_a_recovery_is_not_missed() {
    for file in captures() {
        let records = records_in(&file);
        let (first, _) = records.span();
        let mut in_doubt = 0;
        for place in 0..100 {
            let from = first + TimeDelta::from_millis(20 * place);
            let kept = records.file(|at| (from <= at).then_some(at));
            let capture = recording(&kept);
            let options = CaptureOptions::default();
            let found = flows(&capture, &options, |_| Ok::<(), Error>(())).unwrap();
            assert_eq!(found.missed.bytes, 0, "{place}");
            in_doubt += u64::from(found.missed.possible_bytes > 0);
        }
        assert!(in_doubt > 0);
    }
}

#[test]
fn data_in_a_hole_is_missed_even_without_the_syn() {
    for file in captures() {
        let records = records_in(&file);
        let (first, _) = records.span();
        let late = first + TimeDelta::from_millis(500);
        let is_kept = |at| late <= at && (at - first < HOLE.0 || HOLE.1 < at - first);
        let kept = records.file(|at| is_kept(at).then_some(at));
        let found = missed(&recording(&kept));
        assert_eq!(found, [found[0]; 4]);
        assert_eq!(found[0].bytes, missed(&with_hole(&file))[0].bytes);
    }
}
