//! Errors, warnings and signals of the interpreter.

use std::io;

use pyo3::exceptions::{PyOSError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use tcpexp_cli::CallError;

use crate::running::RunError;

pyo3::create_exception!(
    tcpexp,
    Error,
    pyo3::exceptions::PyException,
    "A measurement failed. The text names the file and the place; `__cause__` is the cause."
);
pyo3::create_exception!(
    tcpexp,
    CaptureWarning,
    PyUserWarning,
    "What may limit the use of a result, such as packets that a capture missed."
);

/// The exception of an error: `ValueError` for wrong options, else `Error`.
pub(crate) fn exception(py: Python<'_>, error: &RunError) -> PyErr {
    match error {
        RunError::Call(CallError::Usage(text)) => {
            // The usage of the command line, which follows, is of no use here.
            let problem = text.split("\n\n").next().unwrap_or_default();
            PyValueError::new_err(problem.trim_start_matches("error: ").trim().to_owned())
        }
        RunError::Call(CallError::Failed(error)) => {
            let causes: Vec<_> = error.chain().collect();
            chained(py, &causes).unwrap_or_else(|| Error::new_err(error.to_string()))
        }
        other => Error::new_err(other.to_string()),
    }
}

/// An error and its causes, outermost first. Each text includes those of the causes, as in the
/// command's line of error.
fn chained(py: Python<'_>, causes: &[&(dyn std::error::Error + 'static)]) -> Option<PyErr> {
    let (first, deeper) = causes.split_first()?;
    let of_system = first.downcast_ref::<io::Error>();
    if let Some(code) = of_system.and_then(io::Error::raw_os_error) {
        // The interpreter makes FileNotFoundError and others from the code.
        return Some(PyOSError::new_err((code, first.to_string())));
    }
    let exception = Error::new_err(joined(causes));
    exception.set_cause(py, chained(py, deeper));
    Some(exception)
}

/// The texts of an error and its causes in one line.
fn joined(causes: &[&(dyn std::error::Error + 'static)]) -> String {
    let texts: Vec<String> = causes.iter().map(ToString::to_string).collect();
    texts.join(": ")
}

/// The text of an error for a consumer of a stream, which has no causes.
pub(crate) fn text(error: &RunError) -> String {
    match error {
        RunError::Call(CallError::Failed(error)) => joined(&error.chain().collect::<Vec<_>>()),
        other => other.to_string(),
    }
}

/// Shows warnings as those of Python.
pub(crate) fn warn(py: Python<'_>, lines: &[String]) -> PyResult<()> {
    for line in lines {
        let line = line.trim_start_matches("warning: ");
        py.import("warnings")?
            .call_method1("warn", (line, py.get_type::<CaptureWarning>()))?;
    }
    Ok(())
}

/// True if a signal, such as Ctrl-C, asks the program to stop. The consumer of the stream raises an
/// exception of its own in place of the interpreter's: a signal that is given back to Python 3.11
/// during the call of a consumer ends the process.
pub(crate) fn is_interrupted() -> bool {
    let check = |py: Python<'_>| py.check_signals().is_err();
    // Without an interpreter nobody waits.
    Python::try_attach(check).unwrap_or(true)
}
