//! The lines of a log, one at a time and of bounded length.

use std::io::{self, BufRead, Read};

use super::error::Unusable;

/// Longest line: a longer one is binary data without line ends.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// The byte order mark of UTF-8, which editors on Windows put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// `log` without a byte order mark at its start.
pub(super) fn without_mark(mut log: impl BufRead) -> io::Result<impl BufRead> {
    let mut start = Vec::new();
    // A buffer may hold less than a mark, so the first bytes are read and then put back.
    (&mut log)
        .take(BYTE_ORDER_MARK.len() as u64)
        .read_to_end(&mut start)?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    Ok(io::Cursor::new(start).chain(log))
}

pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
        }
    }

    /// The next line without its line end; `None` after the last line.
    pub(super) fn advance(&mut self) -> io::Result<Option<Result<&str, Unusable>>> {
        self.buffer.clear();
        let mut bounded = (&mut self.reader).take(MAX_LINE_BYTES);
        let read_bytes = bounded.read_until(b'\n', &mut self.buffer)? as u64;
        if read_bytes == 0 {
            return Ok(None);
        }
        if self.buffer.last() != Some(&b'\n') {
            // The last number of a line without its end may lack digits, so the line is not used.
            if read_bytes < MAX_LINE_BYTES {
                return Ok(Some(Err(Unusable::CutOff)));
            }
            // Skipping discards the rest of the line without storing it, so memory stays bounded.
            self.reader.skip_until(b'\n')?;
            return Ok(Some(Err(Unusable::TooLong)));
        }
        Ok(Some(
            str::from_utf8(&self.buffer)
                .map(|line| line.trim_end_matches(['\n', '\r']))
                .map_err(|_| Unusable::NotText),
        ))
    }

    /// The beginning of the line that [`advance`](Self::advance) read, as far as it is text.
    pub(super) fn beginning(&self) -> String {
        let few = &self.buffer[..self.buffer.len().min(400)];
        String::from_utf8_lossy(few).trim_end().to_owned()
    }
}
