//! What can go wrong with the lab.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why an image was not built or a guest did not do what it should.
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
        /// Debian packages that have them.
        packages: Vec<String>,
    },
    /// A file or folder could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program did not start.
    #[error("cannot run {program}")]
    Run {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program failed.
    #[error("{program} failed: {said}")]
    Failed {
        /// What was run.
        program: String,
        /// What it printed to standard error, on one line.
        said: String,
    },
    /// There is no kernel to boot.
    #[error("no kernel for the guest: {reason}; name one with --kernel and --modules")]
    NoKernel {
        /// Why none was found.
        reason: String,
    },
    /// A folder of modules has none for any kernel, or for several.
    #[error(
        "{} has modules of {} kernels, and one is needed: name the folder that is called as the \
         kernel's version", path.display(), versions
    )]
    WhichModules {
        /// The folder.
        path: PathBuf,
        /// How many kernels it has modules of.
        versions: usize,
    },
    /// More sources or sinks than the addresses have place for.
    #[error("a lab has 1 to {most} {hosts}, not {asked}")]
    Hosts {
        /// Sources or sinks.
        hosts: &'static str,
        /// How many were asked for.
        asked: usize,
        /// How many there may be.
        most: usize,
    },
    /// What the guest gets would not fit into its memory.
    #[error(
        "{} has {bytes} bytes, and a guest of {memory_mib} MiB can take {most}: give it more \
         memory or less to carry", path.display()
    )]
    TooMuch {
        /// The folder that it gets.
        path: PathBuf,
        /// What is in there.
        bytes: u64,
        /// What would fit.
        most: u64,
        /// The guest's memory.
        memory_mib: u32,
    },
    /// Somebody stopped the guest.
    #[error("the guest was stopped")]
    Stopped,
    /// The guest ran longer than it may.
    #[error("the guest did not end within {} s of real time and was stopped", limit.as_secs())]
    Limit {
        /// How long it may run.
        limit: Duration,
    },
    /// The virtual machine ended before the command did.
    #[error("the guest ended before its command did ({how})")]
    Died {
        /// Exit code or signal of the virtual machine.
        how: String,
    },
    /// The guest booted, but could not set itself up or hand out its results.
    #[error("the guest failed: {what}")]
    Guest {
        /// What it said.
        what: String,
    },
    /// What the guest printed could not be passed on.
    #[error("cannot pass on what the guest prints")]
    Output {
        /// What the system said.
        source: io::Error,
    },
}
