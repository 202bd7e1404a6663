//! A folder with captures, in which the command runs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::TimestampNanosecondType;
use arrow::util::display::array_value_to_string;
use assert_cmd::Command;
use tcpexp_testkit::{Scenario, TcpLoad, TwoCaptures, UdpLoad, simulate};
use tcpexp_units::{TimeDelta, Timestamp};

/// A temporary folder; relative paths on the command line refer to it.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

/// An upload with some loss and a telephone call; the clocks differ by three seconds.
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
    /// Creates a desk with the ordinary captures in `src.pcap` and `dst.pcap`.
    pub(crate) fn new() -> Self {
        Self::with(&ORDINARY)
    }

    /// Creates an empty desk.
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

    /// Returns the names of all files except the captures, including hidden files.
    pub(crate) fn written(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "src.pcap" && name != "dst.pcap")
            .collect();
        names.sort();
        names
    }

    /// Returns `tcpexp` with the arguments in `line`.
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

    /// Returns the output of a run that succeeds without warnings.
    pub(crate) fn bytes(&self, line: &str) -> Vec<u8> {
        let output = self.run(line);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        output.stdout
    }

    pub(crate) fn text(&self, line: &str) -> String {
        text(&self.bytes(line))
    }

    /// Returns the error message of a run that fails.
    pub(crate) fn failure(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(text(&output.stdout), "");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        reason(&output)
    }

    /// Returns the error message for an invalid command line.
    pub(crate) fn misuse(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(text(&output.stdout), "");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        stderr.lines().next().unwrap().to_owned()
    }
}

/// Returns the only line on standard error.
pub(crate) fn reason(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let reason = stderr.trim_end().strip_prefix("tcpexp: ");
    reason.expect("the program says who speaks").to_owned()
}

/// Nanoseconds since 1970 of a time in a JSON table.
pub(crate) fn time(cell: &serde_json::Value) -> i64 {
    match cell.as_str().unwrap().parse() {
        Ok(tcpexp::Moment::At(at)) => at.as_nanos(),
        other => panic!("{other:?}"),
    }
}

/// Shows a cell of an Arrow array as CSV does.
pub(crate) fn cell(array: &ArrayRef, row: usize) -> String {
    // Arrow has no name for UTC without its optional database of time zones.
    match array.as_primitive_opt::<TimestampNanosecondType>() {
        Some(times) if times.is_valid(row) => Timestamp::from_nanos(times.value(row)).rfc3339(),
        _ => array_value_to_string(array, row).unwrap(),
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The data of a report.
pub(crate) fn data_of_page(page: &[u8]) -> serde_json::Value {
    let page = text(page);
    let (_, data) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

/// Compresses `bytes` with gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// Returns the path of a file of the real capture pairs in this repository.
pub(crate) fn fixture(name: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    fixtures.join(name).to_str().unwrap().to_owned()
}

/// Returns the source and destination capture of every pair in this repository.
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
