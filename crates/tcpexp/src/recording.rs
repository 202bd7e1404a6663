//! A capture that can be walked more than once.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tcpexp_capture::{Capture, Damage, MappedFile, NoTime, Passage, Record};
use tcpexp_measure::{Packets, Sighted};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Skipped, Tally, Tunnels, decode};

use crate::Error;

/// How many records are read between two reports of progress.
const REPORT_RECORDS: u64 = 8192;

/// A capture file, or what standard input brought.
///
/// Measuring takes two passes, so standard input is kept in a temporary file without a name: it is
/// gone when the program ends, however it ends.
#[derive(Debug)]
pub struct Recording {
    name: PathBuf,
    source: Source,
    progress: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Source {
    /// Mapped once, for all passes.
    Mapped(MappedFile),
    /// Opened anew for each pass.
    Path,
    Spooled(File),
}

impl Recording {
    /// The capture file at `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Self::spool("standard input".into(), io::stdin().lock());
        }
        let named = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let metadata = std::fs::metadata(path).map_err(named)?;
        if metadata.is_dir() {
            return Err(named(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            // A pipe can be read only once.
            return Self::spool(path.to_owned(), File::open(path).map_err(named)?);
        }
        // An empty file cannot be mapped, nor can one on some file systems.
        let mapped = MappedFile::new(&File::open(path).map_err(named)?);
        Ok(Self::new(
            path.to_owned(),
            mapped.map_or(Source::Path, Source::Mapped),
        ))
    }

    fn new(name: PathBuf, source: Source) -> Self {
        Self {
            name,
            source,
            progress: Arc::default(),
        }
    }

    /// Reads the file as a stream instead of mapping it: slower, but safe if another program cuts
    /// the file short meanwhile.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        if let Source::Mapped(_) = self.source {
            self.source = Source::Path;
        }
        self
    }

    /// What `input` brings, kept in a temporary file.
    pub fn spool(name: PathBuf, mut input: impl Read) -> Result<Self, Error> {
        let spooled = tempfile::tempfile().and_then(|mut file| {
            io::copy(&mut input, &mut file)?;
            Ok(file)
        });
        match spooled {
            Ok(file) => Ok(Self::new(name, Source::Spooled(file))),
            Err(source) => Err(Error::Spool { name, source }),
        }
    }

    /// What is in `file`, which has no name of its own.
    pub(crate) fn of_spool(name: PathBuf, file: File) -> Self {
        Self::new(name, Source::Spooled(file))
    }

    /// What it is called in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Bytes of the file; what a pass over it works off.
    pub fn file_bytes(&self) -> u64 {
        let metadata = match &self.source {
            Source::Mapped(file) => return file.len() as u64,
            Source::Path => std::fs::metadata(&self.name),
            Source::Spooled(file) => file.metadata(),
        };
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// The file from its first byte, as it is stored.
    ///
    /// Not to be read while a pass is under way: standard input has one place in it for all.
    #[cfg(feature = "tables")]
    pub(crate) fn file(&self) -> io::Result<File> {
        match &self.source {
            Source::Mapped(_) | Source::Path => File::open(&self.name),
            Source::Spooled(file) => {
                let mut file = file.try_clone()?;
                io::Seek::rewind(&mut file)?;
                Ok(file)
            }
        }
    }

    /// Whether [`file`](Self::file) may be read beside a pass.
    #[cfg(feature = "tables")]
    pub(crate) const fn can_be_read_twice_at_once(&self) -> bool {
        !matches!(self.source, Source::Spooled(_))
    }

    /// Bytes of the file that have been read so far, all passes added up.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.progress)
    }

    /// Shows each record, as it is in the file, to `each`.
    pub(crate) fn each_record(&self, mut each: impl FnMut(&Record<'_>)) -> Result<(), Error> {
        let mut capture = self.capture()?;
        while let Some(record) = capture.next_record() {
            each(&record);
        }
        self.progress
            .fetch_add(capture.position(), Ordering::Relaxed);
        Ok(())
    }

    /// Starts a pass from the first record.
    pub fn walk(&self, tunnels: Tunnels) -> Result<Walk<'_>, Error> {
        let mut walk = Walk::new(self.capture()?, tunnels, self.progress());
        if let Source::Mapped(file) = &self.source {
            walk.mapped = Some((file, Passage::default()));
        }
        Ok(walk)
    }

    /// The same, but what the pass has read leaves the memory, which so does not grow with the file; a
    /// pass that follows looks it up again.
    pub fn walk_once(&self, tunnels: Tunnels) -> Result<Walk<'_>, Error> {
        let mut walk = self.walk(tunnels)?;
        if let Some((_, passage)) = &mut walk.mapped {
            *passage = Passage::new(true);
        }
        Ok(walk)
    }

    pub(crate) fn capture(&self) -> Result<Capture<'_>, Error> {
        let opened = match &self.source {
            Source::Mapped(file) => return Capture::from_bytes(file).map_err(|s| self.unread(s)),
            Source::Path => File::open(&self.name),
            Source::Spooled(file) => file.try_clone().and_then(|mut file| {
                io::Seek::rewind(&mut file)?;
                Ok(file)
            }),
        };
        let file = opened.map_err(|source| Error::Open {
            path: self.name.clone(),
            source,
        })?;
        let capture = match self.source {
            Source::Spooled(_) => Capture::from_file(file),
            Source::Path | Source::Mapped(_) => Capture::from_reader(file),
        };
        capture.map_err(|source| self.unread(source))
    }

    fn unread(&self, source: tcpexp_capture::Error) -> Error {
        Error::Capture {
            path: self.name.clone(),
            source,
        }
    }
}

