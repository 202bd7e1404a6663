//! A host reached by the system's `ssh`.
//!
//! Uses the program rather than a library, so that agents, jump hosts, hardware keys and
//! `~/.ssh/config` work as they do by hand. Calls the program directly rather than through a crate,
//! because such crates need an asynchronous runtime that no other code here uses.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use tcpexp_host::quote;
use thiserror::Error;

use super::local::partial;
use super::process::{self, Sink, Source};
use super::script::{Output, Script};
use super::session::{SESSION_SH, Session};
use super::shell::{self, Input};
use super::ssh_error::SshProblem;
use super::stream::ScriptStream;
use super::{RunError, Runner};

/// Runs scripts over SSH. All runners of one user share one connection per host.
#[derive(Clone, Debug)]
pub struct Ssh {
    host: SshHost,
    options: SshOptions,
    sockets: PathBuf,
    session: Option<Session>,
}

/// Begins the line that a command prints on standard error after it has copied a file. An empty line comes
/// before it, because the login may have printed text without a line end.
const COPIED: &str = "tcpexp-copied";

/// Name of a host as `ssh` takes it: `rtr`, `root@192.0.2.1`. The user's configuration resolves it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SshHost(String);

/// The text is not a host name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is not a host: expected a name or an address that ssh accepts, such as \"rtr\"")]
pub struct SshHostError(String);

/// Options of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshOptions {
    /// Configuration file in place of the user's.
    pub config: Option<PathBuf>,
    /// Time limit for connecting, and for silence of the host before it counts as unreachable.
    pub patience: Duration,
    /// Time after which an unused connection ends.
    pub idle: Duration,
}

impl Default for SshOptions {
    fn default() -> Self {
        Self {
            config: None,
            patience: Duration::from_secs(15),
            // Longer than the pauses between the commands of one task, and short enough that unused
            // connections close soon.
            idle: Duration::from_secs(20),
        }
    }
}

impl Ssh {
    /// A runner for `host`. Nothing is connected yet.
    pub fn new(host: SshHost, options: SshOptions) -> Result<Self, RunError> {
        let sockets = socket_folder()?;
        Ok(Self {
            host,
            options,
            sockets,
            session: None,
        })
    }

    /// Runs scripts in one session, for as long as this runner or a clone of it exists: a command of `ssh` and
    /// its shells cost more processor time than most scripts, and some hosts are idle for longer than
    /// [`SshOptions::idle`]. A script that runs beside another, or has other rights than the first, has a
    /// command of its own. The session ends with its connection, even if this process is killed.
    #[must_use]
    pub fn kept_open(mut self) -> Self {
        self.session = Some(Session::default());
        self
    }

    /// Returns the `ssh` command that runs `line` in a POSIX shell, for any login shell.
    fn command(&self, line: &str) -> Command {
        let seconds = self.options.patience.as_secs().max(3);
        let mut command = Command::new("ssh");
        if let Some(config) = &self.options.config {
            command.arg("-F").arg(config);
        }
        // `%C` is a hash of the connection, which keeps the socket's path short: see
        // `socket_folder`.
        let control = format!("ControlPath={}/%C", self.sockets.display());
        let persist = format!("ControlPersist={}", self.options.idle.as_secs().max(1));
        let connect = format!("ConnectTimeout={seconds}");
        // ssh gives up after ServerAliveCountMax unanswered messages: 3 · seconds/3 of silence.
        let alive = format!("ServerAliveInterval={}", seconds.div_ceil(3));
        // The options override the user's configuration. A `RemoteCommand` makes ssh refuse a
        // command, and a terminal changes the line ends of the output.
        let options = [
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "RequestTTY=no",
            "ForwardAgent=no",
            "ForwardX11=no",
            "ClearAllForwardings=yes",
            "PermitLocalCommand=no",
            "RemoteCommand=none",
            "LogLevel=ERROR",
            "ServerAliveCountMax=3",
            "ControlMaster=auto",
            &persist,
            &control,
            &connect,
            &alive,
        ];
        for option in options {
            command.args(["-o", option]);
        }
        // The login shell may be a csh. It only starts `sh`, with one word in single quotes.
        let line = format!("/bin/sh -c '{line}'");
        command.args(["-T", "--", &self.host.0, &line]);
        command
    }

