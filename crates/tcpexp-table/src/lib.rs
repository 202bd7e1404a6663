//! Writes samples as Arrow, Parquet, CSV and JSON, and as text tables for a terminal.
//!
//! Schemas are part of the interface: a column's name ends in its unit, and its `description` in
//! the field metadata defines its meaning, its clock and the meaning of null. The same rows give
//! the same bytes, regardless of their division into calls.
//!
//! ```
//! use tcpexp_pair::spp::{PairedFlow, RttSample};
//! use tcpexp_table::{Error, Format, RttWriter};
//!
//! fn csv(flow: &PairedFlow, samples: &[RttSample]) -> Result<Vec<u8>, Error> {
//!     let mut table = RttWriter::new(Format::Csv, Vec::new())?;
//!     table.flow(flow);
//!     table.write(samples)?;
//!     table.finish()
//! }
//! ```

mod background;
mod by_flow;
mod cells;
mod columns;
pub mod compare;
mod connection_details;
mod connection_text;
mod connections;
mod control_text;
mod controls;
mod csv_rows;
mod cwnd_text;
mod damaged;
pub mod dataset;
mod describe;
mod distribution;
mod error;
mod explained;
mod explained_text;
mod filter;
mod frame;
mod import_text;
mod intervals;
mod intervals_text;
mod known_columns;
mod known_types;
mod labels;
mod lost_text;
mod order;
mod pairs;
mod pairs_text;
mod parallel;
mod parquet_file;
mod path;
mod path_flows;
mod path_text;
mod points_text;
mod queues;
mod remark;
mod rows;
mod rtt;
mod rtt_flows;
mod run_columns;
mod schema;
mod score;
mod score_text;
mod sender;
mod sender_events;
mod sender_read;
mod series;
mod single_rtt;
mod single_rtt_text;
mod table_file;
mod text;
mod texts;
mod throughput;
mod throughput_text;
mod top;
mod unit_value;
mod validity;
mod verdict_text;
mod verdicts;
mod writer;

#[cfg(test)]
mod testdata;

pub use background::Background;
pub use columns::Columns;
pub use connection_details::connection_details;
pub use connection_text::TopConnections;
pub use connections::{ConnectionRow, connection_columns};
pub use control_text::TopControls;
pub use controls::{ControlRow, control_columns};
pub use cwnd_text::CwndTable;
pub use damaged::Damaged;
pub use describe::{ColumnDescription, TableDescription, described_tables};
pub use error::Error;
pub use explained::explained_columns;
pub use explained_text::{explained_text, inferred};
pub use filter::{Filter, FilterCheck, FilterError};
pub use frame::{Cell, Frame, Series, Texts};
pub use import_text::ImportTable;
pub use intervals::{IntervalRow, interval_columns};
pub use intervals_text::IntervalTable;
pub use labels::{FlowLabel, Labelled, SenderLabel};
pub use order::Ordered;
pub use pairs::{
    FailedPairRow, PairFileRow, PairName, failed_pair_columns, pair_columns, read_pairs,
};
pub use pairs_text::pairs_text;
pub use path::{PointsRow, path_columns, points_columns};
pub use path_flows::{PathFlowRow, PointsFlowRow, path_flow_columns, points_flow_columns};
pub use path_text::TopPath;
pub use points_text::{SegmentTotal, TopPoints};
pub use queues::{QUEUE_KEYS, queue_rows};
pub use rows::RowsWriter;
pub use rtt::{RttWriter, rtt_columns};
pub use rtt_flows::{RttFlowRow, rtt_flow_columns};
pub use schema::TABLE_VERSION;
pub use score::{ScoredRow, score_columns};
pub use score_text::{ScoredPath, ScoredSender, loss_score_text, score_text};
pub use sender::{SenderSampleRow, sender_columns};
pub use sender_events::{SenderEvent, SenderEventRow, sender_event_columns};
pub use sender_read::{read_senders, table_format};
pub use series::{SeriesTable, run_sample_columns, run_series_columns, series_columns};
pub use single_rtt::single_rtt_columns;
pub use single_rtt_text::TopSingleRtt;
pub use table_file::TableFile;
pub use text::{FLOW_TABLE_WIDTH, TopFlows};
pub use throughput::{BinRow, throughput_columns};
pub use throughput_text::TopThroughput;
pub use verdict_text::{verdict_lines, verdict_pages};
pub use verdicts::{CauseRow, cause_columns, cause_rows};
pub use writer::{BATCH_ROWS, BatchSink, Format, TableWriter};
