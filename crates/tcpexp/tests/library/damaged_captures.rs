//! Captures that break off, as sources of surveys and parts.

use std::fs;
use std::io::Error as IoError;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use tcpexp::{
    CaptureInfo, CaptureOptions, Error, PathOptions, Recording, SplitOptions, split, survey,
};
use tcpexp_testkit::{Scenario, TcpLoad, simulate};
use tcpexp_wire::Tunnels;

/// An error of `split` or of its outputs.
#[derive(Debug)]
struct Failed;

impl From<Error> for Failed {
    fn from(_: Error) -> Self {
        Self
    }
}

impl From<IoError> for Failed {
    fn from(_: IoError) -> Self {
        Self
    }
}

/// Writes a capture that ends within a record, and the other one of its pair.
fn captures(folder: &Path) -> [PathBuf; 2] {
    let scenario = Scenario {
        tcp: vec![TcpLoad {
            flows: 4,
            bytes: 20_000,
            ..TcpLoad::default()
        }],
        ..Scenario::default()
    };
    let captures = simulate(&scenario);
    let paths = ["src.pcap", "dst.pcap"].map(|name| folder.join(name));
    fs::write(&paths[0], &captures.src[..captures.src.len() - 7]).unwrap();
    fs::write(&paths[1], &captures.dst).unwrap();
    paths
}

#[test]
fn a_survey_reports_the_damage_of_its_captures() {
    let folder = tempfile::tempdir().unwrap();
    let [src, dst] = captures(folder.path()).map(|path| Recording::open(&path).unwrap());
    let (_, [src, dst]) = survey(&src, &dst, &PathOptions::default()).unwrap();
    assert_eq!((src.damaged_places, dst.damaged_places), (1, 0));
    assert!(src.damage.is_some());
}

#[test]
fn each_part_of_a_damaged_capture_reports_the_damage_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let [src, _] = captures(folder.path());
    let whole = Recording::open(&src).unwrap();
    let options = SplitOptions {
        parts: NonZeroU32::new(3).unwrap(),
        tunnels: Tunnels::default(),
    };
    let report = split::<_, Failed>(&whole, options, |_| Ok(Vec::new())).unwrap();
    let damage = report.damage.unwrap();
    for part in report.parts {
        let path = folder.path().join("part.pcapng");
        fs::write(&path, part.out).unwrap();
        let recording = Recording::open(&path).unwrap();
        let info = CaptureInfo::read(&recording, &CaptureOptions::default()).unwrap();
        let expected = format!("in {}, {damage}", src.display());
        assert_eq!(info.damage, Some(expected), "{:?}", part.shard);
        assert!(info.damage_is_of_whole);
        assert_eq!(info.damaged_places, 1);
    }
}
