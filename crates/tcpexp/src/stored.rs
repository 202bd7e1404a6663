//! What a capture file was when it was opened.

use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

use crate::Error;

/// A capture file as it was when it was opened.
///
/// Passes that read different bytes give results that do not belong together. So all passes read the
/// bytes that the file had at first: another program may append to it meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Length in bytes.
    pub(crate) bytes: u64,
    modified: Option<SystemTime>,
    /// Device and inode, which a renamed file keeps.
    inode: Option<(u64, u64)>,
}

impl Stored {
    /// `None` for a file without a length: files in /proc have content although they report 0.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        (metadata.is_file() && metadata.len() > 0).then(|| Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(metadata),
        })
    }

    /// Number of bytes that another program has appended to the file at `path`; 0 if it is gone.
    #[cfg(feature = "tables")]
    pub(crate) fn grown_bytes(&self, path: &Path) -> u64 {
        let metadata = std::fs::metadata(path).ok();
        let now = metadata.filter(|metadata| self.is_same_file(metadata));
        now.map_or(0, |now| now.len().saturating_sub(self.bytes))
    }

    /// True if `metadata` are those of this file and not of another one under its name.
    pub(crate) fn is_same_file(&self, metadata: &Metadata) -> bool {
        inode(metadata) == self.inode
    }

    /// True if both are one file, under one name or two.
    #[cfg(feature = "tables")]
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.inode.is_some() && self.inode == other.inode
    }

    /// Returns an error if the bytes of the file at `path` are no longer those that it had. `is_held` is
    /// true if passes read the opened file, whatever file has its name now.
    pub(crate) fn require_same(&self, path: &Path, is_held: bool) -> Result<(), Error> {
        // A pass that needs a file that is gone reports the error.
        let Ok(now) = std::fs::metadata(path) else {
            return Ok(());
        };
        let is_changed = if self.is_same_file(&now) {
            // A program that appends changes the time too. One that writes in place keeps the length.
            let is_rewritten = now.len() == self.bytes && now.modified().ok() != self.modified;
            now.len() < self.bytes || is_rewritten
        } else {
            !is_held
        };
        if is_changed {
            return Err(Error::Changed {
                path: path.to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have no numbers of files"
)]
fn inode(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}
