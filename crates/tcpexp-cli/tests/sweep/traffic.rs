//! All kinds of traffic, in parallel in the lab.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, cells, has_lab, numbers, said, texts};
use tcpexp_testkit::has_minutes;

#[test]
fn each_traffic_tool_writes_the_planned_logs() {
    if !has_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    bench.write("plan.toml", include_str!("traffic.toml"));
    let output = bench.tcpexp("sweep plan.toml -o out");
    assert!(output.status.success(), "{}", said(&output));
    let (run, record) = bench.records("out").remove(0);
    assert_eq!(record["status"], "complete", "{record}");
    let flows = Flows::read(&run);

    // Two concurrent flows, each with a control connection. The 1000 bytes of a segment include the
    // timestamps option.
    for name in ["bulk-1", "bulk-2"] {
        flows.of(name).data_bytes(50_000..=2_000_000);
        assert_eq!(flows.of(name).largest_payload(), 988);
        assert_eq!(flows.of(name).classes(), ["bulk", "control"]);
    }
    assert_eq!(flows.of("old").largest_payload(), 1_188);
    flows.of("old").data_bytes(50_000..=1_000_000);
    flows.of("sized").data_bytes(100_000..=100_000);
    // iperf3 ends after it has sent the last byte, without waiting for its arrival.
    flows.of("upload").data_bytes(50_000..=400_000);
    // 80 kbit/s in packets of 200 bytes for two seconds, plus iperf's final report.
    flows.of("voice").data_bytes(20_000..=24_000);
    // Up to twenty requests of 400 bytes per second, fewer if losses delay them, and as many
    // answers.
    flows.of("asks").data_bytes(1_200..=8_800);
    flows.of("asks-on").data_bytes(1_000..=1_000_000);
    flows.of("mirror").data_bytes(200_000..=201_000);
    flows.of("copy").data_bytes(150_000..=156_000);
    assert_eq!(flows.of("pages").connections(), 3);
    flows.of("pages").data_bytes(50_000..=50_500);
    flows.of("own").data_bytes(8..=8);

    let own = fs::read_to_string(run.join("logs/own-server.txt")).unwrap();
    assert_eq!(own, "one\ntwo\n");
    downloads_are_timed(&run);
    player_follows_its_buffer(&run, &flows);
    changes_were_made(&record);
    logs_are_read(&run);
}

/// The log has the duration of each download.
fn downloads_are_timed(run: &Path) {
    let pages = csv(&run.join("logs/pages.txt"));
    let sizes: Vec<i64> = pages.iter().map(|page| page[0]).collect();
    assert_eq!(sizes, [10_000, 50_000, 10_000]);
    for page in &pages {
        // A handshake and a request, on a path of 10 ms.
        assert!(page[2] - page[1] > 20_000_000, "{page:?}");
    }
    for two in pages.windows(2) {
        assert!(two[1][1] - two[0][2] >= 200_000_000, "{two:?}");
    }
}

/// The player begins with the lowest bitrate, and asks for the highest once its buffer is full.
fn player_follows_its_buffer(run: &Path, flows: &Flows) {
    let segments = csv(&run.join("logs/film.csv"));
    assert_eq!(segments.len(), 6, "{segments:?}");
    assert_eq!(flows.of("film").connections(), 6);
    assert_eq!(segments[0][0], 100_000);
    assert_eq!(segments[5][0], 400_000);
    let mut runs_out_ns = 0;
    for segment in &segments {
        let [bitrate_bps, size_bytes, start_ns, end_ns, buffer_ms] = segment[..] else {
            panic!("{segment:?}");
        };
        assert_eq!(size_bytes, bitrate_bps / 8);
        let in_buffer_ms = (runs_out_ns - start_ns).max(0) / 1_000_000;
        // Between two readings of the clock, the player computes.
        assert!((in_buffer_ms - buffer_ms).abs() < 300, "{segments:?}");
        assert!(buffer_ms <= 2_000, "{segments:?}");
        runs_out_ns = runs_out_ns.max(end_ns) + 1_000_000_000;
    }
    // Its segments are the transfers of the comparison.
    let bytes: i64 = segments.iter().map(|segment| segment[1]).sum();
    let received: u64 = flows.of("film").0.iter().map(|row| row.unique_bytes).sum();
    assert!(received.cast_signed() > bytes, "{received} of {bytes}");
}

