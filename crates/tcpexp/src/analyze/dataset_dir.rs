//! A directory that is there whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::manifest_file;
use crate::{Error, partial};

/// The place of a dataset while it is being written: a hidden directory beside it, which gets its
/// name when it is complete and is gone when this is dropped before.
#[derive(Debug)]
pub struct DatasetDir {
    path: PathBuf,
    temporary: TempDir,
    /// Locked until the dataset is complete.
    _lock: File,
}

impl DatasetDir {
    /// Makes room for a dataset at `path`.
    ///
    /// A dataset that is there already is replaced in the end; anything else is an error.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let cannot = |source| Error::Write {
            path: path.to_owned(),
            source,
        };
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => {
                return Err(cannot(io::ErrorKind::NotADirectory.into()));
            }
            Ok(_) if !is_replaceable(path).map_err(cannot)? => {
                return Err(Error::NotOurs {
                    path: path.to_owned(),
                });
            }
            _ => {}
        }
        let folder = parent(path);
        if !folder.is_dir() {
            return Err(Error::NoFolder {
                path: path.to_owned(),
                folder: folder.to_owned(),
            });
        }
        partial::remove_leftovers(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(partial::PREFIX).suffix(partial::SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new directory; the umask takes its share.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        // The error itself speaks of the temporary name.
        let made = partial::locked(|| builder.tempdir_in(folder), TempDir::path);
        let (temporary, lock) = made.map_err(|error| cannot(error.kind().into()))?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            _lock: lock,
        })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is until then: what to remove if the program is ended from outside.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Starts a file in it.
    pub(super) fn file(&self, name: &str) -> Result<File, Error> {
        // The error itself speaks of the temporary name.
        File::create(self.temporary.path().join(name)).map_err(|source| Error::Write {
            path: self.path.join(name),
            source: source.kind().into(),
        })
    }

    /// Gives it its name.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Self {
            path, temporary, ..
        } = self;
        let cannot = |source: io::Error| Error::Write {
            path: path.clone(),
            source,
        };
        if path.exists() {
            // In one step: a reader sees the old dataset or the new one. The old one then has the
            // temporary name, and is removed with it.
            if exchange(temporary.path(), &path).is_ok() {
                return temporary.close().map_err(cannot);
            }
            // A file system that cannot exchange names. Between the two steps there is no dataset,
            // but never half of one.
            let old = tempfile::Builder::new()
                .prefix(".tcpexp-")
                .suffix(".old")
                .tempdir_in(parent(&path))
                .map_err(cannot)?;
            fs::rename(&path, old.path()).map_err(cannot)?;
            if let Err(error) = fs::rename(temporary.path(), &path) {
                // Back to where it was; that this fails too leaves it under the hidden name.
                if fs::rename(old.path(), &path).is_err() {
                    let _ = old.keep();
                }
                return Err(cannot(error));
            }
        } else {
            fs::rename(temporary.path(), &path).map_err(cannot)?;
        }
        // It has moved; there is nothing to clean up.
        let _ = temporary.keep();
        Ok(())
    }
}

/// Swaps the names of two directories.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Whether nothing is lost with this directory that an analysis did not make.
fn is_replaceable(path: &Path) -> io::Result<bool> {
    let names: Result<Vec<_>, _> = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect();
    let names = names?;
    Ok(names.is_empty()
        || manifest_file::is_manifest(&path.join(manifest_file::FILE_NAME))
            && names.iter().all(|name| {
                let name = Path::new(name);
                name == Path::new(manifest_file::FILE_NAME)
                    || name.extension().is_some_and(|ending| ending == "parquet")
            }))
}
