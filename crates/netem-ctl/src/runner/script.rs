//! What is run, and what came of it.

use std::time::Duration;

use tcpexp_host::command_line;
use tcpexp_units::Timestamp;

/// Commands for a POSIX shell that stops at the first one that fails (`sh -eu`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The commands. They go through standard input, so nothing quotes them again.
    pub text: String,
    /// Whether they need root: given by `sudo -n` to everyone who is not root already.
    pub as_root: bool,
    /// How long they may take. Then they are ended, and with them all that they started and that
    /// has no session of its own.
    pub timeout: Duration,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Exit code; 128 plus the signal's number if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// When it was handed over, on this machine's clock.
    pub started: Timestamp,
    /// When its end was known here.
    pub finished: Timestamp,
}

impl Script {
    /// Commands that may take half a minute.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            as_root: false,
            timeout: Duration::from_secs(30),
        }
    }

    /// One command, its words quoted.
    pub fn command<W: AsRef<str>>(argv: &[W]) -> Self {
        Self::new(command_line(argv) + "\n")
    }

    /// The same as root.
    #[must_use]
    pub fn as_root(mut self) -> Self {
        self.as_root = true;
        self
    }

    /// The same with another time limit.
    #[must_use]
    pub const fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Output {
    /// Whether it succeeded.
    pub const fn is_success(&self) -> bool {
        self.code == 0
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// What it said of its failure, on one line.
    pub fn complaint(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = stderr.lines().map(str::trim).collect();
        let said: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        match said.as_slice() {
            // As of a process that was killed.
            [] => "without a word".to_owned(),
            [.., a, b, c] => [*a, *b, *c].join("; "),
            few => few.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_themselves() {
        let script = Script::command(&["echo", "two words", "a;b"]);
        assert_eq!(script.text, "echo 'two words' 'a;b'\n");
    }

    #[test]
    fn complaint_is_one_line_of_what_was_said_last() {
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
        assert_eq!(complaint("\n"), "without a word");
    }
}
