//! Runs a run on a testbed of its own and moves its results into the sweep.

use std::fs;
use std::io;
use std::path::Path;

use tcpexp_runs::folders::RUNS;
use tcpexp_runs::record::{FILE_NAME, RecordError, RunRecord, Status};
use tcpexp_units::with_causes;

use super::Interrupt;
use super::clock;
use super::context;
use super::error::SweepError;
use super::options::CarryOut;
use crate::plan::Plan;
use crate::schedule::Planned;

/// Runs one run on a testbed and moves its results into the empty directory `dir`.
pub(super) fn carry_out(
    plan: &Plan,
    planned: &Planned<'_>,
    dir: &Path,
    carry_out: CarryOut<'_>,
    interrupt: Interrupt<'_>,
) -> Result<RunRecord, SweepError> {
    let file = |source: io::Error| SweepError::File {
        path: dir.to_owned(),
        source,
    };
    let mut record = context::blank(planned, plan);
    // The results move by `rename`, which does not cross file systems, so they begin in the same
    // directory.
    let out = tempfile::Builder::new()
        .prefix(".testbed-")
        .tempdir_in(dir)
        .map_err(file)?;
    let carried = carry_out(planned, out.path());
    // An interruption is not a failure of the run, whatever the testbed reports.
    if interrupt() {
        return Err(SweepError::Interrupted);
    }
    match left_by(out.path(), planned, dir) {
        Ok(done) => record = done,
        Err(missing) => {
            record.status = Status::Failed;
            // The error of the testbed is more specific than the missing record.
            record.reason = Some(carried.err().unwrap_or(missing));
            record.finished_ns = clock::now_ns();
        }
    }
    record.varied.clone_from(&plan.varied);
    record.write(dir)?;
    Ok(record)
}

/// Moves the files of the run and the journal of the testbed into `dir`, without the record: a run that
/// has one is complete.
fn left_by(out: &Path, planned: &Planned<'_>, dir: &Path) -> Result<RunRecord, String> {
    let theirs = out.join(RUNS).join(planned.name());
    let record = RunRecord::read(&theirs).map_err(|error: RecordError| with_causes(&error))?;
    let entries = fs::read_dir(&theirs).map_err(|error| with_causes(&error))?;
    for entry in entries {
        let entry = entry.map_err(|error| with_causes(&error))?;
        if entry.file_name() == FILE_NAME {
            continue;
        }
        fs::rename(entry.path(), dir.join(entry.file_name()))
            .map_err(|error| with_causes(&error))?;
    }
    // It has the versions of the testbed's kernel and tools.
    drop(fs::rename(
        out.join("journal.jsonl"),
        dir.join("testbed.jsonl"),
    ));
    Ok(record)
}
