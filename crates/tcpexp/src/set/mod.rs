//! Captures of one point in several files: rotated files, a directory, a pattern.

mod files;
mod gaps;
mod plan;
mod repeated;
mod scan;

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcpexp_store::StoreOptions;
use tcpexp_units::counted;

use crate::capture_set::{CaptureSet, SetFile};
use crate::in_order::in_order;
use crate::{Error, Recording};
use files::FoundFiles;
pub(crate) use files::find;
#[cfg(feature = "tables")]
pub(crate) use files::natural;
pub(crate) use scan::Scan;

impl Recording {
    /// Opens the capture at `path`; `-` is standard input.
    ///
    /// A directory stands for all captures in it, and a name with `*`, `?` or `[a-z]` for all files
    /// that fit: the parts of one capture, such as rotated files, or captures of several interfaces
    /// of one host. They are read in the order of their times, and files whose times overlap are
    /// merged. Two files with the same records are an error. [`set`](Self::set) describes the files.
    ///
    /// A path that starts with `@` is that of a text file with the paths or URLs of such files, one
    /// per line.
    ///
    /// The path may be the URL of an object in a store, such as `s3://BUCKET/KEY`, if the feature
    /// `stores` is on: see [`StoreOptions`]. Each pass requests it anew. The URL of a folder in a
    /// bucket ends in `/`, and the last part of a key may be a pattern.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_with(path, &StoreOptions::default())
    }

    /// Like [`open`](Self::open), with options for objects in stores.
    pub fn open_with(path: &Path, stores: &StoreOptions) -> Result<Self, Error> {
        match find(path, stores)? {
            Some(found) => open_all(path, found, stores),
            None => Self::open_file(path, stores),
        }
    }
}

/// Opens the capture in these files, of which there is at least one.
#[cfg(feature = "tables")]
pub(crate) fn open_files(paths: &[PathBuf], stores: &StoreOptions) -> Result<Recording, Error> {
    match paths {
        [path] => Recording::open_file(path, stores),
        _ => open_all(
            paths.first().map_or(Path::new(""), |path| path),
            FoundFiles {
                paths: paths.to_vec(),
                is_directory: false,
            },
            stores,
        ),
    }
}

/// Opens the files of a set.
fn open_all(name: &Path, found: FoundFiles, stores: &StoreOptions) -> Result<Recording, Error> {
    let count = found.paths.len();
    let scanned = scan_all(found, stores)?;
    if scanned.is_empty() {
        return Err(Error::Nothing {
            path: name.to_owned(),
            why: format!(
                "none of {} is a capture with records",
                counted(count, "file")
            ),
        });
    }
    let groups = plan::groups(scanned.iter().map(|(_, scan)| scan));
    let mut set = CaptureSet {
        files: Vec::new(),
        gaps: gaps::find(&scanned),
        ignored: count - scanned.len(),
    };
    let mut parts = Vec::new();
    let mut scanned = scanned.into_iter();
    for group in groups {
        let mut starts = Vec::new();
        let mut recordings = Vec::new();
        for (recording, scan) in scanned.by_ref().take(group) {
            starts.push(scan.start());
            set.files.push(SetFile {
                path: recording.name().to_owned(),
                records: scan.records,
                span: scan.span,
                overlaps: group > 1,
                stored: recording.stored_file(),
            });
            recordings.push(recording);
        }
        if group > 1 {
            recordings = vec![Recording::merged_from(&recordings, &starts)?];
        }
        parts.append(&mut recordings);
    }
    let stores = stores.clone();
    Ok(Recording::of_parts(name.to_owned(), parts, set, stores))
}

/// Reads all files once. Returns those with records, in the order of their first times.
fn scan_all(found: FoundFiles, stores: &StoreOptions) -> Result<Vec<(Recording, Scan)>, Error> {
    let scan = |path: PathBuf| {
        let recording = Recording::reopened(path, stores)?;
        match Scan::of(&recording) {
            Ok(scan) => Ok(scan.map(|scan| (recording, scan))),
            // A directory may hold other files; a pattern names captures.
            Err(Error::Capture { source, .. })
                if found.is_directory && scan::is_no_capture(&source) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    };
    let scanned = in_order(found.paths.into_par_iter().map(scan))?;
    let mut scanned: Vec<(Recording, Scan)> = scanned.into_iter().flatten().collect();
    // The sort is stable: files with equal times keep the order of their names.
    scanned.sort_by_key(|(_, scan)| scan.start());
    repeated::refuse(&scanned)?;
    Ok(scanned)
}
