//! Errors of the lab.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why an image could not be built, or a guest failed.
#[derive(Debug, Error)]
pub enum LabError {
    /// Programs that the lab needs are not on this machine.
    #[error(
        "the lab needs {}: apt-get install --no-install-recommends {}",
        programs.join(", "), packages.join(" ")
    )]
    Missing {
        /// Names of the programs.
        programs: Vec<String>,
        /// Their Debian packages.
        packages: Vec<String>,
    },
    /// A file or folder could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A program did not start.
    #[error("cannot run {program}")]
    Run {
        /// Its name.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A program failed.
    #[error("{program} failed: {said}")]
    Failed {
        /// The command.
        program: String,
        /// Its standard error, on one line.
        said: String,
    },
    /// There is no kernel to boot.
    #[error("no kernel for the guest: {reason}; name another with --kernel")]
    NoKernel {
        /// Why none was found.
        reason: String,
    },
    /// A text is not a version of a kernel.
    #[error("{text} is not a version of a kernel: a version begins with a digit")]
    NoVersion {
        /// The text.
        text: String,
    },
    /// Debian's archive has no such kernel.
    #[error("Debian's archive has no kernel {wanted}; it has {}", known.join(", "))]
    NoSuchKernel {
        /// The requested version.
        wanted: String,
        /// The versions that it has.
        known: Vec<String>,
    },
    /// A folder of modules has modules for no kernel, or for several.
    #[error(
        "{} contains modules of {} kernels: name the directory of one \
         kernel version", path.display(), versions
    )]
    WhichModules {
        /// The folder.
        path: PathBuf,
        /// Number of kernels.
        versions: usize,
    },
    /// The number of sources or sinks is out of range.
    #[error("a lab has 1 to {most} {hosts}, not {asked}")]
    Hosts {
        /// Sources or sinks.
        hosts: &'static str,
        /// The requested number.
        asked: usize,
        /// The largest number.
        most: usize,
    },
    /// The shared files do not fit into the guest's memory.
    #[error(
        "{} has {bytes} bytes, but a guest with {memory_mib} MiB takes at most {most}: give it more \
         memory or share less", path.display()
    )]
    TooMuch {
        /// The shared folder.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The size that fits.
        most: u64,
        /// The guest's memory.
        memory_mib: u32,
    },
    /// The guest was stopped.
    #[error("the guest was stopped")]
    Stopped,
    /// The guest exceeded its time limit.
    #[error("the guest did not end within {} s of real time and was stopped", limit.as_secs())]
    Limit {
        /// The time limit.
        limit: Duration,
    },
    /// The guest's files and programs took all of its memory.
    #[error("the guest ran out of its {memory_mib} MiB of memory, which also holds its files")]
    OutOfMemory {
        /// The guest's memory.
        memory_mib: u32,
    },
    /// The virtual machine ended before the command did.
    #[error("the guest ended before its command ({how})")]
    Died {
        /// Exit code or signal of the virtual machine.
        how: String,
    },
    /// The guest booted, but its setup or the copy of its results failed.
    #[error("the guest failed: {what}")]
    Guest {
        /// Its message.
        what: String,
    },
    /// The output of the guest could not be written.
    #[error("cannot forward the output of the guest")]
    Output {
        /// The cause.
        source: io::Error,
    },
}
