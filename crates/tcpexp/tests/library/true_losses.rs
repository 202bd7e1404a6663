//! True losses between two captures, and the retransmissions and recoveries that repaired them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::common::path::Measurement;
use crate::common::{captures_in, fixture, known_drops, shared};
use tcpexp::{CaptureOptions, CwndOptions, Error, Recording, cwnd, logged_drops, loss_score};
use tcpexp_measure::sender::{
    EarlierCopy, LostPackets, RecoveryEpoch, Retransmission, SenderRow, SenderSummary,
};
use tcpexp_pair::spp::{Fate, PathDirection};
use tcpexp_testkit::script;

/// All rows about the senders of two captures.
#[derive(Default)]
struct Senders {
    retransmissions: Vec<Retransmission>,
    recoveries: Vec<RecoveryEpoch>,
    summaries: Vec<SenderSummary>,
}

impl Senders {
    fn of(folder: &Path) -> Self {
        let (src, dst) = captures_in(folder).unwrap();
        let [src, dst] = [src, dst].map(|path| Recording::open(&path).unwrap());
        Self::between(&src, &dst)
    }

    fn between(src: &Recording, dst: &Recording) -> Self {
        let mut senders = Self::default();
        let options = CwndOptions::default();
        cwnd(src, Some(dst), &options, |rows| {
            for row in rows {
                match row.row {
                    SenderRow::Retransmission(row) => senders.retransmissions.push(row),
                    SenderRow::Recovery(recovery) => senders.recoveries.push(recovery),
                    SenderRow::Summary(summary) => senders.summaries.push(summary),
                    SenderRow::Sample(_) => {}
                }
            }
            Ok::<(), Error>(())
        })
        .unwrap();
        senders
    }

    fn lost(&self) -> u64 {
        self.summaries.iter().filter_map(|s| s.lost?.exact()).sum()
    }

    fn earlier_copies(&self) -> BTreeMap<Option<EarlierCopy>, usize> {
        let mut counts = BTreeMap::new();
        for retransmission in &self.retransmissions {
            *counts.entry(retransmission.earlier_copy).or_default() += 1;
        }
        counts
    }
}

static ALL: LazyLock<Vec<(PathBuf, Senders)>> = LazyLock::new(|| {
    let senders = |folder: PathBuf| {
        let senders = Senders::of(&folder);
        (folder, senders)
    };
    folders().into_iter().map(senders).collect()
});

fn folders() -> Vec<PathBuf> {
    let fixtures = fs::read_dir(fixture("")).unwrap();
    let elsewhere = ["captures", "captures/short"].into_iter();
    let elsewhere = elsewhere.filter_map(shared);
    let elsewhere = elsewhere.flat_map(|parent| fs::read_dir(parent).unwrap());
    let all = fixtures.chain(elsewhere).map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|path| captures_in(path).is_some()).collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

/// TCP packets with data, lost on their way out.
fn lost_data(folder: &Path) -> u64 {
    let (src, dst) = captures_in(folder).unwrap();
    let found = Measurement::of_files(&src, &dst);
    let lost = found.packets.iter().filter(|packet| {
        let ports = found.ports(packet);
        let is_tcp = !folder.ends_with("adsl-udp-upload") || ports.contains(&5201);
        packet.fate == Fate::Lost
            && packet.path_direction == PathDirection::Out
            && packet.payload_bytes > 0
            && is_tcp
    });
    lost.map(|packet| packet.packets).sum()
}

#[test]
fn losses_of_senders_match_the_drops_of_the_path() {
    for (folder, senders) in &*ALL {
        assert_eq!(senders.lost(), lost_data(folder), "{}", folder.display());
        if let Some(known) = known_drops(folder)
            && !folder.ends_with("adsl-udp-upload")
        {
            assert_eq!(senders.lost(), known, "{}", folder.display());
        }
    }
}

/// No data stays lost: a necessary retransmission follows each loss.
#[test]
fn each_repaired_loss_has_a_retransmission() {
    for (folder, senders) in &*ALL {
        let name = folder.display();
        let (counts, lost) = (senders.earlier_copies(), senders.lost());
        let for_a_loss = counts.get(&Some(EarlierCopy::Lost)).copied().unwrap_or(0) as u64;
        println!("{name}: {lost} lost, sent again {counts:?}");
        // Each lost packet is retransmitted as one packet, unless super-packets contain several.
        let has_offload = folder.to_string_lossy().contains("tso")
            || folder.to_string_lossy().contains("offload");
        if !has_offload {
            assert!(for_a_loss <= lost, "{name}: {counts:?}");
        }
        let in_recoveries: u64 = senders
            .recoveries
            .iter()
            .filter_map(|r| r.lost?.exact())
            .sum();
        assert!(in_recoveries <= lost, "{name}");
        for recovery in &senders.recoveries {
            assert!(
                recovery.lost.and_then(LostPackets::exact).is_some(),
                "{name}: {recovery:?}"
            );
        }
    }
}

