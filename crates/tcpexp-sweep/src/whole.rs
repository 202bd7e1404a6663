//! Files that are never seen half-written.

use std::io::Write;
use std::path::Path;
use std::{fs, io};

/// Writes a file atomically, unless it has these bytes: other tasks may read it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    let machine = fs::read_to_string("/etc/hostname").unwrap_or_default();
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(
        ".{}-{}.partial",
        machine.trim(),
        std::process::id()
    ));
    let write = || {
        let mut file = fs::File::create(&partial)?;
        file.write_all(bytes)?;
        // The contents reach the disk before the name does.
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&partial)))
}
