//! Description of a capture in several files.

use std::fmt;
use std::path::{Path, PathBuf};

use tcpexp_units::{TimeDelta, Timestamp};

use crate::stored::Stored;

/// The files of a capture that is made of several, in order of time.
///
/// Files whose times do not overlap are read one after the other. Files whose times overlap, such as
/// those of several interfaces, are merged by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureSet {
    /// The files with records, in the order in which they are read.
    pub files: Vec<SetFile>,
    /// Pauses between files that are longer than those within them.
    pub gaps: Vec<Gap>,
    /// Number of files in the directory that are no captures, or have no records.
    pub ignored: usize,
}

impl CaptureSet {
    /// Describes the missing times and the files that were merged, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.gaps.iter().map(ToString::to_string).collect();
        let overlapping = self.files.iter().filter(|file| file.overlaps).count();
        if overlapping > 0 {
            remarks.push(format!(
                "{overlapping} of {} files overlap in time and were merged, as captures of one host",
                self.files.len()
            ));
        }
        remarks
    }
}

/// One file of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Number of records.
    pub records: u64,
    /// Earliest and latest capture time.
    pub span: Option<(Timestamp, Timestamp)>,
    /// True if its times overlap with those of another file.
    pub overlaps: bool,
    /// The file when it was opened; `None` for an object in a store.
    pub(crate) stored: Option<Stored>,
}

/// Time without packets between two files of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The file before the gap.
    pub after: PathBuf,
    /// The file after the gap.
    pub before: PathBuf,
    /// Time of the last packet before the gap.
    pub from: Timestamp,
    /// Time of the first packet after the gap.
    pub to: Timestamp,
    /// Time of the first packet of the set.
    pub start: Timestamp,
    /// Number of files that the numbers in the names leave out; 0 if only the pause shows the gap.
    pub missing_files: u64,
    /// The longest pause within a file of the set.
    pub longest_pause: TimeDelta,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &Path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        };
        write!(
            f,
            "no packet from {:.6} to {:.6} after the first packet, between {} and {}: ",
            self.from - self.start,
            self.to - self.start,
            name(&self.after),
            name(&self.before)
        )?;
        match self.missing_files {
            0 => write!(
                f,
                "a file may be missing, because no pause within a file is longer than {}",
                self.longest_pause
            ),
            1 => f.write_str("a file of the series is missing"),
            files => write!(f, "{files} files of the series are missing"),
        }
    }
}
