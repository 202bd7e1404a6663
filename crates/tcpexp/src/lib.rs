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
mod report;
mod rtt;
mod score;
mod sequence;
mod single_rtt;
mod tables;
mod throughput;

pub mod guide;

pub use analyze::{
    ANALYZE_PASSES, AnalyzeInputs, AnalyzeOptions, CaptureInput, Checked, Comparison, DatasetDir,
    LogInput, LogKind, LogSource, MANIFEST_FILE_NAME, Manifest, Parameters, RUN_DATASET,
    SweepColumns, TableEntry, Traffic, Unpaired, WrittenTable, analyze, analyze_run,
    analyze_run_into, columns_beside, recorded_runs,
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
pub use report::report;
pub use rtt::{RttOptions, RttReport, rtt};
pub use score::{Truth, logged_senders, reconstructed_senders, sender_table, tabled_senders};
pub use sequence::sequence;
pub use single_rtt::{live_rtt, single_rtt};
pub use tables::{FLOW_COLUMN, Query, SOURCE_COLUMN, Tables};
pub use throughput::{ThroughputReport, throughput};

pub use tcpexp_capture as capture;
pub use tcpexp_chart as chart;
pub use tcpexp_flow as flow;
pub use tcpexp_logs as logs;
pub use tcpexp_measure as measure;
pub use tcpexp_metrics as metrics;
pub use tcpexp_runs as runs;
pub use tcpexp_table as table;
pub use tcpexp_units as units;
pub use tcpexp_wire as wire;
