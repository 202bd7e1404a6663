//! Walks a capture in memory, decodes its packets and tracks their flows.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use tcpexp_benches::{FEW, LOSSY, Load, MANY};
use tcpexp_capture::Capture;
use tcpexp_flow::FlowTable;
use tcpexp_wire::{LinkType, Tunnels, decode};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("flow");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for (name, flows) in [("few_flows", FEW), ("many_flows", MANY)] {
        for (loss, loss_ppm) in [("no_loss", 0), ("loss", LOSSY)] {
            let load = Load {
                flows,
                loss_ppm,
                ..Load::default()
            };
            let captures = load.captures();
            group.throughput(Throughput::Elements(captures.src_packets));
            let id = BenchmarkId::new(name, loss);
            group.bench_with_input(id, &captures.src, |bencher, file| {
                bencher.iter(|| track_all(file));
            });
        }
    }
    group.finish();
    criterion.final_summary();
}

fn track_all(file: &[u8]) -> u32 {
    let mut capture = Capture::from_bytes(file).expect("a capture");
    let mut table = FlowTable::default();
    while let Some(record) = capture.next_record() {
        let link = LinkType(record.link_type);
        let packet = decode(link, record.captured, record.wire_bytes, Tunnels::Closed);
        if let (Ok(packet), Ok(at)) = (&packet, record.at) {
            black_box(table.track(at, packet));
        }
        table.drain_ended(|_, flow| {
            black_box(flow);
        });
    }
    table.flows_seen()
}
