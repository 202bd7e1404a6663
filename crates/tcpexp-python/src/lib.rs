//! The extension module below the Python package `tcpexp`.
//!
//! A call of the package is a call of the command in this process: the package turns keyword
//! arguments to arguments, and this module hands the rows to Python as an Arrow stream. So both have
//! the same options, checks, columns and texts.

mod batches;
mod call;
mod held;
mod interpreter;
mod running;
mod stream;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with the arguments of a process, and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tcpexp_cli::main_in_interpreter(arguments))
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batches::{Batch, Batches};
    #[pymodule_export]
    use super::call::Call;
    #[pymodule_export]
    use super::held::Held;
    #[pymodule_export]
    use super::interpreter::{CaptureWarning, Error};
    #[pymodule_export]
    use super::main;
}
