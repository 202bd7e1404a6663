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
use crate::schedule::Planned;
use crate::whole::write_whole;

/// The locked directory of a sweep.
pub(super) struct Place {
    pub(super) runs: PathBuf,
    pub(super) journal: Journal,
    /// Owner of the leases on hosts: this directory on this machine.
    pub(super) owner: String,
    /// True if other processes carry out other runs of the plan in this directory.
    pub(super) is_shared: bool,
    _lock: Lock,
}

/// A locked file, unlocked at the end of its life.
///
/// Closing the file is not enough: a process that another thread starts has it open too, until it
/// executes its program.
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Without it, the lock ends when the last process closes the file.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
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
        let how = match options.task {
            None => FlockOperation::NonBlockingLockExclusive,
            Some(_) => FlockOperation::NonBlockingLockShared,
        };
        if flock(&lock, how).is_err() {
            return Err(SweepError::Locked(dir.to_owned()));
        }
        let is_empty = fs::read_dir(&runs).map_err(failed(&runs))?.next().is_none();
        if !is_empty && !options.resume && options.task.is_none() {
            return Err(SweepError::NotEmpty(dir.to_owned()));
        }
        let copy = dir.join("plan.toml");
        plan.copy_traces(&copy).map_err(failed(&copy))?;
        write_whole(&copy, plan.text.as_bytes()).map_err(failed(&copy))?;
        let journal = match options.task {
            None => "journal.jsonl".to_owned(),
            Some(task) => format!("journal-{task}.jsonl"),
        };
        let journal = Journal::open(&dir.join(journal)).map_err(failed(dir))?;
        let path = dir.canonicalize().map_err(failed(dir))?;
        let machine = fs::read_to_string("/etc/hostname").unwrap_or_default();
        let owner = netem_ctl::owner_name(&format!("{}:{}", machine.trim(), path.display()));
        Ok(Self {
            runs,
            journal,
            owner,
            is_shared: options.task.is_some(),
            _lock: Lock(lock),
        })
    }

    /// The records of runs that are not repeated: complete runs, and invalid runs unless
    /// `repeat_invalid` is true.
    pub(super) fn done(&self, repeat_invalid: bool) -> Result<Vec<RunRecord>, SweepError> {
        let failed = |source| SweepError::File {
            path: self.runs.clone(),
            source,
        };
        let mut done = Vec::new();
        for entry in fs::read_dir(&self.runs).map_err(failed)? {
            let run = entry.map_err(failed)?.path();
            // A run whose record cannot be read may be complete, and must not be removed.
            let record = RunRecord::read_if_there(&run).map_err(SweepError::Unknown)?;
            done.extend(record.filter(|record| match record.status {
                Status::Complete => true,
                Status::Invalid => !repeat_invalid,
                Status::Failed => false,
            }));
        }
        // `read_dir` has no defined order.
        done.sort_by(|a, b| a.run.cmp(&b.run));
        Ok(done)
    }

    /// Locks a run in a directory with other tasks: an engine may start a task again while the first
    /// one still runs. Fails if another process carries out the run.
    pub(super) fn lock(&self, name: &str) -> Result<Option<Lock>, SweepError> {
        if !self.is_shared {
            return Ok(None);
        }
        // Beside the runs, where every name is that of a run.
        let path = self.runs.with_file_name(format!(".lock-{name}"));
        let failed = |source| SweepError::File {
            path: path.clone(),
            source,
        };
        let lock = File::create(&path).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(lock))),
            Err(_) => Err(SweepError::Locked(self.runs.join(name))),
        }
    }

    /// Creates an empty directory for a run.
    pub(super) fn fresh(&self, run: &Planned<'_>) -> Result<PathBuf, SweepError> {
        let dir = self.runs.join(run.name());
        self.remove_former(run)?;
        let failed = |source| SweepError::File {
            path: dir.clone(),
            source,
        };
        // The directory of an interrupted, failed or invalid run may have files, which a repetition must not
        // mix with its own.
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(failed)?;
        }
        fs::create_dir(&dir).map_err(failed)?;
        Ok(dir)
    }

    /// Removes the interrupted, failed or invalid runs that a run repeats under another number: the number of a
    /// cell changes with the grid. Results would count them beside the repetition.
    fn remove_former(&self, run: &Planned<'_>) -> Result<(), SweepError> {
        let name = run.name();
        let without_number = |name: &str| name.split_once('-').map(|(_, rest)| rest.to_owned());
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| SweepError::File { path, source }
        };
        for entry in fs::read_dir(&self.runs).map_err(failed(&self.runs))? {
            let entry = entry.map_err(failed(&self.runs))?;
            let former = entry.file_name().to_string_lossy().into_owned();
            if former == name || without_number(&former) != without_number(&name) {
                continue;
            }
            let dir = entry.path();
            // A run whose record cannot be read may be complete, and must not be removed.
            let record = RunRecord::read_if_there(&dir).map_err(SweepError::Unknown)?;
            let is_kept = record.is_some_and(|record| {
                record.cell != run.cell.hash || record.status == Status::Complete
            });
            if !is_kept {
                fs::remove_dir_all(&dir).map_err(failed(&dir))?;
            }
        }
        Ok(())
    }
}
