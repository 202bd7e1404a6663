//! Finds the capture files of two points.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcpexp_pair::spp::Point;
use tcpexp_store::{Folder, StoreOptions, Stored, as_url};
use tcpexp_table::PairFileRow;
use tcpexp_units::with_causes;

use super::matching::{Contents, Found, matched};
use super::names::Named;
use crate::in_order::in_order;
use crate::set::{Scan, find};
use crate::{Error, PairsError, Recording};

/// Finds the pairs of captures at two points.
///
/// `src` and `dst` are folders with all folders in them, or patterns as in [`Recording::open`]. If
/// both are the same, words in the names identify the points. Reads each file once for its times.
///
/// Captures with the same name are a pair: the comparison ignores words for points, endings, and the
/// numbers of rotated files, which together are one capture. Clocks are not compared. Two of the
/// other captures are a pair if they share at least half of the time of the shorter one, and no third
/// capture does. Returns a row per file: the pairs in the order of their names, then the files
/// without a partner.
pub fn find_pairs(src: &Path, dst: &Path) -> Result<Vec<PairFileRow>, Error> {
    find_pairs_with(src, dst, &StoreOptions::default())
}

/// Like [`find_pairs`], with options for places in object stores.
///
/// The URL of such a place, such as `s3://BUCKET/PREFIX`, stands for all objects below it.
pub fn find_pairs_with(
    src: &Path,
    dst: &Path,
    stores: &StoreOptions,
) -> Result<Vec<PairFileRow>, Error> {
    let is_one_place = src == dst || is_same_folder(src, dst);
    let mut unnamed = Vec::new();
    let files = if is_one_place {
        let mut files = [Vec::new(), Vec::new()];
        for file in found(src, stores)? {
            match file.named.point {
                Some(point) => files[point.index()].push(file),
                None => unnamed.push(file),
            }
        }
        files
    } else {
        [found(src, stores)?, found(dst, stores)?]
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
    let place = |path: &Path| match as_url(path) {
        Some(url) => Some(PathBuf::from(url.trim_end_matches('/'))),
        None => fs::canonicalize(path).ok(),
    };
    place(src).is_some_and(|src| place(dst) == Some(src))
}

/// A file to look at.
struct Listed {
    path: PathBuf,
    /// The path below the folder of the point.
    relative: String,
}

/// The files that `path` names, each with a look at its contents.
fn found(path: &Path, stores: &StoreOptions) -> Result<Vec<Found>, Error> {
    let listed = match as_url(path) {
        Some(url) => in_store(path, url, stores)?,
        None => in_directory(path, stores)?,
    };
    let found = in_order(listed.into_par_iter().map(|file| look(file, stores)))?;
    if found.is_empty() {
        return Err(Error::Nothing {
            path: path.to_owned(),
            why: "no files".to_owned(),
        });
    }
    Ok(found)
}

/// All objects below a URL, without hidden ones; or those of a pattern.
fn in_store(path: &Path, url: &str, stores: &StoreOptions) -> Result<Vec<Listed>, Error> {
    let failed = |source| Error::Store {
        path: path.to_owned(),
        source,
    };
    if let Some(found) = find(path, stores)?.filter(|found| !found.is_directory) {
        let listed = found.paths.into_iter().map(|path| Listed {
            relative: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            path,
        });
        return Ok(listed.collect());
    }
    let folder = Folder::at(url, stores).map_err(failed)?;
    let all = folder.all().map_err(failed)?.into_iter();
    let is_shown = |object: &Stored| !object.name.split('/').any(|part| part.starts_with('.'));
    let listed = all.filter(is_shown).map(|object| Listed {
        path: folder.url(&object.name).into(),
        relative: object.name,
    });
    Ok(listed.collect())
}

fn in_directory(path: &Path, stores: &StoreOptions) -> Result<Vec<Listed>, Error> {
    let named = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    if path.is_dir() {
        all_below(path, &mut paths).map_err(named)?;
    } else if let Some(found) = find(path, stores)? {
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
    let listed = paths.into_iter().map(|path| {
        let below = path.strip_prefix(&folder).unwrap_or(&path).iter();
        let parts: Vec<_> = below.map(|part| part.to_string_lossy()).collect();
        Listed {
            relative: parts.join("/"),
            path,
        }
    });
    Ok(listed.collect())
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// Collects the files in a folder and in the folders below it in the order of their names, without
/// hidden ones. Links to folders are not followed: they may lead back.
fn all_below(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries: io::Result<Vec<DirEntry>> = fs::read_dir(folder)?.collect();
    let mut entries = entries?;
    // `read_dir` has no defined order, and which file a message names must not depend on the file system.
    entries.sort_by_key(DirEntry::file_name);
    for entry in entries {
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
fn look(file: Listed, stores: &StoreOptions) -> Result<Found, Error> {
    let Some(text) = file.path.to_str() else {
        // The table of pairs is text, which could not name the file.
        return Err(PairsError::NoText { path: file.path }.into());
    };
    let recording = Recording::reopened(file.path.clone(), stores)?;
    let scan = Scan::of(&recording);
    let contents = match scan {
        Ok(Some(scan)) => Contents::Capture {
            records: scan.records,
            span: scan.span,
        },
        Ok(None) => Contents::Other("no records".to_owned()),
        Err(Error::Capture { source, .. }) => Contents::Other(with_causes(&source)),
        // If a store does not answer, the existence of the object is unknown.
        Err(error @ Error::Store { .. }) => return Err(error),
        Err(error) => Contents::Other(with_causes(&error)),
    };
    Ok(Found {
        path: text.to_owned(),
        named: Named::of(&file.relative),
        bytes: recording.file_bytes(),
        stored: recording.stored_file(),
        contents,
    })
}

#[cfg(test)]
mod tests {
    use tcpexp_capture::PcapngWriter;
    use tcpexp_units::Timestamp;

    use super::*;

    #[test]
    fn files_are_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("m")).unwrap();
        let names: Vec<String> = ('a'..='l').rev().map(|name| name.to_string()).collect();
        for name in &names {
            fs::write(folder.path().join(name), "").unwrap();
            fs::write(folder.path().join("m").join(name), "").unwrap();
        }
        let mut found = Vec::new();
        all_below(folder.path(), &mut found).unwrap();
        assert_eq!(found.len(), 2 * names.len());
        assert!(found.is_sorted(), "{found:?}");
    }

    #[test]
    fn a_capture_and_a_link_to_it_are_not_two_rotated_files() {
        let folder = tempfile::tempdir().unwrap();
        for (point, names) in [
            ("src", ["cap.pcap", "cap.pcap1"]),
            ("dst", ["cap.pcap", ""]),
        ] {
            let place = folder.path().join(point);
            fs::create_dir(&place).unwrap();
            let mut writer = PcapngWriter::new(Vec::new()).unwrap();
            writer
                .packet(Timestamp::from_nanos(1), 1, 60, &[0; 60])
                .unwrap();
            fs::write(place.join(names[0]), writer.into_inner()).unwrap();
            if !names[1].is_empty() {
                std::os::unix::fs::symlink(names[0], place.join(names[1])).unwrap();
            }
        }
        let rows = find_pairs(&folder.path().join("src"), &folder.path().join("dst")).unwrap();
        assert!(rows.iter().all(|row| row.pair.is_none()), "{rows:?}");
        let prefix = format!("{}/src/", folder.path().display());
        let reason = rows[0].reason.clone().unwrap().replace(&prefix, "");
        assert_eq!(reason, "several names for one capture: cap.pcap, cap.pcap1");
    }
}