/// The rate is halved after one second, and the delay increases half a second later.
fn changes_were_made(record: &Value) {
    let t0_ns = record["t0_ns"].as_i64().unwrap();
    for (change, (what, at_ms)) in [("rate 4mbit", 1_000), ("delay 15ms", 1_500)]
        .into_iter()
        .enumerate()
    {
        let change = &record["changes"][change];
        assert_eq!(change["what"], what);
        let executed_ns = change["executed_ns"].as_i64().unwrap();
        let late_ms = (executed_ns - t0_ns) / 1_000_000 - at_ms;
        assert!((0..300).contains(&late_ms), "{change} is {late_ms} ms late");
    }
}

fn logs_are_read(run: &Path) {
    let logs = texts(&run.join("data/logs.parquet"), "log");
    for log in [
        "src1-ping.txt",
        "src1-ss.txt",
        "src1-tcp_probe.txt",
        "src2-tcp_probe.txt",
        "echo.txt",
        "bulk-1.json",
    ] {
        let name = format!("logs/{log}");
        assert!(logs.contains(&name), "{log} is not in the table of logs");
    }
    let queues = numbers(&run.join("data/queue.parquet"), "time_s");
    // Ten samples per second over at least two seconds.
    assert!(queues.len() >= 20);
    let readings = run.join("data/readings.parquet");
    let columns = texts(&readings, "column");
    for (column, least) in [("one", 8), ("tasks", 8), ("number", 4), ("what", 4)] {
        let found = columns.iter().filter(|one| *one == column).count();
        assert!(found >= least, "{column}: {found} of {columns:?}");
    }
    // The texts among the values are null here.
    let rows = columns.iter().zip(cells(&readings, "value"));
    let beats: Vec<f64> = rows
        .filter(|(column, _)| *column == "number")
        .map(|(_, value)| value.unwrap().parse().unwrap())
        .collect();
    let counted: Vec<f64> = (1_u32..).map(f64::from).take(beats.len()).collect();
    assert_eq!(beats, counted);
}

/// Parses a log in CSV.
fn csv(log: &Path) -> Vec<Vec<i64>> {
    let text = fs::read_to_string(log).unwrap();
    let row = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

/// The table of flows: one row per flow and direction.
#[derive(Clone)]
struct Flows(Vec<Row>);

#[derive(Clone)]
struct Row {
    traffic: String,
    class: String,
    initiator: String,
    unique_bytes: u64,
    largest_payload: Option<u64>,
}

impl Flows {
    fn read(run: &Path) -> Self {
        let table = run.join("data/flows.parquet");
        let [traffic, class, initiator, unique, largest] = [
            "traffic",
            "traffic_class",
            "initiator",
            "unique_bytes",
            "largest_payload_bytes",
        ]
        .map(|column| cells(&table, column));
        let text = |column: &[Option<String>], row: usize| column[row].clone().unwrap_or_default();
        let number = |column: &[Option<String>], row: usize| {
            let cell = column[row].as_ref()?;
            Some(cell.parse::<u64>().unwrap())
        };
        let row = |row: usize| Row {
            traffic: text(&traffic, row),
            class: text(&class, row),
            initiator: text(&initiator, row),
            unique_bytes: number(&unique, row).unwrap(),
            largest_payload: number(&largest, row),
        };
        Self((0..unique.len()).map(row).collect())
    }

    /// Returns the flows of one generator; fails if there are none.
    fn of(&self, traffic: &str) -> Self {
        let rows = self.0.iter().filter(|row| row.traffic == traffic);
        let rows: Vec<Row> = rows.cloned().collect();
        assert!(!rows.is_empty(), "{traffic} has no flows");
        Self(rows)
    }

    /// Checks the bytes of the direction with most; retransmitted bytes count once.
    fn data_bytes(&self, expected: RangeInclusive<u64>) {
        let bytes = self.0.iter().map(|row| row.unique_bytes).max().unwrap();
        let name = &self.0[0].traffic;
        assert!(expected.contains(&bytes), "{name} sent {bytes} bytes");
    }

    fn largest_payload(&self) -> u64 {
        let sizes = self.0.iter().filter_map(|row| row.largest_payload);
        sizes.max().unwrap()
    }

    fn classes(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.0.iter().map(|row| row.class.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn connections(&self) -> usize {
        let mut all: Vec<&str> = self.0.iter().map(|row| row.initiator.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }
}
