//! Analyses packet captures of TCP and other IP protocols.
//!
//! Open a capture with [`Recording::open`], then call one of these functions:
//!
//! - [`rtt`](fn@rtt): round-trip times between two captures, without synchronised clocks
//! - [`path`](fn@path): the fate and the delays of each packet between two captures, and
//!   [`path_along`] between more of them
//! - [`cwnd`](fn@cwnd): congestion windows and loss recovery of TCP senders
//! - [`flows`](fn@flows), [`single_rtt`], [`live_rtt`], [`throughput`](fn@throughput),
//!   [`sequence`](fn@sequence): results from one capture
//! - [`analyze`](fn@analyze): all of these, written as a directory of Parquet tables
//!
//! Each function passes results to a closure as they become known, so memory does not grow with the
//! capture. The closure's error ends the measurement.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use tcpexp::{Error, Recording, RttOptions, rtt};
//!
//! let src = Recording::open(Path::new("src.pcap"))?;
//! let dst = Recording::open(Path::new("dst.pcap"))?;
//! let report = rtt(&src, &dst, &RttOptions::default(), |batch| {
//!     for sample in &batch.samples {
//!         println!("{} {} {}", sample.flow, sample.direction, sample.rtt);
//!     }
//!     Ok::<(), Error>(())
//! })?;
//! println!("packets identified by {}", report.identification);
//! # Ok::<(), Error>(())
//! ```
//!
//! [`LogFile`] reads the logs of kernels and tools, and [`logged_senders`] prepares them for a
//! comparison with [`reconstructed_senders`]. The [`guide`] explains the methods, their accuracy
//! and the `tcpexp` command.
//!
//! # Features
//!
//! All but `stores` are on by default. Without them the crate still reads captures and logs and computes
//! samples, and depends on 56 packages instead of 161.
//!
//! - `tables`: Arrow, Parquet, CSV and JSON tables, and datasets.
//! - `runs`: recorded runs of sweeps; needs `tables`.
//! - `charts`: charts as SVG, PDF and PNG; needs `tables`.
//! - `stores`: captures in object stores, by URL.
//!
//! Reports and the selection of columns for charts need `charts` and `runs`.

mod admission;
mod aligned;
mod alignment;
#[cfg(feature = "tables")]
mod analyze;
mod capture_set;
#[cfg(feature = "tables")]
mod checksum;
mod compat;
#[cfg(feature = "tables")]
mod contents;
mod cwnd;
mod described;
mod error;
#[cfg(feature = "runs")]
mod experiments;
mod explain;
mod fates;
mod flow_name;
mod flows;
mod in_order;
mod info;
mod info_warnings;
#[cfg(feature = "tables")]
mod learned;
mod live;
mod log;
mod losses;
mod merged;
mod numbering;
mod options;
mod order;
#[cfg(feature = "tables")]
mod pairs;
mod part;
mod part_marks;
mod path;
mod points;
mod recording;
#[cfg(all(feature = "charts", feature = "runs"))]
mod report;
mod rtt;
mod same_times;
#[cfg(feature = "tables")]
mod score;
mod selection;
mod sequence;
mod set;
mod set_back;
mod shard;
mod single_rtt;
mod split;
mod stored;
#[cfg(feature = "tables")]
mod survey;
#[cfg(all(feature = "charts", feature = "runs"))]
mod tables;
mod threads;
mod throughput;
mod timed;
mod view;
mod walk;
mod ways;
mod why;

pub mod guide;
#[cfg(feature = "tables")]
pub mod partial;

