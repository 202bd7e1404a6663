//! Writes a large pair of captures for benchmarks.
//!
//! ```text
//! generate_pair SRC DST [--packets N] [--flows N] [--parallel N] [--loss-ppm N] [--snaplen N]
//!               [--rate-bps N] [--seed N] [--format pcap|pcapng] [--gro N] [--tso N]
//! ```
//! `--packets` is the approximate number of records in each capture. Flows carry data to the server
//! and are of equal size; `--parallel` flows run concurrently.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::time::Instant;

use tcpexp_testkit::{
    CaptureSpec, Congestion, Container, Resolution, Scenario, TcpLoad, simulate_into,
};
use tcpexp_units::TimeDelta;

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    let mut options = HashMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--") {
            Some(name) => {
                let value = arguments.next().expect("an option has a value");
                options.insert(name.to_owned(), value);
            }
            None => files.push(argument),
        }
    }
    let [src, dst] = &files[..] else {
        eprintln!("usage: generate_pair SRC DST [--packets N] [--flows N] [--loss-ppm N] …");
        std::process::exit(2);
    };
    let scenario = scenario(&options);
    let open = |path| File::create(path).map(|file| BufWriter::with_capacity(1 << 20, file));
    let started = Instant::now();
    let summary = simulate_into(&scenario, open(src)?, open(dst)?)?;
    let seconds = started.elapsed().as_secs_f64();
    let records = summary.src_records + summary.dst_records;
    println!(
        "{} + {} records in {seconds:.2} s, {:.0} records/s",
        summary.src_records,
        summary.dst_records,
        records as f64 / seconds
    );
    let completed = summary.flows.iter().filter(|flow| flow.completed).count();
    println!("{} flows, {completed} completed", summary.flows.len());
    println!(
        "forward {:?}\nreverse {:?}",
        summary.forward, summary.reverse
    );
    Ok(())
}

/// Returns a numeric option or its default.
fn number(options: &HashMap<String, String>, name: &str, default: u64) -> u64 {
    options.get(name).map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("--{name} is a number, not {value}"))
    })
}

fn scenario(options: &HashMap<String, String>) -> Scenario {
    let packets = number(options, "packets", 4_000_000);
    let flows = number(options, "flows", 8).max(1);
    let parallel = number(options, "parallel", flows.min(200)).max(1);
    let rate_bps = number(options, "rate-bps", 2_000_000_000);
    // All windows together fill the path of 30 ms and half as much queue.
    let in_flight = rate_bps / 8 / 1514 * 30 / 1000 * 3 / 2;
    let window = u32::try_from((in_flight / parallel).max(10)).expect("a window below 2^32");
    let loss_ppm = u32::try_from(number(options, "loss-ppm", 0)).expect("at most a million");
    // Receivers acknowledge every second segment, and every segment while there is a hole. A hole
    // is almost always open once a window loses half a segment on average. Seven packets open and
    // close a flow.
    let mostly_open = u64::from(loss_ppm) * u64::from(window) > 500_000;
    let acknowledged = (packets / flows).saturating_sub(7).max(1);
    let segments = if mostly_open {
        acknowledged / 2
    } else {
        acknowledged * 2 / 3
    } + 1;
    let capture = CaptureSpec {
        snaplen: u32::try_from(number(options, "snaplen", 262_144)).expect("a snaplen below 2^32"),
        resolution: Resolution::Micros,
        container: match options.get("format").map(String::as_str) {
            Some("pcapng") => Container::Pcapng,
            _ => Container::Pcap,
        },
        ..CaptureSpec::default()
    };
    let small = |name| u32::try_from(number(options, name, 1)).expect("a few segments");
    Scenario {
        seed: number(options, "seed", 1),
        tcp: vec![TcpLoad {
            flows: u32::try_from(flows).expect("fewer than 2^32 flows"),
            parallel: u32::try_from(parallel).expect("fewer than 2^32 flows"),
            bytes: segments * 1448,
            congestion: Congestion::Fixed(window),
            max_window_segments: window,
            stagger: TimeDelta::from_millis(100),
            ..TcpLoad::default()
        }],
        rate_bps,
        queue_bytes: rate_bps / 8 * 30 / 1000,
        delay: TimeDelta::from_millis(15),
        loss_ppm,
        offset: TimeDelta::from_seconds(2),
        src: CaptureSpec {
            tso_segments: small("tso"),
            ..capture
        },
        dst: CaptureSpec {
            gro_segments: small("gro"),
            ..capture
        },
        max_packets: Some(packets + packets / 20),
        ..Scenario::default()
    }
}
