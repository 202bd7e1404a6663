//! Measures the drawing of a chart from a million samples, to SVG and to PNG.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use tcpexp_chart::{DelaySeries, Style, rtt_figure};
use tcpexp_units::{TimeDelta, Timestamp};

const SAMPLES: u64 = 1_000_000;
/// Time from one sample to the next.
const INTERVAL_NS: u64 = 1_000_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("chart");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .throughput(Throughput::Elements(SAMPLES));
    group.bench_function("rtt_svg", |bencher| {
        bencher.iter(|| {
            let figure = rtt_figure(&[series()], Style::default()).expect("samples");
            black_box(figure.as_str().len())
        });
    });
    group.bench_function("rtt_png", |bencher| {
        bencher.iter(|| {
            let figure = rtt_figure(&[series()], Style::default()).expect("samples");
            black_box(figure.to_png(2.0).expect("a drawing").len())
        });
    });
    group.finish();
    criterion.final_summary();
}

/// A saw-tooth of delays, as those of a queue that fills and overflows, with some scatter.
fn series() -> DelaySeries {
    let mut series = DelaySeries::new("flow 0");
    for sample in 0..SAMPLES {
        let time = i64::try_from(sample * INTERVAL_NS).expect("a quarter of an hour");
        let tooth = sample % 40_000 * 1_000;
        let scatter = sample.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
        let delay = i64::try_from(30_000_000 + tooth + scatter).expect("some milliseconds");
        series.add(Timestamp::from_nanos(time), TimeDelta::from_nanos(delay));
    }
    series
}
