//! The tables of a dataset on disk, checked against its manifest.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{DatasetTable, MANIFEST_FILE_NAME, is_table_of_dataset};

/// Bytes of a table that are read at once for its checksum.
const READ_BYTES: usize = 1 << 17;

/// A table in the manifest of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Name.
    pub name: String,
    /// File name in the dataset.
    pub file: String,
    /// Number of rows.
    pub rows: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// CRC-32 of the file (ISO-HDLC, as in gzip) in hexadecimal; `None` in datasets of earlier versions.
    ///
    /// Parquet's own checksums of pages do not cover the footer, and the `parquet` crate does not write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<String>,
}

/// Why a dataset does not have the tables that its manifest lists.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableMismatch {
    /// The manifest cannot be read.
    #[error("cannot read {MANIFEST_FILE_NAME}")]
    Manifest(#[source] io::Error),
    /// There are tables of a dataset, but no manifest.
    #[error(
        "it has no {MANIFEST_FILE_NAME}: its analysis did not finish, or a copy left the file out; analyze again, or \
         copy the whole folder"
    )]
    NoManifest,
    /// A table is missing.
    #[error("the manifest lists {file}, which is missing")]
    Missing {
        /// File name of the table.
        file: String,
    },
    /// A table cannot be read.
    #[error("cannot read {file}")]
    Read {
        /// File name of the table.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// A table has another length.
    #[error("{file} has {bytes} bytes, but the manifest lists {listed}")]
    Length {
        /// File name of the table.
        file: String,
        /// Its length.
        bytes: u64,
        /// Its length in the manifest.
        listed: u64,
    },
    /// A table has another number of rows.
    #[error("{file} has {rows} rows, but the manifest lists {listed}")]
    Rows {
        /// File name of the table.
        file: String,
        /// Number of its rows.
        rows: i64,
        /// Number of its rows in the manifest.
        listed: u64,
    },
    /// A table has other contents.
    #[error("{file} has changed: its checksum is not that of the manifest")]
    Checksum {
        /// File name of the table.
        file: String,
    },
}

/// The tables of a dataset. Opening a table checks it against the manifest.
///
/// A folder that no analysis wrote, such as an imported run of Flent, has no manifest, and any table may be
/// missing.
#[derive(Clone, Debug, Default)]
pub struct StoredTables {
    folder: PathBuf,
    listed: Vec<TableEntry>,
}

impl StoredTables {
    /// Reads the list of the tables in `folder`. Fails if one of them is missing or has another length: a
    /// missing table would read as one without rows. For the same reason, fails if the folder has tables of a
    /// dataset and no manifest.
    pub fn of(folder: &Path) -> Result<Self, TableMismatch> {
        /// The field of the manifest that lists the tables.
        #[derive(Deserialize)]
        struct Manifest {
            tables: Vec<TableEntry>,
        }
        let listed = match File::open(folder.join(MANIFEST_FILE_NAME)) {
            Ok(file) => {
                serde_json::from_reader::<_, Manifest>(BufReader::new(file))
                    .map_err(|error| TableMismatch::Manifest(error.into()))?
                    .tables
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                require_no_table_of_dataset(folder)?;
                Vec::new()
            }
            Err(error) => return Err(TableMismatch::Manifest(error)),
        };
        for entry in &listed {
            let found = folder.join(&entry.file).metadata();
            entry.require_length(found.map_err(|error| entry.unread(error))?.len())?;
        }
        let folder = folder.to_owned();
        Ok(Self { folder, listed })
    }

    /// The folder of the dataset.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a table.
    pub fn path(&self, table: &str) -> PathBuf {
        self.folder.join(format!("{table}.parquet"))
    }

    /// True if the dataset has the table.
    pub fn has(&self, table: &str) -> bool {
        self.path(table).is_file()
    }

    /// The entry of a table in the manifest; `None` for a table that the manifest does not list.
    pub fn entry(&self, table: &str) -> Option<&TableEntry> {
        self.listed.iter().find(|entry| entry.name == table)
    }

