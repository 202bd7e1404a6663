//! Inputs and options of an analysis.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tcpexp_flow::FlowShard;
use tcpexp_measure::sender::SenderOptions;
use tcpexp_measure::throughput::BinWidth;
use tcpexp_pair::spp::{self, Clocks};
use tcpexp_store::StoreOptions;
use tcpexp_table::dataset::RunColumns;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Tunnels;

use super::{LogSource, Manifest, Traffic};
use crate::selection::{PacketSelection, Reading};
use crate::{DatasetError, Error, PairSurvey, Recording};

/// Inputs of a dataset.
#[derive(Clone, Copy, Debug)]
pub struct AnalyzeInputs<'a> {
    /// The capture at the source, or the only capture.
    pub src: &'a Recording,
    /// The capture at the destination.
    pub dst: Option<&'a Recording>,
    /// Logs of kernels and tools.
    pub logs: &'a [LogSource],
    /// Changes of the path in the plan: time on the source's clock, and description.
    pub path_changes: &'a [(Timestamp, Arc<str>)],
    /// An earlier dataset of these inputs, whose contents must not have changed.
    pub known: Option<&'a Manifest>,
}

impl<'a> AnalyzeInputs<'a> {
    /// Creates inputs with captures and without logs.
    pub const fn new(src: &'a Recording, dst: Option<&'a Recording>) -> Self {
        Self {
            src,
            dst,
            logs: &[],
            path_changes: &[],
            known: None,
        }
    }

    /// Maximum number of live flows; of two captures, the larger limit.
    pub(super) fn max_flows(&self) -> NonZeroUsize {
        let src = self.src.flow_limit();
        self.dst.map_or(src, |dst| src.max(dst.flow_limit()))
    }

    /// Fails if the manifest cannot name an input, so that a later analysis would not find it.
    pub(super) fn require_text_paths(&self) -> Result<(), Error> {
        let captures = [Some(self.src), self.dst].into_iter().flatten();
        let of_captures = captures.flat_map(|capture| {
            let files = capture.set().into_iter().flat_map(|set| &set.files);
            let files = files.map(|file| file.path.as_path());
            std::iter::once(capture.name()).chain(files)
        });
        let mut paths = of_captures.chain(self.logs.iter().map(|log| log.path.as_path()));
        match paths.find(|path| path.to_str().is_none()) {
            Some(path) => Err(DatasetError::NoText {
                path: path.to_owned(),
            }
            .into()),
            None => Ok(()),
        }
    }
}

/// Options of [`analyze`](fn@super::analyze).
#[derive(Clone, Debug)]
pub struct AnalyzeOptions {
    /// Uses the packets inside IP-in-IP, GRE and VXLAN tunnels, or skips tunnelled packets.
    pub tunnels: Tunnels,
    /// The packets to use.
    pub selection: PacketSelection,
    /// The longest plausible one-way delay. A packet with a longer delay is not recognised.
    pub max_owd: TimeDelta,
    /// True if the smallest one-way delay is known to be the same both ways: see
    /// [`spp::Options::symmetric`].
    pub symmetric: bool,
    /// What is known about the clocks of the captures. The records of runs overrule it.
    pub clocks: Clocks,
    /// Options of the sender reconstruction. With two captures, `position` is ignored: it is
    /// inferred from the packets.
    pub sender: SenderOptions,
    /// Width of the bins of throughput and of queueing delay.
    pub bin: BinWidth,
    /// Rate of the link in bits per second, for its utilisation.
    pub link_rate_bps: Option<u64>,
    /// Origin of `time_s` and of bins, on the source's clock; `None` for the first packet of the
    /// first capture.
    pub origin: Option<Timestamp>,
    /// The part of the flows whose rows are written; `None` for all flows.
    pub shard: Option<FlowShard>,
    /// A survey of both captures with the same options, in place of the passes that it saves.
    pub survey: Option<Arc<PairSurvey>>,
    /// Options of the stores of captures that the analysis opens itself, such as those of pairs.
    pub stores: StoreOptions,
    /// Columns that identify the run.
    pub run: RunColumns,
    /// The load generators of the run. Their names label the flows.
    pub traffic: Vec<Traffic>,
    /// Called after each pass, whose state has been freed: the program may return this memory to the system.
    pub after_pass: fn(),
}

impl AnalyzeOptions {
    pub(super) fn spp(&self) -> spp::Options {
        spp::Options {
            max_owd: self.max_owd,
            symmetric: self.symmetric,
            clocks: self.clocks,
            ..spp::Options::default()
        }
    }

    pub(super) fn reading(&self) -> Reading {
        Reading {
            tunnels: self.tunnels,
            selection: self.selection.clone(),
            shard: self.shard,
            survey: self.survey.clone(),
        }
    }
}

impl Default for AnalyzeOptions {
    fn default() -> Self {
        let bin = TimeDelta::from_millis(100);
        Self {
            tunnels: Tunnels::default(),
            selection: PacketSelection::default(),
            max_owd: spp::Options::default().max_owd,
            symmetric: false,
            clocks: Clocks::default(),
            sender: SenderOptions::default(),
            bin: BinWidth::new(bin).expect("100 ms are more than nothing"),
            link_rate_bps: None,
            origin: None,
            shard: None,
            survey: None,
            stores: StoreOptions::default(),
            run: RunColumns::default(),
            traffic: Vec::new(),
            after_pass: || (),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tcpexp_testkit::script;

    use super::*;
    use crate::{DatasetDir, analyze};

    #[test]
    fn an_input_that_the_manifest_cannot_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let capture = script::capture("0.00 > S\n0.04 < S.\n0.05 > .");
        let path = folder.path().join(OsStr::from_bytes(b"x\xff.pcap"));
        std::fs::write(&path, &capture).unwrap();
        let [named, unnamed] = [
            Recording::spool("src".into(), capture.as_slice()).unwrap(),
            Recording::open(&path).unwrap(),
        ];
        let logs = [LogSource {
            path: Path::new(OsStr::from_bytes(b"ss\xff.txt")).to_owned(),
            name: "ss".into(),
            kind: None,
            is_optional: true,
        }];
        for inputs in [
            AnalyzeInputs::new(&unnamed, None),
            AnalyzeInputs::new(&named, Some(&unnamed)),
            AnalyzeInputs {
                logs: &logs,
                ..AnalyzeInputs::new(&named, None)
            },
        ] {
            let out = DatasetDir::create(&folder.path().join("data")).unwrap();
            let refusal = analyze(inputs, &AnalyzeOptions::default(), out).unwrap_err();
            let refusal = refusal.to_string();
            let why = " is not UTF-8, so the manifest of a dataset cannot contain this path";
            assert!(refusal.ends_with(why), "{refusal}");
        }
    }

    #[test]
    fn after_pass_is_called_after_each_pass_over_two_captures() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let folder = tempfile::tempdir().unwrap();
        let capture = script::capture("0.00 > S\n0.04 < S.\n0.05 > .");
        let [src, dst] =
            ["src", "dst"].map(|name| Recording::spool(name.into(), capture.as_slice()).unwrap());
        let options = AnalyzeOptions {
            after_pass: || {
                CALLS.fetch_add(1, Ordering::Relaxed);
            },
            ..AnalyzeOptions::default()
        };
        let out = DatasetDir::create(&folder.path().join("data")).unwrap();
        analyze(AnalyzeInputs::new(&src, Some(&dst)), &options, out).unwrap();
        // The survey, both comparisons, and a replay of each capture.
        assert_eq!(CALLS.load(Ordering::Relaxed), 5);
    }
}
