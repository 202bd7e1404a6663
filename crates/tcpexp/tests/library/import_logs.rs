//! Import of complete kernel logs of real experiments.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::common::shared;
use flate2::read::MultiGzDecoder;
use tcpexp::Recording;
use tcpexp_flow::{Direction, Flow, FlowId, Segment, StreamOffset};
use tcpexp_logs::import::{Batch, Error, Format, Report, import};
use tcpexp_logs::score::{Options, Score, SenderRecord, kernel_records, score_all};
use tcpexp_measure::sender::{CwndSource, Phase, SenderSample};
use tcpexp_measure::{Meter, meter};
use tcpexp_wire::Tunnels;

fn unpacked(path: &Path) -> impl BufRead + use<> {
    BufReader::new(MultiGzDecoder::new(File::open(path).unwrap()))
}

/// All logs with this name in the folders of available captures.
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
        // A connection in its handshake has no round-trip time yet.
        let measured = batch.samples.iter().filter(|row| row.srtt.is_some());
        assert_eq!(measured.count(), has(" rtt:"), "{path:?}");
    }
}

#[test]
fn logs_of_a_sender_have_no_error_against_themselves() {
    for path in logs("captures/short", "trace.txt.gz") {
        let (trace, _) = read(Format::TcpProbe, &path);
        let (polls, _) = read(Format::TcpInfo, &path.with_file_name("tcpinfo.csv.gz"));
        let acks = trace.samples.len() as u64;
        let entered = trace
            .state_changes
            .iter()
            .filter(|change| change.state.is_reducing())
            .count();
        let records = kernel_records(&[trace, polls]);
        assert_eq!(
            records.len(),
            1,
            "{path:?}: the polls are about the only sender"
        );
        let epochs = &records[0].record.epochs;
        assert!(epochs.len() <= entered);
        assert_eq!(epochs.is_empty(), entered == 0);
        assert!(
            epochs
                .windows(2)
                .all(|pair| pair[0].ended.unwrap() <= pair[1].began)
        );

        let score = &score_all(&records, &records, Options::default())[0].score;
        let all = score.cwnd.all.estimate;
        assert_eq!((all.matched, all.truth), (acks, acks));
        // One row stands for all rows with equal numbers and time, although their windows may
        // differ.
        assert!(all.mean.unwrap() < 1e-3, "{path:?} {all:?}");
        assert_eq!(score.epochs.recall(), score.epochs.precision());
        assert_eq!(score.epochs.matched, epochs.len() as u64);
        assert_eq!(score.epochs.kind_right, score.epochs.matched);
        assert_eq!(score.epochs.ssthresh.matched, score.epochs.ssthresh.truth);
        assert_eq!(score.retransmitted_segments.excess(), Some(0));
        assert_eq!(
            (score.busy.error(), score.receiver_limited.error()),
            (Some(0.0), Some(0.0))
        );
    }
}

/// The threshold alone does not show epochs: see `kernel_records`.
#[test]
fn traces_without_congestion_states_yield_no_epochs() {
    let mut logged = 0;
    let paths = logs("captures/short", "trace.txt.gz");
    for path in &paths {
        let (mut trace, _) = read(Format::TcpProbe, path);
        logged += epochs(std::slice::from_ref(&trace));
        trace.state_changes.clear();
        for row in &mut trace.samples {
            let is_infinite =
                row.ssthresh_segments.is_none() && row.phase == Some(Phase::SlowStart);
            row.phase = is_infinite.then_some(Phase::SlowStart);
        }
        assert_eq!(epochs(&[trace]), 0, "{}", path.display());
    }
    assert!(paths.is_empty() || logged > 0);
}

#[test]
fn probe_tables_without_congestion_states_yield_no_epochs() {
    for path in logs("captures", "probe.csv.gz") {
        let (probe, _) = read(Format::TcpProbe, &path);
        assert_eq!(epochs(&[probe]), 0, "{}", path.display());
    }
}

/// Number of recovery epochs of all senders of `logs`.
fn epochs(logs: &[Batch]) -> usize {
    let records = kernel_records(logs);
    records
        .iter()
        .map(|sender| sender.record.epochs.len())
        .sum()
}

/// Outstanding data of a sender when an ACK arrives, from a capture of one connection.
struct Outstanding {
    una: Option<StreamOffset>,
    nxt: Option<StreamOffset>,
}

impl Meter for Outstanding {
    type Row = SenderSample;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<SenderSample>) {
        let seen = segment.seen;
        if seen.direction == Direction::Forward {
            self.nxt = self.nxt.max(Some(segment.end()));
            self.una = self.una.or(Some(segment.start));
        } else if let Some((una, nxt)) = self.una.zip(self.nxt) {
            let flight_size = u64::try_from(nxt.since(una)).ok();
            rows.extend([SenderSample {
                record: Some(seen.record),
                snd_una: Some(una),
                snd_nxt: Some(nxt),
                smss_bytes: Some(if segment.timestamps.is_some() {
                    1448
                } else {
                    1460
                }),
                flight_size_bytes: flight_size,
                cwnd_source: CwndSource::Filled,
                ..SenderSample::unknown(seen.at, FlowId(0), Direction::Forward)
            }]);
            self.una = self.una.max(segment.ack);
        }
    }

    fn end(&mut self, _flow: &Flow, _rows: &mut impl Extend<SenderSample>) {}
}

/// Each row of the log matches a captured ACK at nearly the same time.
#[test]
fn acks_of_a_capture_match_rows_of_the_kernel_log() {
    for path in logs("captures/short", "trace.txt.gz") {
        let (trace, _) = read(Format::TcpProbe, &path);
        let capture = Recording::open(&path.with_file_name("snd.pcap.gz")).unwrap();
        let mut samples = Vec::new();
        let begin = |_: &Flow| Outstanding {
            una: None,
            nxt: None,
        };
        let mut packets = capture.walk(Tunnels::Closed).unwrap();
        meter(&mut packets, begin, |rows| {
            samples.extend(rows);
            Ok::<_, Error>(())
        })
        .unwrap();
        let ours = SenderRecord {
            samples,
            ..SenderRecord::default()
        };
        let score = Score::of(
            &ours,
            &kernel_records(&[trace])[0].record,
            Options::default(),
        );
        let flight_size = score.cwnd.all.flight_size;
        eprintln!("{}: {flight_size:?}", path.display());
        assert!(
            flight_size.matched * 100 >= flight_size.truth * 95,
            "{path:?} {flight_size:?}"
        );
    }
}
