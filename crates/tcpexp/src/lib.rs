//! The library: captures in, results out.
//!
//! The few calls that join the crates: open captures ([`Recording`]), look what is in one
//! ([`CaptureInfo`]), measure round-trip times between two ([`rtt`](fn@rtt)) or in one ([`single_rtt`](fn@single_rtt),
//! [`live_rtt`]), what became of each packet between two ([`path`](fn@path)), rates
//! ([`throughput`](fn@throughput)), and the state of senders ([`cwnd`](fn@cwnd)), read the logs of
//! kernels and tools ([`LogFile`]), and hold the two against each other ([`logged_senders`]). The
//! crates themselves are here under short names.
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
//! println!("packets told apart by {}", report.identification);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Features
//!
//! All are on by default. Without them the crate reads captures and logs and computes samples with
//! a third of the dependencies: 59 packages, not 169.
//!
//! - `tables`: Arrow, Parquet, CSV and JSON tables, and datasets.
//! - `runs`: recorded runs of sweeps; needs `tables`.
//! - `charts`: SVG and PNG charts; needs `tables`.
//!
//! Reports, and the selection of columns for charts, need `charts` and `runs`.

#[cfg(feature = "tables")]
mod analyze;
mod compat;
mod cwnd;
mod error;
mod fates;
mod flows;
mod info;
mod log;
mod losses;
mod merged;
mod path;
mod recording;
#[cfg(all(feature = "charts", feature = "runs"))]
mod report;
mod rtt;
#[cfg(feature = "tables")]
mod score;
mod sequence;
mod single_rtt;
#[cfg(all(feature = "charts", feature = "runs"))]
mod tables;
mod throughput;

pub mod guide;

#[cfg(feature = "tables")]
pub use analyze::{
    ANALYZE_PASSES, AnalyzeInputs, AnalyzeOptions, CaptureInput, Checked, Comparison, DatasetDir,
    LogInput, LogKind, LogSource, MANIFEST_FILE_NAME, Manifest, TableEntry, Traffic, Unpaired,
    WrittenTable, analyze,
};
#[cfg(feature = "runs")]
pub use analyze::{
    Parameters, RUN_DATASET, SweepColumns, analyze_run, analyze_run_into, columns_beside,
    recorded_runs,
};
pub use compat::spp_pairs;
pub use cwnd::{LabelledSenderRow, cwnd};
pub use error::Error;
pub use flows::flows;
pub use info::CaptureInfo;
pub use log::{LogFile, LogReport};
pub use losses::{logged_drops, loss_score};
pub use path::{PathOptions, PathReport, path};
pub use recording::{Recording, Walk};
#[cfg(all(feature = "charts", feature = "runs"))]
pub use report::report;
pub use rtt::{RttOptions, RttReport, rtt};
#[cfg(feature = "tables")]
pub use score::{Truth, logged_senders, reconstructed_senders, sender_table, tabled_senders};
pub use sequence::sequence;
pub use single_rtt::{live_rtt, single_rtt};
#[cfg(all(feature = "charts", feature = "runs"))]
pub use tables::{FLOW_COLUMN, Query, SOURCE_COLUMN, Tables};
pub use throughput::{ThroughputReport, throughput};

pub use tcpexp_capture as capture;
#[cfg(feature = "charts")]
pub use tcpexp_chart as chart;
pub use tcpexp_flow as flow;
pub use tcpexp_logs as logs;
pub use tcpexp_measure as measure;
pub use tcpexp_metrics as metrics;
#[cfg(feature = "runs")]
pub use tcpexp_runs as runs;
#[cfg(feature = "tables")]
pub use tcpexp_table as table;
pub use tcpexp_units as units;
pub use tcpexp_wire as wire;
