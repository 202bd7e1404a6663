//! Commands as lists of words.

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
            format!("{} || true\n", quoted(&step.argv))
        } else {
            format!("run {}\n", quoted(&step.argv))
        }
    };
    let lines: String = steps.iter().map(line).collect();
    format!("run() {{ \"$@\" || {{ echo \"failed: $*\" >&2; exit 1; }}; }}\n{lines}")
}

/// The words as a shell reads them back.
pub(crate) fn quoted(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shell_reads_back_the_words(words in prop::collection::vec("[^\0]*", 1..4)) {
            let script = format!("printf '%s\\0' {}", quoted(&words));
            let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
            let read: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(output.stdout, read);
        }
    }
}
