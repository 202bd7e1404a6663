//! Measurements for tests, and paths of the captures.

pub(crate) mod packets;
pub(crate) mod path;
pub(crate) mod retime;
pub(crate) mod truth;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tcpexp::{Error, Recording, RttOptions, RttReport, rtt};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::spp::{DirectionCounts, Fate, FlowSummary, PacketOutcome, PairedFlow, RttSample};
use tcpexp_testkit::{CaptureSpec, Scenario, TcpLoad, TwoCaptures, simulate};
use tcpexp_units::TimeDelta;

/// Minimum number of packets of a flow that are held back until the flow is found at the other
/// point.
const HELD: u64 = 4096;

/// All results of a measurement.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) flows: Vec<PairedFlow>,
    pub(crate) samples: Vec<RttSample>,
    pub(crate) outcomes: Vec<PacketOutcome>,
    pub(crate) ended: Vec<FlowSummary>,
    pub(crate) report: RttReport,
}

impl Measured {
    /// Measures two captures and checks that the counts add up.
    pub(crate) fn of(src: &Recording, dst: &Recording) -> Result<Self, Error> {
        let (mut flows, mut samples, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        let mut outcomes = Vec::new();
        let options = RttOptions::default().outcomes(true);
        let report = rtt(src, dst, &options, |batch| {
            flows.extend(batch.flows);
            samples.extend(batch.samples);
            outcomes.extend(batch.outcomes);
            ended.extend(batch.ended);
            Ok::<(), Error>(())
        })?;
        let measured = Self {
            flows,
            samples,
            outcomes,
            ended,
            report,
        };
        measured.assert_balanced();
        Ok(measured)
    }

    pub(crate) fn of_files(src: &Path, dst: &Path) -> Self {
        Self::of(
            &Recording::open(src).unwrap(),
            &Recording::open(dst).unwrap(),
        )
        .unwrap()
    }

    pub(crate) fn of_bytes(src: &[u8], dst: &[u8]) -> Self {
        Self::of(&spooled("src", src), &spooled("dst", dst)).unwrap()
    }

    /// The flow with this number. Flows are numbered in the order of their discovery.
    pub(crate) fn flow(&self, id: FlowId) -> &PairedFlow {
        &self.flows[id.0 as usize]
    }

    /// Sum of a count over all flows and both directions.
    pub(crate) fn total(&self, of: impl Fn(&DirectionCounts) -> u64) -> u64 {
        self.ended
            .iter()
            .flat_map(|summary| &summary.counts)
            .map(of)
            .sum()
    }

    fn assert_balanced(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            assert_eq!(
                flow.flow.0 as usize, number,
                "flows are numbered as they are found"
            );
        }
        let mut ended: Vec<FlowId> = self.ended.iter().map(|summary| summary.flow.flow).collect();
        ended.sort();
        let begun: Vec<FlowId> = self.flows.iter().map(|flow| flow.flow).collect();
        assert_eq!(ended, begun, "each flow ends once");
        let mut samples: HashMap<(FlowId, Direction), u64> = HashMap::new();
        for sample in &self.samples {
            *samples.entry((sample.flow, sample.direction)).or_default() += 1;
        }
        for summary in &self.ended {
            for c in &summary.counts {
                let absent = c.lost + c.missed + c.lost_or_missed;
                let used = c.matched + c.ambiguous + c.copies + absent + c.outside;
                assert_eq!(c.seen, used, "{summary:?}");
                let used = c.arrivals_matched
                    + c.arrivals_ambiguous
                    + c.arrivals_copies
                    + c.unseen_upstream
                    + c.arrivals_outside;
                assert_eq!(c.arrived, used, "{summary:?}");
            }
            for direction in Direction::BOTH {
                let summarised = summary.rtt[direction.index()].map_or(0, |rtt| rtt.samples);
                let samples = samples.get(&(summary.flow.flow, direction)).copied();
                assert_eq!(summarised, samples.unwrap_or_default(), "{summary:?}");
            }
        }
        self.assert_outcomes_add_up();
        if !self.report.identification.recut {
            // With re-segmentation, one packet may stand for several.
            let unpaired = self.report.totals.unpaired.map(|unpaired| unpaired.packets);
            let used = self
                .report
                .captures
                .each_ref()
                .map(|capture| capture.tally.used());
            assert_eq!(
                self.total(|c| c.seen + c.arrived) + unpaired[0] + unpaired[1],
                used[0] + used[1],
                "each packet is in one flow"
            );
        }
    }

