//! Measures one capture from file to results: connections, round-trip times, sender state.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use tcpexp::{CaptureOptions, Error, Recording, flows, single_rtt};
use tcpexp_benches::{FEW, LOSSY, Load, MANY};
use tcpexp_measure::sender::{Hindsight, SenderOptions, sender_state};
use tcpexp_wire::Tunnels;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("single");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    for (name, flows) in [("few_flows_loss", FEW), ("many_flows_loss", MANY)] {
        let loss_ppm = LOSSY;
        let load = Load {
            flows,
            loss_ppm,
            ..Load::default()
        };
        capture(&mut group, name, load);
    }
    group.finish();
    criterion.final_summary();
}

fn capture(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, load: Load) {
    let captures = load.captures();
    let recording = Recording::spool("bench".into(), &captures.src[..]);
    let recording = recording.expect("room for a temporary file");
    group.throughput(Throughput::Elements(captures.src_packets));
    group.bench_function(BenchmarkId::new("flows", name), |bencher| {
        bencher.iter(|| flows(&recording, &CaptureOptions::default(), ignore).expect("a capture"));
    });
    group.bench_function(BenchmarkId::new("rtt", name), |bencher| {
        bencher.iter(|| {
            single_rtt(&recording, &CaptureOptions::default(), ignore).expect("a capture")
        });
    });
    group.bench_function(BenchmarkId::new("cwnd", name), |bencher| {
        bencher.iter(|| {
            let walk = || recording.walk(Tunnels::Closed).expect("a capture");
            let (hindsight, _) = Hindsight::of(&mut walk());
            let options = SenderOptions::default();
            sender_state(&mut walk(), &hindsight, options, ignore)
        });
    });
}

#[expect(clippy::unnecessary_wraps, reason = "what a sink returns")]
fn ignore<T>(rows: T) -> Result<(), Error> {
    black_box(rows);
    Ok(())
}
