//! Facts about a guest, for processes that run in it.

use std::fs;
use std::path::Path;

use crate::LabError;
use crate::files::unread;

/// True inside a guest.
pub fn is_guest() -> bool {
    Path::new("/lab/hosts").exists()
}

/// The first process of a host of this guest. Its namespaces are those of the host.
///
/// # Errors
///
/// [`LabError::Read`] if the guest has no such host.
pub fn process_of(host: &str) -> Result<u32, LabError> {
    // Written by `assets/host.sh`.
    let path = Path::new("/lab/pids").join(host);
    let text = fs::read_to_string(&path).map_err(unread(&path))?;
    let number = text.trim().parse();
    number.map_err(|error| unread(&path)(std::io::Error::other(error)))
}