    /// Opens a table; `None` if neither the manifest nor the folder has it.
    pub fn open(&self, table: &str) -> Result<Option<File>, TableMismatch> {
        let path = self.path(table);
        let entry = self.entry(table);
        match File::open(&path) {
            Ok(file) => match entry {
                Some(entry) => entry.checked(file).map(Some),
                None => Ok(Some(file)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound && entry.is_none() => Ok(None),
            Err(source) => Err(match entry {
                Some(entry) => entry.unread(source),
                None => TableMismatch::Read {
                    file: path.file_name().unwrap_or_default().display().to_string(),
                    source,
                },
            }),
        }
    }
}

impl TableEntry {
    /// Completes the file of a table and describes it.
    pub fn written<W: Write>(name: &str, rows: u64, file: TableOutput<W>) -> io::Result<(Self, W)> {
        let (bytes, crc32, out) = file.finish()?;
        let entry = Self {
            name: name.to_owned(),
            file: format!("{name}.parquet"),
            rows,
            bytes,
            crc32: Some(crc32),
        };
        Ok((entry, out))
    }

    /// Reads the whole file, compares it with this entry, and returns it at its start.
    pub fn checked(&self, mut file: File) -> Result<File, TableMismatch> {
        let unread = |source| self.unread(source);
        self.require_length(file.metadata().map_err(unread)?.len())?;
        let Some(crc32) = &self.crc32 else {
            // A table of another dataset with the same length usually has another number of rows.
            return self.with_rows(file);
        };
        file.rewind().map_err(unread)?;
        let mut hash = crc32fast::Hasher::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => hash.update(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unread(error)),
            }
        }
        if hex(hash) != *crc32 {
            let file = self.file.clone();
            return Err(TableMismatch::Checksum { file });
        }
        file.rewind().map_err(unread)?;
        Ok(file)
    }

    fn with_rows(&self, mut file: File) -> Result<File, TableMismatch> {
        let unread = |source| self.unread(source);
        let table = SerializedFileReader::new(file.try_clone().map_err(unread)?);
        let table = table.map_err(|error| unread(io::Error::other(error)))?;
        let rows = table.metadata().file_metadata().num_rows();
        if u64::try_from(rows) != Ok(self.rows) {
            return Err(TableMismatch::Rows {
                file: self.file.clone(),
                rows,
                listed: self.rows,
            });
        }
        file.rewind().map_err(unread)?;
        Ok(file)
    }

    fn require_length(&self, bytes: u64) -> Result<(), TableMismatch> {
        if bytes == self.bytes {
            return Ok(());
        }
        Err(TableMismatch::Length {
            file: self.file.clone(),
            bytes,
            listed: self.bytes,
        })
    }

    fn unread(&self, source: io::Error) -> TableMismatch {
        let file = self.file.clone();
        if source.kind() == io::ErrorKind::NotFound {
            TableMismatch::Missing { file }
        } else {
            TableMismatch::Read { file, source }
        }
    }
}

/// Fails if a folder without a manifest has a table of a dataset under its usual name.
///
/// A table of another command may have the same name, so its metadata decides. `tcpexp merge --by-table` names its
/// files after runs, so they are not found here.
fn require_no_table_of_dataset(folder: &Path) -> Result<(), TableMismatch> {
    let has = |table: &DatasetTable| {
        let file = File::open(folder.join(format!("{}.parquet", table.name())));
        file.is_ok_and(|file| is_table_of_dataset(file).unwrap_or(false))
    };
    if DatasetTable::ALL.iter().any(has) {
        return Err(TableMismatch::NoManifest);
    }
    Ok(())
}

/// The file of a table that is being written, with its length and checksum so far.
pub struct TableOutput<W: Write> {
    out: io::BufWriter<W>,
    hash: crc32fast::Hasher,
    bytes: u64,
}

impl<W: Write> TableOutput<W> {
    /// Starts the file of a table. Large writes to `out` need fewer calls of the system.
    pub fn new(out: W) -> Self {
        Self {
            out: io::BufWriter::with_capacity(1 << 16, out),
            hash: crc32fast::Hasher::new(),
            bytes: 0,
        }
    }

    /// Returns the length, the checksum and the output.
    fn finish(self) -> io::Result<(u64, String, W)> {
        let hash = hex(self.hash);
        Ok((self.bytes, hash, Self::emptied(self.out)?))
    }

    /// Returns the output, to which all bytes have been written.
    pub fn into_inner(self) -> io::Result<W> {
        Self::emptied(self.out)
    }

