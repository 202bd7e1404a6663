//! A grid in the lab, measured against its plan.

use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, has_lab, numbers, said};

/// Two rates by two congestion controls.
const PLAN: &str = r#"kind = "lab"

[matrix]
rate = ["2mbit", "4mbit"]
cc = ["cubic", "reno"]

[path.forward]
delay = "20ms"
buffer = "30p"

[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "10s"
"#;

/// A full packet in the queue: 1500 bytes and an Ethernet header.
const PACKET_BITS: f64 = 1_514.0 * 8.0;

#[test]
fn tables_of_a_grid_say_what_its_plan_says() {
    if std::env::var_os("TCPEXP_NEED_TOOLS").is_none() {
        eprintln!("not tested: this takes minutes, and TCPEXP_NEED_TOOLS is not set");
        return;
    }
    if !has_lab() {
        return;
    }
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    let output = bench.tcpexp("sweep plan.toml -o out --jobs 2");
    assert!(output.status.success(), "{}", said(&output));
    let records = bench.records("out");
    assert_eq!(records.len(), 4);
    for (run, record) in &records {
        assert_eq!(record["status"], "complete", "{record}");
        assert!(run.join("journal.jsonl").exists());
        as_planned(run, record);
        drops_are_those_of_the_queue(&bench, run, record);
    }
    // All are there, so going on is doing nothing.
    let again = bench.tcpexp("sweep plan.toml -o out --resume");
    assert!(again.status.success(), "{}", said(&again));
    assert!(
        said(&again).contains("0 of 4 runs to do"),
        "{}",
        said(&again)
    );
    let unasked = bench.tcpexp("sweep plan.toml -o out");
    assert!(said(&unasked).contains("--resume"), "{}", said(&unasked));
}

/// Base round-trip time, round-trip time with the queue full, and rate, each within 2 %.
fn as_planned(run: &Path, record: &Value) {
    let rate_mbps = record["parameters"]["rate_mbps"].as_f64().unwrap();
    let packet_ms = PACKET_BITS / rate_mbps / 1e3;
    let rtt_ms = numbers(&run.join("data/rtt.parquet"), "rtt_ms");
    let least = rtt_ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rtt_ms.iter().copied().fold(0.0, f64::max);
    is_near("base RTT", least, 40.0);
    // Who comes last into a queue of 30 waits for 29, and then for itself.
    is_near("RTT with the queue full", most, 40.0 + 30.0 * packet_ms);
    is_near(
        "calibrated rate",
        record["calibration"]["rate_mbps"].as_f64().unwrap(),
        rate_mbps,
    );
}

fn is_near(what: &str, found: f64, planned: f64) {
    let off = (found / planned - 1.0).abs();
    assert!(off <= 0.02, "{what} is {found}, planned is {planned}");
}

fn drops_are_those_of_the_queue(bench: &Bench, run: &Path, record: &Value) {
    let capture = |host: &str| {
        run.join(format!("captures/{host}.pcap"))
            .display()
            .to_string()
    };
    let (src, dst) = (capture("src1"), capture("dst1"));
    let lost = numbers(&run.join("data/loss.parquet"), "time_s").len();
    let dropped = record["queue"]["drops"].as_u64().unwrap();
    assert!(dropped > 0, "the queue never was full");
    assert_eq!(u64::try_from(lost).unwrap(), dropped);
    let output = bench.tcpexp(&format!("path {src} {dst}"));
    assert!(output.status.success(), "{}", said(&output));
}
