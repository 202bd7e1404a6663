//! Report page of a capture pair with a known path.

use std::fs::File;
use std::path::Path;

use tcpexp::{AnalyzeInputs, AnalyzeOptions, DatasetDir, Only, Recording, analyze, report};
use tcpexp_chart::page::Page;
use tcpexp_table::dataset::{Layout, QueueRow, QueueSource, QueueState};
use tcpexp_table::{Format, RowsWriter};
use tcpexp_units::Timestamp;

fn page_of(fixture: &str) -> Page {
    page_with(fixture, &[])
}

/// The page of a dataset with a table `queue` of these rows; without rows it has none.
fn page_with(fixture: &str, queue: &[QueueRow]) -> Page {
    let folder = crate::common::fixture(fixture);
    let open = |name: &str| Recording::open(&folder.join(name)).unwrap();
    let (src, dst) = (open("src.pcap.gz"), open("dst.pcap.gz"));
    let inputs = AnalyzeInputs::new(&src, Some(&dst));
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("run");
    analyze(
        inputs,
        &AnalyzeOptions::default(),
        DatasetDir::create(&data).unwrap(),
    )
    .unwrap();
    if !queue.is_empty() {
        unlist(&data.join("manifest.json"), "queue");
        let file = File::create(data.join("queue.parquet")).unwrap();
        let columns = Layout::default().queue();
        let mut rows = RowsWriter::new(Format::Parquet, columns, file).unwrap();
        rows.write(queue.iter().cloned()).unwrap();
        rows.finish().unwrap();
    }
    report(&data, &Only::default()).unwrap()
}

/// Removes a table, which the test replaces, from a manifest: it has the table's checksum.
fn unlist(manifest: &Path, table: &str) {
    let text = std::fs::read_to_string(manifest).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tables = value["tables"].as_array_mut().unwrap();
    tables.retain(|entry| entry["name"] != table);
    std::fs::write(manifest, value.to_string()).unwrap();
}

/// A reading of a discipline, with its parent and the packets in it.
fn reading(
    at_ms: i64,
    interface: &str,
    kind: &str,
    parent: Option<&str>,
    packets: u64,
) -> QueueRow {
    let state = QueueState {
        interface: Some(interface.into()),
        kind: Some(kind.into()),
        parent: parent.map(Into::into),
        backlog_packets: Some(packets),
        ..QueueState::default()
    };
    QueueRow {
        at: Timestamp::from_nanos(at_ms * 1_000_000),
        source: QueueSource::Log {
            log: "rtr-queue.jsonl".into(),
            state: Box::new(state),
        },
    }
}

fn drawn_queue(page: &Page) -> Vec<f64> {
    let queue = &page.runs[0].flows[0].series["queue"].values;
    queue.iter().flatten().copied().collect()
}

#[test]
fn a_page_shows_only_the_bulk_flow() {
    let page = page_of("reno-2mbit-40ms-50p");
    let [run] = &page.runs[..] else {
        panic!("{} runs", page.runs.len());
    };
    let [flow] = &run.flows[..] else {
        panic!("{} flows", run.flows.len());
    };
    let lines: Vec<&str> = flow.series.keys().map(String::as_str).collect();
    assert_eq!(lines, ["cwnd", "goodput", "rtt"]);
    // The RTT is at least 40 ms of path. A full queue adds 50 packets of 1514 bytes at 2 Mbit/s,
    // behind one packet in transmission.
    let rtt = &flow.quantiles["rtt"];
    assert_eq!((rtt[0].round(), rtt[rtt.len() - 1].round()), (40.0, 339.0));
    let goodput = &flow.series["goodput"].values;
    assert!(goodput.iter().flatten().all(|mbps| *mbps < 2.0));
    // The control connection is not drawn.
    assert_eq!(run.all_flows, 2);
}

#[test]
fn queue_on_a_page_is_the_queue_below_the_rate_limiter_and_not_a_hook() {
    const HOOK: Option<&str> = Some("ffff:fff1");
    let at = |ms, packets| {
        [
            reading(ms, "left", "htb", None, 1),
            reading(ms, "left", "pfifo", Some("1:10"), 1),
            reading(ms, "left", "clsact", HOOK, 0),
            reading(ms, "right", "htb", None, packets),
            reading(ms, "right", "pfifo", Some("2:10"), packets),
            reading(ms, "right", "clsact", HOOK, 0),
        ]
    };
    let queue = [at(0, 3), at(100, 50), at(200, 7)].concat();
    let page = page_with("reno-2mbit-40ms-50p", &queue);
    assert_eq!(drawn_queue(&page), [3.0, 50.0, 7.0]);
}

#[test]
fn queue_on_a_page_is_cake_at_the_root() {
    let at = |ms, packets| {
        [
            reading(ms, "left", "noqueue", None, 0),
            reading(ms, "right", "cake", None, packets),
            reading(ms, "right", "clsact", Some("ffff:fff1"), 0),
        ]
    };
    let queue = [at(0, 3), at(100, 50), at(200, 7)].concat();
    let page = page_with("reno-2mbit-40ms-50p", &queue);
    assert_eq!(drawn_queue(&page), [3.0, 50.0, 7.0]);
}

#[test]
fn the_table_of_flows_has_a_number_in_each_cell() {
    let page = page_of("reno-2mbit-40ms-50p");
    let table = &page.tables[0];
    let headings: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.heading.as_str())
        .collect();
    assert_eq!(
        headings,
        [
            "run",
            "flow",
            "arrived goodput (Mbit/s)",
            "median RTT (ms)",
            "p95 RTT (ms)",
            "packets",
            "path lost (packets)",
            "retransmitted (packets)"
        ]
    );
    let [row] = &table.rows[..] else {
        panic!("{} rows", table.rows.len());
    };
    let numbers: Vec<f64> = row.values[2..]
        .iter()
        .map(|value| value.as_f64().unwrap())
        .collect();
    // A bottleneck of 2 Mbit/s with 1448 bytes of payload in 1514: 1.91 Mbit/s at most.
    assert!((1.8..1.92).contains(&numbers[0]), "{numbers:?}");
    assert!((40.0..339.0).contains(&numbers[1]), "{numbers:?}");
    assert!(numbers[3] > 5_000.0, "{numbers:?}");
}

#[test]
fn the_same_dataset_yields_the_same_page() {
    let pages = [(); 2].map(|()| page_of("reno-2mbit-40ms-50p"));
    let [one, other] = pages.map(|page| page.html().unwrap());
    assert_eq!(one, other);
}

#[test]
fn a_folder_without_a_dataset_has_no_page() {
    let error = report(Path::new("no-such-folder/at-all"), &Only::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot open no-such-folder/at-all");
}
