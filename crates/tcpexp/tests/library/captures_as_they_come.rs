//! Captures in any order, of any traffic, on any number of threads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Measured, captures_in, fixture, shared, spooled};
use rayon::prelude::*;
use tcpexp::{Error, Recording};
use tcpexp_pair::spp::NothingInCommon;
use tcpexp_testkit::{Direction, Scenario, TcpLoad, UdpLoad, simulate};
use tcpexp_units::TimeDelta;

/// All results of a measurement, in the order of their output.
fn results(measured: &Measured) -> String {
    let Measured {
        flows,
        samples,
        outcomes,
        ended,
        report,
    } = measured;
    format!(
        "{samples:?} {outcomes:?} {flows:?} {ended:?} {:?} {:?}",
        report.clock, report.totals
    )
}

fn measured_by(threads: usize, src: &[u8], dst: &[u8]) -> String {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| results(&Measured::of_bytes(src, dst)))
}

const FILE_HEADER: usize = 24;

#[test]
fn result_is_reproducible_for_any_number_of_threads() {
    let download = TcpLoad {
        direction: Direction::Reverse,
        ..TcpLoad::default()
    };
    let short = TcpLoad {
        flows: 100,
        parallel: 10,
        bytes: 10_000,
        ..download
    };
    let captures = simulate(&Scenario {
        tcp: vec![TcpLoad::default(), download, short],
        udp: vec![UdpLoad {
            flows: 30,
            ..UdpLoad::default()
        }],
        loss_ppm: 10_000,
        duplicate_ppm: 1_000,
        ..Scenario::default()
    });
    let (src, dst) = captures_in(&fixture("adsl-udp-upload")).unwrap();
    let fixture = [fs::read(src).unwrap(), fs::read(dst).unwrap()];
    for [src, dst] in [[&captures.src, &captures.dst], [&fixture[0], &fixture[1]]] {
        // More records than one batch, so that several threads have work.
        let expected = measured_by(1, src, dst);
        for threads in [1, 2, 5, 5] {
            assert!(
                measured_by(threads, src, dst) == expected,
                "{threads} threads"
            );
        }
    }
}

