//! Logs of kernels and tools.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tcpexp_capture::decompressed;
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

    fn new(name: PathBuf, input: impl BufRead + Send + 'static) -> Result<Self, Error> {
        // `reader` hides the type that notices the end, so both share the flag.
        let breaks_off = Arc::new(AtomicBool::new(false));
        match decompressed(input) {
            Ok(input) => Ok(Self {
                name,
                reader: Box::new(BufReader::new(UntilItBreaksOff {
                    input,
                    breaks_off: Arc::clone(&breaks_off),
                })),
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

    /// Passes each line to `each`. An error from `each` ends the reading.
    pub(crate) fn each_line(
        self,
        mut each: impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
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
                return Ok(());
            }
            number += 1;
            // Bytes that are not UTF-8 must not end the reading of the whole log.
            each(&String::from_utf8_lossy(&line))?;
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

/// Reads truncated compressed data as far as it goes, and ends there without an error.
struct UntilItBreaksOff<R> {
    input: R,
    breaks_off: Arc<AtomicBool>,
}

impl<R: Read> Read for UntilItBreaksOff<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.breaks_off.load(Ordering::Relaxed) {
            return Ok(0);
        }
        match self.input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.breaks_off.store(true, Ordering::Relaxed);
                Ok(0)
            }
            read => read,
        }
    }
}
