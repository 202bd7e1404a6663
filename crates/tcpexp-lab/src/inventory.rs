//! What the cache holds.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::LabError;
use crate::cache::{Cache, MAKING, by_age, forget_abandoned};
use crate::files::{unread, unwritten};

/// A kernel, or an image with the saved states of its guests.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    /// Its folder.
    pub path: PathBuf,
    /// Disk space that it takes, in bytes.
    pub bytes: u64,
    /// Time of its last use.
    pub used: SystemTime,
}

impl Cache {
    /// Returns all kernels and images; of each kind, the one that was not used for longest comes first.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, LabError> {
        let mut entries = Vec::new();
        for folder in [self.kernels(), self.other_kernels(), self.images()] {
            for (used, path) in by_age(&folder, |name| !name.starts_with(MAKING))? {
                let bytes = disk_bytes(&path).map_err(unread(&path))?;
                entries.push(CacheEntry { path, bytes, used });
            }
        }
        Ok(entries)
    }

    /// Removes all kernels and images, and nothing else in its folder. Guests that run keep theirs.
    pub fn clear(&self) -> Result<(), LabError> {
        forget_abandoned(self.folder())?;
        for CacheEntry { path, .. } in self.entries()? {
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.map_err(unwritten(&path))?;
        }
        Ok(())
    }
}

/// Disk space of a file, or of a folder and all in it.
fn disk_bytes(path: &Path) -> io::Result<u64> {
    /// Unit of `st_blocks` (stat(2)).
    const BLOCK_BYTES: u64 = 512;
    let about = fs::symlink_metadata(path)?;
    let mut bytes = about.blocks() * BLOCK_BYTES;
    if about.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += disk_bytes(&entry?.path())?;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_cache_is_empty_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        assert!(cache.entries().unwrap().is_empty());
        let image = cache.images().join("key");
        fs::create_dir_all(&image).unwrap();
        fs::write(image.join("root"), vec![1; 100_000]).unwrap();
        fs::write(folder.path().join("notes"), "mine").unwrap();
        let entries = cache.entries().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].path, image);
        assert!(entries[0].bytes >= 100_000, "{entries:?}");
        cache.clear().unwrap();
        assert!(cache.entries().unwrap().is_empty());
        assert!(folder.path().join("notes").exists());
    }
}