    fn exchange(
        &self,
        script: &Script,
        input: &Input,
        stdin: Source,
        stdout: Sink,
    ) -> Result<Output, RunError> {
        let command = self.command(&shell::line(script, input));
        let output = process::run(command, &self.host.0, stdin, stdout, self.limit(script));
        self.judge(output, script)
    }

    /// The time limit here.
    fn limit(&self, script: &Script) -> Duration {
        // The connection may take the whole time limit for connecting before the script's own limit
        // begins.
        script.timeout + self.options.patience + shell::MARGIN
    }

    fn judge(&self, output: Result<Output, RunError>, script: &Script) -> Result<Output, RunError> {
        let output = output.map_err(|error| match error {
            // The host ends a slow script itself, so the connection hung.
            RunError::Timeout { .. } => self.problem(SshProblem::Silent),
            error => error,
        })?;
        // ssh exits with 255 for its own errors (ssh(1)), so a script must not use this code.
        if output.code == 255 {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(self.problem(SshProblem::from_text(&said)));
        }
        shell::judge(output, &self.host.0, script)
    }

    /// Starts a script whose output is read while it runs. Its standard input ends when the connection
    /// is lost or the stream is dropped, and the script should end then. The time limit of the
    /// script does not apply.
    pub fn stream(&self, script: &Script) -> Result<ScriptStream, RunError> {
        let line = shell::line(script, &Input::Stream(script.text.len()));
        let stream = ScriptStream::start(self.command(&line), &self.host.0, &script.text)?;
        Ok(stream)
    }

    /// The cause why a stream has ended.
    pub fn stream_error(&self, script: &Script, stream: ScriptStream) -> RunError {
        let output = match stream.finish() {
            Ok(output) => output,
            Err(error) => return error,
        };
        match self.judge(Ok(output), script) {
            Ok(output) => RunError::Exit {
                host: self.host.0.clone(),
                code: output.code,
                message: output.complaint(),
            },
            Err(error) => error,
        }
    }

    fn problem(&self, problem: SshProblem) -> RunError {
        let host = self.host.0.clone();
        RunError::Ssh { host, problem }
    }

    /// Runs a command with a local file as input or output, and returns the length of the file on the host.
    fn transfer(
        &self,
        command: String,
        stdin: Source,
        stdout: Sink,
        timeout: Duration,
    ) -> Result<u64, RunError> {
        // Only the time limit of this script counts: `input` has the command, and standard input
        // has data.
        let script = Script::new("").within(timeout);
        let output = self.exchange(&script, &Input::Command(command), stdin, stdout)?;
        let host = self.host.0.clone();
        if output.is_success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let mut lengths = said.lines().filter_map(|line| line.strip_prefix(COPIED));
            let length = lengths
                .next_back()
                .and_then(|text| text.trim().parse().ok());
            // An account may run another command instead, and succeed.
            return length.ok_or(RunError::NoScript { host });
        }
        Err(RunError::Exit {
            host,
            code: output.code,
            message: output.complaint(),
        })
    }
}

impl Runner for Ssh {
    fn host(&self) -> &str {
        &self.host.0
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        if let Some(session) = &self.session {
            let line = shell::line(script, &Input::Stream(SESSION_SH.len()));
            let start = || self.command(&line);
            let ran = session.run(script, &self.host.0, self.limit(script), start);
            if let Some(ran) = ran.transpose() {
                return self.judge(ran, script);
            }
        }
        let text = Source::Text(script.text.clone());
        let output = self.exchange(script, &Input::Script, text, Sink::Memory)?;
        shell::without_greeting(output, &self.host.0)
    }

    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError> {
        let remote = self.remote_path(remote)?;
        let partial = partial(local);
        let file = File::create(&partial).map_err(failed(&partial))?;
        let nothing = Source::Text(String::new());
        let command = format!("cat {remote}; echo >&2; echo {COPIED} \\$(wc -c <{remote}) >&2");
        let copied = self.transfer(command, nothing, Sink::File(file), timeout);
        let copied = copied.and_then(|length| {
            let here = fs::metadata(&partial).map_err(failed(&partial))?.len();
            // The file may have grown since.
            if here <= length {
                return Ok(());
            }
            let why = "the copy is longer than the file, because the login prints text";
            Err(failed(local)(std::io::Error::other(why)))
        });
        if let Err(error) = copied {
            // The remote side reports only a broken pipe.
            let is_full = rustix::fs::statvfs(&partial).is_ok_and(|room| room.f_bavail == 0);
            // The removal frees the room that `is_full` examines, so it comes second.
            let _ = fs::remove_file(&partial);
            return Err(if is_full {
                failed(&partial)(rustix::io::Errno::NOSPC.into())
            } else {
                error
            });
        }
        fs::rename(&partial, local).map_err(failed(local))
    }