#[test]
fn logged_drops_and_losses_match_one_to_one() {
    let mut compared = 0;
    for folder in folders() {
        let log = ["drops.log.gz", "drops.log"].map(|name| folder.join(name));
        let Some(log) = log.iter().find(|log| log.exists()) else {
            continue;
        };
        let (drops, is_cut) = logged_drops(log).unwrap();
        assert!(!is_cut);
        let (src, dst) = captures_in(&folder).unwrap();
        let [src, dst] = [src, dst].map(|path| Recording::open(&path).unwrap());
        let (score, _) = loss_score(&src, &dst, &CaptureOptions::default(), &drops).unwrap();
        let name = folder.display();
        println!("{name}: {score:?} of {} drops", drops.len());
        assert_eq!(score.matched, score.found, "{name}: no loss was invented");
        assert_eq!(score.matched, score.truth, "{name}: no loss was missed");
        compared += score.truth;
    }
    // The three folders in `fixtures` contain this many.
    assert!(compared >= 262, "{compared}");
}

#[test]
fn one_capture_yields_no_true_losses() {
    let (src, _) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let src = Recording::open(&src).unwrap();
    let mut rows = Vec::new();
    cwnd(&src, None, &CwndOptions::default(), |batch| {
        rows.extend(batch.into_iter().map(|labelled| labelled.row));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert!(rows.iter().any(|row| matches!(row, SenderRow::Recovery(_))));
    for row in rows {
        match row {
            SenderRow::Retransmission(row) => assert_eq!(row.earlier_copy, None),
            SenderRow::Recovery(recovery) => assert_eq!(recovery.lost, None),
            SenderRow::Summary(summary) => assert_eq!(summary.lost, None),
            SenderRow::Sample(_) => {}
        }
    }
}

/// Captures at both ends of a path with a delay of 10 ms, from lines of an end that sends, a time
/// in milliseconds and a packet. The path loses the packets of lines that begin with `lost`.
fn captures(text: &str) -> [Recording; 2] {
    let mut lines: [Vec<(u32, String)>; 2] = Default::default();
    for (number, line) in (1..).zip(text.lines().map(str::trim).filter(|line| !line.is_empty())) {
        let (is_lost, line) = match line.strip_prefix("lost ") {
            Some(line) => (true, line),
            None => (false, line),
        };
        let (millis, packet) = line.split_once(' ').unwrap();
        let millis: u32 = millis.parse().unwrap();
        let from = usize::from(packet.starts_with('<'));
        for (point, lines) in lines.iter_mut().enumerate() {
            if point == from || !is_lost {
                let at = millis + if point == from { 0 } else { 10 };
                let line = format!("{}.{:03} {packet} id {number}", at / 1000, at % 1000);
                lines.push((at, line));
            }
        }
    }
    lines.map(|mut lines| {
        lines.sort_by_key(|(at, _)| *at);
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        let capture = script::capture(&lines.join("\n"));
        Recording::spool("script".into(), capture.as_slice()).unwrap()
    })
}

#[test]
fn recovery_after_a_timeout_counts_its_losses_before_its_threshold_is_known() {
    let mut text = "
        0 > S mss 1000 sackok
        10 < S. mss 1000 sackok
        20 > .
        21 > 1:1001(1000)
        31 < ack 1001
        41 > 1001:2001(1000)
        lost 42 > 2001:3001(1000)
        lost 43 > 3001:4001(1000)
        51 < ack 2001
        400 > 2001:3001(1000)
        410 < ack 3001
        420 > 3001:4001(1000)
        430 < ack 4001
    "
    .to_owned();
    // The sender goes on in slow start, so its threshold stays unknown.
    for number in 4..40 {
        let (at, start) = (440 + 20 * number, 1000 * number + 1);
        let end = start + 1000;
        let lines = format!("{at} > {start}:{end}(1000)\n{} < ack {end}\n", at + 10);
        text.push_str(&lines);
    }
    let [src, dst] = captures(&text);
    let senders = Senders::between(&src, &dst);
    let lost: Vec<_> = senders.recoveries.iter().map(|r| r.lost?.exact()).collect();
    assert_eq!((senders.lost(), lost), (2, vec![Some(2)]));
}
