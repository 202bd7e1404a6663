//! Escapes names and messages for a terminal.
//!
//! File names, interface names in a capture and messages of other programs can contain escape
//! sequences and line breaks. These move the cursor, change the window title or forge a line of
//! output.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use tcpexp_store::shown_url;

/// Escapes one line of text: every control character, including line breaks.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Escapes text of several lines: every control character except line breaks and tabs.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |found| matches!(found, '\n' | '\t'))
}

/// Escapes the name of a file or an object, as [`shown_url`] has it.
pub(crate) fn path(path: &Path) -> String {
    line(&shown_url(path)).into_owned()
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
            // Whitespace has short escapes such as `\n`, other characters have `\u{…}`.
            shown.extend(found.escape_default());
        }
    }
    shown.into()
}

/// True for control characters, line separators, and marks that change the writing direction.
fn acts_on_terminal(found: char) -> bool {
    found.is_control()
        || matches!(found, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the offset of the first byte to escape for a terminal; `None` if there is none.
///
/// For rows on their way to a terminal: some programs end lines of CSV with `\r`, so `\r` is kept.
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
    fn terminal_control_characters_are_escaped() {
        assert_eq!(line("plain µs"), "plain µs");
        assert_eq!(line("a\x1b[31mb\nc\td\u{7f}"), "a\\x1b[31mb\\nc\\td\\x7f");
        assert_eq!(line("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
        assert_eq!(lines("a\n\tb\x1b]0;t\x07\r"), "a\n\tb\\x1b]0;t\\x07\\r");
        assert_eq!(path(Path::new("a\nb.pcap")), "a\\nb.pcap");
    }

    #[test]
    fn control_bytes_are_found() {
        assert_eq!(first_control("a,µ\r\n".as_bytes()), None);
        assert_eq!(first_control(b"ab\x1b[0m"), Some(2));
        assert_eq!(first_control("ab\u{9b}".as_bytes()), Some(2));
    }
}
