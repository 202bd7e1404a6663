//! Logs of kernels and tools.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tcpexp_capture::{Foreign, decompressed};
use tcpexp_logs::import::{self, Batch, Format, Report, import};

use crate::Error;

/// Number of bytes at the start of a log from which its format is recognised.
const GUESSED_BYTES: u64 = 1 << 16;

/// An open log, decompressed if necessary.
pub struct LogFile {
    name: PathBuf,
    reader: Box<dyn BufRead>,
    breaks_off: Arc<AtomicBool>,
}

/// Statistics of a log that was read.
#[derive(Clone, Debug)]
pub struct LogReport {
    /// Number of lines used and not used, by reason.
    pub lines: Report,
    /// True if the compressed data is truncated.
    pub breaks_off: bool,
}

impl LogFile {
    /// Opens the log at `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Self::new("standard input".into(), BufReader::new(io::stdin()));
        }
        let named = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(named)?;
        // Opening a directory succeeds on Unix and only the first read fails, so the kind is
        // checked.
        if file.metadata().map_err(named)?.is_dir() {
            return Err(named(io::ErrorKind::IsADirectory.into()));
        }
        Self::new(path.to_owned(), BufReader::new(file))
    }

    fn new(name: PathBuf, mut input: impl BufRead + Send + 'static) -> Result<Self, Error> {
        if let Err(source) = refuse_foreign(&mut input) {
            return Err(Error::Open { path: name, source });
        }
        // `reader` hides the type that notices the end, so both share the flag.
        let breaks_off = Arc::new(AtomicBool::new(false));
        match decompressed(input) {
            Ok(input) => Ok(Self {
                name,
                reader: Box::new(BufReader::new(UntilItBreaksOff::new(
                    input,
                    Arc::clone(&breaks_off),
                ))),
                breaks_off,
            }),
            Err(source) => Err(Error::Open { path: name, source }),
        }
    }

    /// Name in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Recognises the format from the start of the log.
    pub fn guess(&mut self) -> Result<Format, Error> {
        let mut beginning = Vec::new();
        let read = (&mut self.reader)
            .take(GUESSED_BYTES)
            .read_to_end(&mut beginning);
        read.map_err(|source| Error::Log {
            path: self.name.clone(),
            source: import::Error::Read { line: 0, source },
        })?;
        let format = Format::guess(&beginning);
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        // Standard input cannot be rewound, so the bytes of the beginning go in front of the rest.
        self.reader = Box::new(io::Cursor::new(beginning).chain(rest));
        format.ok_or_else(|| Error::UnknownLog {
            path: self.name.clone(),
        })
    }

    /// Passes each line to `each`, with its line end. An error from `each` ends the reading. Returns
    /// true if the compressed data is truncated.
    pub(crate) fn each_line(
        self,
        mut each: impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let mut reader = self.reader;
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            let read = read.map_err(|source| Error::Log {
                path: self.name.clone(),
                source: import::Error::Read {
                    line: number,
                    source,
                },
            })?;
            if read == 0 {
                return Ok(self.breaks_off.load(Ordering::Relaxed));
            }
            number += 1;
            // Bytes that are not UTF-8 must not end the reading of the whole log.
            let text = String::from_utf8_lossy(&line);
            // Editors on Windows put a byte order mark before the first line.
            let mark = if number == 1 { "\u{feff}" } else { "" };
            each(text.strip_prefix(mark).unwrap_or(&text))?;
        }
    }

    /// Reads the log and passes its rows to `sink` in log order. The sink's error ends the reading.
    pub fn read<E: From<Error>>(
        self,
        format: Format,
        mut sink: impl FnMut(Batch) -> Result<(), E>,
    ) -> Result<LogReport, E> {
        let lines = import(format, self.reader, |batch| {
            sink(batch).map_err(Ended::Sink)
        });
        match lines {
            Ok(lines) => Ok(LogReport {
                lines,
                breaks_off: self.breaks_off.load(Ordering::Relaxed),
            }),
            Err(Ended::Sink(error)) => Err(error),
            Err(Ended::Log(source)) => Err(Error::Log {
                path: self.name,
                source,
            }
            .into()),
        }
    }
}

