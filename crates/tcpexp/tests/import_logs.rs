//! Kernel logs of real experiments, read whole.
#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod common;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use common::shared;
use flate2::read::MultiGzDecoder;
use tcpexp::measure::import::{Batch, Error, Format, Report, import};
use tcpexp::measure::score::{Options, Score, SenderRecord};

fn unpacked(path: &Path) -> impl BufRead + use<> {
    BufReader::new(MultiGzDecoder::new(File::open(path).unwrap()))
}

/// All logs of this name in the folders of captures at hand.
fn logs(folder: &str, name: &str) -> Vec<PathBuf> {
    let Some(captures) = shared(folder) else {
        eprintln!("skipped: no captures at hand");
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = fs::read_dir(captures)
        .unwrap()
        .map(|entry| entry.unwrap().path().join(name))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found
}

fn read(format: Format, path: &Path) -> (Batch, Report) {
    let mut all = Batch::default();
    let report = import(format, unpacked(path), |batch| {
        all.flows.extend(batch.flows);
        all.samples.extend(batch.samples);
        all.state_changes.extend(batch.state_changes);
        all.retransmits.extend(batch.retransmits);
        all.counters.extend(batch.counters);
        all.intervals.extend(batch.intervals);
        Ok::<_, Error>(())
    })
    .unwrap();
    (all, report)
}

#[test]
fn each_row_of_a_probe_csv_is_a_sample() {
    for path in logs("captures", "probe.csv.gz") {
        let lines = unpacked(&path).lines().count();
        let (batch, report) = read(Format::TcpProbe, &path);
        assert_eq!(report.unusable(), 0, "{path:?} {report:?}");
        assert_eq!(batch.samples.len(), lines - 1, "{path:?}");
        assert!(
            batch
                .samples
                .iter()
                .all(|row| row.flight_size_bytes.is_some())
        );
        assert!(batch.flows.iter().all(|flow| flow.local != flow.remote));
        eprintln!(
            "{}: {} rows of {} flows",
            path.display(),
            batch.samples.len(),
            batch.flows.len()
        );
    }
}

#[test]
fn each_event_of_a_trace_is_a_row() {
    for path in logs("captures/short", "trace.txt.gz") {
        let has = |event: &str| {
            let lines = unpacked(&path).lines().map(Result::unwrap);
            lines.filter(|line| line.contains(event)).count()
        };
        let (batch, report) = read(Format::TcpProbe, &path);
        assert_eq!(report.unusable(), 0, "{path:?} {report:?}");
        assert_eq!(batch.samples.len(), has(": tcp_probe: "), "{path:?}");
        assert_eq!(batch.retransmits.len(), has(": tcp_retransmit_skb: "));
        assert_eq!(batch.state_changes.len(), has(": tcp_cong_state_set: "));
        eprintln!(
            "{}: {} samples, {} retransmits, {} changes of state, {} flows",
            path.display(),
            batch.samples.len(),
            batch.retransmits.len(),
            batch.state_changes.len(),
            batch.flows.len(),
        );
    }
}

#[test]
fn each_poll_of_tcp_info_is_a_sample() {
    for path in logs("captures/short", "tcpinfo.csv.gz") {
        let lines = unpacked(&path).lines().count();
        let (batch, report) = read(Format::TcpInfo, &path);
        assert_eq!(report.unusable(), 0, "{path:?} {report:?}");
        assert_eq!((batch.samples.len(), batch.flows.len()), (lines, 1));
    }
}

#[test]
fn each_connection_that_ss_lists_is_a_sample() {
    for path in logs("captures/short", "ss.log.gz") {
        let has = |token: &str| {
            let lines = unpacked(&path).lines().map(Result::unwrap);
            lines.filter(|line| line.contains(token)).count()
        };
        let connections = has(" cwnd:");
        let (batch, report) = read(Format::Ss, &path);
        assert_eq!(report.unusable(), 0, "{path:?} {report:?}");
        assert_eq!(batch.samples.len(), connections, "{path:?}");
        assert_eq!(batch.counters.len(), connections, "{path:?}");
        assert!(batch.samples.iter().all(|row| row.smss_bytes.is_some()));
        // A connection that is being opened has no round-trip time yet.
        let measured = batch.samples.iter().filter(|row| row.srtt.is_some());
        assert_eq!(measured.count(), has(" rtt:"), "{path:?}");
    }
}

#[test]
fn a_log_has_no_error_against_itself() {
    for path in logs("captures/short", "trace.txt.gz") {
        let (batch, _) = read(Format::TcpProbe, &path);
        let record = SenderRecord {
            samples: batch.samples,
        };
        let score = Score::of(&record, &record, Options::default());
        let all = score.cwnd.all.estimate;
        assert_eq!(
            (all.matched, all.truth),
            (record.samples.len() as u64, record.samples.len() as u64)
        );
        // Rows of one ACK and time may differ in their window, and then one stands for both.
        assert!(all.mean.unwrap() < 1e-3, "{path:?} {all:?}");
    }
}
