//! Places that a dataset may replace: those with nothing but a dataset.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use tcpexp_store::{Error, Folder};
use tcpexp_table::dataset::{DatasetTable, is_table_of_dataset};

use super::manifest_file::{FILE_NAME, listed_tables};

/// True if the directory is empty, or contains only files of an analysis.
pub(super) fn directory(path: &Path) -> io::Result<bool> {
    let names: Result<Vec<_>, _> = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect();
    let names = names?;
    if names.is_empty() || has_folders_of_tables(path, &names) {
        return Ok(true);
    }
    let manifest = File::open(path.join(FILE_NAME));
    let listed = manifest
        .ok()
        .and_then(|file| listed_tables(BufReader::new(file)));
    Ok(listed.is_some_and(|listed| {
        let mut names = names.iter();
        names.all(|name| name == FILE_NAME || listed.iter().any(|listed| name == listed.as_str()))
    }))
}

/// True if the directory has one folder with tables for each table of a dataset, and nothing else.
fn has_folders_of_tables(path: &Path, names: &[OsString]) -> bool {
    let is_table = |file: io::Result<fs::DirEntry>| {
        file.is_ok_and(|file| {
            file.path()
                .extension()
                .is_some_and(|ending| ending == "parquet")
        })
    };
    names.len() == DatasetTable::ALL.len()
        && DatasetTable::ALL.into_iter().all(|table| {
            fs::read_dir(path.join(table.name())).is_ok_and(|mut files| files.all(is_table))
        })
}

/// True if the place in a store has nothing, or only files of an analysis. A run that was killed leaves
/// tables without a manifest, which say themselves that they are of a dataset.
pub(super) fn folder(folder: &Folder) -> Result<bool, Error> {
    let names = folder.names()?;
    let mut listed = Vec::new();
    if names.iter().any(|name| name == FILE_NAME) {
        match folder.open(FILE_NAME) {
            Ok(manifest) => match listed_tables(manifest.reader()) {
                Some(tables) => listed = tables,
                None => return manifest.failure().map_or(Ok(false), Err),
            },
            // Another run has begun to replace the dataset.
            Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    for name in names {
        if name != FILE_NAME && !listed.contains(&name) && !is_of_dataset(folder, &name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_of_dataset(folder: &Folder, name: &str) -> Result<bool, Error> {
    if Path::new(name)
        .extension()
        .is_none_or(|ending| ending != "parquet")
    {
        return Ok(false);
    }
    let object = match folder.open(name) {
        Ok(object) => object,
        // A folder.
        Err(Error::NotFound) => return Ok(false),
        Err(error) => return Err(error),
    };
    let is_of_dataset = is_table_of_dataset(object.reader());
    is_of_dataset.map_err(|_| object.failure().unwrap_or(Error::Changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with a manifest of one table, and with other files.
    fn with(manifest: &str, others: &[&str]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), manifest).unwrap();
        for name in others {
            fs::write(folder.path().join(name), "").unwrap();
        }
        directory(folder.path()).unwrap()
    }

    #[test]
    fn files_that_the_manifest_does_not_list_are_not_replaced() {
        let ours = r#"{"kind": "tcpexp dataset", "tables": [{"file": "rtt.parquet"}]}"#;
        assert!(with(ours, &["rtt.parquet"]));
        assert!(!with(ours, &["rtt.parquet", "mine.parquet"]));
        assert!(!with(r#"{"name": "my web app"}"#, &[]));
    }

    #[cfg(feature = "stores")]
    #[test]
    fn a_place_in_a_store_with_objects_of_others_is_not_replaced() {
        use tcpexp_table::{Columns, Format, RowsWriter, failed_pair_columns, pair_columns};
        use tcpexp_testkit::ObjectServer;

        fn table<R: Sync>(columns: Columns<R>) -> Vec<u8> {
            let mut table = RowsWriter::new(Format::Parquet, columns, Vec::new()).unwrap();
            table.write(Vec::new()).unwrap();
            table.finish().unwrap()
        }
        let is_replaceable = |objects: &[(&str, &[u8])]| {
            let server = ObjectServer::start();
            for (name, bytes) in objects {
                server.put(&format!("/b/run/{name}"), bytes);
            }
            let options = [
                format!("aws_endpoint={}", server.endpoint()),
                "allow_http=true".to_owned(),
                "skip_signature=true".to_owned(),
            ];
            let options = options.iter().map(|option| option.parse().unwrap());
            folder(&Folder::at("s3://b/run", &options.collect()).unwrap()).unwrap()
        };
        let foreign: (&str, &[u8]) = (FILE_NAME, br#"{"name": "my web app"}"#);
        let ours: (&str, &[u8]) = (
            FILE_NAME,
            br#"{"kind": "tcpexp dataset of pairs", "tables": [{"file": "errors.parquet"}]}"#,
        );
        let (errors, of_command) = (table(failed_pair_columns()), table(pair_columns()));
        assert!(is_replaceable(&[]));
        assert!(is_replaceable(&[("", b"")]));
        assert!(is_replaceable(&[ours, ("errors.parquet", b"cut")]));
        // A run was killed before it wrote the manifest.
        assert!(is_replaceable(&[("errors.parquet", &errors)]));
        assert!(!is_replaceable(&[foreign]));
        assert!(!is_replaceable(&[foreign, ("errors.parquet", &errors)]));
        assert!(!is_replaceable(&[
            ours,
            ("customers.parquet", b"PAR1 mine")
        ]));
        // The table of a command under the name of a dataset's table.
        assert!(!is_replaceable(&[("rtt.parquet", &of_command)]));
    }
}
