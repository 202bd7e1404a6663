//! Files and directories with a temporary name, which an interrupt removes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tcpexp::partial;
use tempfile::{NamedTempFile, TempDir};

use crate::caller::caller;
use crate::signals;

/// Creates a file with a temporary name in the folder of `path`, and the lock that marks it as in
/// use.
pub(crate) fn temporary(path: &Path) -> anyhow::Result<(NamedTempFile, File)> {
    remove_on_interrupt();
    let folder = partial::folder_of(path);
    remove_leftovers_once(folder);
    // Takes the mutex first: otherwise an interrupt between creation and registration would leave
    // the file.
    let mut temporaries = temporaries();
    // The default mode of new files.
    let create = || partial::builder(0o666).tempfile_in(folder);
    let made = partial::locked(create, NamedTempFile::path);
    let (file, lock) = made.map_err(|error| {
        let why = match std::fs::metadata(folder) {
            Ok(found) if found.is_dir() => partial::without_path(&error).to_string(),
            Ok(_) => format!("{} is not a directory", folder.display()),
            Err(found) if found.kind() == io::ErrorKind::NotFound => {
                format!("directory {} does not exist", folder.display())
            }
            Err(found) => found.to_string(),
        };
        anyhow!("cannot write {}: {why}", path.display())
    })?;
    temporaries.push(file.path().to_owned());
    Ok((file, lock))
}

/// Removes the leftovers of killed runs in `folder` at the first call for it: a command may write
/// thousands of files, and each search reads the whole folder.
fn remove_leftovers_once(folder: &Path) {
    static SEARCHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut searched = SEARCHED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if searched.insert(folder.to_owned()) {
        partial::remove_leftovers(folder);
    }
}

/// A hidden directory that is removed when it is dropped, or by an interrupt.
pub(crate) struct TemporaryDir {
    folder: TempDir,
    /// Marks the directory as in use.
    _lock: File,
    _removed: RemovedOnInterrupt,
}

impl TemporaryDir {
    /// Creates it in `place` with these access rights, which the umask reduces.
    pub(crate) fn make(place: &Path, mode: u32) -> io::Result<Self> {
        partial::remove_leftovers(place);
        let create = || partial::builder(mode).tempdir_in(place);
        let locked = || partial::locked(create, TempDir::path);
        let ((folder, lock), removed) = RemovedOnInterrupt::make(locked, |(dir, _)| dir.path())?;
        Ok(Self {
            folder,
            _lock: lock,
            _removed: removed,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the directory its final name, which may be that of an empty directory.
    pub(crate) fn rename(self, to: &Path) -> io::Result<()> {
        std::fs::rename(self.folder.path(), to)?;
        // The directory has moved, so nothing is left to clean up.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// A temporary directory that an interrupt removes, until this guard is dropped.
pub(crate) struct RemovedOnInterrupt(PathBuf);

impl RemovedOnInterrupt {
    /// Creates a directory with `make`; `name` returns its path.
    pub(crate) fn make<T, E>(
        make: impl FnOnce() -> Result<T, E>,
        name: impl Fn(&T) -> &Path,
    ) -> Result<(T, Self), E> {
        remove_on_interrupt();
        // Takes the mutex first, as for files.
        let mut temporaries = temporaries();
        let directory = make()?;
        let path = name(&directory).to_owned();
        temporaries.push(path.clone());
        Ok((directory, Self(path)))
    }
}

impl Drop for RemovedOnInterrupt {
    fn drop(&mut self) {
        forget(&self.0);
    }
}

/// Temporary files and directories to remove on an interrupt.
fn temporaries() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    TEMPORARIES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn forget(temporary: &Path) {
    temporaries().retain(|path| path != temporary);
}

/// Removes a temporary directory while other threads write to it.
fn remove_dir(path: &Path) {
    /// Longest time to keep removing files while other threads still create them.
    const PATIENCE: Duration = Duration::from_secs(1);

    let begun = Instant::now();
    // Threads create files under the old name. After the renaming, only a thread that looked up this name just
    // before can still create one. The new name is also that of a partial result.
    let moved = path.with_file_name(format!(
        "{}interrupted-{}{}",
        partial::PREFIX,
        std::process::id(),
        partial::SUFFIX
    ));
    let place = match std::fs::rename(path, &moved) {
        Ok(()) => &moved,
        Err(_) => path,
    };
    while std::fs::remove_dir_all(place).is_err() && place.exists() && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

/// Destructors do not run on Ctrl-C or `kill`, so a signal handler removes the files.
fn remove_on_interrupt() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    // The signals of a program that calls the command are its own. Its errors drop the files.
    if caller().is_some() {
        return;
    }
    INSTALLED.get_or_init(|| {
        let installed = signals::on_end(|signal| {
            // Holds the mutex until the end, so that no new file appears.
            let mut temporaries = temporaries();
            for path in temporaries.drain(..) {
                // The path may not exist any more, and a failure cannot be reported at this point.
                if path.is_dir() {
                    remove_dir(&path);
                } else {
                    drop(std::fs::remove_file(path));
                }
            }
            signal.end()
        });
        // A sweep acts on interrupts in its own way. Without any action, an interrupt leaves a hidden file with a
        // temporary name.
        drop(installed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_removed_while_files_are_created_in_it() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let path = folder.path().join(format!("{round}{}", partial::SUFFIX));
            std::fs::create_dir(&path).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let made = |number: u32| File::create(path.join(number.to_string()));
                    while (0..100).all(|number| made(number).is_ok()) {}
                });
                std::thread::sleep(Duration::from_millis(2));
                remove_dir(&path);
            });
            let left = std::fs::read_dir(folder.path()).unwrap();
            assert_eq!(left.count(), 0);
        }
    }
}
