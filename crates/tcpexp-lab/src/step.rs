//! Commands as lists of words.

use tcpexp_host::command_line;

/// One command: the program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The words, the program first.
    pub argv: Vec<String>,
    /// Whether its failure is expected and means nothing, as of removing what is not there.
    pub may_fail: bool,
}

impl Step {
    /// A command from its words, which are separated by blanks.
    pub(crate) fn new(words: &str) -> Self {
        Self {
            argv: words.split_whitespace().map(str::to_owned).collect(),
            may_fail: false,
        }
    }

    /// The same with more words, which may have blanks in them.
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

/// A shell script that runs the commands, and at the first that fails says which it was and ends.
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
