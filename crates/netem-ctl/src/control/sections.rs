//! Several answers in one output, with headings between them.

use std::fmt::Write as _;

use tcpexp_host::command_line;

/// Runs commands that read, each with its own heading.
pub(crate) fn read<W: AsRef<[String]>>(commands: &[W]) -> String {
    let mut text = String::new();
    for (index, argv) in commands.iter().enumerate() {
        let command = command_line(argv.as_ref());
        let _ = writeln!(text, "echo; echo \"@@ {index}\"; {command} || true");
    }
    text
}

/// The parts of an output, by the headings between them.
pub(crate) fn split(text: &str) -> Vec<(&str, &str)> {
    let mut sections = Vec::new();
    let mut rest = text;
    while let Some(at) = heading(rest) {
        let (name, body) = rest[at + 3..]
            .split_once('\n')
            .unwrap_or((&rest[at + 3..], ""));
        let end = heading(body).unwrap_or(body.len());
        sections.push((name.trim(), &body[..end]));
        rest = &body[end..];
    }
    sections
}

fn heading(text: &str) -> Option<usize> {
    if text.starts_with("@@ ") {
        return Some(0);
    }
    text.find("\n@@ ").map(|at| at + 1)
}
