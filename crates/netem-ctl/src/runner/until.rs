//! The output of one script among the output of a session.

/// The word behind the mark on the line before the output of a script.
const BEGIN: &str = "begin";

/// Output between two lines that begin with a mark.
pub(super) struct Until<'a> {
    mark: &'a str,
    pub(super) bytes: Vec<u8>,
    /// True once the first of the lines is complete. The bytes before it are dropped.
    pub(super) began: bool,
    /// The text behind the mark on the last line, once the line is complete.
    pub(super) rest: Option<String>,
}

impl<'a> Until<'a> {
    pub(super) const fn new(mark: &'a str) -> Self {
        Self {
            mark,
            bytes: Vec::new(),
            began: false,
            rest: None,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // What comes behind the line is no output of the script.
        if self.rest.is_some() {
            return;
        }
        // The mark may have begun in the piece before.
        let line = self.mark.len() + 16;
        let mut from = self.bytes.len().saturating_sub(line);
        self.bytes.extend_from_slice(bytes);
        while let Some((at, end)) = self.marked_line(from) {
            let rest = String::from_utf8_lossy(&self.bytes[at + self.mark.len()..end]);
            let rest = rest.trim().to_owned();
            if rest != BEGIN {
                self.rest = Some(rest);
                // The session begins a new line before the mark.
                self.bytes.truncate(at.saturating_sub(1));
                return;
            }
            self.began = true;
            self.bytes.drain(..=end);
            from = 0;
        }
    }

    /// Positions of the mark and of the end of its line, once the line is complete.
    fn marked_line(&self, from: usize) -> Option<(usize, usize)> {
        let mark = self.mark.as_bytes();
        let mut windows = self.bytes[from..].windows(mark.len());
        let at = from + windows.position(|window| window == mark)?;
        let line = &self.bytes[at..];
        Some((at, at + line.iter().position(|byte| *byte == b'\n')?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_pieces() {
        let pieces = [
            "noi", "se\nma", "rk beg", "in\na ma", "ze\n\nma", "rk 4", "2", "\nlater",
        ];
        // Each piece alone, and all in one piece.
        for pieces in [pieces.as_slice(), &[&pieces.concat()]] {
            let mut until = Until::new("mark");
            for piece in pieces {
                assert_eq!(until.rest, None);
                until.push(piece.as_bytes());
            }
            assert!(until.began);
            assert_eq!(until.rest.as_deref(), Some("42"));
            assert_eq!(until.bytes, b"a maze\n");
        }
    }
}
