//! Links whose rate follows a trace, in the lab.

use tcpexp_capture::Capture;
use tcpexp_testkit::has_minutes;

use crate::bench::{Bench, has_lab, said};

/// An overloaded link, with packets of 1514 bytes as Ethernet frames: the bytes of an opportunity.
const PLAN: &str = r#"
name = "traces"
kind = "lab"

[matrix]
trace = ["rates.trace", "times.trace"]

[path.forward]
delay = "10ms"
buffer = "30p"

[[traffic]]
name = "load"
tool = "udp"
rate = "20mbit"
packet_bytes = 1472
duration = "6s"
"#;

/// A link of three rates, with a pause. It repeats during the traffic.
const RATES: &str = "0 12.112\n1.5 0\n1.8 3.028\n3.2 8\n4 0\n";

/// The rates of [`RATES`] in bit/s, each with its time in microseconds.
const STEPS: [(u64, u64); 5] = [
    (0, 12_112_000),
    (1_500_000, 0),
    (1_800_000, 3_028_000),
    (3_200_000, 8_000_000),
    (4_000_000, 0),
];

/// Milliseconds at which the other link sends a packet.
fn times() -> Vec<u64> {
    (0..2_000)
        .filter(|time| time % 7 == 3 || time % 11 < 2)
        .collect()
}

#[test]
fn packets_leave_a_traced_link_within_one_packet_of_the_trace() {
    if !has_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    bench.write("rates.trace", RATES);
    let lines: Vec<String> = times().iter().map(ToString::to_string).collect();
    bench.write("times.trace", &lines.join("\n"));
    let output = bench.tcpexp("sweep plan.toml -o out");
    assert!(output.status.success(), "{}", said(&output));
    let records = bench.records("out");
    for (run, record) in &records {
        let [sent, arrived] = ["src1", "dst1"].map(|host| {
            let capture = run.join("captures").join(host).with_extension("pcap");
            frames_to_sink(&std::fs::read(capture).unwrap())
        });
        // The first packet crosses the delay stage before it begins the trace.
        let begin_ns = sent[0].0 + 10_000_000;
        let (trace, period_us) = match record["parameters"]["trace"].as_str() {
            Some("rates.trace") => (packets_of_rates(), 4_000_000),
            Some("times.trace") => (packets_of_times(), *times().last().unwrap() * 1_000),
            other => panic!("the trace is {other:?}"),
        };
        follows(&arrived, begin_ns, &trace, period_us);
        // The drops of the filter are those of the queue.
        assert_eq!(record["queue"]["drops"], sent.len() - arrived.len());
    }
    assert_eq!(records.len(), 2);
}

/// Time and length of each frame of the load and of its control connection, from source to sink.
fn frames_to_sink(capture: &[u8]) -> Vec<(i64, u32)> {
    let mut capture = Capture::from_bytes(capture).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = capture.next_record() {
        // The last byte of the source's address in an IPv4 header.
        let is_ipv4 = record.captured.get(12..14) == Some(&[8, 0]);
        if is_ipv4 && record.captured.get(29) == Some(&3) {
            frames.push((record.at.unwrap().as_nanos(), record.wire_bytes));
        }
    }
    frames
}

/// Times in microseconds at which the link of [`RATES`] has carried one more packet of 12,112 bits.
fn packets_of_rates() -> Vec<u64> {
    let mut times = Vec::new();
    // Products of bit/s and microseconds.
    let (mut carried, packet) = (0, 12_112_000_000);
    for pair in STEPS.windows(2) {
        for time in pair[0].0..pair[1].0 {
            carried += pair[0].1;
            if carried >= packet {
                carried -= packet;
                times.push(time + 1);
            }
        }
    }
    times
}

fn packets_of_times() -> Vec<u64> {
    times().iter().map(|time| time * 1_000).collect()
}

/// Checks that a link carries one packet at each time of the trace, which begins at `begin_ns` and
/// repeats.
fn follows(arrived: &[(i64, u32)], begin_ns: i64, trace: &[u64], period_us: u64) {
    // The control connection of the load comes first. From the first full frame on, the queue is never
    // empty.
    let full = arrived.iter().filter(|(_, bytes)| *bytes == 1_514);
    let full: Vec<i64> = full.map(|(at, _)| *at).collect();
    let until = |at: i64| {
        let us = u64::try_from(at - begin_ns).unwrap() / 1_000;
        let passes = usize::try_from(us / period_us).unwrap();
        passes * trace.len() + trace.partition_point(|time| *time <= us % period_us)
    };
    let before = until(full[0]);
    for (index, at) in full.iter().enumerate() {
        let passed = until(*at) - before;
        let differs = passed.abs_diff(index);
        assert!(differs <= 1, "{index} packets after {passed} of the trace");
    }
    // More than one pass.
    assert!(full.len() > trace.len(), "{} packets", full.len());
}
