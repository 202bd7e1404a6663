//! Decodes all members or frames of a compressed file.
//!
//! Decoders of whole files take bytes after the last member for damage of its data. Each member is
//! decoded on its own here, so bytes after a sound member are known to concern no data before them.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder;
use thiserror::Error;
use zstd::stream::raw::{self, Operation};

use tcpexp_units::counted;

use super::lz4_error;
use crate::Compression;
use crate::compression::{MAGIC_BYTES, SKIPPABLE_HEAD_BYTES, is_skippable, skippable_bytes};

/// Bytes after the last member or frame, which was sound. Zeros are padding, for example of a tape, and
/// are no error.
#[derive(Debug, Error)]
#[error("is followed by {} that {} not {compression}", counted(*bytes, "byte"), if *bytes == 1 { "is" } else { "are" })]
pub(crate) struct Trailing {
    pub(crate) bytes: u64,
    pub(crate) compression: Compression,
}

impl Trailing {
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// What follows the end of a member or frame.
enum Next {
    Member,
    End,
}

/// The bytes with which each member or frame starts (RFC 1952, section 2.3.1; RFC 8878, section 3.1.1).
const fn magic(compression: Compression) -> &'static [u8] {
    match compression {
        Compression::Gzip => &[0x1f, 0x8b],
        Compression::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        Compression::Lz4 => &[0x04, 0x22, 0x4d, 0x18],
    }
}

/// True if the bytes are the first of a skippable frame's magic.
fn may_be_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, rest @ ..] if [0x2a, 0x4d, 0x18].starts_with(rest))
}

/// Finds out what starts at the end of a member. Zeros to the end of the file are its end.
fn next<R: BufRead>(input: &mut Ahead<R>, compression: Compression) -> io::Result<Next> {
    if compression == Compression::Lz4 {
        input.skip()?;
    }
    let magic = magic(compression);
    let has_skippable = compression != Compression::Gzip;
    let start = input.peek(magic.len())?;
    if start.is_empty() {
        return Ok(Next::End);
    }
    if start == magic || has_skippable && is_skippable(start) {
        return Ok(Next::Member);
    }
    if magic.starts_with(start) || has_skippable && may_be_skippable(start) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (bytes, are_zeros) = input.rest()?;
    if are_zeros {
        return Ok(Next::End);
    }
    let trailing = Trailing { bytes, compression };
    Err(io::Error::new(io::ErrorKind::InvalidData, trailing))
}

/// Decodes all gzip members.
pub(crate) struct GzipMembers<R> {
    /// `None` while a member is replaced by the next one.
    member: Option<GzDecoder<Ahead<R>>>,
    is_done: bool,
}

impl<R: BufRead> GzipMembers<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            member: Some(GzDecoder::new(Ahead::new(input))),
            is_done: false,
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A read into an empty buffer returns 0 anywhere, not only at the end of a member.
        while !self.is_done
            && !buffer.is_empty()
            && let Some(mut member) = self.member.take()
        {
            let count = member.read(buffer);
            if !matches!(count, Ok(0)) {
                self.member = Some(member);
                return count;
            }
            let mut input = member.into_inner();
            let next = next(&mut input, Compression::Gzip);
            self.is_done = !matches!(next, Ok(Next::Member));
            self.member = Some(GzDecoder::new(input));
            next?;
        }
        Ok(0)
    }
}

/// Decodes all Zstandard frames. The decoder skips skippable frames.
pub(crate) struct ZstdFrames<R> {
    input: Ahead<R>,
    frame: raw::Decoder<'static>,
    /// True before the first frame and after the end of each.
    is_between: bool,
    is_done: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(crate) fn new(input: R) -> io::Result<Self> {
        Ok(Self {
            input: Ahead::new(input),
            frame: raw::Decoder::new()?,
            is_between: true,
            is_done: false,
        })
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !buffer.is_empty() {
            if self.is_between {
                let next = next(&mut self.input, Compression::Zstd);
                self.is_done = !matches!(next, Ok(Next::Member));
                self.is_between = false;
                next?;
                continue;
            }
            let input = self.input.fill_buf()?;
            let is_at_end = input.is_empty();
            let status = self.frame.run_on_buffers(input, buffer)?;
            self.input.consume(status.bytes_read);
            self.is_between = status.remaining == 0;
            if status.bytes_written > 0 {
                return Ok(status.bytes_written);
            }
            if is_at_end && !self.is_between {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}

/// Decodes all LZ4 frames. `lz4_flex` stops at the end of each frame, accepts a frame that is cut between
/// two blocks, and refuses skippable frames.
pub(crate) struct Lz4Frames<R: BufRead> {
    frame: FrameDecoder<Ahead<R>>,
    /// True before the first frame and after the end of each.
    is_between: bool,
    is_done: bool,
}

impl<R: BufRead> Lz4Frames<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            frame: FrameDecoder::new(Ahead::new(input)),
            is_between: true,
            is_done: false,
        }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !buffer.is_empty() {
            if self.is_between {
                let next = next(self.frame.get_mut(), Compression::Lz4);
                self.is_done = !matches!(next, Ok(Next::Member));
                self.is_between = false;
                next?;
                continue;
            }
            let count = self.frame.read(buffer).map_err(lz4_error::in_words)?;
            if count > 0 {
                return Ok(count);
            }
            // A frame has an end mark, so a decoder that reads past the file's end was cut short.
            if self.frame.get_ref().is_at_end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.is_between = true;
        }
        Ok(0)
    }
}

