//! Times of logs that have the start of a test in whole seconds only.

use std::fs::File;

use arrow::array::AsArray;
use arrow::datatypes::TimestampNanosecondType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp::{
    AnalyzeInputs, AnalyzeOptions, DatasetDir, LogKind, LogSource, Manifest, Recording, analyze,
};
use tcpexp_logs::import::Format;
use tcpexp_table::dataset::DatasetTable;
use tcpexp_testkit::script;

/// A transfer of two streams, captured at the client: round trips of 40 ms.
const AT_CLIENT: &str = "
    7.300120 > S mss 1460 sackok ts 400 0 flow 0
    7.340131 < S. mss 1460 sackok ts 900 400 flow 0
    7.340131 > . ts 440 900 flow 0
    7.341007 > 1:38(37) ts 441 900 flow 0
    7.350120 > S mss 1460 sackok ts 450 0 flow 1
    7.390131 < S. mss 1460 sackok ts 950 450 flow 1
    7.390131 > . ts 490 950 flow 1
    7.391005 > 1:38(37) ts 491 950 flow 1
    7.431022 > 38:1486(1448) ts 531 950 flow 1
    7.471033 < ack 1486 ts 1031 531 flow 1
";

/// First time of the log's rows, in nanoseconds, and the manifest. `streams` are the local ports of the log.
fn first_row(capture: &str, second: u64, streams: &[u16]) -> (i64, Manifest) {
    let connected = streams.iter().map(|port| {
        format!(
            r#"{{"socket": {port}, "local_host": "10.0.0.1", "local_port": {port},
            "remote_host": "10.0.0.2", "remote_port": 80}}"#
        )
    });
    let connected = connected.collect::<Vec<_>>().join(",");
    let socket = streams[0];
    let log = format!(
        r#"{{"start": {{"connected": [{connected}], "timestamp": {{"timesecs": {second}}}, "test_start": {{"protocol": "TCP"}}}},
        "intervals": [{{"streams": [{{"socket": {socket}, "start": 0, "end": 1, "bytes": 7, "sender": true}}]}}]}}"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.json");
    std::fs::write(&path, log).unwrap();
    let src = Recording::spool("src".into(), script::capture(capture).as_slice()).unwrap();
    let logs = [LogSource {
        path,
        name: "first.json".into(),
        kind: Some(LogKind::Import(Format::Iperf3)),
        is_optional: false,
    }];
    let inputs = AnalyzeInputs {
        logs: &logs,
        ..AnalyzeInputs::new(&src, None)
    };
    let data = folder.path().join("data");
    let manifest = analyze(
        inputs,
        &AnalyzeOptions::default(),
        DatasetDir::create(&data).unwrap(),
    );
    let table = data.join(format!("{}.parquet", DatasetTable::Logs.name()));
    let rows = ParquetRecordBatchReaderBuilder::try_new(File::open(table).unwrap()).unwrap();
    let rows = rows.build().unwrap().next().unwrap().unwrap();
    let times = rows.column_by_name("time").unwrap();
    let times = times.as_primitive::<TimestampNanosecondType>();
    (times.value(0), manifest.unwrap())
}

#[test]
fn a_test_of_iperf3_starts_with_the_first_data_after_the_cookies() {
    let (first, manifest) = first_row(AT_CLIENT, 7, &[40_000, 40_001]);
    assert_eq!(first, 7_431_022_000);
    assert_eq!(manifest.warnings, [""; 0]);
    // The client hears that the test starts when the data of the server arrives.
    let data_from_server = AT_CLIENT.replace("7.431022 > 38:1486", "7.431022 < 1:1449");
    let (first, _) = first_row(&data_from_server, 7, &[40_000, 40_001]);
    assert_eq!(first, 7_431_022_000);
}

#[test]
fn a_log_whose_start_no_capture_shows_has_whole_seconds_and_a_warning() {
    let without_data = AT_CLIENT.lines().take(9).collect::<Vec<_>>().join("\n");
    let from_the_middle = AT_CLIENT.lines().skip(9).collect::<Vec<_>>().join("\n");
    // A flow that begins in another minute is not of this test.
    for (capture, second) in [
        (without_data.as_str(), 7),
        (from_the_middle.as_str(), 7),
        (AT_CLIENT, 67),
    ] {
        let (first, manifest) = first_row(capture, second, &[40_000]);
        assert_eq!(first, i64::try_from(second).unwrap() * 1_000_000_000);
        let warning = "first.json: this log has the start of its test in whole seconds";
        assert!(
            manifest.warnings.iter().any(|one| one.starts_with(warning)),
            "{:?}",
            manifest.warnings
        );
    }
}
