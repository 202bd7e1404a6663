//! Compressed captures: recognised by content, decoded as a stream.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952), any number of members.
    Gzip,
    /// Zstandard (RFC 8878), any number of frames.
    Zstd,
    /// LZ4 frames, any number.
    Lz4,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        })
    }
}

impl Compression {
    /// Recognises the compression by the first four bytes. No capture format starts with them.
    pub(crate) fn sniff(start: &[u8]) -> Option<Self> {
        match *start.first_chunk::<4>()? {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // The second magic is a skippable frame, which pzstd writes first.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Self::Zstd),
            [0x04, 0x22, 0x4d, 0x18] => Some(Self::Lz4),
            _ => None,
        }
    }

    /// True if a compressed file may start with these bytes, of which there are fewer than four.
    pub(crate) fn may_start(start: &[u8]) -> bool {
        const MAGICS: [&[u8]; 4] = [
            &[0x1f, 0x8b],
            &[0x28, 0xb5, 0x2f, 0xfd],
            &[0x04, 0x22, 0x4d, 0x18],
            &[0x50, 0x2a, 0x4d, 0x18],
        ];
        let starts = |magic: &&[u8]| magic.starts_with(start) || start.starts_with(magic);
        MAGICS.iter().any(starts)
    }

    /// Decompresses all members or frames of `input`.
    pub(crate) fn decode<'a>(
        self,
        input: impl BufRead + Send + 'a,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            Self::Lz4 => Box::new(Lz4Frames {
                frame: FrameDecoder::new(EndSeen { input, seen: false }),
            }),
        })
    }
}

/// Reads `input`, decompressing it if needed: for logs, which come compressed like captures.
pub fn decompressed<'a>(
    mut input: impl BufRead + Send + 'a,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut start = Vec::new();
    (&mut input).take(4).read_to_end(&mut start)?;
    let compression = Compression::sniff(&start);
    // The input may be a pipe, which cannot seek back to its start.
    let whole = io::Cursor::new(start).chain(input);
    match compression {
        Some(compression) => compression.decode(whole),
        None => Ok(Box::new(whole)),
    }
}

/// Decodes all LZ4 frames of a file. `lz4_flex` stops at the end of each frame and accepts a frame
/// that is cut between two blocks.
struct Lz4Frames<R: Read> {
    frame: FrameDecoder<EndSeen<R>>,
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.frame.read(buffer)?;
            // A read into an empty buffer returns 0 anywhere, not only at the end of a frame.
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            // A frame has an end mark, so a decoder that reads past the file's end was cut short.
            if self.frame.get_ref().seen {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // Each end of a frame reads as 0 bytes, so only the input itself shows the end of the
            // file.
            if self.frame.get_mut().input.fill_buf()?.is_empty() {
                return Ok(0);
            }
        }
    }
}

/// Remembers whether a read hit the end of the input.
struct EndSeen<R> {
    input: R,
    seen: bool,
}

impl<R: Read> Read for EndSeen<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.seen |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// Counts the bytes read, for progress displays.
pub(crate) struct Counted<R> {
    input: R,
    consumed: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    pub(crate) fn new(input: R) -> (Self, Arc<AtomicU64>) {
        let consumed = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&consumed);
        (Self { input, consumed }, counter)
    }

    fn count(&self, bytes: usize) {
        // The count is only displayed, and no other memory depends on it, so no ordering is needed.
        self.consumed.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.count(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.input.consume(count);
        self.count(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{gzip, lz4, zstd};

    fn decoded(file: &[u8]) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut out = Vec::new();
        let end = Compression::sniff(file)
            .unwrap()
            .decode(file)
            .unwrap()
            .read_to_end(&mut out);
        (out, end.err().map(|error| error.kind()))
    }

    #[test]
    fn concatenated_members_and_frames_are_one_file() {
        for compress in [gzip, zstd, lz4] {
            let file = [compress(b"first "), compress(b""), compress(b"second")].concat();
            assert_eq!(decoded(&file), (b"first second".to_vec(), None));
        }
    }

    #[test]
    fn a_skippable_zstd_frame_is_skipped() {
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let file = [&skippable[..], &zstd(b"data")].concat();
        assert_eq!(decoded(&file), (b"data".to_vec(), None));
    }

    #[test]
    fn uncompressed_data_is_unchanged() {
        for text in ["", "abc", "time,src,dst"] {
            for file in [
                text.as_bytes().to_vec(),
                gzip(text.as_bytes()),
                zstd(text.as_bytes()),
            ] {
                let mut out = String::new();
                decompressed(&file[..])
                    .unwrap()
                    .read_to_string(&mut out)
                    .unwrap();
                assert_eq!(out, text);
            }
        }
    }

    #[test]
    fn a_truncated_file_is_never_taken_for_complete() {
        let text: Vec<u8> = (0..200_000_u32)
            .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        for compress in [gzip, zstd, lz4] {
            let file = compress(&text);
            for cut in (5..file.len())
                .step_by(file.len() / 50)
                .chain([file.len() - 1])
            {
                let (out, end) = decoded(&file[..cut]);
                assert!(text.starts_with(&out));
                assert!(end.is_some(), "cut at {cut} of {}", file.len());
            }
        }
    }
}
