//! Incomplete files and directories, and those that a killed run left behind.
//!
//! A result is written next to its final place under a hidden name, `.tcpexp-*.partial`, and
//! renamed when it is complete. Its writer holds a lock on it. The operating system releases the
//! lock when the process ends, so a later run recognises a leftover as a partial name without a
//! lock.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Prefix of the name of an incomplete result.
pub const PREFIX: &str = ".tcpexp-";
/// Suffix of the name of an incomplete result.
pub const SUFFIX: &str = ".partial";

/// Names an incomplete file or directory. It gets the access rights `mode`, which the umask reduces.
pub fn builder(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// The folder of a path, `.` for a name alone.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Creates an incomplete result with `create`, and locks it while the returned file is open.
///
/// On a file system without locks, later runs do not remove leftovers.
pub fn locked<T>(
    mut create: impl FnMut() -> io::Result<T>,
    path: impl Fn(&T) -> &Path,
) -> io::Result<(T, File)> {
    loop {
        let made = create()?;
        // Another run may remove the result as a leftover before it is locked.
        let file = match File::open(path(&made)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        if flock(&file, FlockOperation::LockExclusive).is_err() || path(&made).exists() {
            return Ok((made, file));
        }
    }
}

/// The error of the operating system alone: without the path that `tempfile` adds to it, which is a
/// temporary one. `tempfile` gives the error as text only.
pub fn without_path(error: &io::Error) -> io::Error {
    if let Some(number) = error.raw_os_error() {
        return io::Error::from_raw_os_error(number);
    }
    match error.to_string().split_once(" at path \"") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error.kind().into(),
    }
}

/// The path to which a result for `path` is renamed: for a symbolic link its target, even if nothing is
/// there. Renaming a result to the link itself would replace the link and leave
/// the old result where it is.
pub fn final_place(path: &Path) -> PathBuf {
    /// Linux follows as many links (`path_resolution(7)`); more are a loop.
    const LINKS: usize = 40;

    let mut place = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&place) else {
            break;
        };
        // A relative target starts in the folder of the link.
        place = place.parent().unwrap_or(Path::new("")).join(target);
    }
    place
}

/// Gives the incomplete result at `made` the access rights of what it replaces at `place`. Does nothing if
/// nothing is there. Call it just before the rename.
pub fn keep_rights(made: &Path, place: &Path) -> io::Result<()> {
    let Ok(replaced) = fs::metadata(place) else {
        return Ok(());
    };
    let rights = replaced.permissions();
    // Some file systems have no rights to set.
    if fs::metadata(made)?.permissions() != rights {
        fs::set_permissions(made, rights)?;
    }
    Ok(())
}

/// Removes the leftovers of killed runs in `folder`. Ignores errors.
pub fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_partial = is_partial(&entry.file_name());
        let Some(kind) = entry.file_type().ok().filter(|_| is_partial) else {
            continue;
        };
        let path = entry.path();
        // tcpexp creates files and directories only. A link could lead to data of somebody else.
        if !kind.is_file() && !kind.is_dir() {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        // Its writer may still run: the writer holds the lock, or the file system has no locks.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        // Another run may remove it first.
        let _ = if kind.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
    }
}

fn is_partial(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn place_of_a_link_is_where_it_leads() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("disk")).unwrap();
        symlink("disk/rtt.csv", at("link.csv")).unwrap();
        symlink("link.csv", at("link2.csv")).unwrap();
        symlink("loop", at("loop")).unwrap();
        assert_eq!(final_place(&at("link2.csv")), at("disk/rtt.csv"));
        assert_eq!(final_place(&at("plain.csv")), at("plain.csv"));
        assert_eq!(final_place(&at("loop")), at("loop"));
    }

    #[cfg(unix)]
    #[test]
    fn result_gets_the_access_rights_of_what_it_replaces() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(at("made"), "").unwrap();
        let first = mode(&at("made"));
        keep_rights(&at("made"), &at("old")).unwrap();
        assert_eq!(mode(&at("made")), first);
        fs::write(at("old"), "").unwrap();
        fs::set_permissions(at("old"), fs::Permissions::from_mode(0o600)).unwrap();
        keep_rights(&at("made"), &at("old")).unwrap();
        assert_eq!(mode(&at("made")), 0o600);
    }

    #[test]
    fn error_of_a_temporary_file_keeps_its_cause_without_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = tempfile::NamedTempFile::new_in(&missing).unwrap_err();
        assert!(error.to_string().contains("missing"));
        let error = without_path(&error);
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
        let plain = io::Error::from(io::ErrorKind::TimedOut);
        assert_eq!(without_path(&plain).kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn only_results_without_a_writer_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (written, lock) = locked(
            || {
                fs::write(at(".tcpexp-1.partial"), "")?;
                Ok(at(".tcpexp-1.partial"))
            },
            |path| path.as_path(),
        )
        .unwrap();
        fs::write(at(".tcpexp-2.partial"), "").unwrap();
        fs::create_dir(at(".tcpexp-3.partial")).unwrap();
        fs::write(at(".tcpexp-3.partial/rtt.parquet"), "").unwrap();
        fs::write(at("rtt.partial"), "").unwrap();
        remove_leftovers(folder.path());
        let left = || {
            let names = fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(left(), [".tcpexp-1.partial", "rtt.partial"]);
        drop(lock);
        remove_leftovers(folder.path());
        assert_eq!(left(), ["rtt.partial"]);
        assert!(!written.exists());
    }
}
