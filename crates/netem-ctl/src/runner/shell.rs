//! The shell line that runs a script on a host.

use std::time::Duration;

use super::RunError;
use super::script::{Output, Script};

/// Excess of the local time limit over the host's, so that the host's expires first.
pub(crate) const MARGIN: Duration = Duration::from_secs(4);

/// Folders of `tc` and `ipfw`, which the path of a login often lacks.
pub(crate) const SBIN: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Source of the commands.
pub(crate) enum Input {
    /// The script, on standard input.
    Script,
    /// The given line, which has no single quotes. Standard input is data.
    Command(String),
    /// The script, in this number of bytes at the start of standard input. It has no time limit, and
    /// its standard input is what follows.
    Stream(usize),
}

/// The line before the output of a script. Before it is the text that the login prints.
const BEGIN: &str = "tcpexp-script-begins";

/// The command that prints [`BEGIN`]. The text of the login may lack a line end.
fn begin() -> String {
    format!("echo; echo {BEGIN}; ")
}

/// What [`begin`] prints.
pub(super) fn begin_mark() -> Vec<u8> {
    format!("\n{BEGIN}\n").into_bytes()
}

const NO_SUDO: &str = "the user is not root, and sudo is not installed";
const SUDO_ASKS: &str = "the user is not root, and sudo asks for a password (sudo -n fails)";
const REFUSED: i32 = 97;

/// Returns a line without single quotes that runs `script` with its rights and its time limit.
///
/// The time limit also applies on the host, so a script ends soon after a lost connection.
pub(crate) fn line(script: &Script, input: &Input) -> String {
    let seconds = limit_seconds(script);
    let shell = match input {
        Input::Script => "/bin/sh -eu -s".to_owned(),
        Input::Command(command) => format!("/bin/sh -euc \"{command}\""),
        // `dd` reads no byte too many, unlike a shell that reads its script from a pipe.
        Input::Stream(bytes) => format!(
            "/bin/sh -euc \"script=\\$(dd bs=1 count={bytes} 2>/dev/null); eval \\\"\\$script\\\"\""
        ),
    };
    // `-k 2` kills a script that ignores SIGTERM, before the local limit expires ([`MARGIN`]).
    let limit = match input {
        Input::Stream(_) => "t=".to_owned(),
        _ => format!("t=; command -v timeout >/dev/null 2>&1 && t=\"timeout -k 2 {seconds}\""),
    };
    // The C locale keeps the text of the tools in the form that the parsers read.
    let paths = format!("PATH=\"$PATH:{SBIN}\"; LC_ALL=C; export PATH LC_ALL");
    // `sudo -n` fails where it would ask for a password, because standard input is the script.
    // `timeout` runs below sudo, because the user may not signal a process of root.
    // sudo resets the environment. A stream needs the name of its own connection.
    let kept = match input {
        Input::Stream(_) => "env \"SSH_CONNECTION=${SSH_CONNECTION:-}\" ",
        _ => "",
    };
    let root = if script.as_root {
        format!(
            "if [ \"$(id -u)\" != 0 ]; then \
             command -v sudo >/dev/null 2>&1 || {{ echo \"tcpexp: {NO_SUDO}\" >&2; exit {REFUSED}; }}; \
             sudo -n true 2>/dev/null || {{ echo \"tcpexp: {SUDO_ASKS}\" >&2; exit {REFUSED}; }}; \
             exec sudo -n -- {kept}$t {shell}; fi; "
        )
    } else {
        String::new()
    };
    let begin = match input {
        Input::Script | Input::Stream(_) => begin(),
        // The output of a command is data.
        Input::Command(_) => String::new(),
    };
    format!("{begin}{paths}; {limit}; {root}exec $t {shell}")
}

/// The time limit on the host. A duration of 0 would disable the limit of `timeout`.
pub(crate) fn limit_seconds(script: &Script) -> u64 {
    script.timeout.as_secs().max(1)
}

/// Removes what the login printed before the output of [`Input::Script`].
pub(crate) fn without_greeting(mut output: Output, host: &str) -> Result<Output, RunError> {
    match end_of_greeting(&output.stdout) {
        Some(end) => drop(output.stdout.drain(..end)),
        // An account may run another command instead, and succeed.
        None if output.is_success() => {
            let host = host.to_owned();
            return Err(RunError::NoScript { host });
        }
        None => {}
    }
    Ok(output)
}

/// Position at which the output of a script begins, behind the text of the login.
pub(super) fn end_of_greeting(stdout: &[u8]) -> Option<usize> {
    let mark = begin_mark();
    let mut windows = stdout.windows(mark.len());
    Some(windows.position(|window| window == mark)? + mark.len())
}

/// Turns failures of the shell line into errors; failures of the script stay in its output.
pub(crate) fn judge(output: Output, host: &str, script: &Script) -> Result<Output, RunError> {
    let host = || host.to_owned();
    // A script may exit with the same code itself, so the message decides.
    if output.code == REFUSED && script.as_root {
        let said = String::from_utf8_lossy(&output.stderr);
        if let Some(why) = [NO_SUDO, SUDO_ASKS]
            .into_iter()
            .find(|why| said.contains(*why))
        {
            return Err(RunError::NoRoot { host: host(), why });
        }
    }
    let taken = (output.finished - output.started).as_nanos();
    let allowed = script.timeout.as_nanos();
    // `timeout` exits with 124, or with 137 if it kills the script. A script may use both codes
    // itself, so the elapsed time decides.
    let was_ended = [124, 137].contains(&output.code);
    if was_ended && u128::try_from(taken).is_ok_and(|taken| taken >= allowed) {
        return Err(RunError::Timeout {
            host: host(),
            seconds: script.timeout.as_secs(),
        });
    }
    Ok(output)
}
