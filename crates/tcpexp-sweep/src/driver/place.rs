//! The directory of a sweep.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use tcpexp_runs::folders::RUNS;
use tcpexp_runs::record::{RunRecord, Status};

use super::error::SweepError;
use super::journal::Journal;
use super::options::Options;
use crate::plan::Plan;

/// The locked directory of a sweep.
pub(super) struct Place {
    pub(super) runs: PathBuf,
    pub(super) journal: Journal,
    /// Owner of the leases on hosts: this directory on this machine.
    pub(super) owner: String,
    _lock: File,
}

impl Place {
    pub(super) fn open(plan: &Plan, options: &Options<'_>) -> Result<Self, SweepError> {
        let dir = options.dir;
        let runs = dir.join(RUNS);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| SweepError::File { path, source }
        };
        fs::create_dir_all(&runs).map_err(failed(&runs))?;
        // The lock comes first, because two sweeps could both find the directory empty.
        let lock = File::create(dir.join(".lock")).map_err(failed(dir))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(SweepError::Locked(dir.to_owned()));
        }
        let is_empty = fs::read_dir(&runs).map_err(failed(&runs))?.next().is_none();
        if !is_empty && !options.resume {
            return Err(SweepError::NotEmpty(dir.to_owned()));
        }
        let copy = dir.join("plan.toml");
        write_whole(&copy, plan.text.as_bytes()).map_err(failed(&copy))?;
        let journal = Journal::in_dir(dir).map_err(failed(dir))?;
        let path = dir.canonicalize().map_err(failed(dir))?;
        let machine = fs::read_to_string("/etc/hostname").unwrap_or_default();
        let owner = netem_ctl::owner_name(&format!("{}:{}", machine.trim(), path.display()));
        Ok(Self {
            runs,
            journal,
            owner,
            _lock: lock,
        })
    }

    /// The records of completed and invalid runs, which are not repeated.
    pub(super) fn done(&self) -> Result<Vec<RunRecord>, SweepError> {
        let failed = |source| SweepError::File {
            path: self.runs.clone(),
            source,
        };
        let mut done = Vec::new();
        for entry in fs::read_dir(&self.runs).map_err(failed)? {
            // A run without a record was interrupted.
            if let Ok(record) = RunRecord::read(&entry.map_err(failed)?.path())
                && record.status != Status::Failed
            {
                done.push(record);
            }
        }
        // `read_dir` has no defined order.
        done.sort_by(|a, b| a.run.cmp(&b.run));
        Ok(done)
    }

    /// Creates an empty directory for a run.
    pub(super) fn fresh(&self, name: &str) -> Result<PathBuf, SweepError> {
        let dir = self.runs.join(name);
        let failed = |source| SweepError::File {
            path: dir.clone(),
            source,
        };
        // The directory of an interrupted or failed run may have files, which a repetition must not
        // mix with its own.
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(failed)?;
        }
        fs::create_dir(&dir).map_err(failed)?;
        Ok(dir)
    }
}

/// Writes a file atomically. The directory is locked, so the temporary name is fixed.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}
