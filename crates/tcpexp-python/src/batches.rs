//! The rows of a running command, batch by batch, for Python.

use std::sync::{Mutex, PoisonError};

use arrow::array::{Array, StructArray};
use arrow::ffi::to_ffi;
use arrow::record_batch::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tcpexp_cli::Handed;

use crate::interpreter::{self, Error, exception};
use crate::progress::show;
use crate::running::{Part, Running};
use crate::stream::KnownPrint;

/// Iterates over the record batches of one run. Dropping it stops the run.
#[pyclass(frozen, module = "tcpexp._native")]
pub(crate) struct Batches {
    running: Mutex<Running>,
    printed: KnownPrint,
}

impl Batches {
    /// `running` is past its schema.
    pub(crate) fn new(running: Running, printed: KnownPrint) -> Self {
        Self {
            running: Mutex::new(running),
            printed,
        }
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        match next(&self.running, py)? {
            Part::Table(Handed::Rows(batch)) => return Ok(Some(Batch(batch))),
            // The schema was taken before, and an iterator that has ended may be asked again.
            Part::Table(Handed::Schema(_)) | Part::Past => {}
            Part::End(printed) => {
                let warned = interpreter::warn(py, &printed.warnings);
                *self.printed.lock().unwrap_or_else(PoisonError::into_inner) = Some(printed);
                warned?;
            }
        }
        Ok(None)
    }
}

/// Rows in memory, which libraries read through the Arrow `PyCapsule` interface.
#[pyclass(frozen, module = "tcpexp._native")]
pub(crate) struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer may ignore the requested schema.
        drop(requested_schema);
        let rows = StructArray::from(self.0.clone());
        let (array, schema) =
            to_ffi(&rows.to_data()).map_err(|error| Error::new_err(error.to_string()))?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

/// The next part, without the interpreter's lock while it waits.
pub(crate) fn next(running: &Mutex<Running>, py: Python<'_>) -> PyResult<Part> {
    loop {
        let part = py.detach(|| {
            let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
            running.next()
        });
        let has_ended = matches!(part, Err(_) | Ok(Some(Part::End(_))));
        let bytes = {
            let running = running.lock().unwrap_or_else(PoisonError::into_inner);
            let mut progress = running.progress();
            if has_ended {
                progress.end()
            } else {
                progress.due()
            }
        };
        if let Some(bytes) = bytes {
            show(py, bytes);
        }
        if let Some(part) = part.map_err(|error| exception(py, &error))? {
            return Ok(part);
        }
        py.check_signals()?;
    }
}
