//! Walks the records of a capture file in memory.

use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use flate2::Compression;
use flate2::write::GzEncoder;
use tcpexp_benches::{FULL, HEADERS, Load};
use tcpexp_capture::Capture;
use tcpexp_testkit::Container;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("reader");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for (frames, snaplen) in [("headers", HEADERS), ("full", FULL)] {
        let [pcap, pcapng] = [Container::Pcap, Container::Pcapng].map(|container| {
            Load {
                snaplen,
                container,
                ..Load::default()
            }
            .captures()
        });
        let gzip = gzip(&pcap.src);
        group.throughput(Throughput::Elements(pcap.src_packets));
        for (format, file) in [
            ("pcap", &pcap.src),
            ("pcapng", &pcapng.src),
            ("gzip", &gzip),
        ] {
            group.bench_with_input(BenchmarkId::new(format, frames), file, |bencher, file| {
                bencher.iter(|| walk(file));
            });
        }
    }
    group.finish();
    criterion.final_summary();
}

fn walk(file: &[u8]) -> u64 {
    let mut capture = Capture::from_bytes(file).expect("a capture");
    let mut wire_bytes = 0;
    while let Some(record) = capture.next_record() {
        wire_bytes += u64::from(record.wire_bytes);
        black_box(record);
    }
    wire_bytes
}

fn gzip(file: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(file).expect("memory takes all writes");
    encoder.finish().expect("memory takes all writes")
}
