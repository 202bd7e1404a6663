//! The tables of a dataset: all that one run told, with the same columns for every run.
//!
//! A run is measured from one capture or two and from logs; what is not there makes no rows, and
//! no other columns. In a sweep each table begins with what tells the run apart from the others
//! ([`RunColumns`]), so that the tables of all runs are one table.
//!
//! All times are on the source's clock, to which those of the destination are brought. Each time
//! stands there twice: in nanoseconds since 1970, and as seconds since the run's origin.

mod events;
mod flow;
mod flows;
mod logs;
mod losses;
mod owd;
mod queue;
mod rtt;
mod sender;
mod sorted;
mod tables;
mod text;
mod throughput;

pub use crate::run_columns::{RunColumn, RunColumns, RunValue};
pub use events::{EventRow, RunEvent};
pub use flow::DatasetFlow;
pub use flows::FlowRow;
pub use logs::{LogRow, LogSample};
pub use losses::LossRow;
pub use owd::OwdRow;
pub use queue::{QueueRow, QueueSource, QueueState};
pub use rtt::{RttRow, RttSource};
pub use sender::SenderStateRow;
pub use sorted::SortedWriter;
pub use tables::{DATASET_VERSION, DatasetTable, Layout};
pub use text::written_text;
pub use throughput::ThroughputBinRow;
