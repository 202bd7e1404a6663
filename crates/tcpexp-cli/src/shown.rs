//! Names and messages as a terminal may see them.
//!
//! File names, interface names of a capture and messages of other programs can hold escape sequences
//! and line breaks, which move the cursor, retitle the window or forge a line of output.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// One line of text: every control character is escaped, line breaks too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Text of several lines: every control character but line breaks and tabs is escaped.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |found| matches!(found, '\n' | '\t'))
}

/// The name of a file.
pub(crate) fn path(path: &Path) -> String {
    line(&path.to_string_lossy()).into_owned()
}

fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    let acts = |found: char| acts_on_terminal(found) && !keeps(found);
    if !text.contains(acts) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for found in text.chars() {
        if !acts(found) {
            shown.push(found);
        } else if found.is_ascii() && !found.is_ascii_whitespace() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{:02x}", u32::from(found));
        } else {
            shown.extend(found.escape_default());
        }
    }
    shown.into()
}

/// Control characters, separators of lines, and marks that turn the direction of writing.
fn acts_on_terminal(found: char) -> bool {
    found.is_control()
        || matches!(found, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Length of the part of `bytes` that a terminal may see as it is, and the part behind it as text.
///
/// For rows on their way to a terminal: `\r` ends lines of CSV in some programs and is kept.
pub(crate) fn first_control(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len()).find(|&at| match bytes[at] {
        b'\n' | b'\t' | b'\r' => false,
        0..=0x1f | 0x7f => true,
        // U+0080 to U+009F in UTF-8.
        0xc2 => bytes
            .get(at + 1)
            .is_some_and(|next| (0x80..=0x9f).contains(next)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown_as_an_escape() {
        assert_eq!(line("plain µs"), "plain µs");
        assert_eq!(line("a\x1b[31mb\nc\td\u{7f}"), "a\\x1b[31mb\\nc\\td\\x7f");
        assert_eq!(line("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
        assert_eq!(lines("a\n\tb\x1b]0;t\x07\r"), "a\n\tb\\x1b]0;t\\x07\\r");
        assert_eq!(path(Path::new("a\nb.pcap")), "a\\nb.pcap");
    }

    #[test]
    fn controls_in_bytes_are_found() {
        assert_eq!(first_control("a,µ\r\n".as_bytes()), None);
        assert_eq!(first_control(b"ab\x1b[0m"), Some(2));
        assert_eq!(first_control("ab\u{9b}".as_bytes()), Some(2));
    }
}
