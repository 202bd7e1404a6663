//! Directories that appear complete or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tcpexp_store::{Folder, StoreOptions, as_url, shown_url};
use tempfile::TempDir;

use super::{replaceable, to_store};
use crate::{DatasetError, Error, partial};

/// A dataset directory under construction.
///
/// The files go to a hidden directory next to the final place. The directory is renamed when it is
/// complete, and removed if the value is dropped first.
///
/// A dataset in an object store is complete once it has its manifest, which is written last. Until
/// then its files are in the directory for temporary files.
#[derive(Debug)]
pub struct DatasetDir {
    path: PathBuf,
    temporary: TempDir,
    /// The place in an object store.
    folder: Option<Folder>,
    /// Options of object stores.
    stores: StoreOptions,
    /// A dataset at the place was made by another run from the same inputs, and is not replaced.
    is_once: bool,
    /// Locked until the dataset is complete.
    _lock: File,
}

impl DatasetDir {
    /// Prepares the directory of a dataset at `path`.
    ///
    /// The finished dataset replaces an existing dataset. Anything else at `path` is an error.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_with(path, &StoreOptions::default())
    }

    /// Like [`create`](Self::create), with options for a place in an object store.
    pub fn create_with(path: &Path, stores: &StoreOptions) -> Result<Self, Error> {
        let made = match as_url(path) {
            Some(url) => Self::in_store(path, url, stores),
            None => Self::in_directory(path),
        }?;
        Ok(Self {
            stores: stores.clone(),
            ..made
        })
    }

    /// Like [`create_with`](Self::create_with), for a place whose name is a hash of the inputs: a
    /// dataset that appears in a store meanwhile is the same one, and stays.
    pub(crate) fn create_once(path: &Path, stores: &StoreOptions) -> Result<Self, Error> {
        Ok(Self {
            is_once: true,
            ..Self::create_with(path, stores)?
        })
    }

    /// Options of object stores.
    pub(crate) fn stores(&self) -> &StoreOptions {
        &self.stores
    }

    fn in_store(path: &Path, url: &str, stores: &StoreOptions) -> Result<Self, Error> {
        let cannot = |source| Error::Store {
            path: path.to_owned(),
            source,
        };
        let folder = Folder::at(url, stores).map_err(cannot)?;
        if !replaceable::folder(&folder).map_err(cannot)? {
            return Err(DatasetError::NotOurs {
                path: path.to_owned(),
            }
            .into());
        }
        let made = temporary_in(&std::env::temp_dir());
        let (temporary, lock) = made.map_err(|source| Error::Spool {
            name: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            folder: Some(folder),
            stores: StoreOptions::default(),
            is_once: false,
            _lock: lock,
        })
    }

    fn in_directory(path: &Path) -> Result<Self, Error> {
        let cannot = |source| Error::Write {
            path: path.to_owned(),
            source,
        };
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => {
                return Err(cannot(io::ErrorKind::NotADirectory.into()));
            }
            // Finishing removes what is there, so only a dataset or an empty directory may be
            // there.
            Ok(_) if !replaceable::directory(path).map_err(cannot)? => {
                return Err(DatasetError::NotOurs {
                    path: path.to_owned(),
                }
                .into());
            }
            _ => {}
        }
        let place = partial::final_place(path);
        let folder = partial::folder_of(&place);
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let why = format!("{} is not a directory", shown_url(folder));
                return Err(cannot(io::Error::new(io::ErrorKind::NotADirectory, why)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DatasetError::NoFolder {
                    path: path.to_owned(),
                    folder: folder.to_owned(),
                }
                .into());
            }
            Err(error) => return Err(cannot(error)),
        }
        // The original error would name the temporary path.
        let made = temporary_in(folder);
        let (temporary, lock) = made.map_err(|error| cannot(partial::without_path(&error)))?;
        Ok(Self {
            path: place,
            temporary,
            folder: None,
            stores: StoreOptions::default(),
            is_once: false,
            _lock: lock,
        })
    }

    /// Final path of the dataset.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Temporary path of the dataset: remove it if the program is ended by a signal.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Creates a file in the directory, or in a folder of it: `rtt/one.parquet`.
    pub(crate) fn file(&self, name: &str) -> Result<File, Error> {
        let place = self.temporary.path().join(name);
        // The name may begin with a folder, which the first file in it makes. The temporary directory
        // itself is not made again: an interrupt may have removed it.
        let folder = match place.parent() {
            Some(folder) if folder != self.temporary.path() => fs::create_dir(folder),
            _ => Ok(()),
        };
        let folder = match folder {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        folder
            .and_then(|()| File::create(&place))
            .map_err(|source| Error::Write {
                path: self.path.join(name),
                source,
            })
    }

    /// Opens a file of the directory to be read, and removes its name, which can then be used again.
    pub(super) fn take(&self, name: &str) -> Result<File, Error> {
        let path = self.temporary.path().join(name);
        let taken = File::open(&path).and_then(|file| fs::remove_file(&path).map(|()| file));
        taken.map_err(|source| Error::Write {
            path: self.path.join(name),
            source,
        })
    }

    /// Moves the directory to its final path.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match &self.folder {
            Some(folder) => to_store::copy(self.temporary.path(), folder, &self.path, self.is_once),
            None => self.rename(),
        }
    }

    fn rename(self) -> Result<(), Error> {
        let Self {
            path, temporary, ..
        } = self;
        let cannot = |source: io::Error| Error::Write {
            path: path.clone(),
            source,
        };
        if !path.exists() {
            match fs::rename(temporary.path(), &path) {
                Ok(()) => {
                    // The directory has moved, so nothing is left to clean up.
                    let _ = temporary.keep();
                    return Ok(());
                }
                // Another run has made the same dataset meanwhile.
                Err(_) if path.exists() => {}
                Err(error) => return Err(cannot(error)),
            }
        }
        partial::keep_rights(temporary.path(), &path).map_err(cannot)?;
        // Exchanging the names is atomic: a reader sees the old dataset or the new one. The old
        // dataset then has the temporary name and is removed.
        if exchange(temporary.path(), &path).is_ok() {
            // The new dataset is in place. If the old one cannot be removed now, the next run
            // removes it as a leftover.
            let _ = temporary.close();
            return Ok(());
        }
        // The file system cannot exchange names. Between the two renames there is no dataset,
        // but never a partial one.
        let old = tempfile::Builder::new()
            .prefix(".tcpexp-")
            .suffix(".old")
            .tempdir_in(partial::folder_of(&path))
            .map_err(cannot)?;
        fs::rename(&path, old.path()).map_err(cannot)?;
        if let Err(error) = fs::rename(temporary.path(), &path) {
            // Restore the old dataset. If this fails too, it stays under the hidden name.
            if fs::rename(old.path(), &path).is_err() {
                let _ = old.keep();
            }
            return Err(cannot(error));
        }
        // The directory has moved, so nothing is left to clean up.
        let _ = temporary.keep();
        Ok(())
    }
}

/// Creates a hidden directory, and the lock that marks it as in use.
fn temporary_in(folder: &Path) -> io::Result<(TempDir, File)> {
    partial::remove_leftovers(folder);
    // The default mode of a new directory.
    let create = || partial::builder(0o777).tempdir_in(folder);
    partial::locked(create, TempDir::path)
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
