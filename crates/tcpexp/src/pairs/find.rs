//! Finds the capture files of two points.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcpexp_pair::spp::Point;
use tcpexp_store::StoreOptions;
use tcpexp_table::PairFileRow;

use super::matching::{Contents, Found, matched};
use super::names::Named;
use crate::error::chain;
use crate::set::{Scan, find};
use crate::{Error, Recording};

/// Finds the pairs of captures at two points.
///
/// `src` and `dst` are folders with all folders in them, or patterns as in [`Recording::open`]. If
/// both are the same, words in the names identify the points. Reads each file once for its times.
///
/// Captures with the same name are a pair: the name counts without words for points, endings, and
/// the numbers of rotated files, which together are one capture. Clocks are not compared. Of the
/// other captures, two are a pair if they share at least half of the shorter one's time, and no third
/// one does. Returns a row per file: the pairs in the order of their names, then the files without a
/// partner.
pub fn find_pairs(src: &Path, dst: &Path) -> Result<Vec<PairFileRow>, Error> {
    let is_one_place = src == dst || is_same_folder(src, dst);
    let mut unnamed = Vec::new();
    let files = if is_one_place {
        let mut files = [Vec::new(), Vec::new()];
        for file in found(src)? {
            match file.named.point {
                Some(point) => files[point.index()].push(file),
                None => unnamed.push(file),
            }
        }
        files
    } else {
        [found(src)?, found(dst)?]
    };
    let mut rows = matched(files);
    rows.extend(unnamed.into_iter().map(|file| {
        let reason = match &file.contents {
            Contents::Capture { .. } => "its name has no word for a point".to_owned(),
            Contents::Other(why) => why.clone(),
        };
        PairFileRow {
            point: None,
            ..super::matching::row(Point::Src, file, None, Some(reason))
        }
    }));
    Ok(rows)
}

fn is_same_folder(src: &Path, dst: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(path).ok();
    place(src).is_some_and(|src| place(dst) == Some(src))
}

/// The files that `path` names, each with a look at its contents.
fn found(path: &Path) -> Result<Vec<Found>, Error> {
    let named = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    if path.is_dir() {
        all_below(path, &mut paths).map_err(named)?;
    } else if let Some(found) = find(path)? {
        paths = found.paths;
    } else {
        fs::metadata(path).map_err(named)?;
        paths.push(path.to_owned());
    }
    let folder = if path.is_dir() {
        path.to_owned()
    } else {
        parent(path)
    };
    let found: Result<Vec<Found>, Error> = paths
        .into_par_iter()
        .map(|path| look(&path, path.strip_prefix(&folder).unwrap_or(&path)))
        .collect();
    let found = found?;
    if found.is_empty() {
        return Err(Error::Nothing {
            path: path.to_owned(),
            why: "no files".to_owned(),
        });
    }
    Ok(found)
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// Collects the files in a folder and in the folders below it, without hidden ones. Links to folders
/// are not followed: they may lead back.
fn all_below(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            all_below(&entry.path(), paths)?;
        } else if entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

/// Reads a file for its times.
fn look(path: &Path, relative: &Path) -> Result<Found, Error> {
    let Some(text) = path.to_str() else {
        // The table of pairs is text, which could not name the file.
        return Err(Error::NoText {
            path: path.to_owned(),
        });
    };
    let scan = Recording::reopened(path.to_owned(), &StoreOptions::default())
        .and_then(|recording| Scan::of(&recording));
    let contents = match scan {
        Ok(Some(scan)) => Contents::Capture {
            records: scan.records,
            span: scan.span,
        },
        Ok(None) => Contents::Other("no records".to_owned()),
        Err(Error::Capture { source, .. }) => Contents::Other(chain(&source)),
        Err(error) => Contents::Other(chain(&error)),
    };
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    Ok(Found {
        path: text.to_owned(),
        named: Named::of(&parts.join("/")),
        bytes: fs::metadata(path).map_or(0, |metadata| metadata.len()),
        contents,
    })
}
