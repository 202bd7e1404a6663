//! Checksums of the captures of a dataset.

use std::io::Read;
use std::path::Path;

use super::manifest::Checked;
use crate::contents::Contents;
use crate::{Error, Recording, checksum};

/// The checksum of a capture, and those of its files if it is made of several.
pub(super) type CheckedFiles = (Checked, Vec<Checked>);

/// Computes the checksums of the files of a capture.
pub(super) fn checked(recording: &Recording) -> Result<CheckedFiles, Error> {
    let checked = |path: &Path, (bytes, sha256)| Checked {
        path: path.display().to_string(),
        bytes,
        sha256,
    };
    let sum = |file, bytes: Option<u64>| match bytes {
        Some(bytes) => checksum::of(Contents::take(file, bytes)),
        None => checksum::of(file),
    };
    let mut sums = recording.read_files(sum)?.into_iter();
    if let Some(set) = recording.set() {
        let files = set.files.iter().zip(sums);
        let files: Vec<Checked> = files.map(|(file, sum)| checked(&file.path, sum)).collect();
        let sums: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
        let sums = sums.join("\n") + "\n";
        let (_, sha256) = checksum::of(sums.as_bytes()).unwrap_or_default();
        let all = Checked {
            path: recording.name().display().to_string(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            sha256,
        };
        return Ok((all, files));
    }
    let sum = sums.next().unwrap_or_default();
    Ok((checked(recording.name(), sum), Vec::new()))
}
