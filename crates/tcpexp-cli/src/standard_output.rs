//! Standard output, whose reader may stop early.

use std::fs::Metadata;
use std::io::{self, IsTerminal, StdoutLock, Write};

/// The reader of standard output closed the pipe, as in `tcpexp … | head`.
#[derive(Debug, thiserror::Error)]
#[error("the reader of standard output closed it")]
struct Closed;

/// Standard output. Its error of a closed pipe differs from that of any other pipe or connection: only
/// the reader of standard output may end a run without a failure.
pub(crate) struct StandardOutput;

impl StandardOutput {
    pub(crate) fn is_terminal() -> bool {
        io::stdout().is_terminal()
    }

    /// Standard output for many small writes.
    pub(crate) fn lock() -> LockedOutput {
        LockedOutput(io::stdout().lock())
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).map_err(marked)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().map_err(marked)
    }
}

/// Standard output that no other thread writes.
pub(crate) struct LockedOutput(StdoutLock<'static>);

impl Write for LockedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(marked)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(marked)
    }
}

/// Marks the error of a closed pipe as that of standard output.
fn marked(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        io::Error::new(io::ErrorKind::BrokenPipe, Closed)
    } else {
        error
    }
}

/// True if the error is that the reader of standard output closed it.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    let closed: Option<&Closed> = error.get_ref().and_then(|cause| cause.downcast_ref());
    closed.is_some()
}

/// True if standard output is the file with this metadata.
#[cfg(unix)]
pub(crate) fn is_of(file: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    rustix::fs::fstat(io::stdout())
        .is_ok_and(|stdout| (file.dev(), file.ino()) == (stdout.st_dev, stdout.st_ino))
}

/// Unknown on other systems.
#[cfg(not(unix))]
pub(crate) fn is_of(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::is_closed_pipe;

    #[test]
    fn only_a_closed_standard_output_is_not_a_failure() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let upload = anyhow::Error::from(broken()).context("cannot write s3://bucket/rows.csv");
        assert!(!is_closed_pipe(&upload));
        let stdout = anyhow::Error::from(marked(broken())).context("cannot write standard output");
        assert!(is_closed_pipe(&stdout));
        let wrapped = tcpexp_table::Error::Write(marked(broken()));
        assert!(is_closed_pipe(&wrapped.into()));
    }
}
