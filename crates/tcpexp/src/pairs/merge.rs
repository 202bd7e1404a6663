//! One dataset from those of many pairs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tcpexp_table::dataset::{DatasetTable, MergedTable, TableOutput};
use tcpexp_table::{
    FailedPairRow, Format, PairFileRow, PairName, RowsWriter, TABLE_VERSION, failed_pair_columns,
};
use tcpexp_units::counted;

use super::parts::{Part, absent, common_options, parts_in, require_captures};
use super::record::FailedPart;
use super::task::{CapturePair, pairs_of};
use crate::analyze::{MANIFEST_FILE_NAME, PAIRS_KIND, file_name, unwritten, written};
use crate::in_order::in_order;
use crate::{CaptureInput, Comparison, DatasetDir, Error, PairsError, TableEntry};

/// Pairs whose parts are opened together: a store takes tens of milliseconds for each object.
const OPENED: usize = 16;

/// Names of more missing pairs are not listed.
const MOST_NAMED: usize = 8;

/// Name of the table of the pairs that could not be analysed.
const ERRORS: &str = "errors";

/// Description of a dataset of many pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairsManifest {
    /// Kind of the file: `tcpexp dataset of pairs`.
    pub kind: String,
    /// Version of the tables' columns.
    pub schema_version: u32,
    /// Version of tcpexp that wrote the dataset.
    pub tcpexp_version: String,
    /// Options of the analysis.
    pub options: BTreeMap<String, serde_json::Value>,
    /// The tables, in the order of the documentation, then the table of errors.
    pub tables: Vec<TableEntry>,
    /// The pairs with rows in the tables, in the order of their numbers.
    pub pairs: Vec<MergedPair>,
    /// Number of pairs that could not be analysed.
    pub failed_pairs: u64,
}

/// A pair in a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedPair {
    /// Number of the pair.
    pub number: u64,
    /// Name of the pair, which is in the column `pair`.
    pub name: String,
    /// The captures, source first.
    pub captures: Vec<CaptureInput>,
    /// Origin of the column `time_s`, in nanoseconds since 1970 on the source's clock.
    pub origin_ns: i64,
    /// Comparison of the two captures.
    pub comparison: Option<Comparison>,
    /// Warnings about the pair, one per line.
    pub warnings: Vec<String>,
}

/// Joins the datasets of all pairs to one dataset.
///
/// `rows` is the table of the pairs, and `folders` hold the parts that
/// [`PairTask`](super::PairTask)s wrote. The rows of a table are in the order of the pairs, and those
/// of one pair in the order of its own dataset. A pair that failed is a row of the table `errors`. A
/// pair without a part, and a part or a failure of another pair or of other options, are an error. `out` contains
/// the complete dataset on success, and nothing on failure. Memory does not grow with the number of
/// rows.
pub fn merge_pairs(
    rows: &[PairFileRow],
    folders: &[PathBuf],
    out: DatasetDir,
) -> Result<PairsManifest, Error> {
    let pairs = pairs_of(rows)?;
    let mut found = parts_in(folders, out.stores())?;
    let mut failed = Vec::new();
    let mut missing = Vec::new();
    let mut whole: Vec<(CapturePair, Vec<Part>)> = Vec::new();
    let mut made = Vec::new();
    for pair in pairs {
        let parts = found.remove(&*pair.pair.name).unwrap_or_default();
        let absent = absent(&pair.pair.name, &parts.datasets)?;
        made.extend(parts.made());
        match parts.failures.first() {
            Some((_, failure)) if !absent.is_empty() => failed.push(row(&pair.pair, failure)),
            _ if absent.is_empty() => {
                require_captures(&pair, &parts.datasets)?;
                whole.push((pair, parts.datasets));
            }
            _ => missing.extend(absent),
        }
    }
    if let Some((pair, parts)) = found.into_iter().next() {
        let datasets = parts.datasets.into_iter().map(|part| part.path);
        let mut paths = datasets.chain(parts.failures.into_iter().map(|(path, _)| path));
        return Err(PairsError::OtherPair {
            path: paths.next().unwrap_or_default(),
            pair,
        }
        .into());
    }
    if !missing.is_empty() {
        return Err(missing_pairs(&missing).into());
    }
    let options = common_options(made)?;
    // Each table has a file of its own.
    let tables = DatasetTable::ALL.into_par_iter();
    let mut tables = in_order(tables.map(|table| merged_table(table, &whole, &out)))?;
    tables.push(written_errors(&failed, &out)?);
    let merged = |(pair, parts): (CapturePair, Vec<Part>)| {
        let manifest = parts.into_iter().next()?.manifest;
        Some(MergedPair {
            number: pair.pair.number,
            name: pair.pair.name.to_string(),
            captures: manifest.captures,
            origin_ns: manifest.origin_ns,
            comparison: manifest.comparison,
            warnings: manifest.warnings,
        })
    };
    let manifest = PairsManifest {
        kind: PAIRS_KIND.to_owned(),
        schema_version: TABLE_VERSION,
        tcpexp_version: env!("CARGO_PKG_VERSION").to_owned(),
        options,
        tables,
        pairs: whole.into_iter().filter_map(merged).collect(),
        failed_pairs: failed.len() as u64,
    };
    manifest.write(&out)?;
    out.finish()?;
    Ok(manifest)
}

