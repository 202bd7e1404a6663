//! Measures what each command computes, from files to rows: one capture, and a pair of captures.
//!
//! Each on few and many flows, without loss and with one packet in a hundred lost.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use tcpexp::{
    AnalyzeInputs, AnalyzeOptions, BinWidth, CaptureOptions, CwndOptions, DatasetDir, Error,
    PathOptions, Recording, RttOptions, ThroughputOptions, TimeDelta, analyze, cwnd, flows, path,
    rtt, single_rtt, throughput,
};
use tcpexp_benches::{Captures, FEW, LOSSY, Load, MANY};

/// The default bin of `tcpexp throughput`.
const BIN: TimeDelta = TimeDelta::from_millis(100);

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("commands");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    let loads = [
        ("few_flows", FEW, 0),
        ("few_flows_loss", FEW, LOSSY),
        ("many_flows", MANY, 0),
        ("many_flows_loss", MANY, LOSSY),
    ];
    for (name, flows, loss_ppm) in loads {
        let load = Load {
            flows,
            loss_ppm,
            ..Load::default()
        };
        let captures = load.captures();
        one_capture(&mut group, name, &captures);
        two_captures(&mut group, name, &captures);
    }
    group.finish();
    criterion.final_summary();
}

fn one_capture(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, captures: &Captures) {
    let src = recording(&captures.src);
    group.throughput(Throughput::ElementsAndBytes {
        elements: captures.src_packets,
        bytes: captures.src.len() as u64,
    });
    let options = CaptureOptions::default();
    group.bench_function(BenchmarkId::new("flows", name), |bencher| {
        bencher.iter(|| flows(&src, &options, ignore).expect("a capture"));
    });
    group.bench_function(BenchmarkId::new("single_rtt", name), |bencher| {
        bencher.iter(|| single_rtt(&src, &options, ignore).expect("a capture"));
    });
    let options = CwndOptions::default();
    group.bench_function(BenchmarkId::new("cwnd", name), |bencher| {
        bencher.iter(|| cwnd(&src, None, &options, ignore).expect("a capture"));
    });
    let bin = BinWidth::new(BIN).expect("a positive width");
    let options = ThroughputOptions::new(bin);
    group.bench_function(BenchmarkId::new("throughput", name), |bencher| {
        bencher.iter(|| throughput(&src, &options, ignore).expect("a capture"));
    });
}

fn two_captures(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, captures: &Captures) {
    let [src, dst] = [&captures.src, &captures.dst].map(|file| recording(file));
    group.throughput(Throughput::ElementsAndBytes {
        elements: captures.src_packets + captures.dst_packets,
        bytes: (captures.src.len() + captures.dst.len()) as u64,
    });
    let options = RttOptions::default();
    group.bench_function(BenchmarkId::new("rtt", name), |bencher| {
        bencher.iter(|| rtt(&src, &dst, &options, ignore).expect("a pair"));
    });
    let options = PathOptions::default();
    group.bench_function(BenchmarkId::new("path", name), |bencher| {
        bencher.iter(|| path(&src, &dst, &options, ignore).expect("a pair"));
    });
    // With the Parquet files.
    let folder = tempfile::tempdir().expect("room for a temporary folder");
    let out = folder.path().join("dataset");
    let options = AnalyzeOptions::default();
    group.bench_function(BenchmarkId::new("analyze", name), |bencher| {
        bencher.iter(|| {
            let dir = DatasetDir::create(&out).expect("a writable folder");
            analyze(AnalyzeInputs::new(&src, Some(&dst)), &options, dir).expect("a pair")
        });
    });
}

fn recording(file: &[u8]) -> Recording {
    Recording::spool("bench".into(), file).expect("room for a temporary file")
}

#[expect(clippy::unnecessary_wraps, reason = "what a sink returns")]
fn ignore<T>(rows: T) -> Result<(), Error> {
    black_box(rows);
    Ok(())
}
