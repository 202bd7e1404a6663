//! Walks a capture in memory and decodes its packets.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use tcpexp_benches::{FULL, HEADERS, LOSSY, Load};
use tcpexp_capture::Capture;
use tcpexp_wire::{LinkType, Tally, Tunnels, decode};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("wire");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for (frames, snaplen) in [("headers", HEADERS), ("full", FULL)] {
        // With loss, acknowledgments carry SACK blocks.
        for (loss, loss_ppm) in [("no_loss", 0), ("loss", LOSSY)] {
            let load = Load {
                snaplen,
                loss_ppm,
                ..Load::default()
            };
            let captures = load.captures();
            group.throughput(Throughput::Elements(captures.src_packets));
            let id = BenchmarkId::new(frames, loss);
            group.bench_with_input(id, &captures.src, |bencher, file| {
                bencher.iter(|| decode_all(file));
            });
        }
    }
    group.finish();
    criterion.final_summary();
}

fn decode_all(file: &[u8]) -> Tally {
    let mut capture = Capture::from_bytes(file).expect("a capture");
    let mut tally = Tally::default();
    while let Some(record) = capture.next_record() {
        let link = LinkType(record.link_type);
        let outcome = decode(link, record.captured, record.wire_bytes, Tunnels::Closed);
        tally.observe(&outcome);
        black_box(&outcome);
    }
    tally
}
