//! Measurements of a part of the captures: `--filter`, `--from` and `--to`.

use std::path::Path;

use crate::common::{captures_in, fixture};
use tcpexp::{
    AnalyzeInputs, AnalyzeOptions, CaptureInfo, CaptureOptions, DatasetDir, Error, Filter, Moment,
    PacketSelection, PathOptions, Recording, TimeDelta, Timestamp, analyze, flows, live_rtt, path,
};
use tcpexp_capture::{Capture, PcapngWriter};
use tcpexp_flow::FlowId;
use tcpexp_flow::MAX_FLOWS;
use tcpexp_testkit::script;
use tcpexp_wire::Skipped;

const SECOND: i64 = 1_000_000_000;

fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::from_seconds(seconds)
}

/// A copy of the records that `keeps` selects, with all times moved by `shift`.
fn copied(file: &Path, shift: TimeDelta, keeps: impl Fn(Timestamp) -> bool) -> Recording {
    let mut capture = Capture::from_file(std::fs::File::open(file).unwrap()).unwrap();
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    while let Some(record) = capture.next_record() {
        let at = record.at.unwrap();
        if keeps(at) {
            let at = at + shift;
            writer
                .packet(at, record.link_type, record.wire_bytes, record.captured)
                .unwrap();
        }
    }
    let bytes = writer.into_inner();
    Recording::spool(file.to_owned(), bytes.as_slice()).unwrap()
}

/// Sent, received and lost packets of each direction, of all flows.
fn fates(src: &Recording, dst: &Recording, options: &PathOptions) -> Vec<(u64, u64)> {
    let mut fates = Vec::new();
    path(src, dst, options, |batch| {
        for flow in &batch.ended {
            for direction in &flow.directions {
                fates.push((direction.sent(), direction.lost()));
            }
        }
        Ok::<(), Error>(())
    })
    .unwrap();
    fates
}

#[test]
fn every_record_is_used_or_counted_as_not_selected() {
    let capture = script::capture(
        "1.0 > udp 100\n2.0 > 1:1461(1460)\n3.0 < ack 1461\n4.0 > udp 101\n5.0 > 1461:2921(1460)",
    );
    let recording = Recording::spool("capture".into(), capture.as_slice()).unwrap();
    let options = CaptureOptions::default()
        .filter(Filter::parse("tcp").unwrap())
        .from(Moment::AfterStart(seconds(1)))
        .to(Moment::BeforeEnd(seconds(1)));
    let info = CaptureInfo::read(&recording, &options).unwrap();
    let skipped: Vec<_> = info.tally.skipped().collect();
    // The start belongs to the range, the end does not.
    assert_eq!(info.tally.used(), 2);
    assert_eq!(skipped, [(Skipped::OutsideRange, 3)]);
    let from_first = CaptureOptions::default().filter(Filter::parse("tcp").unwrap());
    let info = CaptureInfo::read(&recording, &from_first).unwrap();
    assert_eq!(info.tally.used(), 3);
    assert_eq!(info.tally.skipped_for(Skipped::Filtered), 2);
    let (first, last) = info.span.unwrap();
    assert_eq!(last - first, seconds(3));
}

#[test]
fn a_selection_of_nothing_is_an_error_with_the_reason() {
    let capture = script::capture("1.0 > udp 100\n2.0 > udp 101");
    let recording = Recording::spool("capture".into(), capture.as_slice()).unwrap();
    let options = CaptureOptions::default().filter(Filter::parse("tcp").unwrap());
    let error = flows(&recording, &options, |_| Ok::<(), Error>(())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing usable in capture: 2 × not selected by the filter"
    );
}

