//! What was done, when, and what came of it: one JSON object a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use netem_ctl::{Output, RunError};
use serde_json::{Value, json};

use super::clock;

/// A journal that is being written. Several threads may write to it.
#[derive(Debug)]
pub(super) struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// The journal in a directory, continued if there is one.
    pub(super) fn in_dir(dir: &Path) -> io::Result<Self> {
        let path = dir.join("journal.jsonl");
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    /// Writes one entry; its time is now.
    pub(super) fn note(&self, what: &str, mut entry: Value) {
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("time_ns".to_owned(), clock::now_ns().into());
            entry.insert("event".to_owned(), what.into());
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk fails the run where its files are fetched; clearing up must go on meanwhile.
        drop(file.write_all(format!("{entry}\n").as_bytes()));
    }

    /// Writes what a script on a host came to.
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
            Err(error) => entry["error"] = super::chain(error).into(),
        }
        self.note("command", entry);
    }
}
