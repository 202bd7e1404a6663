//! Scripts and their output.

use std::time::Duration;

use tcpexp_host::command_line;
use tcpexp_units::Timestamp;

/// Commands for a POSIX shell that stops at the first failure (`sh -eu`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The commands. They reach the shell on standard input, without another level of quoting.
    pub text: String,
    /// True to run as root, by `sudo -n` if the user is not root.
    pub as_root: bool,
    /// Time limit. At its end the script is killed, with all processes it started that are in its
    /// session.
    pub timeout: Duration,
}

/// Result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Exit code; 128 plus the signal's number if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Time of sending the script, on this machine's clock.
    pub started: Timestamp,
    /// Time at which the end of the script was known, on this machine's clock.
    pub finished: Timestamp,
}

impl Script {
    /// Creates a script with a time limit of 30 s, not as root.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            as_root: false,
            timeout: Duration::from_secs(30),
        }
    }

    /// Creates a script of one command, with its words quoted.
    pub fn command<W: AsRef<str>>(argv: &[W]) -> Self {
        Self::new(command_line(argv) + "\n")
    }

    /// Returns the script, to run as root.
    #[must_use]
    pub fn as_root(mut self) -> Self {
        self.as_root = true;
        self
    }

    /// Returns the script with another time limit.
    #[must_use]
    pub const fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Output {
    /// True if the exit code is 0.
    pub const fn is_success(&self) -> bool {
        self.code == 0
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The signal that ended the script.
    fn signal(&self) -> Option<String> {
        let number = self.code.checked_sub(128).filter(|number| *number > 0)?;
        // POSIX fixes these numbers: kill(1p), "EXTENDED DESCRIPTION".
        let name = match number {
            1 => "SIGHUP",
            2 => "SIGINT",
            3 => "SIGQUIT",
            6 => "SIGABRT",
            9 => "SIGKILL",
            14 => "SIGALRM",
            15 => "SIGTERM",
            // The highest signal of Linux is 64.
            16..=64 | 4..=13 => return Some(format!("signal {number}")),
            _ => return None,
        };
        Some(name.to_owned())
    }

    /// The last lines of standard error, on one line; the signal if a signal ended a script without error output.
    pub fn complaint(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = stderr.lines().map(str::trim).collect();
        let said: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        match said.as_slice() {
            [] => self.signal().map_or_else(
                || "no error output".to_owned(),
                |signal| format!("ended by {signal}"),
            ),
            [.., a, b, c] => [*a, *b, *c].join("; "),
            few => few.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_quotes_its_words() {
        let script = Script::command(&["echo", "two words", "a;b"]);
        assert_eq!(script.text, "echo 'two words' 'a;b'\n");
    }

    #[test]
    fn error_message_is_the_end_of_standard_error_on_one_line() {
        let output = |stderr: &[u8]| Output {
            code: 2,
            stdout: Vec::new(),
            stderr: stderr.into(),
            started: Timestamp::MIN,
            finished: Timestamp::MIN,
        };
        let complaint = |stderr: &str| output(stderr.as_bytes()).complaint();
        assert_eq!(complaint("one\ntwo\n\nthree\nfour\n"), "two; three; four");
        assert_eq!(complaint("\none\n"), "one");
        assert_eq!(complaint("\n"), "no error output");
    }

    #[test]
    fn error_message_without_error_output_names_the_signal() {
        let complaint = |code: i32| Output {
            code,
            stdout: Vec::new(),
            stderr: Vec::new(),
            started: Timestamp::MIN,
            finished: Timestamp::MIN,
        };
        let complaint = |code: i32| complaint(code).complaint();
        assert_eq!(complaint(137), "ended by SIGKILL");
        assert_eq!(complaint(139), "ended by signal 11");
        for code in [-1, 1, 128, 255] {
            assert_eq!(complaint(code), "no error output", "{code}");
        }
    }
}
