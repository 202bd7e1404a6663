//! Sections of an output, each below a heading.

use std::fmt::Write as _;

use tcpexp_host::command_line;

/// A script that runs read-only commands, each below its own heading.
pub(crate) fn read<W: AsRef<[String]>>(commands: &[W]) -> String {
    let mut text = String::new();
    for (index, argv) in commands.iter().enumerate() {
        // The empty line ends an output without a final newline. `|| true` continues after a
        // command that fails, because `sh -e` would stop.
        let command = command_line(argv.as_ref());
        let _ = writeln!(text, "echo; echo \"@@ {index}\"; {command} || true");
    }
    text
}

/// Splits an output into sections: heading and text.
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