    /// Dropping the buffered writer would hide an error of its last write.
    fn emptied(out: io::BufWriter<W>) -> io::Result<W> {
        let mut out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write> Write for TableOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn hex(hash: crc32fast::Hasher) -> String {
    format!("{:08x}", hash.finalize())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Schema};
    use insta::assert_snapshot;

    use super::*;
    use crate::{Format, RowsWriter, TableWriter};

    /// Writes a table of numbers to `folder` and returns its entry.
    fn write(folder: &Path, name: &str, numbers: &[i64]) -> TableEntry {
        let field = Field::new("rtt_ns", DataType::Int64, false);
        let schema = Arc::new(Schema::new(vec![field]));
        let numbers = Int64Array::from(numbers.to_vec());
        let rows = numbers.len() as u64;
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers)]).unwrap();
        let file = File::create(folder.join(format!("{name}.parquet"))).unwrap();
        let out = TableOutput::new(file);
        let mut table = TableWriter::new(Format::Parquet, &schema, out).unwrap();
        table.write(&batch).unwrap();
        TableEntry::written(name, rows, table.finish().unwrap())
            .unwrap()
            .0
    }

    fn write_manifest(folder: &Path, entries: &[TableEntry]) {
        let text = serde_json::json!({"kind": "any", "tables": entries}).to_string();
        fs::write(folder.join(MANIFEST_FILE_NAME), text).unwrap();
    }

    /// A dataset of two tables, and its entries.
    fn dataset() -> (tempfile::TempDir, Vec<TableEntry>) {
        let folder = tempfile::tempdir().unwrap();
        let entries = ["rtt", "loss"].map(|name| write(folder.path(), name, &[1, 2, 3]));
        write_manifest(folder.path(), &entries);
        (folder, entries.to_vec())
    }

    #[test]
    fn unchanged_tables_open_and_a_table_that_no_manifest_lists_may_be_missing() {
        let (folder, _) = dataset();
        let tables = StoredTables::of(folder.path()).unwrap();
        assert!(tables.open("rtt").unwrap().is_some());
        assert!(tables.open("queue").unwrap().is_none());
        fs::remove_file(folder.path().join(MANIFEST_FILE_NAME)).unwrap();
        fs::remove_file(folder.path().join("loss.parquet")).unwrap();
        let tables = StoredTables::of(folder.path()).unwrap();
        assert!(tables.open("rtt").unwrap().is_some());
        assert!(tables.open("loss").unwrap().is_none());
    }

    #[test]
    fn tables_of_a_dataset_without_a_manifest_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loss.parquet");
        let columns = super::super::losses::columns(tcpexp_units::Timestamp::from_nanos(0));
        let mut table =
            RowsWriter::new(Format::Parquet, columns, File::create(path).unwrap()).unwrap();
        table.write(Vec::new()).unwrap();
        table.finish().unwrap();
        let error = StoredTables::of(folder.path()).unwrap_err();
        assert_snapshot!(error, @"it has no manifest.json: its analysis did not finish, or a copy left the file out; analyze again, or copy the whole folder");
        write_manifest(folder.path(), &[]);
        assert!(StoredTables::of(folder.path()).is_ok());
    }

    #[test]
    fn a_dataset_without_a_listed_table_is_refused() {
        let (folder, _) = dataset();
        fs::remove_file(folder.path().join("loss.parquet")).unwrap();
        let error = StoredTables::of(folder.path()).unwrap_err();
        assert_snapshot!(error, @"the manifest lists loss.parquet, which is missing");
    }

    #[test]
    fn a_table_of_another_length_is_refused() {
        let (folder, entries) = dataset();
        let path = folder.path().join("loss.parquet");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..7]).unwrap();
        let error = StoredTables::of(folder.path()).unwrap_err().to_string();
        let listed = entries[1].bytes;
        assert_eq!(
            error,
            format!("loss.parquet has 7 bytes, but the manifest lists {listed}")
        );
    }

    #[test]
    fn a_table_with_any_flipped_bit_is_refused() {
        let (folder, _) = dataset();
        let path = folder.path().join("rtt.parquet");
        let whole = fs::read(&path).unwrap();
        let tables = StoredTables::of(folder.path()).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&path, flipped).unwrap();
            let error = tables.open("rtt").unwrap_err();
            assert!(matches!(error, TableMismatch::Checksum { .. }), "byte {at}");
        }
    }

    #[test]
    fn a_dataset_without_checksums_is_checked_by_its_rows() {
        let (folder, mut entries) = dataset();
        for entry in &mut entries {
            entry.crc32 = None;
        }
        write_manifest(folder.path(), &entries);
        let tables = StoredTables::of(folder.path()).unwrap();
        assert!(tables.open("rtt").unwrap().is_some());
        entries[0].rows = 4;
        write_manifest(folder.path(), &entries);
        let tables = StoredTables::of(folder.path()).unwrap();
        let error = tables.open("rtt").unwrap_err();
        assert_snapshot!(error, @"rtt.parquet has 3 rows, but the manifest lists 4");
    }
}