    fn upload(&self, local: &Path, remote: &str, timeout: Duration) -> Result<(), RunError> {
        let remote = self.remote_path(remote)?;
        let file = File::open(local).map_err(failed(local))?;
        let bytes = file.metadata().map_err(failed(local))?.len();
        // For `cat`, a lost connection looks like the end of the file. The backslash leaves the
        // expansion to the shell that runs the command.
        let command = format!(
            "cat >{remote}.partial; \
             [ \\$(wc -c <{remote}.partial) -eq {bytes} ] || \
             {{ rm -f {remote}.partial; echo {remote} has another length than the file >&2; exit 1; }}; \
             mv {remote}.partial {remote}; echo >&2; echo {COPIED} {bytes} >&2"
        );
        self.transfer(command, Source::File(file), Sink::Memory, timeout)
            .map(|_| ())
    }
}

impl Ssh {
    /// Checks that a path needs no quotes, as it passes two shells.
    fn remote_path<'a>(&self, path: &'a str) -> Result<&'a str, RunError> {
        // `cat` and `mv` would take a leading dash for an option.
        if quote(path) == path && !path.starts_with('-') {
            return Ok(path);
        }
        Err(RunError::StrangePath {
            host: self.host.0.clone(),
            path: path.to_owned(),
        })
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.to_owned();
    |source| RunError::File { path, source }
}

/// The folder of the sockets of shared connections: owned by the user, with a short path, because the
/// system limits socket paths to about 100 bytes. Unused connections end after
/// [`SshOptions::idle`].
fn socket_folder() -> Result<PathBuf, RunError> {
    let user = rustix::process::geteuid().as_raw();
    let folder = PathBuf::from(format!("/tmp/tcpexp-ssh-{user}"));
    // All users may write to `/tmp`, so a folder that exists already is checked below.
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(failed(&folder)(error));
        }
        _ => {}
    }
    // `symlink_metadata` does not follow a symbolic link that another user may have placed there.
    let found = fs::symlink_metadata(&folder).map_err(failed(&folder))?;
    // The six lowest bits of the mode are the permissions of the group and of others.
    if found.is_dir() && found.uid() == user && found.mode().trailing_zeros() >= 6 {
        return Ok(folder);
    }
    Err(RunError::NotOurs { path: folder })
}

impl SshHost {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SshHost {
    type Err = SshHostError;

    fn from_str(text: &str) -> Result<Self, SshHostError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:@%-[]".contains(&byte);
        let is_host = !text.is_empty() && text.bytes().all(is_plain) && !text.starts_with('-');
        is_host
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| SshHostError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_are_never_options_of_ssh() {
        for host in ["rtr", "root@192.0.2.1", "fd00::1", "user@host.example"] {
            assert!(host.parse::<SshHost>().is_ok(), "{host}");
        }
        for wrong in [
            "",
            "-oProxyCommand=reboot",
            "a b",
            "$(reboot)",
            "a;b",
            "a'b",
        ] {
            assert!(wrong.parse::<SshHost>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ssh_never_prompts_and_trusts_only_known_hosts() {
        let ssh = Ssh::new("rtr".parse().unwrap(), SshOptions::default()).unwrap();
        let command = ssh.command(&shell::line(&Script::new("").as_root(), &Input::Script));
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_str().unwrap())
            .collect();
        for needed in [
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "ControlMaster=auto",
        ] {
            assert!(words.contains(&needed), "{needed}");
        }
        let line = words.last().unwrap();
        assert!(line.contains("exec sudo -n -- $t /bin/sh -eu -s"), "{line}");
        assert_eq!(line.matches('\'').count(), 2, "{line}");
    }
}
