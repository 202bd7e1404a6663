//! Reproduces parts of published studies in the lab.

use serde_json::Value;

use crate::bench::{Bench, has_lab, numbers, said, texts};

/// A full packet in the queue, in bits: 1500 bytes and an Ethernet header.
const PACKET_BITS: f64 = 1_514.0 * 8.0;

/// From CAIA's technical report 140502A: a queue of 50 packets at 2 and 10 Mbit/s, and one path
/// that does not fill according to the report.
const BASELINE: &str = r#"kind = "lab"

[path.forward]
rate = "2mbit"
delay = "20ms"
buffer = "50p"
queue = "pfifo"

[[traffic]]
name = "bulk"
tool = "iperf3"
cc = "reno"
duration = "10s"

[matrix]
rate = ["2mbit", "10mbit"]
include = [{ rate = "10mbit", delay = "100ms" }]
"#;

/// Rates in Mbit/s, and the published rises of the round-trip time in milliseconds.
const PUBLISHED_STEPS_MS: [(f64, f64); 2] = [(2.0, 6.0), (10.0, 1.2)];

/// The study's own short plan; the test shortens it further.
const LARGE_BUFFERS: &str = include_str!("../../../../examples/studies/large-buffers/short.toml");

fn is_asked_for() -> bool {
    tcpexp_testkit::has_minutes() && has_lab()
}

/// Carries out a plan and compares its cells; returns the rows of one class.
fn compared(bench: &Bench, plan: &str, class: &str) -> Vec<Value> {
    bench.write("plan.toml", plan);
    let output = bench.tcpexp("sweep plan.toml -o out --jobs 2");
    assert!(output.status.success(), "{}", said(&output));
    let output = bench.tcpexp("compare out --warmup 5s --format json");
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.filter(|row: &Value| row["class"] == class).collect()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name}: {row}"))
}

fn is_near(what: &str, found: f64, published: f64) {
    let off = (found / published - 1.0).abs();
    assert!(off <= 0.03, "{what} is {found}, published is {published}");
}

#[test]
fn a_single_flow_has_the_published_round_trip_times_and_utilisation() {
    if !is_asked_for() {
        return;
    }
    let bench = Bench::new();
    let rows = compared(&bench, BASELINE, "bulk");
    assert_eq!(rows.len(), 3);
    for (run, record) in bench.records("out") {
        let parameter = |name: &str| number(&record["parameters"], name);
        if parameter("delay_ms") > 20.0 {
            continue;
        }
        let rate = parameter("rate_mbps");
        let published = PUBLISHED_STEPS_MS
            .iter()
            .find(|(of, _)| (of - rate).abs() < 0.1);
        let rtts = data_rtts(&run.join("data/rtt.parquet"));
        is_near("RTT step", step(&rtts), published.unwrap().1);
        let longest = rtts.iter().copied().fold(0.0, f64::max);
        is_near(
            "RTT with the queue full",
            longest,
            40.0 + 50.0 * PACKET_BITS / rate / 1e3,
        );
        if rate < 3.0 {
            is_near("RTT with the queue full", longest, 340.0);
        }
    }
    for row in &rows {
        let delay = number(row, "delay_ms");
        is_near("base RTT", number(row, "rtt_base_ms"), 2.0 * delay);
        let use_of_link = number(row, "utilisation");
        assert_eq!(
            use_of_link >= 0.97,
            delay < 100.0,
            "{use_of_link} at {delay} ms"
        );
    }
}

/// Returns the round-trip times of the data flow in time order.
fn data_rtts(table: &std::path::Path) -> Vec<f64> {
    let column = |name: &str| numbers(table, name);
    let (flows, rtts) = (column("flow_id"), column("rtt_ms"));
    let from_source = texts(table, "reference");
    // The first connection of iperf3 is its control connection.
    let last = flows.iter().copied().fold(0.0, f64::max);
    let rows = flows.iter().zip(from_source).zip(rtts);
    let of_flow = rows.filter(|((flow, reference), _)| **flow >= last && reference == "src");
    of_flow.map(|(_, rtt)| rtt).collect()
}

/// Returns the median of all rises above the jitter of processing.
fn step(rtts_ms: &[f64]) -> f64 {
    let rises = rtts_ms.windows(2).map(|pair| pair[1] - pair[0]);
    let mut rises: Vec<f64> = rises.filter(|rise| *rise > 0.1).collect();
    rises.sort_by(f64::total_cmp);
    rises[rises.len() / 2]
}

#[test]
fn small_packets_beside_an_upload_halve_its_round_trip_time_at_little_cost_in_goodput() {
    if !is_asked_for() {
        return;
    }
    let bench = Bench::new();
    let plan = LARGE_BUFFERS
        .replace("120s", "40s")
        .replace("\"120\"]", "\"40\"]");
    let rows = compared(&bench, &plan, "upload");
    let of = |streams: f64, name: &str| {
        let row = rows
            .iter()
            .find(|row| (number(row, "stream_count") - streams).abs() < 0.5);
        number(row.unwrap(), name)
    };
    let ratio = |name: &str| of(1.0, name) / of(0.0, name);
    is_near("base RTT", of(0.0, "rtt_base_ms"), 94.0);
    assert!(ratio("rtt_mean_ms") <= 0.5, "{}", ratio("rtt_mean_ms"));
    let goodput = ratio("goodput_bps");
    assert!(goodput > 0.8 && goodput < 0.95, "{goodput}");
}