fn merged_table(
    table: DatasetTable,
    pairs: &[(CapturePair, Vec<Part>)],
    out: &DatasetDir,
) -> Result<TableEntry, Error> {
    let name = file_name(table);
    let path = out.path().join(&name);
    let unmerged = |error| unwritten(path.clone(), error);
    let open = |part: &Part| part.manifest.table(&part.path, table, out.stores());
    let first = pairs.iter().find_map(|(_, parts)| parts.first());
    let first = first.map(open).transpose()?;
    let file = TableOutput::new(out.file(&name)?);
    let mut merged = MergedTable::new(table, first.as_ref(), file).map_err(unmerged)?;
    for some in pairs.chunks(OPENED) {
        let of_pair = |(_, parts): &(CapturePair, Vec<Part>)| -> Result<Vec<File>, Error> {
            parts.iter().map(open).collect()
        };
        for files in in_order(some.par_iter().map(of_pair))? {
            merged.append(files).map_err(unmerged)?;
        }
    }
    let (file, rows) = merged.finish().map_err(unmerged)?;
    written(table.name(), rows, file, path.clone())
}

fn written_errors(failed: &[FailedPairRow], out: &DatasetDir) -> Result<TableEntry, Error> {
    let name = format!("{ERRORS}.parquet");
    let path = out.path().join(&name);
    let unwritten = |error| unwritten(path.clone(), error);
    let file = TableOutput::new(out.file(&name)?);
    let table = RowsWriter::new(Format::Parquet, failed_pair_columns(), file);
    let mut table = table.map_err(unwritten)?;
    table.write(failed.iter().cloned()).map_err(unwritten)?;
    let file = table.finish().map_err(unwritten)?;
    written(ERRORS, failed.len() as u64, file, path.clone())
}

fn row(pair: &PairName, failure: &FailedPart) -> FailedPairRow {
    let first = |files: &[String]| files.first().cloned().unwrap_or_default();
    FailedPairRow {
        pair: pair.clone(),
        src: first(&failure.src),
        dst: first(&failure.dst),
        error: failure.error.clone(),
    }
}

fn missing_pairs(missing: &[String]) -> PairsError {
    let named = missing.iter().take(MOST_NAMED);
    let mut named: Vec<String> = named.cloned().collect();
    if missing.len() > MOST_NAMED {
        named.push("and ".to_owned() + &counted(missing.len() - MOST_NAMED, "other"));
    }
    PairsError::MissingPairs {
        missing: named.join(", "),
    }
}

impl PairsManifest {
    fn write(&self, dir: &DatasetDir) -> Result<(), Error> {
        let cannot = |source| Error::Write {
            path: dir.path().join(MANIFEST_FILE_NAME),
            source,
        };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| cannot(error.into()))?;
        text.push('\n');
        let mut file = dir.file(MANIFEST_FILE_NAME)?;
        file.write_all(text.as_bytes()).map_err(cannot)
    }
}