/// An input whose next bytes can be examined. Remembers whether a read hit its end.
struct Ahead<R> {
    input: R,
    /// Bytes that were examined and are not consumed.
    examined: Vec<u8>,
    is_at_end: bool,
}

impl<R: BufRead> Ahead<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            examined: Vec::new(),
            is_at_end: false,
        }
    }

    /// The next bytes: `needed`, or fewer at the end of the input.
    fn peek(&mut self, needed: usize) -> io::Result<&[u8]> {
        let missing = needed.saturating_sub(self.examined.len()) as u64;
        (&mut self.input)
            .take(missing)
            .read_to_end(&mut self.examined)?;
        Ok(&self.examined[..needed.min(self.examined.len())])
    }

    /// Skips skippable frames.
    fn skip(&mut self) -> io::Result<()> {
        while is_skippable(self.peek(MAGIC_BYTES)?) {
            let head = self.peek(SKIPPABLE_HEAD_BYTES)?;
            let bytes = skippable_bytes(head).checked_sub(SKIPPABLE_HEAD_BYTES as u64);
            let skipped = match bytes {
                Some(bytes) => io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?,
                None => 0,
            };
            if bytes != Some(skipped) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.examined.clear();
        }
        Ok(())
    }

    /// Reads to the end: the number of bytes, and whether all are 0.
    fn rest(&mut self) -> io::Result<(u64, bool)> {
        let (mut bytes, mut are_zeros) = (0, true);
        loop {
            let some = self.fill_buf()?;
            let length = some.len();
            if length == 0 {
                return Ok((bytes, are_zeros));
            }
            are_zeros &= some.iter().all(|byte| *byte == 0);
            bytes += length as u64;
            self.consume(length);
        }
    }
}

impl<R: BufRead> Read for Ahead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.examined.is_empty() {
            let count = self.examined.len().min(buffer.len());
            for (to, from) in buffer.iter_mut().zip(self.examined.drain(..count)) {
                *to = from;
            }
            return Ok(count);
        }
        let count = self.input.read(buffer)?;
        self.is_at_end |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Ahead<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.examined.is_empty() {
            self.input.fill_buf()
        } else {
            Ok(&self.examined)
        }
    }

    fn consume(&mut self, count: usize) {
        if self.examined.is_empty() {
            self.input.consume(count);
        } else {
            self.examined.drain(..count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{gzip, lz4, zstd};

    fn decoded(file: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let mut out = Vec::new();
        // Small reads give each member's end a read of its own.
        let input = io::BufReader::with_capacity(3, file);
        let compression = Compression::sniff(file).unwrap();
        let end = compression.decode(input).unwrap().read_to_end(&mut out);
        (out, end.err())
    }

    #[test]
    fn zeros_after_the_last_member_are_ignored() {
        for compress in [gzip, zstd, lz4] {
            for zeros in [1, 2, 3, 4, 512, 70_000] {
                let file = [compress(b"first "), compress(b"second"), vec![0; zeros]].concat();
                let (out, end) = decoded(&file);
                assert_eq!(out, b"first second");
                assert!(end.is_none(), "{end:?}");
            }
        }
    }

    #[test]
    fn other_bytes_after_the_last_member_are_no_doubt_about_it() {
        for (compress, name) in [
            (gzip as fn(&[u8]) -> Vec<u8>, "gzip"),
            (zstd, "zstd"),
            (lz4, "lz4"),
        ] {
            for junk in [&b"junk of 15 byte"[..], b"x", b"\0\0\0\0\0x"] {
                let file = [&compress(b"data"), junk].concat();
                let (out, end) = decoded(&file);
                assert_eq!(out, b"data");
                let end = end.unwrap();
                assert!(Trailing::of(&end).is_some());
                let expected = match junk.len() {
                    1 => format!("is followed by 1 byte that is not {name}"),
                    bytes => format!("is followed by {bytes} bytes that are not {name}"),
                };
                assert_eq!(end.to_string(), expected);
            }
        }
    }

    #[test]
    fn the_beginning_of_a_next_member_is_not_taken_for_other_bytes() {
        for compress in [gzip, zstd, lz4] {
            let next = compress(b"second");
            for length in 1..next.len() {
                let file = [&compress(b"first "), &next[..length]].concat();
                let (out, end) = decoded(&file);
                assert!(b"first second".starts_with(&out), "{length}");
                assert_eq!(
                    end.unwrap().kind(),
                    io::ErrorKind::UnexpectedEof,
                    "{length}"
                );
            }
        }
    }
}