#[test]
fn a_live_capture_has_a_filter_and_no_range() {
    let capture = script::capture("1.0 > udp 100\n2.0 > 1:1461(1460)\n3.0 < ack 1461");
    let name = Path::new("live");
    let live = |options: &CaptureOptions| {
        let capture = std::io::Cursor::new(capture.clone());
        live_rtt(name, capture, MAX_FLOWS, options, |_| Ok::<(), Error>(()))
    };
    let tcp = CaptureOptions::default().filter(Filter::parse("tcp").unwrap());
    assert_eq!(live(&tcp).unwrap().tally.used(), 2);
    let late = tcp.from(Moment::AfterStart(seconds(1)));
    assert!(matches!(live(&late), Err(Error::RangeOfLive { .. })));
}

#[test]
fn a_range_selects_the_same_traffic_in_captures_whose_clocks_are_years_apart() {
    let (src, dst) = captures_in(&fixture("short-cubic-15-percent-loss")).unwrap();
    let whole = |file: &Path| copied(file, TimeDelta::ZERO, |_| true);
    let (from, to) = (
        Moment::AfterStart(seconds(1)),
        Moment::AfterStart(seconds(4)),
    );
    let options = PathOptions::default().from(from).to(to);
    let expected = fates(&whole(&src), &whole(&dst), &options);
    assert!(expected.iter().any(|(_, lost)| *lost > 0), "{expected:?}");
    // The clock of the destination is nine years ahead, and its capture begins half a second
    // later.
    let shift = seconds(9 * 365 * 86_400);
    let begin = Recording::open(&dst).unwrap();
    let info = CaptureInfo::read(&begin, &CaptureOptions::default()).unwrap();
    let (first, _) = info.span.unwrap();
    let late = copied(&dst, shift, |at| at - first > TimeDelta::from_millis(500));
    assert_eq!(fates(&whole(&src), &late, &options), expected);
    // Two captures cut at these times by hand give the same result.
    let (start, _) = CaptureInfo::read(&whole(&src), &CaptureOptions::default())
        .unwrap()
        .span
        .unwrap();
    let range = start + seconds(1)..start + seconds(4);
    let cut = |file: &Path| copied(file, TimeDelta::ZERO, |at| range.contains(&at));
    let by_hand = fates(&cut(&src), &cut(&dst), &PathOptions::default());
    assert_eq!(by_hand, expected);
}

#[test]
fn a_dataset_records_filter_and_range() {
    let (src, dst) = captures_in(&fixture("short-cubic-15-percent-loss")).unwrap();
    let (src, dst) = (
        Recording::open(&src).unwrap(),
        Recording::open(&dst).unwrap(),
    );
    let folder = tempfile::tempdir().unwrap();
    let options = AnalyzeOptions {
        selection: PacketSelection::default()
            .filter(Filter::parse("tcp and ip").unwrap())
            .from(Moment::AfterStart(seconds(1))),
        ..AnalyzeOptions::default()
    };
    let out = DatasetDir::create(&folder.path().join("data")).unwrap();
    let inputs = AnalyzeInputs::new(&src, Some(&dst));
    let manifest = analyze(inputs, &options, out).unwrap();
    assert_eq!(manifest.options["filter"], "tcp and ip");
    let from = manifest.options["from_ns"].as_i64().unwrap();
    let first = manifest.captures[0].first_ns.unwrap();
    assert!((from..from + SECOND).contains(&first), "{from} {first}");
    assert!(manifest.options["to_ns"].is_null());
    let skipped = &manifest.captures[0].skipped;
    assert!(skipped["outside the selected times"] > 0);
}

#[test]
fn flows_are_numbered_within_the_selection() {
    let capture = script::capture(
        "1.0 > udp 100\n2.0 > udp 100 flow 1\n3.0 > udp 100 flow 2\n4.0 > udp 100 flow 2",
    );
    let recording = Recording::spool("capture".into(), capture.as_slice()).unwrap();
    let options = CaptureOptions::default().from(Moment::AfterStart(seconds(2)));
    let mut found = Vec::new();
    flows(&recording, &options, |connections| {
        found.extend(connections.into_iter().map(|connection| connection.flow));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(found, [FlowId(0)]);
}
