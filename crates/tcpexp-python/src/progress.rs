//! Progress of long commands in notebooks, where standard error is no terminal.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tcpexp_cli::Advance;

/// What shows progress. The package sets it in a notebook.
static SHOW: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Short runs show none.
const BEFORE: Duration = Duration::from_secs(1);
/// Time between two calls: a person reads no faster.
const BETWEEN: Duration = Duration::from_millis(250);

/// Sets what is called with the bytes that were read, and all bytes, during long commands.
#[pyfunction]
#[pyo3(signature = (show))]
pub(crate) fn on_progress(show: Option<Py<PyAny>>) {
    *SHOW.lock().unwrap_or_else(PoisonError::into_inner) = show;
}

/// The progress of one command.
pub(crate) struct Progress {
    advance: Advance,
    next: Instant,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn of(advance: Advance) -> Self {
        Self {
            advance,
            next: Instant::now() + BEFORE,
            is_shown: false,
        }
    }

    /// Shows how far the command is, if it is time.
    pub(crate) fn show(&mut self, py: Python<'_>) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + BETWEEN;
        if let Some((done, total)) = self.advance.bytes() {
            self.is_shown = true;
            call(py, done, total);
        }
    }

    /// Shows that the command has ended.
    pub(crate) fn end(&mut self, py: Python<'_>) {
        if std::mem::take(&mut self.is_shown) {
            call(py, 0, 0);
        }
    }
}

fn call(py: Python<'_>, done: u64, total: u64) {
    let show = SHOW.lock().unwrap_or_else(PoisonError::into_inner);
    let show = show.as_ref().map(|show| show.clone_ref(py));
    // What cannot be shown is no reason to end a measurement.
    if let Some(Err(error)) = show.map(|show| show.call1(py, (done, total))) {
        error.write_unraisable(py, None);
    }
}
