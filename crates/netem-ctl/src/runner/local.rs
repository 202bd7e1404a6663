//! Runs scripts on this machine, or in namespaces of it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::geteuid;

use super::process::{self, Sink, Source};
use super::script::{Output, Script};
use super::shell::{self, Input};
use super::{RunError, Runner};

/// This machine.
#[derive(Clone, Debug, Default)]
pub struct Local {
    place: Place,
}

#[derive(Clone, Debug, Default)]
enum Place {
    /// The namespaces of this process.
    #[default]
    Here,
    /// A network namespace by name (`ip netns`).
    Network(String),
    /// The namespaces of a process.
    Process { host: String, pid: u32 },
}

impl Local {
    /// Runs scripts in this process's namespaces.
    pub const fn new() -> Self {
        Self { place: Place::Here }
    }

    /// Runs scripts in the network namespace `name` (`ip netns`). Needs root.
    pub fn in_namespace(name: impl Into<String>) -> Self {
        let place = Place::Network(name.into());
        Self { place }
    }

    /// Runs scripts in the network, mount and UTS namespaces of the process `pid` (`nsenter`). `host` is the name
    /// in messages. Needs root.
    ///
    /// Many hosts can thus share a machine: with mounts of its own, each has its own `/tmp`.
    pub fn in_namespaces_of(pid: u32, host: impl Into<String>) -> Self {
        let host = host.into();
        let place = Place::Process { host, pid };
        Self { place }
    }

    /// The command of a shell there.
    fn shell(&self) -> Command {
        let mut command = match &self.place {
            Place::Here => Command::new("/bin/sh"),
            Place::Network(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, "/bin/sh"]);
                command
            }
            Place::Process { pid, .. } => {
                let mut command = Command::new("nsenter");
                let target = pid.to_string();
                command.args(["--target", &target, "--net", "--mount", "--uts", "/bin/sh"]);
                // No connection that a script could cut leads to these namespaces.
                command.env("SSH_CONNECTION", "");
                command
            }
        };
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":");
        path.push(shell::SBIN);
        // The C locale keeps the text of the tools in the form that the parsers read.
        command.env("PATH", path).env("LC_ALL", "C");
        command
    }

    /// A file of the host, as this process sees it.
    fn path(&self, remote: &str) -> PathBuf {
        match &self.place {
            Place::Here | Place::Network(_) => remote.into(),
            // proc_pid_root(5): the file system with the mounts of the process.
            Place::Process { pid, .. } => format!("/proc/{pid}/root{remote}").into(),
        }
    }
}

impl Runner for Local {
    fn host(&self) -> &str {
        match &self.place {
            Place::Here => "localhost",
            Place::Network(name) => name,
            Place::Process { host, .. } => host,
        }
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        let mut command = self.shell();
        let input = Source::Text(script.text.clone());
        if !script.as_root || geteuid().is_root() {
            command.args(["-eu", "-s"]);
            return process::run(command, self.host(), input, Sink::Memory, script.timeout);
        }
        command.args(["-c", &shell::line(script, &Input::Script)]);
        // `sudo` makes the script another user's, so only the limit there can end it.
        let limit = script.timeout + shell::MARGIN;
        let output = process::run(command, self.host(), input, Sink::Memory, limit)?;
        let output = shell::judge(output, self.host(), script)?;
        shell::without_greeting(output, self.host())
    }

    fn fetch(&self, remote: &str, local: &Path, _: Duration) -> Result<(), RunError> {
        copy(&self.path(remote), local)
    }

    fn upload(&self, local: &Path, remote: &str, _: Duration) -> Result<(), RunError> {
        copy(local, &self.path(remote))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), RunError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| RunError::File { path, source }
    };
    // The copy gets its final name only when it is complete, so nobody reads an interrupted copy.
    let partial = partial(to);
    let mut source = File::open(from).map_err(failed(from))?;
    let mut target = File::create(&partial).map_err(failed(&partial))?;
    let copied = io::copy(&mut source, &mut target).map_err(failed(&partial));
    let copied = copied.and_then(|_| fs::rename(&partial, to).map_err(failed(to)));
    // On a full disk, the record of the run needs the room of the partial copy.
    copied.inspect_err(|_| drop(fs::remove_file(&partial)))
}

/// The name of an incomplete copy.
pub(crate) fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn run(text: &str) -> Output {
        Local::new().run(&Script::new(text)).unwrap()
    }

    #[test]
    fn a_script_returns_its_output_exit_code_and_time() {
        let output = run("echo out; echo err >&2; exit 7\n");
        assert_eq!(output.text(), "out\n");
        assert_eq!((output.code, output.complaint().as_str()), (7, "err"));
        assert!(output.finished > output.started);
    }

    #[test]
    fn the_first_failing_command_ends_a_script() {
        let output = run("echo one; false; echo two\n");
        assert_eq!((output.code, output.text().as_str()), (1, "one\n"));
    }

    #[test]
    fn a_hanging_script_is_killed_with_its_children() {
        let started = Instant::now();
        let script = Script::new("sleep 3600 & sleep 3600\n").within(Duration::from_secs(1));
        let error = Local::new().run(&script).unwrap_err();
        assert_eq!(
            error.to_string(),
            "localhost: the script did not end within 1 s and was killed"
        );
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_hanging_script_undoes_its_changes_and_its_children_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        // The background process ignores SIGTERM.
        let text = format!(
            "trap 'exit 143' TERM; trap 'echo >{at}/undone' EXIT\n\
             (trap '' TERM; while :; do sleep 0.2; echo >>{at}/alive; done) &\n\
             sleep 3600\n"
        );
        let script = Script::new(text).within(Duration::from_secs(1));
        assert!(Local::new().run(&script).is_err());
        assert!(folder.path().join("undone").exists());
        let alive = || fs::metadata(folder.path().join("alive")).map_or(0, |file| file.len());
        let then = alive();
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(alive(), then);
    }

    #[test]
    fn a_background_process_does_not_delay_the_result() {
        let started = Instant::now();
        assert_eq!(run("sleep 30 & echo $!\n").code, 0);
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn files_are_copied_completely() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&from, "bytes").unwrap();
        let local = Local::new();
        local
            .upload(&from, to.to_str().unwrap(), Duration::from_secs(1))
            .unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"bytes");
        assert!(!partial(&to).exists());
        let missing = local.fetch("/does/not/exist", &to, Duration::from_secs(1));
        assert_eq!(
            missing.unwrap_err().to_string(),
            "cannot copy /does/not/exist"
        );
    }
}
