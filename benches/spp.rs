//! Measures round-trip times between two captures, from files to samples.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use tcpexp::{Error, Recording, RttOptions, rtt};
use tcpexp_benches::{FEW, FULL, LOSSY, Load, MANY};
use tcpexp_flow::Packets;
use tcpexp_pair::spp::Survey;
use tcpexp_wire::Tunnels;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("spp");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    for (name, flows) in [("few_flows", FEW), ("many_flows", MANY)] {
        survey(
            &mut group,
            name,
            Load {
                flows,
                ..Load::default()
            },
        );
    }
    for (name, load) in loads() {
        whole(&mut group, name, load);
    }
    group.finish();
    criterion.final_summary();
}

fn loads() -> [(&'static str, Load); 9] {
    let few = Load::default();
    let many = Load { flows: MANY, ..few };
    let loss_ppm = LOSSY;
    [
        ("few_flows", few),
        ("few_flows_loss", Load { loss_ppm, ..few }),
        (
            "few_flows_full_frames",
            Load {
                snaplen: FULL,
                ..few
            },
        ),
        (
            "few_flows_tso_loss",
            Load {
                tso_segments: 40,
                loss_ppm,
                ..few
            },
        ),
        (
            "few_flows_nat_loss",
            Load {
                nat: true,
                loss_ppm,
                ..few
            },
        ),
        ("many_flows", many),
        ("many_flows_loss", Load { loss_ppm, ..many }),
        (
            "many_flows_tso_loss",
            Load {
                tso_segments: 40,
                loss_ppm,
                ..many
            },
        ),
        (
            "many_flows_nat_loss",
            Load {
                nat: true,
                loss_ppm,
                ..many
            },
        ),
    ]
}

/// Benchmarks the first pass over one capture.
fn survey(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, load: Load) {
    let captures = load.captures();
    let src = recording(&captures.src);
    group.throughput(Throughput::Elements(captures.src_packets));
    group.bench_function(BenchmarkId::new("survey", name), |bencher| {
        bencher.iter(|| {
            let mut survey = Survey::default();
            let mut walk = src.walk(Tunnels::Closed).expect("a capture");
            walk.show(usize::MAX, |sighted| survey.observe(sighted));
            survey
        });
    });
}

/// Benchmarks both passes over both captures.
fn whole(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, load: Load) {
    let captures = load.captures();
    let (src, dst) = (recording(&captures.src), recording(&captures.dst));
    group.throughput(Throughput::Elements(
        captures.src_packets + captures.dst_packets,
    ));
    group.bench_function(BenchmarkId::new("rtt", name), |bencher| {
        bencher.iter(|| {
            let options = RttOptions::default();
            rtt(&src, &dst, &options, |batch| {
                black_box(batch);
                Ok::<(), Error>(())
            })
            .expect("captures of the same traffic")
        });
    });
}

fn recording(file: &[u8]) -> Recording {
    Recording::spool("bench".into(), file).expect("room for a temporary file")
}
