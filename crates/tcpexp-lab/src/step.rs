//! Commands as lists of words, and scripts of commands.

use tcpexp_host::command_line;

/// One command: the program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The words, the program first.
    pub argv: Vec<String>,
    /// True if it may fail, as when there is nothing to remove.
    pub may_fail: bool,
}

impl Step {
    /// Creates a command from words separated by blanks.
    pub(crate) fn new(words: &str) -> Self {
        Self {
            argv: words.split_whitespace().map(str::to_owned).collect(),
            may_fail: false,
        }
    }

    /// Appends words, which may contain blanks.
    pub(crate) fn with(mut self, words: &[&str]) -> Self {
        self.argv
            .extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    pub(crate) fn that_may_fail(words: &str) -> Self {
        Self {
            may_fail: true,
            ..Self::new(words)
        }
    }
}

/// A shell script that runs the commands. It names the first failing one and ends there.
pub fn script(steps: &[Step]) -> String {
    let line = |step: &Step| {
        if step.may_fail {
            format!("{} || true\n", command_line(&step.argv))
        } else {
            format!("run {}\n", command_line(&step.argv))
        }
    };
    let lines: String = steps.iter().map(line).collect();
    format!("run() {{ \"$@\" || {{ echo \"failed: $*\" >&2; exit 1; }}; }}\n{lines}")
}
