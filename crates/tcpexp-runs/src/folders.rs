//! The layout of a folder with runs: that of a sweep, or datasets side by side.

use std::io;
use std::path::{Path, PathBuf};

use tcpexp_table::dataset::{DatasetTable, MANIFEST_FILE_NAME};

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
///
/// A folder with tables but without a manifest is a damaged dataset. It is among them, so that reading its
/// manifest fails: figures without its run would look like those of all runs.
pub fn dataset_dirs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = folder.read_dir()?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| !is_hidden(path) && is_dataset(path));
    paths.sort_unstable();
    Ok(paths)
}

/// True for a folder with the manifest or a table of a dataset.
fn is_dataset(folder: &Path) -> bool {
    let has_table = |table: &DatasetTable| {
        let file = format!("{}.parquet", table.name());
        folder.join(file).is_file()
    };
    folder.join(MANIFEST_FILE_NAME).is_file() || DatasetTable::ALL.iter().any(has_table)
}

/// True for a hidden directory. tcpexp writes a dataset to one until it is complete, and the manifest may
/// already be there.
fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use tcpexp_table::{Format, RowsWriter, TableWriter, connection_columns};
    use tcpexp_units::with_causes;

    use super::*;
    use crate::captured::records_of_datasets;

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

    #[test]
    fn a_folder_with_tables_and_no_manifest_is_a_dataset_whose_record_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["damaged", "figures"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let damaged = folder.path().join("damaged");
        let file = || File::create(damaged.join("flows.parquet")).unwrap();
        let schema = DatasetTable::Flows.schema();
        let table = TableWriter::new(Format::Parquet, &schema, file()).unwrap();
        table.finish().unwrap();
        let found = datasets_at(folder.path()).unwrap();
        assert_eq!(found, std::slice::from_ref(&damaged));
        let error = with_causes(&records_of_datasets(&found).unwrap_err());
        assert!(
            error.contains("damaged is damaged: it has no manifest.json: "),
            "{error}"
        );
        let columns = connection_columns();
        let mut table = RowsWriter::new(Format::Parquet, columns, file()).unwrap();
        table.write(Vec::new()).unwrap();
        table.finish().unwrap();
        let error = with_causes(&records_of_datasets(&found).unwrap_err());
        assert!(!error.contains("damaged is damaged"), "{error}");
    }
}