#[test]
fn captures_in_reverse_order_yield_the_same_round_trip_times() {
    let captures = simulate(&Scenario {
        loss_ppm: 10_000,
        offset: TimeDelta::from_seconds(-500),
        ..Scenario::default()
    });
    let (src, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let fixture = [fs::read(src).unwrap(), fs::read(dst).unwrap()];
    for [src, dst] in [[&captures.src, &captures.dst], [&fixture[0], &fixture[1]]] {
        let all = |measured: Measured, swapped: bool| {
            let mut all: Vec<_> = measured
                .samples
                .iter()
                .map(|s| {
                    let near = if swapped {
                        s.reference.opposite()
                    } else {
                        s.reference
                    };
                    let flow = measured.flow(s.flow);
                    let ends = (flow.initiator, flow.responder, s.direction);
                    (
                        ends,
                        near,
                        s.time,
                        s.rtt,
                        s.turnaround,
                        s.owd_out,
                        s.owd_back,
                    )
                })
                .collect();
            all.sort();
            all
        };
        let expected = all(Measured::of_bytes(src, dst), false);
        assert!(expected.len() > 500);
        assert!(all(Measured::of_bytes(dst, src), true) == expected);
    }
}

#[test]
fn capture_with_itself_yields_round_trip_times_of_zero() {
    for name in ["reno-2mbit-40ms-50p", "adsl-udp-upload"] {
        let (src, _) = captures_in(&fixture(name)).unwrap();
        let measured = Measured::of_files(&src, &src);
        assert!(
            measured.samples.len() > 500,
            "{name}: {}",
            measured.samples.len()
        );
        for sample in &measured.samples {
            assert_eq!(sample.rtt, TimeDelta::ZERO, "{name}: {sample:?}");
        }
        assert_eq!(measured.total(|c| c.lost), 0, "{name}");
    }
}

#[test]
fn captures_without_a_common_packet_are_a_named_error() {
    let open = |name| {
        let (src, dst) = captures_in(&fixture(name)).unwrap();
        (
            Recording::open(&src).unwrap(),
            Recording::open(&dst).unwrap(),
        )
    };
    let (src, _) = open("reno-2mbit-40ms-50p");
    let (_, dst) = open("adsl-udp-upload");
    let error = Measured::of(&src, &dst).unwrap_err();
    let Error::Compare { source, .. } = &error else {
        panic!("{error}");
    };
    let expected = NothingInCommon::NoCommonPacket {
        src: 8164,
        dst: 7125,
    };
    assert_eq!(*source, expected);
}

#[test]
fn one_way_traffic_is_counted_and_yields_no_samples() {
    for (forward, reverse) in [(true, false), (false, true)] {
        let captures = simulate(&Scenario {
            tcp: Vec::new(),
            udp: vec![UdpLoad {
                forward,
                reverse,
                ..UdpLoad::default()
            }],
            loss_ppm: 50_000,
            ..Scenario::default()
        });
        let measured = Measured::of_bytes(&captures.src, &captures.dst);
        assert!(measured.samples.is_empty());
        let summary = &captures.truth.summary;
        assert_eq!(measured.total(|c| c.seen), 500);
        assert_eq!(
            measured.total(|c| c.lost),
            summary.forward.lost + summary.reverse.lost
        );
        assert_eq!(
            measured.total(|c| c.arrivals_matched),
            measured.total(|c| c.matched)
        );
    }
}

#[test]
fn empty_captures_are_an_error() {
    let captures = simulate(&Scenario::default());
    let empty = &captures.src[..FILE_HEADER];
    for (src, dst) in [
        (empty, &captures.dst[..]),
        (&captures.src[..], empty),
        (empty, empty),
    ] {
        let error = Measured::of(&spooled("src", src), &spooled("dst", dst)).unwrap_err();
        assert!(matches!(error, Error::Nothing { .. }), "{error}");
    }
}

/// Captures of other projects at both ends of a path, with a flag: true if packets go both ways.
const BOTH_ENDS: [(&str, &str, bool); 4] = [
    (
        "teto+pymptcpanalyzer/client_2.pcap",
        "teto+pymptcpanalyzer/server_2.pcap",
        true,
    ),
    (
        "DennisOng+multicast-tcp/tcp-bulk-send-0-0.pcap",
        "DennisOng+multicast-tcp/tcp-bulk-send-1-0.pcap",
        true,
    ),
    (
        "johnsengendo+project/server_out~4699d63f.pcap",
        "johnsengendo+project/client_out~16459078.pcap",
        false,
    ),
    (
        "johnsengendo+project/server~80572ed4.pcap",
        "johnsengendo+project/client~5de3bad0.pcap",
        false,
    ),
];

#[test]
fn captures_of_other_projects_yield_plausible_times() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    for (src, dst, goes_both_ways) in BOTH_ENDS {
        let measured = Measured::of_files(&corpus.join(src), &corpus.join(dst));
        assert_eq!(measured.samples.len() > 100, goes_both_ways, "{src}");
        assert!(
            measured.total(|c| c.matched) > 200,
            "{src}: {:#?}",
            measured.ended
        );
        for sample in &measured.samples {
            let is_plausible =
                sample.rtt >= TimeDelta::ZERO && sample.rtt < TimeDelta::from_seconds(1);
            assert!(is_plausible, "{src}: {sample:?}");
        }
        if !goes_both_ways {
            // The server sent the packets, so the server's capture has those that arrived at the
            // client.
            assert!(
                measured.total(|c| c.unseen_upstream) <= 1,
                "{src}: {:#?}",
                measured.ended
            );
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn any_file_with_itself_is_refused_or_has_zero_delay() {
    const LARGEST_BYTES: u64 = 2_000_000;
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let mut files = files_below(&corpus);
    files.retain(|file| file.metadata().unwrap().len() < LARGEST_BYTES);
    files.par_iter().for_each(|file| {
        let recording = Recording::open(file).unwrap();
        let Ok(measured) = Measured::of(&recording, &recording) else {
            return;
        };
        let name = file.display();
        let lost = measured.total(|c| c.lost);
        assert_eq!(lost, 0, "{name}: {:#?}", measured.ended);
        for sample in &measured.samples {
            assert_eq!(sample.rtt, TimeDelta::ZERO, "{name}: {sample:?}");
        }
    });
}
