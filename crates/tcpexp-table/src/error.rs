//! Errors of writing and reading tables.

use std::io;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;
use thiserror::Error;

use crate::damaged::{Damaged, Failure};

/// Why a table cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A sample refers to a flow that was not registered.
    #[error("a sample belongs to flow {flow}, which was not registered")]
    UnknownFlow {
        /// The sample's flow.
        flow: u32,
    },
    /// The output failed, for example a closed pipe.
    #[error("cannot write the table")]
    Write(#[source] io::Error),
    /// The system refuses to start a thread that writes rows.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The rows do not fit their schema or format.
    #[error("cannot encode the table")]
    Encode(#[source] ArrowError),
    /// The contents of a file are no table.
    #[error("cannot read the table")]
    Read(#[source] Damaged),
    /// The system cannot read the file of a table.
    #[error("cannot read the table")]
    ReadFile(#[source] io::Error),
    /// A CSV file ends within a line.
    #[error(
        "the file ends within a line, so its last number may lack digits: end it with a line break if it is whole"
    )]
    CutLine,
    /// A table lacks a column, or the column has another type.
    #[error("the table has no column {column} of the type that tcpexp writes")]
    NoColumn {
        /// Name of the column.
        column: &'static str,
    },
    /// A cell contains an invalid value.
    #[error("row {row}: {value} is not a valid {column}")]
    Cell {
        /// Row number, from 0.
        row: usize,
        /// Name of the column.
        column: &'static str,
        /// The invalid value.
        value: String,
    },
    /// A file is not a table in any supported format.
    #[error("not a table: neither Parquet, Arrow, CSV nor JSON")]
    NoTable,
    /// Another version of `tcpexp` wrote the table.
    #[error(
        "the table has version {version}, but this tcpexp reads version {known}: write the \
         table again from its captures or logs"
    )]
    Version {
        /// Version of the table.
        version: String,
        /// Version that can be read.
        known: u32,
    },
    /// Two columns have the same name.
    #[error("the table has two columns {column}")]
    RepeatedColumn {
        /// Name of the columns.
        column: String,
    },
    /// A column has different types in different tables.
    #[error("the column {column} is text in one table and a number in another")]
    MixedTypes {
        /// Name of the column.
        column: String,
    },
    /// The cells of a column are neither numbers nor text.
    #[error("the column {column} contains neither numbers nor text but {cells}")]
    CellType {
        /// Name of the column.
        column: String,
        /// Data type of the cells.
        cells: String,
    },
    /// The parts of a table have different columns.
    #[error("the parts of the table {table} have different columns")]
    OtherColumns {
        /// Name of the table.
        table: &'static str,
    },
    /// A table of a dataset lacks its column of times.
    #[error("the table {table} has no column time")]
    NoTime {
        /// Name of the table.
        table: &'static str,
    },
    /// The rows do not fit the Parquet format.
    #[error("cannot encode the table as Parquet")]
    Parquet(#[source] ParquetError),
}

impl Error {
    /// The error of a table that the reader of its format cannot read.
    pub(crate) fn unread<F: Into<Failure>>(failure: F) -> Self {
        match failure.into() {
            Failure::System(source) => Self::ReadFile(source),
            Failure::Contents(source) => Self::Read(source),
        }
    }
}

// Both libraries wrap the writer's own error. Unwrapping it lets a caller distinguish a closed pipe
// from a full disk in every format.
impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, source) => Self::Write(source),
            other => Self::Encode(other),
        }
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(source) => Self::Write(*source),
                Err(source) => Self::Parquet(ParquetError::External(source)),
            },
            other => Self::Parquet(other),
        }
    }
}
