//! The layout of a folder with runs: that of a sweep, or datasets side by side.

use std::io;
use std::path::{Path, PathBuf};

use tcpexp_table::dataset::MANIFEST_FILE_NAME;

/// Name of the directory with all runs, inside the sweep's directory.
pub const RUNS: &str = "runs";
/// Name of the dataset's directory, inside a run's directory.
pub const DATASET: &str = "data";

/// The run directories of a sweep, sorted by name, including those of unfinished runs but not hidden ones.
pub fn run_dirs(sweep: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = sweep.join(RUNS).read_dir()?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| !is_hidden(path) && path.is_dir());
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

/// The datasets in a folder, sorted by name, without hidden ones.
pub fn dataset_dirs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = folder.read_dir()?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| !is_hidden(path) && path.join(MANIFEST_FILE_NAME).is_file());
    paths.sort_unstable();
    Ok(paths)
}

/// True for a hidden directory. tcpexp writes a dataset to one until it is complete, and the manifest may
/// already be there.
fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_dataset_that_is_being_written_is_not_one_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", ".tcpexp-1.partial", "a"] {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join(MANIFEST_FILE_NAME), "{}").unwrap();
        }
        let found = dataset_dirs(folder.path()).unwrap();
        assert_eq!(found, ["a", "b"].map(|name| folder.path().join(name)));
    }
}
