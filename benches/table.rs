//! Measures the writing of a million rows of the table `rtt` in each format.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_pair::spp::{LocalFlow, PairedFlow, Point, RttSample};
use tcpexp_table::{Error, Format, RttWriter};
use tcpexp_units::{TimeDelta, Timestamp};

const SAMPLES: u32 = 1_000_000;
const FLOWS: u32 = 8;
/// Number of samples that `tcpexp rtt` writes at once, approximately.
const TOGETHER: usize = 4_096;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("table");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .throughput(Throughput::Elements(u64::from(SAMPLES)));
    let samples: Vec<RttSample> = (0..SAMPLES).map(sample).collect();
    for format in Format::ALL {
        group.bench_function(format.name(), |bencher| {
            bencher.iter(|| black_box(written(format, &samples)).expect("memory takes all writes"));
        });
    }
    group.finish();
    criterion.final_summary();
}

fn written(format: Format, samples: &[RttSample]) -> Result<Vec<u8>, Error> {
    let mut table = RttWriter::new(format, Vec::new())?;
    for flow in 0..FLOWS {
        table.flow(&paired(flow));
    }
    for samples in samples.chunks(TOGETHER) {
        table.write(samples)?;
    }
    table.finish()
}

fn paired(flow: u32) -> PairedFlow {
    let address = |host: u32, port: u32| format!("10.0.{host}.1:{port}").parse();
    PairedFlow {
        flow: FlowId(flow),
        number: FlowId(flow),
        protocol: Protocol::Tcp,
        initiator: address(0, 40_000 + flow).expect("an address"),
        responder: address(1, 5_201).expect("an address"),
        translated: None,
        local: [LocalFlow {
            flow: FlowId(flow),
            forward_is: Direction::Forward,
        }; 2],
    }
}

/// Samples of a queue that fills and empties, of all flows in turn, with some scatter.
fn sample(index: u32) -> RttSample {
    let scatter = |shift: u32| i64::from(index.wrapping_mul(0x9E37_79B9) >> shift);
    let queue = i64::from(index % 40_000) * 1_000;
    let (owd_out, owd_back) = (20_000_000 + queue + scatter(12), 20_000_000 + scatter(16));
    RttSample {
        flow: FlowId(index / 4 % FLOWS),
        direction: Direction::Forward,
        reference: Point::Src,
        time: Timestamp::from_nanos(
            1_767_225_609_778_130_000 + i64::from(index) * 12_000 + scatter(20),
        ),
        rtt: TimeDelta::from_nanos(owd_out + owd_back),
        rtt_error: TimeDelta::from_nanos(2_000 + scatter(28)),
        turnaround: TimeDelta::from_nanos(15_000 + scatter(20)),
        owd_out: TimeDelta::from_nanos(owd_out),
        owd_back: TimeDelta::from_nanos(owd_back),
    }
}
