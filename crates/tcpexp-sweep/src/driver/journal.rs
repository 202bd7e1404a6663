//! The journal: one JSON object per line for each script, copy and phase.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use netem_ctl::{Output, RunError};
use serde_json::{Value, json};
use tcpexp_units::with_causes;

use super::clock;

/// An open journal. Threads may share it.
#[derive(Debug)]
pub(super) struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// Opens the journal at `path`, appending to an existing one.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    /// Writes one entry with the current time.
    pub(super) fn note(&self, what: &str, mut entry: Value) {
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("time_ns".to_owned(), clock::now_ns().into());
            entry.insert("event".to_owned(), what.into());
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Ignore a full disk: the later fetch of files fails the run, and undo must continue.
        drop(file.write_all(format!("{entry}\n").as_bytes()));
    }

    /// Writes a script and its output.
    pub(super) fn command(
        &self,
        host: &str,
        phase: &str,
        script: &str,
        outcome: &Result<Output, RunError>,
    ) {
        let mut entry = json!({"host": host, "phase": phase, "script": script});
        match outcome {
            Ok(output) => {
                entry["started_ns"] = output.started.as_nanos().into();
                entry["finished_ns"] = output.finished.as_nanos().into();
                entry["code"] = output.code.into();
                entry["stdout"] = String::from_utf8_lossy(&output.stdout).into();
                entry["stderr"] = String::from_utf8_lossy(&output.stderr).into();
            }
            Err(error) => entry["error"] = with_causes(error).into(),
        }
        self.note("command", entry);
    }
}
