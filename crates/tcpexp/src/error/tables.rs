//! Errors of the choice of a table and of its rows.

use std::path::PathBuf;

use tcpexp_store::shown_url;
use thiserror::Error;

/// An error of the choice of a table, or of its columns and rows.
#[derive(Debug, Error)]
pub enum TablesError {
    /// The folder contains no table.
    #[error("there are no tables in {}", shown_url(path))]
    NoTables {
        /// Path of the folder.
        path: PathBuf,
    },
    /// No table has this name.
    #[error("there is no table {wanted}: the tables are {tables}")]
    NoTable {
        /// Requested table.
        wanted: String,
        /// Names of the available tables.
        tables: String,
    },
    /// No row meets the filters.
    #[error("no row of {table} meets {filters}")]
    NoRows {
        /// Name of the table.
        table: String,
        /// The filters.
        filters: String,
    },
    /// A filter compares values of different kinds.
    #[error(transparent)]
    Filter(tcpexp_table::FilterError),
    /// The values of a column are in several units.
    #[error(
        "the values of {column} are in {}: select one unit, for example with --filter unit={}",
        units.join(" and "), units.first().map_or("", String::as_str)
    )]
    SeveralUnits {
        /// Name of the column.
        column: String,
        /// The units.
        units: Vec<String>,
    },
    /// No table has all requested columns, and each column is in some table.
    #[error("no single table has {wanted}: {tables}")]
    NoSingleTable {
        /// Requested columns.
        wanted: String,
        /// The tables of each column.
        tables: String,
    },
    /// A table is empty.
    #[error("{table} has no rows")]
    EmptyTable {
        /// Name of the table.
        table: String,
    },
    /// No row belongs to the flows and directions that count.
    #[error("no row of {pooled} is left: choose other flows or directions")]
    NoPooledRows {
        /// Description of the flows and directions.
        pooled: String,
    },
    /// All round-trip times are those of ACKs in a capture away from the sender of the data.
    #[error(
        "the RTT of the data is unknown: the only capture is not near its sender (--filter \
         method=sequence_ack selects the time from the capture to the receiver and back)"
    )]
    NotAtSender,
    /// One-way delays without a bound of their error contain an unknown offset of the clocks.
    #[error(
        "{column} is unknown: no packet has a bound of its error ({error} is null), because the offset between the \
         clocks is unknown"
    )]
    NoOffset {
        /// Name of the column.
        column: String,
        /// Column of the errors.
        error: &'static str,
    },
    /// No table has the requested columns.
    #[error("no table has the column {wanted}: {tables}")]
    NoColumns {
        /// Requested columns.
        wanted: String,
        /// Available tables with their columns.
        tables: String,
    },
}
