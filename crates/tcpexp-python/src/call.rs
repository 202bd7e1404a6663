//! Calls of the command from Python.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tcpexp_cli::{Handed, PairEnd, PairOutcome, Printed, Request, Wanted};

use crate::batches::{Batches, next};
use crate::held::{Held, HeldDir};
use crate::interpreter::{self, Error, exception};
use crate::running::{Arguments, Part, Running};
use crate::stream::{KnownPrint, RowStream};

/// A call of the command: its arguments, and the table to take from it.
#[pyclass(frozen, module = "tcpexp._native")]
pub(crate) struct Call {
    of: Arguments,
    wanted: Wanted,
    columns: Option<Vec<String>>,
    printed: KnownPrint,
}

#[pymethods]
impl Call {
    /// `rows` is `main`, `side`, or `none` for the text only. `held` are the directories of inputs.
    /// Without `columns`, all are taken.
    #[new]
    #[pyo3(signature = (arguments, rows, held, columns = None))]
    fn new(
        arguments: Vec<OsString>,
        rows: &str,
        held: Vec<PyRef<'_, Held>>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let held: Vec<Arc<HeldDir>> = held.into_iter().map(|held| Arc::clone(&held.0)).collect();
        Ok(Self {
            of: Arguments { arguments, held },
            wanted: match rows {
                "main" => Wanted::Rows,
                "side" => Wanted::SideRows,
                "none" => Wanted::Text,
                _ => return Err(PyValueError::new_err("rows is main, side or none")),
            },
            columns,
            printed: KnownPrint::default(),
        })
    }

    /// The schema of the table, as an `arrow_schema` capsule.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let (_, schema) = self.start(py)?;
        let schema = FFI_ArrowSchema::try_from(schema.as_ref())
            .map_err(|error| Error::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows of a new run, as an `arrow_array_stream` capsule.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let (running, schema) = self.start(py)?;
        let rows = RowStream::new(running, schema, Arc::clone(&self.printed));
        let stream = FFI_ArrowArrayStream::new(Box::new(rows));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The rows of a new run, batch by batch.
    fn batches(&self, py: Python<'_>) -> PyResult<Batches> {
        let (running, _) = self.start(py)?;
        running.go();
        Ok(Batches::new(running, Arc::clone(&self.printed)))
    }

    /// What the command prints. Runs it, unless a stream was read to its end.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.printed(py)?.text)
    }

    /// The pairs of `analyze --pairs`: number, name, part, how its task ended, and records read.
    fn pairs(&self, py: Python<'_>) -> PyResult<Vec<EndedPair>> {
        let ended = |pair: PairOutcome| {
            let end = match pair.end {
                PairEnd::Analyzed => "analysed",
                PairEnd::Known => "already there",
                PairEnd::Failed => "failed",
            };
            let part = pair.part.to_string_lossy().into_owned();
            (pair.number, pair.name, part, end, pair.records)
        };
        Ok(self.printed(py)?.pairs.into_iter().map(ended).collect())
    }
}

/// A pair in terms of Python.
type EndedPair = (u64, String, String, &'static str, u64);

impl Call {
    fn known(&self) -> std::sync::MutexGuard<'_, Option<Printed>> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the command prints.
    fn printed(&self, py: Python<'_>) -> PyResult<Printed> {
        if let Some(printed) = &*self.known() {
            return Ok(printed.clone());
        }
        let running = self.run(Wanted::Text, py)?;
        loop {
            if let Part::End(printed) = next(&running, py)? {
                interpreter::warn(py, &printed.warnings)?;
                return Ok(self.known().insert(printed).clone());
            }
        }
    }

    fn run(&self, wanted: Wanted, py: Python<'_>) -> PyResult<Mutex<Running>> {
        let request = Request {
            columns: self.columns.clone(),
            ..Request::new(wanted)
        };
        let running = Running::start(self.of.clone(), request);
        Ok(Mutex::new(running.map_err(|error| exception(py, &error))?))
    }

    /// Starts the command, which waits after its schema.
    fn start(&self, py: Python<'_>) -> PyResult<(Running, SchemaRef)> {
        let running = self.run(self.wanted, py)?;
        let Part::Table(Handed::Schema(schema)) = next(&running, py)? else {
            return Err(Error::new_err("the command has no table"));
        };
        let running = running.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((running, schema))
    }
}
