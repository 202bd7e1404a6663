//! What can go wrong between a sample and a file.

use std::io;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;
use thiserror::Error;

/// Why a table could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A sample names a flow whose endpoints nobody told.
    #[error("a sample belongs to flow {flow}, which was not registered")]
    UnknownFlow {
        /// The sample's flow.
        flow: u32,
    },
    /// The place the table goes to took no more; a closed pipe is one of these.
    #[error("cannot write the table")]
    Write(#[source] io::Error),
    /// The rows do not fit their schema or format.
    #[error("cannot encode the table")]
    Encode(#[source] ArrowError),
    /// A table cannot be read back.
    #[error("cannot read the table")]
    Read(#[source] ArrowError),
    /// A table does not have a column, or has it of another type.
    #[error("the table has no column {column} as `tcpexp cwnd` and `tcpexp import` write it")]
    NoColumn {
        /// Which one.
        column: &'static str,
    },
    /// A table has something in a cell that is never there.
    #[error("row {row} has {value} as its {column}")]
    Cell {
        /// Counted from 0.
        row: usize,
        /// Which column.
        column: &'static str,
        /// What is there.
        value: String,
    },
    /// A file is no table of any format.
    #[error("not a table: neither Parquet, Arrow, CSV nor JSON")]
    NoTable,
    /// A column is not the same kind of thing in all tables.
    #[error("the column {column} is text in one table and a number in another")]
    MixedTypes {
        /// Which column.
        column: String,
    },
    /// A column has cells that are neither numbers nor texts.
    #[error("the column {column} is neither numbers nor texts but {cells}")]
    CellType {
        /// Which column.
        column: String,
        /// What its cells are.
        cells: String,
    },
    /// The rows do not fit the Parquet format.
    #[error("cannot encode the table as Parquet")]
    Parquet(#[source] ParquetError),
}

// Both libraries wrap the writer's own error. It is unwrapped here, so that a caller can tell a
// closed pipe from a full disk whatever the format.
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