    /// Checks that the packet fates add up to the counts.
    fn assert_outcomes_add_up(&self) {
        let mut sent: HashMap<(FlowId, Direction, Fate), u64> = HashMap::new();
        let mut received = sent.clone();
        for outcome in &self.outcomes {
            let key = (outcome.flow, outcome.direction, outcome.fate);
            if outcome.sent.is_some() {
                *sent.entry(key).or_default() += outcome.packets;
            }
            if outcome.received.is_some() {
                *received.entry(key).or_default() += outcome.packets;
            }
        }
        let recut = self.report.identification.recut;
        for summary in &self.ended {
            for direction in Direction::BOTH {
                let at = |side: &HashMap<_, u64>, fate| {
                    let key = (summary.flow.flow, direction, fate);
                    side.get(&key).copied().unwrap_or_default()
                };
                let c = &summary.counts[direction.index()];
                let mut counted = vec![
                    (at(&sent, Fate::Lost), c.lost),
                    (at(&sent, Fate::Missed), c.missed),
                    (at(&sent, Fate::LostOrMissed), c.lost_or_missed),
                    (at(&sent, Fate::Ambiguous), c.ambiguous),
                    (at(&sent, Fate::Copy), c.copies),
                    (at(&received, Fate::Delivered), c.arrivals_matched),
                    (at(&received, Fate::Ambiguous), c.arrivals_ambiguous),
                    (at(&received, Fate::Duplicate), c.arrivals_copies),
                    (at(&received, Fate::Unseen), c.unseen_upstream),
                ];
                if !recut {
                    counted.push((at(&sent, Fate::Delivered), c.matched));
                }
                for (reported, counted) in counted {
                    assert_eq!(reported, counted, "{direction} {summary:#?}");
                }
                // Packets not held back until the flow was found appear in the counts only.
                let reported = [at(&sent, Fate::Outside), at(&received, Fate::Outside)];
                for (reported, counted) in reported.into_iter().zip([c.outside, c.arrivals_outside])
                {
                    let all_held = c.seen.max(c.arrived) <= HELD;
                    assert!(
                        reported == counted || (reported < counted && !all_held),
                        "{reported} of {counted}, {direction} {summary:#?}"
                    );
                }
            }
        }
    }
}

/// Captures of an upload that the path limits for eight seconds; the round-trip time is at least 40 ms.
pub(crate) fn limited_upload() -> TwoCaptures {
    limited_upload_as(CaptureSpec::default())
}

/// The same upload with another capture at the source.
pub(crate) fn limited_upload_as(src: CaptureSpec) -> TwoCaptures {
    simulate(&Scenario {
        tcp: vec![TcpLoad {
            bytes: 50_000_000,
            ..TcpLoad::default()
        }],
        rate_bps: 4_000_000,
        queue_bytes: 60_000,
        max_time: Some(TimeDelta::from_seconds(8)),
        src,
        ..Scenario::default()
    })
}

pub(crate) fn spooled(name: &str, bytes: &[u8]) -> Recording {
    Recording::spool(name.into(), bytes).unwrap()
}

/// Path of a real capture pair in this repository; see `fixtures/README.md`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    fixtures.join(name)
}

/// Path of further captures next to this repository, if available.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(path);
    shared.exists().then_some(shared)
}

/// Source and destination captures in a folder.
pub(crate) fn captures_in(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    [
        ("src.pcap.gz", "dst.pcap.gz"),
        ("snd.pcap.gz", "rcv.pcap.gz"),
    ]
    .map(|(src, dst)| (folder.join(src), folder.join(dst)))
    .into_iter()
    .find(|(src, dst)| src.exists() && dst.exists())
}

/// Folders with capture pairs in this repository.
pub(crate) fn fixture_folders() -> Vec<PathBuf> {
    pairs_in(&fixture(""))
}

/// Folders with capture pairs next to this repository, if available.
pub(crate) fn shared_folders() -> Vec<PathBuf> {
    let parents = ["captures", "captures/short"]
        .into_iter()
        .filter_map(shared);
    parents.flat_map(|parent| pairs_in(&parent)).collect()
}

fn pairs_in(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).unwrap();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|folder| captures_in(folder).is_some())
        .collect();
    folders.sort();
    folders
}

/// Number of packets that the path is known to have dropped.
pub(crate) fn known_drops(folder: &Path) -> Option<u64> {
    // These two captures are cut: the first by hand, the second by its capture program.
    match folder.file_name()?.to_str()? {
        "cubic-tso-split-10mbit" if folder.starts_with(fixture("")) => return Some(22),
        "short-cubic-15-percent-loss" => return Some(114),
        "short-cubic-reordering" => return Some(43),
        _ => {}
    }
    let truth = std::fs::read_to_string(folder.join("truth.txt")).ok()?;
    if truth.contains("LOSS=") {
        return None;
    }
    truth
        .split_once("(dropped ")?
        .1
        .split_once(',')?
        .0
        .parse()
        .ok()
}
