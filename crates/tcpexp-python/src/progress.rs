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

    /// The bytes that were read, and all bytes, if it is time to show them.
    pub(crate) fn due(&mut self) -> Option<(u64, u64)> {
        if Instant::now() < self.next {
            return None;
        }
        self.next = Instant::now() + BETWEEN;
        let bytes = self.advance.bytes();
        self.is_shown |= bytes.is_some();
        bytes
    }

    /// What shows that the command has ended, if anything was shown.
    pub(crate) fn end(&mut self) -> Option<(u64, u64)> {
        std::mem::take(&mut self.is_shown).then_some((0, 0))
    }
}

/// Shows progress. The caller holds no lock: Python may give the interpreter to a thread that waits for it.
pub(crate) fn show(py: Python<'_>, (done, total): (u64, u64)) {
    let show = {
        let known = SHOW.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map(|show| show.clone_ref(py))
    };
    // What cannot be shown is no reason to end a measurement.
    if let Some(Err(error)) = show.map(|show| show.call1(py, (done, total))) {
        error.write_unraisable(py, None);
    }
}
