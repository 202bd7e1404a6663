//! QEMU as a process that never outlives ours.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::LabError;
use crate::files::unwritten;
use crate::monitor::Monitor;
use crate::programs::{QEMU, find};

/// A folder for the files of one machine, and a guard process that ends the machine and removes the
/// folder when our process ends.
pub(crate) struct Place {
    guard: Child,
    // Last, so that the guard ends before the files are removed.
    folder: TempDir,
}

/// A running QEMU and its folder.
pub(crate) struct Process {
    pub(crate) machine: Child,
    // Last, so that the folder outlives the machine.
    _place: Place,
}

/// The standard streams of QEMU.
pub(crate) enum Streams {
    /// Our own, for a terminal.
    Inherited,
    /// Pipes for the output of the guest; no input.
    Pipes,
    /// Pipes for the output, and a monitor connection as input.
    Monitored(Stdio),
}

impl Place {
    pub(crate) fn new() -> Result<Self, LabError> {
        let folder = tempfile::Builder::new()
            .prefix("tcpexp-lab-")
            .tempdir()
            .map_err(unwritten(&std::env::temp_dir()))?;
        let guard = Command::new("/bin/sh")
            .args(["-c", include_str!("../assets/guard.sh"), "tcpexp-lab-guard"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C must not reach the guard before it has removed the folder.
            .process_group(0)
            .spawn()
            .map_err(cannot_run("sh"))?;
        Ok(Self { guard, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        let mut pipe = self.guard.stdin.as_ref();
        pipe.as_mut()
            .map_or(Ok(()), |pipe| writeln!(pipe, "{line}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Waiting closes the pipe, which also ends a guard without a machine.
        drop(self.write_line("ended"));
        drop(self.guard.wait());
    }
}

impl Process {
    /// Starts QEMU with files in `place`.
    pub(crate) fn start(
        mut place: Place,
        arguments: Vec<OsString>,
        streams: Streams,
    ) -> Result<Self, LabError> {
        let mut command = Command::new(find(&[QEMU])?.remove(0).1);
        command.args(arguments);
        let input = match streams {
            Streams::Inherited => None,
            Streams::Pipes => Some(Stdio::null()),
            Streams::Monitored(line) => Some(line),
        };
        if let Some(input) = input {
            // In its own process group, so that Ctrl-C does not reach it.
            command
                .stdin(input)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0);
        }
        let machine = command.spawn().map_err(cannot_run(QEMU.name))?;
        let number = machine.id().to_string();
        place.write_line(&number).map_err(cannot_run("sh"))?;
        Ok(Self {
            machine,
            _place: place,
        })
    }

    /// Starts QEMU with a monitor connection.
    pub(crate) fn monitored(
        place: Place,
        arguments: Vec<OsString>,
    ) -> Result<(Self, Monitor), LabError> {
        let (monitor, line) = Monitor::pair().map_err(cannot_run(QEMU.name))?;
        Ok((
            Self::start(place, arguments, Streams::Monitored(line))?,
            monitor,
        ))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail if QEMU has ended already. Then release the guard.
        drop(self.machine.kill());
        drop(self.machine.wait());
    }
}

pub(crate) fn cannot_run(program: &str) -> impl FnOnce(io::Error) -> LabError {
    let program = program.to_owned();
    move |source| LabError::Run { program, source }
}