/// Refuses data in a compression that is not supported, and which would look like a damaged log.
fn refuse_foreign(input: &mut impl BufRead) -> io::Result<()> {
    match Foreign::sniff(input.fill_buf()?) {
        Some(foreign @ (Foreign::Xz | Foreign::Bzip2 | Foreign::Zip)) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{} is not supported; {}", foreign.name(), foreign.hint()),
        )),
        _ => Ok(()),
    }
}

/// Cause that ended the reading of a log.
enum Ended<E> {
    Log(import::Error),
    Sink(E),
}

impl<E> From<import::Error> for Ended<E> {
    fn from(error: import::Error) -> Self {
        Self::Log(error)
    }
}

/// Longest line that is checked for completeness, in bytes. A line of `ss` or `tcp_probe` has less
/// than a kilobyte.
const LONGEST_LINE_BYTES: usize = 1 << 20;

/// Reads truncated compressed data up to its last complete line, and ends there without an error: a
/// number that is cut off looks like a smaller number.
struct UntilItBreaksOff<R> {
    input: R,
    breaks_off: Arc<AtomicBool>,
    /// Complete lines.
    whole: io::Cursor<Vec<u8>>,
    /// The beginning of the next line.
    begun: Vec<u8>,
    is_at_end: bool,
}

impl<R: Read> UntilItBreaksOff<R> {
    fn new(input: R, breaks_off: Arc<AtomicBool>) -> Self {
        Self {
            input,
            breaks_off,
            whole: io::Cursor::default(),
            begun: Vec::new(),
            is_at_end: false,
        }
    }

    /// Reads until more lines are complete.
    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 8192];
        match self.input.read(&mut chunk) {
            Ok(0) => {
                self.is_at_end = true;
                self.whole = io::Cursor::new(std::mem::take(&mut self.begun));
            }
            Ok(read) => {
                self.begun.extend_from_slice(&chunk[..read]);
                let end = self.begun.iter().rposition(|byte| *byte == b'\n');
                let is_long = self.begun.len() > LONGEST_LINE_BYTES;
                let whole = end
                    .map(|end| end + 1)
                    .or(is_long.then_some(self.begun.len()));
                if let Some(whole) = whole {
                    let rest = self.begun.split_off(whole);
                    self.whole = io::Cursor::new(std::mem::replace(&mut self.begun, rest));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_at_end = true;
                self.begun.clear();
                self.breaks_off.store(true, Ordering::Relaxed);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl<R: Read> Read for UntilItBreaksOff<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.whole.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.is_at_end {
                return Ok(read);
            }
            self.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes one by one, then an error of truncated data.
    struct Truncated(&'static [u8]);

    impl Read for Truncated {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn read(input: impl Read) -> (String, bool) {
        let breaks_off = Arc::default();
        let mut text = String::new();
        let mut lines = UntilItBreaksOff::new(input, Arc::clone(&breaks_off));
        lines.read_to_string(&mut text).unwrap();
        (text, breaks_off.load(Ordering::Relaxed))
    }

    #[test]
    fn a_log_in_a_compression_that_is_not_supported_is_refused_by_its_name() {
        for (start, name) in [
            (&b"BZh91AY&SY"[..], "bzip2 compression"),
            (b"\xfd7zXZ\0\0\x04", "xz compression"),
            (b"PK\x03\x04\x14", "a zip archive"),
        ] {
            let refused = refuse_foreign(&mut &*start).unwrap_err();
            let expected = format!("{name} is not supported; ");
            assert!(refused.to_string().starts_with(&expected), "{refused}");
        }
        assert!(refuse_foreign(&mut &b"BZ"[..]).is_ok());
    }

    #[test]
    fn truncated_data_ends_with_its_last_complete_line() {
        let whole = read(&b"q 17 1500\nq 18 1500"[..]);
        assert_eq!(whole, ("q 17 1500\nq 18 1500".to_owned(), false));
        let truncated = read(Truncated(b"q 17 1500\nq 18 15"));
        assert_eq!(truncated, ("q 17 1500\n".to_owned(), true));
        assert_eq!(read(Truncated(b"q 17")), (String::new(), true));
    }
}
