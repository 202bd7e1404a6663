//! Inputs and options of an analysis.

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
use crate::{PairSurvey, Recording};

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
        }
    }
}
