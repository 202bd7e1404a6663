//! Samples to Arrow, Parquet, CSV and JSON, and to the table a terminal shows.
//!
//! Schemas are part of the interface: a column's name carries its unit, its `description` in the
//! field metadata says what it is, on which clock, and what null means. The same rows give the
//! same bytes, however they were cut into calls.
//!
//! ```
//! use tcpexp_measure::spp::{PairedFlow, RttSample};
//! use tcpexp_table::{Error, Format, RttWriter};
//!
//! fn csv(flow: &PairedFlow, samples: &[RttSample]) -> Result<Vec<u8>, Error> {
//!     let mut table = RttWriter::new(Format::Csv, Vec::new())?;
//!     table.flow(flow);
//!     table.write(samples)?;
//!     table.finish()
//! }
//! ```

mod error;
mod flows;
mod rtt;
mod schema;
mod text;
mod top;
mod writer;

#[cfg(test)]
mod testdata;

pub use error::Error;
pub use flows::{FlowsWriter, flows_batch};
pub use rtt::{RttBatchBuilder, RttWriter};
pub use schema::{flows_schema, rtt_schema};
pub use text::FLOW_TABLE_WIDTH;
pub use top::TopFlows;
pub use writer::{BATCH_ROWS, Format, TableWriter};