/// One pass over a capture: its usable packets, and what was passed over.
pub struct Walk<'a> {
    capture: Capture<'a>,
    mapped: Option<(&'a MappedFile, Passage)>,
    tunnels: Tunnels,
    tally: Tally,
    span: Option<(Timestamp, Timestamp)>,
    captured_bytes: u64,
    wire_bytes: u64,
    records: u64,
    reported: u64,
    progress: Arc<AtomicU64>,
}

impl Walk<'static> {
    /// A pass over what `input` brings while it comes, `name` in messages: a capture that is being
    /// made, of which nothing is kept.
    ///
    /// A packet is shown as soon as its last byte has been read.
    pub fn live(
        name: &Path,
        input: impl Read + Send + 'static,
        tunnels: Tunnels,
    ) -> Result<Self, Error> {
        let capture = Capture::from_reader(input).map_err(|source| Error::Capture {
            path: name.to_owned(),
            source,
        })?;
        Ok(Self::new(
            capture.without_look_ahead(),
            tunnels,
            Arc::default(),
        ))
    }
}

impl<'a> Walk<'a> {
    fn new(capture: Capture<'a>, tunnels: Tunnels, progress: Arc<AtomicU64>) -> Self {
        Self {
            capture,
            mapped: None,
            tunnels,
            tally: Tally::default(),
            span: None,
            captured_bytes: 0,
            wire_bytes: 0,
            records: 0,
            reported: 0,
            progress,
        }
    }
}

impl Walk<'_> {
    /// How many records were used, and how many not and why.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Where the file is damaged, if it is.
    pub fn damage(&self) -> Option<&Damage> {
        self.capture.damage()
    }

    /// The capture itself, for its format and interfaces.
    pub fn capture(&self) -> &Capture<'_> {
        &self.capture
    }

    /// Earliest and latest capture time.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Bytes captured of all packets.
    pub fn captured_bytes(&self) -> u64 {
        self.captured_bytes
    }

    /// Bytes of all packets as they were on the wire.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    #[cold]
    fn report(&mut self) {
        let position = self.capture.position();
        self.progress
            .fetch_add(position - self.reported, Ordering::Relaxed);
        self.reported = position;
        if let Some((file, passage)) = &mut self.mapped {
            file.passes(position, passage);
        }
    }
}

impl Packets for Walk<'_> {
    fn show(&mut self, count: usize, mut each: impl FnMut(&Sighted<'_>)) -> usize {
        let mut shown = 0;
        while shown < count {
            let Some(record) = self.capture.next_record() else {
                self.report();
                break;
            };
            let record_number = self.records;
            self.records += 1;
            self.captured_bytes += record.captured.len() as u64;
            self.wire_bytes += u64::from(record.wire_bytes);
            let outcome = match record.at {
                Ok(_) => {
                    let link = LinkType(record.link_type);
                    decode(link, record.captured, record.wire_bytes, self.tunnels)
                }
                Err(NoTime::Missing) => Err(Skipped::NoTimestamp),
                Err(NoTime::OutOfRange) => Err(Skipped::TimestampOutOfRange),
                Err(NoTime::Outlier(_)) => Err(Skipped::TimestampOutlier),
            };
            self.tally.observe(&outcome);
            if let Ok(at) = record.at {
                let (first, last) = self.span.get_or_insert((at, at));
                *first = (*first).min(at);
                *last = (*last).max(at);
                if let Ok(packet) = &outcome {
                    each(&Sighted {
                        record: record_number,
                        at,
                        wire_bytes: record.wire_bytes,
                        packet,
                    });
                    shown += 1;
                }
            }
            if record_number.is_multiple_of(REPORT_RECORDS) {
                self.report();
            }
        }
        shown
    }
}
