//! What is where in a sweep's directory.

use std::io;
use std::path::{Path, PathBuf};

/// The directory of the runs, in a sweep's.
pub const RUNS: &str = "runs";
/// The directory of a run's dataset, in the run's.
pub const DATASET: &str = "data";

/// The directories of a sweep's runs in order of their names, ended or not.
pub fn run_dirs(sweep: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = sweep.join(RUNS).read_dir()?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.is_dir());
    paths.sort_unstable();
    Ok(paths)
}
