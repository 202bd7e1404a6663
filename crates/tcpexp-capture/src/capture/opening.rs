//! Opens captures: files, streams and bytes in memory, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::Capture;
use crate::compression::Counted;
use crate::map::map;
use crate::outlier::Progress;
use crate::source::Source;
use crate::walk::Walk;
use crate::{Compression, Error};

/// Number of bytes read at a time from a compressed stream.
const COMPRESSED_BUFFER_BYTES: usize = 128 << 10;

/// Number of bytes needed to recognise the compression or the capture format.
const MAGIC_BYTES: usize = 4;

impl Capture<'static> {
    /// Opens a file and reads it from its start.
    ///
    /// A regular file is mapped: records borrow from the page cache. If another process truncates
    /// the file meanwhile (log rotation), the kernel kills this process with SIGBUS; pass such a file
    /// to [`from_reader`](Self::from_reader) instead. Pipes, terminals and files on file systems
    /// without mmap are read as streams.
    pub fn from_file(file: File) -> Result<Self, Error> {
        let metadata = file.metadata().map_err(|source| Error::Read { source })?;
        // Files in /proc have content although they report a length of 0.
        if !metadata.is_file() || metadata.len() == 0 {
            return Self::from_reader(file);
        }
        let Ok(map) = map(&file) else {
            return Self::from_reader(file).map(|capture| capture.of_total(metadata.len()));
        };
        let total = map.len() as u64;
        let capture = match Compression::sniff(&map) {
            Some(compression) => Self::decompress(compression, io::Cursor::new(map)),
            None => Self::open(Source::map(map), None),
        };
        capture.map(|capture| capture.of_total(total))
    }

    /// Reads a stream: standard input, a pipe, a live capture.
    ///
    /// A record is returned as soon as its last byte has been read. The exceptions are the first
    /// record and any record more than a day from the previous one: for these, the following
    /// records decide whether the timestamp is an outlier. See
    /// [`without_look_ahead`](Self::without_look_ahead).
    pub fn from_reader(reader: impl Read + Send + 'static) -> Result<Self, Error> {
        let mut source = Source::stream(Box::new(reader));
        loop {
            let needed = Compression::needed(source.window());
            if source.window().len() >= needed || source.at_end() {
                break;
            }
            source
                .fill_to(needed)
                .map_err(|source| Error::Read { source })?;
        }
        match Compression::sniff(source.window()) {
            Some(compression) => {
                let reader = source.into_reader();
                Self::decompress(
                    compression,
                    BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, reader),
                )
            }
            None => Self::open(source, None),
        }
    }
}

impl<'a> Capture<'a> {
    /// Reads a file that is in memory, compressed or not.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        match Compression::sniff(bytes) {
            Some(compression) => Self::decompress(compression, bytes),
            None => Self::open(Source::slice(bytes), None),
        }
        .map(|capture| capture.of_total(bytes.len() as u64))
    }

    fn decompress(
        compression: Compression,
        input: impl BufRead + Send + 'a,
    ) -> Result<Self, Error> {
        let (input, consumed) = Counted::new(input);
        let reader = compression
            .decode(input)
            .map_err(|source| Error::Decompress {
                compression,
                source,
            })?;
        Self::open(Source::stream(reader), Some((compression, consumed)))
    }

    fn open(
        mut source: Source<'a>,
        compressed: Option<(Compression, Arc<AtomicU64>)>,
    ) -> Result<Self, Error> {
        let compression = compressed.as_ref().map(|&(compression, _)| compression);
        let walk = read_header(&mut source, compression).map_err(|error| match compression {
            Some(compression)
                // Errors of the decoder and of reading name their cause already. The others concern
                // the content.
                if !matches!(error, Error::Decompress { .. } | Error::Read { .. }) =>
            {
                Error::Inside {
                    compression,
                    source: Box::new(error),
                }
            }
            _ => error,
        })?;
        Ok(Self {
            source,
            walk,
            finished: false,
            damage: None,
            damaged_places: 0,
            skipped_bytes: 0,
            compressed,
            total_bytes: None,
            progress: Progress::default(),
            looks_ahead: true,
        })
    }

    fn of_total(mut self, bytes: u64) -> Self {
        self.total_bytes = Some(bytes);
        self
    }
}

/// Reads only the file's header: a live capture may not have any record yet.
fn read_header(source: &mut Source<'_>, compression: Option<Compression>) -> Result<Walk, Error> {
    let read = source
        .fill_to(MAGIC_BYTES)
        // The first bytes show the format, which decides how many bytes the header has.
        .and_then(|()| source.fill_to(Walk::header_bytes(source.window())));
    read.map_err(|source| match (compression, source.raw_os_error()) {
        (Some(compression), None) => Error::Decompress {
            compression,
            source,
        },
        _ => Error::Read { source },
    })?;
    let (walk, used) = Walk::open(source.window())?;
    source.consume(used);
    Ok(walk)
}
