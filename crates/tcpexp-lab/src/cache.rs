//! The cache of kernels and images.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::LabError;
use crate::files::{unread, unwritten};

/// A folder for kernels and images. It may be removed at any time.
///
/// Entries are made under a temporary name and then renamed, so an entry is always complete, and
/// concurrent builds of the same entry do not conflict.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in `folder`, which is created when needed.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn kernels(&self) -> PathBuf {
        self.folder.join("kernel-packages")
    }

    /// Kernels that are not the distribution's.
    pub(crate) fn other_kernels(&self) -> PathBuf {
        self.folder.join("kernel-versions")
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.folder.join("images")
    }

    /// A new temporary folder on the same file system, removed unless [`keep`] renames it.
    pub(crate) fn workplace(&self) -> Result<TempDir, LabError> {
        forget_abandoned(&self.folder)?;
        fs::create_dir_all(&self.folder)
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix(MAKING)
                    .tempdir_in(&self.folder)
            })
            .map_err(unwritten(&self.folder))
    }
}

/// Prefix of temporary names.
pub(crate) const MAKING: &str = "making-";

/// Age after which a temporary entry is abandoned: far longer than any build takes.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// An entry used within this time counts as in use: more guests of the same sweep may follow.
const IN_USE: Duration = Duration::from_secs(3600);

/// Removes temporary entries of killed builds from `folder`.
pub(crate) fn forget_abandoned(folder: &Path) -> Result<(), LabError> {
    let is_old = |made: SystemTime| made.elapsed().is_ok_and(|age| age > ABANDONED);
    for (made, path) in by_age(folder, |name| name.starts_with(MAKING))? {
        if is_old(made) {
            forget(&path);
        }
    }
    Ok(())
}

/// Removes all entries of `folder` except the `most` newest ones and entries in use.
pub(crate) fn forget_oldest(folder: &Path, most: usize) -> Result<(), LabError> {
    let is_old = |used: SystemTime| used.elapsed().is_ok_and(|age| age > IN_USE);
    let things = by_age(folder, |name| !name.starts_with(MAKING))?;
    let surplus = things.len().saturating_sub(most);
    let (surplus, _) = things.split_at(surplus);
    for (_, path) in surplus.iter().filter(|(used, _)| is_old(*used)) {
        forget(path);
    }
    Ok(())
}

/// Marks an entry as used now.
pub(crate) fn refresh(path: &Path) {
    // Ignore errors: in another user's cache, the entry keeps its age.
    drop(fs::File::open(path).and_then(|thing| thing.set_modified(SystemTime::now())));
}

/// The entries of a folder, oldest first; none if there is no folder.
pub(crate) fn by_age(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(SystemTime, PathBuf)>, LabError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut things = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread(folder))? {
        let entry = entry.map_err(unread(folder))?;
        // Another process may have removed it meanwhile.
        let made = entry.metadata().and_then(|about| about.modified()).ok();
        let made = made.filter(|_| is_wanted(&entry.file_name().to_string_lossy()));
        things.extend(made.map(|made| (made, entry.path())));
    }
    things.sort();
    Ok(things)
}

/// Removes a file or folder. Failures are ignored: another process may remove it or write to it.
fn forget(path: &Path) {
    if fs::remove_file(path).is_err() {
        drop(fs::remove_dir_all(path));
    }
}

/// Renames a temporary entry, unless another process made the same entry meanwhile.
pub(crate) fn keep(made: TempDir, name: &Path) -> Result<(), LabError> {
    if let Some(above) = name.parent() {
        fs::create_dir_all(above).map_err(unwritten(above))?;
    }
    match fs::rename(made.path(), name) {
        Ok(()) => {
            // It was renamed, so there is nothing to remove.
            drop(made.keep());
            Ok(())
        }
        // A rename replaces an empty folder only, so the entry of the other process stays. File systems
        // report one of two errors (POSIX, `rename`).
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
            ) =>
        {
            Ok(())
        }
        Err(source) => Err(LabError::Write {
            path: name.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_and_unfinished_entries_stay() {
        let folder = tempfile::tempdir().unwrap();
        let age = |name: &str, days: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            let made = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
            file.set_modified(made).unwrap();
        };
        for (name, days) in [
            ("a", 5),
            ("b", 4),
            ("c", 3),
            ("making-d", 2),
            ("making-e", 0),
        ] {
            age(name, days);
        }
        refresh(&folder.path().join("a"));
        forget_oldest(folder.path(), 2).unwrap();
        forget_abandoned(folder.path()).unwrap();
        let left = by_age(folder.path(), |_| true).unwrap();
        let names: Vec<_> = left
            .iter()
            .map(|(_, path)| path.file_name().unwrap())
            .collect();
        assert_eq!(names, ["c", "making-e", "a"]);
    }

    #[test]
    fn entries_in_use_stay_beyond_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::File::create(folder.path().join(name)).unwrap();
        }
        forget_oldest(folder.path(), 1).unwrap();
        assert_eq!(by_age(folder.path(), |_| true).unwrap().len(), 3);
    }

    #[test]
    fn concurrent_creation_keeps_the_first_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let name = cache.images().join("key");
        for content in ["first", "second"] {
            let made = cache.workplace().unwrap();
            fs::write(made.path().join("file"), content).unwrap();
            keep(made, &name).unwrap();
        }
        assert_eq!(fs::read_to_string(name.join("file")).unwrap(), "first");
        let left: Vec<_> = fs::read_dir(cache.folder()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
