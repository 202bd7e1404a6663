//! The clean pairs of captures that the cases start from.

use std::path::{Path, PathBuf};

use tcpexp_testkit::{
    CaptureSpec, Congestion, Direction, IpId, Scenario, TcpLoad, UdpLoad, UdpPayload,
};
use tcpexp_units::TimeDelta;

use crate::case::Base;
use crate::pair::Pair;

/// Reads the pairs of captures in the folders of `parent`, in order of folder name.
pub(crate) fn read(parent: &Path, records: usize) -> Vec<Base> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    folders.sort();
    let pairs = folders.iter().filter_map(|folder| {
        let name = folder.file_name()?.to_str()?;
        Some(Pair::read(name, folder)?.first(records))
    });
    pairs.map(Base::new).collect()
}

/// Reads the fixtures of this repository.
pub(crate) fn fixtures(records: usize) -> Vec<Base> {
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures"),
        records,
    )
}

/// Simulates paths with properties that captures of real hosts lack.
pub(crate) fn simulated() -> Vec<Base> {
    let lossy = Scenario {
        tcp: both_ways(300_000),
        loss_ppm: 10_000,
        ..Scenario::default()
    };
    let scenarios = [
        ("simulated both ways", lossy.clone()),
        (
            "simulated many flows",
            Scenario {
                tcp: vec![TcpLoad {
                    flows: 40,
                    parallel: 4,
                    bytes: 30_000,
                    ..TcpLoad::default()
                }],
                loss_ppm: 5_000,
                seed: 2,
                ..Scenario::default()
            },
        ),
        (
            "simulated reordering",
            Scenario {
                jitter: TimeDelta::from_millis(3),
                reorders: true,
                duplicate_ppm: 5_000,
                seed: 3,
                ..lossy.clone()
            },
        ),
        (
            "simulated offload",
            Scenario {
                src: CaptureSpec {
                    tso_segments: 8,
                    ..CaptureSpec::default()
                },
                dst: CaptureSpec {
                    gro_segments: 4,
                    ..CaptureSpec::default()
                },
                seed: 4,
                ..lossy.clone()
            },
        ),
        (
            "simulated telephony",
            Scenario {
                tcp: Vec::new(),
                udp: vec![UdpLoad {
                    flows: 2,
                    datagrams: 1_000,
                    ..UdpLoad::default()
                }],
                loss_ppm: 10_000,
                delay: TimeDelta::from_millis(30),
                seed: 5,
                ..Scenario::default()
            },
        ),
        (
            "simulated constant datagrams",
            Scenario {
                tcp: Vec::new(),
                udp: vec![UdpLoad {
                    datagrams: 3_000,
                    interval: TimeDelta::from_millis(5),
                    payload: UdpPayload::Constant,
                    ..UdpLoad::default()
                }],
                ip_id: IpId::Wrapping(256),
                loss_ppm: 10_000,
                delay: TimeDelta::from_millis(30),
                seed: 6,
                ..Scenario::default()
            },
        ),
    ];
    let pairs = scenarios.map(|(name, scenario)| Pair::simulated(name, &scenario));
    pairs.map(Base::new).into()
}

fn both_ways(bytes: u64) -> Vec<TcpLoad> {
    [Direction::Forward, Direction::Reverse]
        .map(|direction| TcpLoad {
            bytes,
            direction,
            congestion: Congestion::Fixed(24),
            ..TcpLoad::default()
        })
        .into()
}
