//! The extension module below the Python package `tcpexp`.
//!
//! A call of the package is a call of the command in this process: the package turns keyword
//! arguments to arguments, and this module hands the rows to Python as an Arrow stream. So both have
//! the same options, checks, columns and texts.

mod batches;
mod call;
mod held;
mod interpreter;
mod progress;
mod running;
mod stream;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tcpexp_cli::{CallError, CapturePair, StoreOption};

use crate::interpreter::exception;

/// Runs the command with the arguments of a process, and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tcpexp_cli::main_in_interpreter(arguments))
}

/// Options of object stores from texts NAME=VALUE.
fn store_options(texts: Vec<String>) -> PyResult<Vec<StoreOption>> {
    let parsed = texts.into_iter().map(|text| text.parse());
    let parsed: Result<_, tcpexp_cli::StoreError> = parsed.collect();
    parsed.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Copies an object to a file.
#[pyfunction]
fn fetch(py: Python<'_>, url: String, options: Vec<String>, place: PathBuf) -> PyResult<()> {
    let options = store_options(options)?;
    let copied = py.detach(move || tcpexp_cli::fetch(&url, options, &place));
    copied.map_err(|error| exception(py, &CallError::Failed(error).into()))
}

/// Number of runs of a plan.
#[pyfunction]
fn count_runs(py: Python<'_>, plan: PathBuf) -> PyResult<usize> {
    let count = py.detach(move || tcpexp_cli::count_runs(&plan));
    count.map_err(|error| exception(py, &CallError::Failed(error).into()))
}

/// Number, name and bytes of each pair in a table of `tcpexp pairs`.
#[pyfunction]
fn read_pairs(
    py: Python<'_>,
    table: PathBuf,
    options: Vec<String>,
) -> PyResult<Vec<(u64, String, u64)>> {
    let options = store_options(options)?;
    let pairs = py.detach(move || tcpexp_cli::read_pairs(&table, options));
    let pairs = pairs.map_err(|error| exception(py, &CallError::Failed(error).into()))?;
    let row = |pair: CapturePair| {
        let bytes = pair.bytes.iter().sum();
        (pair.pair.number, pair.pair.name.to_string(), bytes)
    };
    Ok(pairs.into_iter().map(row).collect())
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batches::{Batch, Batches};
    #[pymodule_export]
    use super::call::Call;
    #[pymodule_export]
    use super::count_runs;
    #[pymodule_export]
    use super::fetch;
    #[pymodule_export]
    use super::held::Held;
    #[pymodule_export]
    use super::interpreter::{CaptureWarning, Error};
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::progress::on_progress;
    #[pymodule_export]
    use super::read_pairs;
}
