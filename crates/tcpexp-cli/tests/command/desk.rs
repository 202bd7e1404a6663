//! A folder with captures in it, where the command is typed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;
use std::time::Duration;

use assert_cmd::Command;
use tcpexp_testkit::{Scenario, TcpLoad, TwoCaptures, UdpLoad, simulate};
use tcpexp_units::TimeDelta;

/// A temporary folder; relative names on the command line are in it.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

/// An upload with some loss and a telephone call, between clocks three seconds apart.
pub(crate) static ORDINARY: LazyLock<TwoCaptures> = LazyLock::new(|| simulate(&ordinary()));

pub(crate) fn ordinary() -> Scenario {
    Scenario {
        tcp: vec![TcpLoad {
            bytes: 1_500_000,
            ..TcpLoad::default()
        }],
        udp: vec![UdpLoad {
            datagrams: 50,
            ..UdpLoad::default()
        }],
        loss_ppm: 10_000,
        offset: TimeDelta::from_seconds(3),
        ..Scenario::default()
    }
}

impl Desk {
    /// With the ordinary captures in `src.pcap` and `dst.pcap`.
    pub(crate) fn new() -> Self {
        Self::with(&ORDINARY)
    }

    /// With nothing in it.
    pub(crate) fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn with(captures: &TwoCaptures) -> Self {
        let desk = Self::empty();
        desk.put("src.pcap", &captures.src);
        desk.put("dst.pcap", &captures.dst);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names of all files but the captures, hidden ones included.
    pub(crate) fn written(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "src.pcap" && name != "dst.pcap")
            .collect();
        names.sort();
        names
    }

    /// `tcpexp` with the words of `line`.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcpexp"));
        command
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .timeout(Duration::from_secs(120));
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What is printed by a run that succeeds and has nothing to complain about.
    pub(crate) fn bytes(&self, line: &str) -> Vec<u8> {
        let output = self.run(line);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        output.stdout
    }

    pub(crate) fn text(&self, line: &str) -> String {
        text(&self.bytes(line))
    }

    /// The reason given by a run that fails.
    pub(crate) fn failure(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(text(&output.stdout), "");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        reason(&output)
    }

    /// What is said of a command line that makes no sense.
    pub(crate) fn misuse(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(text(&output.stdout), "");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        stderr.lines().next().unwrap().to_owned()
    }
}

/// The one line on standard error.
pub(crate) fn reason(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let reason = stderr.trim_end().strip_prefix("tcpexp: ");
    reason.expect("the program says who speaks").to_owned()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `bytes` as gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A file of the real capture pairs in this repository.
pub(crate) fn fixture(name: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    fixtures.join(name).to_str().unwrap().to_owned()
}

/// Source and destination capture of every pair in this repository.
pub(crate) fn fixtures() -> Vec<[String; 2]> {
    [
        ("adsl-udp-upload", "src", "dst"),
        ("cubic-tso-split-10mbit", "src", "dst"),
        ("reno-2mbit-40ms-50p", "src", "dst"),
        ("short-cubic-15-percent-loss", "snd", "rcv"),
        ("short-cubic-reordering", "snd", "rcv"),
    ]
    .map(|(folder, src, dst)| [src, dst].map(|point| fixture(&format!("{folder}/{point}.pcap.gz"))))
    .to_vec()
}
