//! QEMU as a process that does not outlive ours.

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

/// A folder for the files of one machine, and a process that removes both when ours is gone.
pub(crate) struct Place {
    guard: Child,
    // Last: the guard is told before the files go.
    folder: TempDir,
}

/// A running QEMU, and the place that it uses.
pub(crate) struct Process {
    pub(crate) machine: Child,
    // Last: it is left when the machine has ended.
    _place: Place,
}

/// What QEMU's standard streams are.
pub(crate) enum Streams {
    /// Ours: somebody sits at the terminal.
    Inherited,
    /// Pipes for what the guest prints, and nothing to read.
    Pipes,
    /// The same, and the other end of a monitor.
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
            .process_group(0)
            .spawn()
            .map_err(cannot_run("sh"))?;
        Ok(Self { guard, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        let mut pipe = self.guard.stdin.as_ref();
        pipe.as_mut()
            .map_or(Ok(()), |pipe| writeln!(pipe, "{line}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Waiting closes the pipe, so a guard that never got to know a machine ends as well.
        drop(self.tell("ended"));
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
            // In a group of its own, so that what interrupts us does not end it in its own way.
            command
                .stdin(input)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0);
        }
        let machine = command.spawn().map_err(cannot_run(QEMU.name))?;
        let number = machine.id().to_string();
        place.tell(&number).map_err(cannot_run("sh"))?;
        Ok(Self {
            machine,
            _place: place,
        })
    }

    /// Starts QEMU so that it can be talked to.
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
        // Both fail if it has ended by itself. The guard is told afterwards.
        drop(self.machine.kill());
        drop(self.machine.wait());
    }
}

pub(crate) fn cannot_run(program: &str) -> impl FnOnce(io::Error) -> LabError {
    let program = program.to_owned();
    move |source| LabError::Run { program, source }
}
