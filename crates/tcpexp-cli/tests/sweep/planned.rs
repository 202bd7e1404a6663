//! Compares the tables of a run of one flow with its plan.

use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, numbers, said};

/// A full packet: 1500 bytes of IP, and its size in a queue, including the Ethernet header.
const IP_BYTES: f64 = 1_500.0;
const PACKET_BYTES: f64 = 1_514.0;

/// Checks base round-trip time, round-trip time with a full queue, and rate, each within 2 %. Also
/// checks that the reported losses are exactly the drops of the queue.
pub(crate) fn tables_are_as_planned(bench: &Bench, run: &Path, record: &Value) {
    assert_eq!(record["status"], "complete", "{record}");
    assert!(run.join("journal.jsonl").exists());
    let parameter = |name: &str| record["parameters"][name].as_f64().unwrap();
    let rate_mbps = parameter("rate_mbps");
    let base_ms = 2.0 * parameter("delay_ms");
    let packet_ms = PACKET_BYTES * 8.0 / rate_mbps / 1e3;
    let rtt_ms = numbers(&run.join("data/rtt.parquet"), "rtt_ms");
    let least = rtt_ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rtt_ms.iter().copied().fold(0.0, f64::max);
    is_near(record, "base RTT", least, base_ms);
    // The last packet into a full queue of 30 waits for the packet being sent, for 29 others, and
    // for its own transmission. The maximum may be one packet lower, because an ACK lets each
    // packet in.
    let full_ms = base_ms + parameter("buffer_packets") * packet_ms;
    is_near(record, "RTT with the queue full", most, full_ms);
    let flows = run.join("data/flows.parquet");
    let rates = numbers(&flows, "bottleneck_bps");
    let fastest = rates.iter().copied().fold(0.0, f64::max) / 1e6;
    let of_frames = fastest * PACKET_BYTES / IP_BYTES;
    is_near(record, "rate of the bottleneck", of_frames, rate_mbps);
    let calibrated = record["calibration"]["rate_mbps"].as_f64().unwrap();
    is_near(record, "calibrated rate", calibrated, rate_mbps);
    drops_are_those_of_the_queue(bench, run, record);
}

fn is_near(record: &Value, what: &str, found: f64, planned: f64) {
    let off = (found / planned - 1.0).abs();
    let run = &record["run"];
    assert!(
        off <= 0.02,
        "{run}: {what} is {found}, planned is {planned}"
    );
}

fn drops_are_those_of_the_queue(bench: &Bench, run: &Path, record: &Value) {
    let dropped = record["queue"]["drops"].as_u64().unwrap();
    assert!(dropped > 0, "the queue never was full");
    let lost = numbers(&run.join("data/loss.parquet"), "time_s").len();
    assert_eq!(u64::try_from(lost).unwrap(), dropped);
    let capture = |host: &str| {
        run.join(format!("captures/{host}.pcap"))
            .display()
            .to_string()
    };
    let (src, dst) = (capture("src1"), capture("dst1"));
    let rows = bench.path("path-flows.parquet");
    let out = rows.display();
    let output = bench.tcpexp(&format!("path {src} {dst} --quiet --flows {out}"));
    assert!(output.status.success(), "{}", said(&output));
    let lost: f64 = numbers(&rows, "lost_packets").iter().sum();
    let off = (lost - dropped as f64).abs();
    assert!(off < 0.5, "tcpexp path counts {lost}, the queue {dropped}");
}
