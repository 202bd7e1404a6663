//! The rows of a running command as an Arrow stream.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use arrow::array::RecordBatchReader;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use pyo3::prelude::*;
use tcpexp_cli::{Handed, Printed};

use crate::interpreter;
use crate::progress::show;
use crate::running::{Part, Running};

/// What a command printed, once it is known.
pub(crate) type KnownPrint = Arc<Mutex<Option<Printed>>>;

/// Reads the rows of one run of a command.
pub(crate) struct RowStream {
    /// None after the end.
    running: Option<Running>,
    schema: SchemaRef,
    printed: KnownPrint,
    /// The thread that asked for the stream, and so may ask the interpreter without waiting for
    /// another thread that waits for rows.
    opener: ThreadId,
}

impl RowStream {
    pub(crate) fn new(running: Running, schema: SchemaRef, printed: KnownPrint) -> Self {
        running.go();
        Self {
            running: Some(running),
            schema,
            printed,
            opener: thread::current().id(),
        }
    }

    fn is_at_opener(&self) -> bool {
        thread::current().id() == self.opener
    }

    fn next_part(&self, running: &mut Running) -> Result<Part, ArrowError> {
        loop {
            let next = running.next();
            let next =
                next.map_err(|error| ArrowError::ExternalError(interpreter::text(&error).into()));
            match next? {
                Some(part) => {
                    if matches!(part, Part::End(_)) && self.is_at_opener() {
                        let bytes = running.progress().end();
                        bytes.map(|bytes| Python::try_attach(|py| show(py, bytes)));
                    }
                    return Ok(part);
                }
                None if self.is_at_opener() && interpreter::is_interrupted() => {
                    return Err(ArrowError::ExternalError("interrupted".into()));
                }
                None if self.is_at_opener() => {
                    let bytes = running.progress().due();
                    bytes.map(|bytes| Python::try_attach(|py| show(py, bytes)));
                }
                None => {}
            }
        }
    }

    fn end(&self, printed: Printed) -> Result<(), ArrowError> {
        let warned = if self.is_at_opener() {
            Python::try_attach(|py| interpreter::warn(py, &printed.warnings)).transpose()
        } else {
            for line in &printed.warnings {
                // No other place can show that standard error is closed.
                drop(writeln!(io::stderr(), "tcpexp: {line}"));
            }
            Ok(None)
        };
        let mut known = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(printed);
        // A warning that a filter makes an error.
        warned.map_err(|error| ArrowError::ExternalError(error.to_string().into()))?;
        Ok(())
    }
}

impl Iterator for RowStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut running = self.running.take()?;
        match self.next_part(&mut running) {
            Ok(Part::Table(Handed::Rows(batch))) => {
                self.running = Some(running);
                Some(Ok(batch))
            }
            // The schema was taken before.
            Ok(Part::Table(Handed::Schema(_)) | Part::Past) => None,
            Ok(Part::End(printed)) => self.end(printed).err().map(Err),
            Err(error) => Some(Err(error)),
        }
    }
}

impl RecordBatchReader for RowStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