#[cfg(feature = "tables")]
pub use analyze::{
    ANALYZE_PASSES, AnalyzeInputs, AnalyzeOptions, CaptureInput, Checked, ClockSetBack, Comparison,
    DatasetDir, LogInput, LogKind, LogSource, MANIFEST_FILE_NAME, Manifest, TableEntry, Traffic,
    Unpaired, analyze, merge,
};
#[cfg(feature = "runs")]
pub use analyze::{
    Parameters, RUN_DATASET, RecordedDataset, SweepColumns, WrittenTable, analyze_run,
    analyze_run_into, columns_beside, merge_by_table, recorded_runs,
};
pub use capture_set::{CaptureSet, Gap, SetFile};
pub use compat::spp_pairs;
pub use cwnd::{LabelledSenderRow, cwnd};
#[cfg(all(feature = "charts", feature = "runs"))]
pub use error::TablesError;
#[cfg(feature = "tables")]
pub use error::{DatasetError, PairsError, SurveyError};
pub use error::{Error, PartError};
#[cfg(feature = "runs")]
pub use experiments::{FlentFile, ForeignRun, flent_file, flent_runs, teacup_runs};
pub use explain::{Explained, Explanation, explain, records};
pub use flow_name::{FlowName, NoFlowName};
pub use flows::flows;
pub use info::CaptureInfo;
pub use info_warnings::{
    coarse_clock_warning, cut_options_warning, damage_warning, dropped_warning, fragments_warning,
    further_records_warning, given_up_warning, impossible_lengths_warning, missed_acks_warning,
    missed_warning, not_held_warning, set_back_warning, several_tags_warning,
};
#[cfg(feature = "tables")]
pub use learned::PairSurvey;
pub use live::{LiveBatch, LiveInput, OneStream, PointCounts, live_pair};
pub use log::{LogFile, LogReport};
pub use losses::{logged_drops, loss_score};
pub use options::{CaptureOptions, CwndOptions, PathOptions, RttOptions, ThroughputOptions};
#[cfg(feature = "tables")]
pub use pairs::{
    CapturePair, KnownPart, MergedPair, PairTask, PairsManifest, TaskOutcome, find_pairs,
    find_pairs_with, merge_pairs, pairs_of,
};
pub use path::{PathReport, path};
pub use points::{PointsReport, SegmentReport, path_along};
pub use recording::Recording;
#[cfg(all(feature = "charts", feature = "runs"))]
pub use report::report;
pub use rtt::{RttReport, rtt};
#[cfg(feature = "tables")]
pub use score::{Truth, logged_senders, reconstructed_senders, sender_table, tabled_senders};
pub use selection::{Moment, NoMoment, PacketSelection};
pub use sequence::sequence;
pub use set_back::SetBack;
pub use single_rtt::{live_rtt, single_rtt};
pub use split::{SplitOptions, SplitPart, SplitReport, split};
#[cfg(feature = "tables")]
pub use survey::survey;
#[cfg(all(feature = "charts", feature = "runs"))]
pub use tables::{
    Counted, FLOW_COLUMN, Grouped, Query, RunNumbers, SIZE_COLUMN, SOURCE_COLUMN, Selection,
    Tables, UsualGroups, is_noted_error,
};
pub use threads::start_threads;
pub use throughput::{ThroughputReport, throughput};
pub use walk::Walk;
pub use why::{LARGE_BYTES, LabelledVerdict, WhyReport, is_large_sender, why};

// Types in the signatures of the functions above.
pub use tcpexp_flow::{Direction, Flow, FlowId, FlowShard, MAX_FLOWS, NoShard, Protocol};
pub use tcpexp_measure::flows::ConnectionSummary;
pub use tcpexp_measure::packets::{ExplainedFlow, ExplainedPacket};
pub use tcpexp_measure::rtt::{RttMethod, SingleRttRow, SingleRttSample};
pub use tcpexp_measure::sender::{CwndSource, Phase, Profile, SenderRow, SenderSample};
pub use tcpexp_measure::throughput::{BinWidth, Origin, ThroughputRow};
pub use tcpexp_measure::verdict::{LimitCause, Verdict};
pub use tcpexp_measure::{MissedData, Position};
pub use tcpexp_pair::path::{PathBatch, PathFlow, PathPacket, PathSegment, PathTotals};
pub use tcpexp_pair::spp::{
    Batch, ClockModel, Clocks, Fate, FlowSummary, Identification, PairedFlow, Point, RttSample,
    Totals,
};
#[cfg(feature = "runs")]
pub use tcpexp_runs::only::Only;
pub use tcpexp_store::{Error as StoreError, StoreOption, StoreOptions};
pub use tcpexp_units::{TimeDelta, Timestamp};
pub use tcpexp_wire::{Filter, FilterError, FilterProblem, Tunnels};
