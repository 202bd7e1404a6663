//! Compressed captures: recognised by content, decoded as a stream.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

mod lz4_error;
pub(crate) mod members;

use members::{GzipMembers, Lz4Frames, ZstdFrames};

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
    ///
    /// Zstandard and LZ4 share skippable frames, so the first frame behind them decides; if `start` ends
    /// before it, the answer is Zstandard, because pzstd writes a skippable frame first.
    pub(crate) fn sniff(start: &[u8]) -> Option<Self> {
        let skipped = skippable_bytes(start);
        let frame = usize::try_from(skipped).ok().and_then(|at| start.get(at..));
        match frame.unwrap_or_default() {
            [0x1f, 0x8b, _, _, ..] if skipped == 0 => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            _ if is_skippable(start) => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Number of bytes that [`sniff`](Self::sniff) needs at least, given the first bytes of a file.
    pub(crate) fn needed(start: &[u8]) -> usize {
        let skipped = skippable_bytes(start);
        let behind = usize::try_from(skipped).ok().and_then(|at| start.get(at..));
        let head = if behind.is_some_and(is_skippable) {
            // Twice as much each time, because all frames are walked again.
            SKIPPABLE_HEAD_BYTES.max(start.len())
        } else {
            MAGIC_BYTES
        };
        usize::try_from(skipped.min(LONGEST_SKIPPED)).unwrap_or(0) + head
    }

    /// True if a compressed file may start with these bytes, at most three.
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
            Self::Gzip => Box::new(GzipMembers::new(input)),
            Self::Zstd => Box::new(ZstdFrames::new(input)?),
            Self::Lz4 => Box::new(Lz4Frames::new(input)),
        })
    }
}

/// Number of bytes of the magic of a frame.
pub(crate) const MAGIC_BYTES: usize = 4;
/// Number of bytes before the content of a skippable frame: magic and length (RFC 8878, section 3.1.2).
pub(crate) const SKIPPABLE_HEAD_BYTES: usize = 8;
/// Number of skippable bytes up to which the frame behind them is looked for in a stream, which must keep
/// them: as many as of the longest record.
const LONGEST_SKIPPED: u64 = 64 << 20;

/// True if a skippable frame of Zstandard or LZ4 starts here.
pub(crate) fn is_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Length of the skippable frames at the start, as far as their heads are there. May exceed `start`.
pub(crate) fn skippable_bytes(start: &[u8]) -> u64 {
    let mut bytes = 0;
    while let Some(frame) = usize::try_from(bytes).ok().and_then(|at| start.get(at..))
        && let Some(&[_, _, _, _, a, b, c, d]) = frame.first_chunk::<SKIPPABLE_HEAD_BYTES>()
        && is_skippable(frame)
    {
        bytes += SKIPPABLE_HEAD_BYTES as u64 + u64::from(u32::from_le_bytes([a, b, c, d]));
    }
    bytes
}

/// Reads `input`, decompressing it if needed: for logs, which come compressed like captures.
pub fn decompressed<'a>(
    mut input: impl BufRead + Send + 'a,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut start = Vec::new();
    loop {
        let missing = Compression::needed(&start).saturating_sub(start.len());
        if (&mut input).take(missing as u64).read_to_end(&mut start)? == 0 {
            break;
        }
    }
    let compression = Compression::sniff(&start);
    // The input may be a pipe, which cannot seek back to its start.
    let whole = io::Cursor::new(start).chain(input);
    match compression {
        Some(compression) => compression.decode(whole),
        None => Ok(Box::new(whole)),
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

    /// A skippable frame.
    fn skippable(magic: u8, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap().to_le_bytes();
        [&[magic, 0x2a, 0x4d, 0x18], &length[..], content].concat()
    }

    #[test]
    fn skippable_frames_are_skipped_wherever_they_are() {
        let skipped = [skippable(0x50, b""), skippable(0x5f, &vec![4; 70_000])].concat();
        for compress in [zstd, lz4] {
            let frames = [
                &skipped[..],
                &compress(b"first "),
                &skipped,
                &compress(b"second"),
                &skipped,
            ];
            let file = frames.concat();
            assert_eq!(decoded(&file), (b"first second".to_vec(), None));
            let mut out = String::new();
            let mut reader = decompressed(&file[..]).unwrap();
            reader.read_to_string(&mut out).unwrap();
            assert_eq!(out, "first second");
        }
    }

    #[test]
    fn a_cut_skippable_frame_is_an_error() {
        let file = [lz4(b"data"), skippable(0x51, &[9; 20])].concat();
        for cut in 1..28 {
            let (out, end) = decoded(&file[..file.len() - cut]);
            assert_eq!(out, b"data");
            assert!(end.is_some(), "cut {cut} bytes");
        }
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
