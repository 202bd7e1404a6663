//! The tables of a dataset: all measurements of one run, with the same columns for every run.
//!
//! A run is measured from one or two captures and from logs. A missing source adds no rows and does
//! not change the columns. In a sweep each table starts with columns that identify the run
//! ([`RunColumns`]), so that the tables of all runs concatenate into one.
//!
//! All times are on the source's clock; times of the destination are converted to it. Each time has
//! two columns: a timestamp to the nanosecond, and seconds since the run's origin.
//!
//! The rows of a table are in order of time, and of their flows' numbers at equal times; in the tables
//! [by capture](DatasetTable::is_by_capture), those of the source precede those of the destination.

mod events;
mod flow;
mod flow_parts;
mod flow_path;
mod flows;
mod held;
mod logs;
mod losses;
mod merge;
mod order;
mod owd;
mod queue;
mod readings;
mod recognised;
mod rerun;
mod rtt;
mod sender;
mod sorted;
mod stored;
mod tables;
mod text;
mod throughput;

/// File name of a dataset's manifest, which lists its inputs and options.
pub const MANIFEST_FILE_NAME: &str = "manifest.json";
/// Value of the manifest's field `kind`.
pub const MANIFEST_KIND: &str = "tcpexp dataset";
/// The same for the dataset of many pairs of captures.
pub const PAIRS_MANIFEST_KIND: &str = "tcpexp dataset of pairs";

pub use crate::run_columns::{RunColumn, RunColumns, RunValue};
pub use events::{EventRow, RunEvent};
pub use flow::DatasetFlow;
pub use flow_parts::{Arrived, SenderTotals};
pub use flow_path::FlowPath;
pub use flows::FlowRow;
pub use logs::{LogRow, LogSample};
pub use losses::LossRow;
pub use merge::{MergedTable, merge_tables};
pub use order::DatasetRow;
pub use owd::OwdRow;
pub use queue::{QueueRow, QueueSource, QueueState};
pub use readings::ReadingRow;
pub use recognised::is_table_of_dataset;
pub use rerun::with_run_columns;
pub use rtt::{RttRow, RttSource};
pub use sender::SenderStateRow;
pub use sorted::{NewRun, SortedWriter};
pub use stored::{StoredTables, TableEntry, TableMismatch, TableOutput};
pub use tables::{DatasetTable, Layout};
pub(crate) use text::size;
pub use text::written_text;
pub use throughput::ThroughputBinRow;
