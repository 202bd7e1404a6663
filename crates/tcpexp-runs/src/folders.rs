//! The layout of a folder with runs: that of a sweep, or datasets side by side.

use std::io;
use std::path::{Path, PathBuf};

use tcpexp_table::dataset::MANIFEST_FILE_NAME;

/// Name of the directory with all runs, inside the sweep's directory.
pub const RUNS: &str = "runs";
/// Name of the dataset's directory, inside a run's directory.
pub const DATASET: &str = "data";

/// The run directories of a sweep, sorted by name, including those of unfinished runs.
pub fn run_dirs(sweep: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = sweep.join(RUNS).read_dir()?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.is_dir());
    // `read_dir` has no defined order, and the same sweep must give the same rows.
    paths.sort_unstable();
    Ok(paths)
}

/// The datasets in a folder, sorted by name; only the folder itself if it is a dataset.
pub fn datasets_at(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.join(MANIFEST_FILE_NAME).is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    dataset_dirs(folder)
}

/// The datasets in a folder, sorted by name.
pub fn dataset_dirs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = folder.read_dir()?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.join(MANIFEST_FILE_NAME).is_file());
    paths.sort_unstable();
    Ok(paths)
}
