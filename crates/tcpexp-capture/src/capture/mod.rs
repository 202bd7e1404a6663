//! A capture file, read record by record.

mod opening;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tcpexp_units::{Timestamp, prefetch};

use crate::outlier::Progress;
use crate::source::Source;
use crate::step::{Found, Search, Step};
use crate::walk::Walk;
use crate::{
    ByteOrder, Compression, Damage, Format, Interface, NoTime, PacketOptions, PartEnd, PartHead,
    Record,
};

/// Distance at which short records are prefetched: the processor reads ahead by itself, but not
/// beyond the end of a page.
const AHEAD_BYTES: usize = 2_048;
/// Longest record that counts as short. Behind a longer one, only the head of the next is read.
const SHORT_BYTES: usize = 256;
/// Number of bytes prefetched together: a record header and the headers of its packet.
const HEAD_BYTES: usize = 128;

/// An open capture, read record by record.
pub struct Capture<'a> {
    source: Source<'a>,
    walk: Walk,
    finished: bool,
    damage: Option<Damage>,
    damaged_places: u64,
    skipped_bytes: u64,
    compressed: Option<(Compression, Arc<AtomicU64>)>,
    total_bytes: Option<u64>,
    progress: Progress,
    /// True if later records may be read to check a record's timestamp.
    looks_ahead: bool,
}

impl Capture<'_> {
    /// Makes [`next_record`](Self::next_record) return every record as soon as its last byte has
    /// been read, whatever its timestamp.
    ///
    /// For live captures: no timestamp is reported as [`NoTime::Outlier`].
    #[must_use]
    pub fn without_look_ahead(mut self) -> Self {
        self.looks_ahead = false;
        self.walk.stop_looking_ahead();
        self
    }

    /// Returns the next record; `None` at the end of the file, or at damage without a sound record
    /// after it.
    ///
    /// After the first `None`, every call returns `None`; [`damage`](Self::damage) distinguishes
    /// the two cases.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for each record, with little to do for most"
    )]
    pub fn next_record(&mut self) -> Option<Record<'_>> {
        let found = self.next_found()?;
        let offset = self.source.offset();
        let order = self.walk.order();
        Some(taken(&mut self.source, &found, offset, order))
    }

    /// Like [`next_record`](Self::next_record), with the interface that captured the record.
    pub fn next_described(&mut self) -> Option<(Record<'_>, &Interface)> {
        let found = self.next_found()?;
        let offset = self.source.offset();
        let order = self.walk.order();
        let interface = self.walk.interfaces().get(found.interface as usize)?;
        Some((taken(&mut self.source, &found, offset, order), interface))
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `next_record`")]
    fn next_found(&mut self) -> Option<Found> {
        let mut found = match self.walk.usual(self.source.window()) {
            // After damage that ends the walk, the window may still hold bytes.
            Some(found) if !self.finished => found,
            _ => self.find()?,
        };
        prefetch_next(&found, self.source.window());
        if let Ok(at) = found.at
            && !self.progress.follows(at)
        {
            // This may read ahead and move the buffer, so the window is borrowed only afterwards.
            found.at = self.judge(at, found.record_bytes);
        }
        Some(found)
    }

    /// Steps over damage and other blocks to the next record.
    #[inline(never)]
    fn find(&mut self) -> Option<Found> {
        while !self.finished {
            let offset = self.source.offset();
            match self
                .walk
                .step(self.source.window(), self.source.at_end(), offset)
            {
                Step::Record(found) => return Some(found),
                other => self.settle(other),
            }
        }
        None
    }

    /// Checks the timestamp of the record at the start of the window, which is not near the one
    /// before.
    #[cold]
    fn judge(&mut self, at: Timestamp, record_bytes: usize) -> Result<Timestamp, NoTime> {
        let Self { source, walk, .. } = self;
        let mut from = record_bytes;
        let next = || walk.time_ahead(source, &mut from);
        let is_outlier = if self.looks_ahead {
            self.progress.is_outlier(at, next)
        } else {
            self.progress.accept(at)
        };
        if is_outlier {
            Err(NoTime::Outlier(at))
        } else {
            Ok(at)
        }
    }

    /// Returns the first damage in the part of the file read so far, or the corruption of the compressed
    /// data, which may have caused it.
    ///
    /// [`damaged_places`](Self::damaged_places) counts all damage.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Number of unusable places in the part of the file read so far.
    pub fn damaged_places(&self) -> u64 {
        self.damaged_places
    }

    /// Number of unusable bytes of the (decompressed) file that are followed by sound records.
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Returns the format of the file.
    pub fn format(&self) -> Format {
        self.walk.format()
    }

    /// Returns the compression of the file, if any.
    pub fn compression(&self) -> Option<Compression> {
        self.compressed
            .as_ref()
            .map(|&(compression, _)| compression)
    }

    /// Returns the interfaces described so far, over all sections, in the order of the file.
    ///
    /// A pcapng file describes its interfaces between its packets and their counters at its end, so
    /// call this after the last record. Every record's `interface` is an index into this slice.
    pub fn interfaces(&self) -> &[Interface] {
        self.walk.interfaces()
    }

    /// Facts about the whole capture at the start of a part; available after the first record.
    /// `None` if the file is not a part.
    pub fn part_head(&self) -> Option<&PartHead> {
        self.walk.part()?.0.as_ref()
    }

    /// Facts about the whole capture at the end of a part; available after the last record.
    pub fn part_end(&self) -> Option<&PartEnd> {
        self.walk.part()?.1.as_ref()
    }

    /// Number of bytes of the stored file consumed so far, for progress displays.
    ///
    /// Counts compressed bytes of a compressed file, up to one buffer ahead of the records.
    pub fn position(&self) -> u64 {
        match &self.compressed {
            Some((_, consumed)) => consumed.load(Ordering::Relaxed),
            None => self.source.offset(),
        }
    }

    /// Length of the stored file in bytes; `None` for a stream.
    pub fn size_hint(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Handles a step that yields no record.
    #[cold]
    fn settle(&mut self, step: Step) {
        match step {
            // `find` returns records itself.
            Step::Record(_) => {}
            Step::Pass(bytes) => self.source.consume(bytes),
            Step::Doubt(bytes, damage) => {
                self.source.consume(bytes);
                self.note(damage);
            }
            Step::Skip(bytes, damage) => {
                self.source.consume(bytes);
                self.skipped_bytes += bytes as u64;
                self.note(damage);
            }
            Step::More(needed) => self.fill(needed),
            Step::Broken {
                damage,
                search: true,
            } => self.find_next(damage),
            Step::Broken { damage, .. } => {
                self.note(damage);
                self.finished = true;
            }
            Step::End => self.finished = true,
        }
    }

    /// Searches for the next sound record after the damage `reason`.
    fn find_next(&mut self, reason: Damage) {
        let offset = self.source.offset();
        // The search starts behind the first damaged byte, so it cannot find the same damage again.
        self.source.consume(1);
        loop {
            match self.walk.search(self.source.window(), self.source.at_end()) {
                Search::Found(bytes) => {
                    self.source.consume(bytes);
                    let resumed = self.source.offset();
                    self.skipped_bytes += resumed - offset;
                    return self.note(Damage::Skipped {
                        offset,
                        resumed,
                        reason: Box::new(reason),
                    });
                }
                Search::More { from, needed } => {
                    self.source.consume(from);
                    if let Err(error) = self.source.fill(needed) {
                        // `damage` keeps the first, and the damage comes before the read error in
                        // the file.
                        self.note(reason);
                        return self.fail(error);
                    }
                }
                // No sound record follows, so the bytes do not count as skipped.
                Search::Nowhere => {
                    self.finished = true;
                    return self.note(reason);
                }
            }
        }
    }

    fn fill(&mut self, needed: usize) {
        if let Err(error) = self.source.fill(needed) {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.finished = true;
        let offset = self.source.offset();
        self.note(match (self.compression(), error.raw_os_error()) {
            // An error of the decoder has no number of the operating system, unlike an error of the
            // file.
            (Some(compression), None) => Damage::of_decoder(error, offset, compression),
            _ => Damage::Read {
                offset,
                source: error,
            },
        });
    }

    fn note(&mut self, damage: Damage) {
        self.damaged_places += 1;
        // Corrupt compressed data may be the cause of the damage before it.
        if self.damage.is_none() || damage.extends_back() {
            self.damage = Some(damage);
        }
    }
}

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("format", &self.format())
            .field("compression", &self.compression())
            .field("position", &self.position())
            .field("damage", &self.damage)
            .finish_non_exhaustive()
    }
}

/// Takes a record out of the window.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `next_record`")]
fn taken<'a>(
    source: &'a mut Source<'_>,
    found: &Found,
    offset: u64,
    order: ByteOrder,
) -> Record<'a> {
    let &Found {
        at,
        link_type,
        interface,
        wire_bytes,
        captured_from,
        captured_bytes,
        record_bytes,
    } = found;
    let window = source.take(record_bytes);
    let captured_to = captured_from + captured_bytes;
    Record {
        at,
        link_type,
        interface,
        wire_bytes,
        captured: &window[captured_from..captured_to],
        offset,
        options: PacketOptions {
            // Empty in pcap, whose records end with their packets.
            tail: &window[captured_to..record_bytes],
            order,
        },
    }
}

/// Prefetches a record after the one at the start of the window. Without it, `flows` takes 1.2 times
/// the processor time.
#[inline]
fn prefetch_next(found: &Found, window: &[u8]) {
    let ahead = if found.record_bytes <= SHORT_BYTES {
        AHEAD_BYTES
    } else {
        found.record_bytes
    };
    let head = window.get(ahead..).and_then(|rest| rest.first_chunk());
    if let Some(head) = head {
        prefetch::<[u8; HEAD_BYTES]>(head);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write as _};
    use std::sync::mpsc;

    use insta::assert_snapshot;

    use super::*;
    use crate::build::{gzip, little, lz4, walk, zstd};

    fn file() -> Vec<u8> {
        (0..2_000_u32)
            .fold(little().pcap(0xa1b2_c3d4, 4), |bytes, i| {
                bytes.record(
                    i / 100,
                    i % 100,
                    60,
                    &i.wrapping_mul(2_654_435_761).to_le_bytes(),
                )
            })
            .out
    }

    fn on_disk(name: &str, content: &[u8]) -> (std::path::PathBuf, File) {
        let path = std::env::temp_dir().join(format!("tcpexp-{}-{name}", std::process::id()));
        File::create(&path).unwrap().write_all(content).unwrap();
        let file = File::open(&path).unwrap();
        (path, file)
    }

    #[test]
    fn a_compressed_file_yields_the_records_of_the_plain_file() {
        let plain = file();
        let expected = walk(Capture::from_bytes(&plain).unwrap());
        for (compress, shown) in [
            (gzip as fn(&[u8]) -> Vec<u8>, "gzip"),
            (zstd, "zstd"),
            (lz4, "lz4"),
        ] {
            let (first, second) = plain.split_at(plain.len() / 2);
            let whole = [compress(first), compress(second)].concat();
            let (path, file) = on_disk(shown, &whole);
            let captures = [
                Capture::from_bytes(&whole).unwrap(),
                Capture::from_reader(io::Cursor::new(whole.clone())).unwrap(),
                Capture::from_file(file).unwrap(),
            ];
            for capture in captures {
                assert_eq!(capture.compression().unwrap().to_string(), shown);
                assert_eq!(walk(capture), expected);
            }
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn truncated_compressed_data_yields_the_decompressed_part() {
        for (compress, damage) in [
            (
                gzip as fn(&[u8]) -> Vec<u8>,
                "the gzip data is cut short after ",
            ),
            (zstd, "the zstd data is cut short after "),
            (lz4, "the lz4 data is cut short after "),
        ] {
            let plain = file();
            let expected = walk(Capture::from_bytes(&plain).unwrap());
            let whole = [compress(&plain[..9_000]), compress(&plain[9_000..])].concat();
            let mut capture = Capture::from_bytes(&whole[..whole.len() - 40]).unwrap();
            let mut count = 0;
            while capture.next_record().is_some() {
                count += 1;
            }
            assert!(count >= (9_000 - 24) / 20, "{count} records");
            assert!(count < expected.lines().count());
            assert!(capture.damage().unwrap().to_string().starts_with(damage));
        }
    }

    #[test]
    fn a_checksum_that_does_not_match_is_the_damage_that_is_reported() {
        let mut plain = file();
        // A record of impossible length, as a flipped bit may make it.
        plain[24 + 20 + 11] = 0x7f;
        let mut whole = gzip(&plain);
        let checksum = whole.len() - 8;
        whole[checksum] ^= 1;
        let mut capture = Capture::from_bytes(&whole).unwrap();
        while capture.next_record().is_some() {}
        let damage = capture.damage().unwrap().to_string();
        assert!(
            damage.starts_with("the gzip data is corrupt after "),
            "{damage}"
        );
        assert_eq!(capture.damaged_places(), 2);
    }

    #[test]
    fn error_for_compressed_data_without_a_capture_names_the_content() {
        let inside = Capture::from_bytes(&gzip(b"time,rtt\n")).unwrap_err();
        assert_snapshot!(inside, @"the gzip file contains no capture");
        assert_snapshot!(std::error::Error::source(&inside).unwrap(), @r#"not a capture: it starts with 74 69 6d 65 2c 72 74 74 ("time,rtt")"#);
        let cut = Capture::from_bytes(&gzip(&file())[..12]).unwrap_err();
        assert_snapshot!(cut, @"cannot decompress the gzip data");
    }

    #[test]
    fn a_mapped_file_yields_the_records_of_its_bytes() {
        let bytes = file();
        let (path, file) = on_disk("mapped", &bytes);
        let mut capture = Capture::from_file(file).unwrap();
        assert_eq!(capture.size_hint(), Some(bytes.len() as u64));
        assert_eq!(capture.position(), 24);
        capture.next_record();
        assert_eq!(capture.position(), 44);
        let (_, file) = on_disk("mapped", &bytes);
        assert_eq!(
            walk(Capture::from_file(file).unwrap()),
            walk(Capture::from_bytes(&bytes).unwrap())
        );
        std::fs::remove_file(path).unwrap();
        let (path, file) = on_disk("empty", b"");
        assert_snapshot!(Capture::from_file(file).unwrap_err(), @"the file is empty");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_stream_longer_than_its_buffer_loses_no_record() {
        let packets = (0..900_u32).fold(little().section().interface(1, 0, &[]), |bytes, i| {
            bytes.packet(0, i.into(), 9_000, &vec![0; (i * 37 % 1_500) as usize])
        });
        let bytes = packets
            .block(6, |body| {
                body.u64(0)
                    .u32(7)
                    .u32(700_000)
                    .u32(700_000)
                    .raw(&vec![8; 700_000])
            })
            .packet(0, 8, 9_000, &[9])
            .out;
        assert!(bytes.len() > 1 << 20);
        let shown = walk(Capture::from_bytes(&bytes).unwrap());
        assert_eq!(shown.lines().count(), 902);
        assert_eq!(
            walk(Capture::from_reader(io::Cursor::new(bytes)).unwrap()),
            shown
        );
    }

    /// Yields the messages of a channel; an empty message is a read error.
    struct Live(mpsc::Receiver<Vec<u8>>);

    impl Read for Live {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.recv() {
                Ok(bytes) if bytes.is_empty() => Err(io::ErrorKind::TimedOut.into()),
                Ok(bytes) => {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    Ok(bytes.len())
                }
                Err(mpsc::RecvError) => Ok(0),
            }
        }
    }

    #[test]
    fn a_live_record_is_yielded_as_soon_as_its_bytes_arrive() {
        let (send, receive) = mpsc::channel();
        let bytes = file();
        // The channel sends no further message before the record is requested: a reader that waited
        // for one would hang.
        send.send(bytes[..24].to_vec()).unwrap();
        let mut capture = Capture::from_reader(Live(receive))
            .unwrap()
            .without_look_ahead();
        for start in [24, 44, 64] {
            send.send(bytes[start..start + 20].to_vec()).unwrap();
            assert_eq!(capture.next_record().unwrap().offset, start as u64);
        }
        send.send(Vec::new()).unwrap();
        assert!(capture.next_record().is_none());
        assert_snapshot!(capture.damage().unwrap(), @"reading failed after byte 84");
        assert_eq!(capture.size_hint(), None);
    }

    #[test]
    fn a_false_length_in_a_stream_allocates_no_memory() {
        let bytes = little()
            .u32(0xa1b2_c3d4)
            .u16(2)
            .u16(4)
            .u64(0)
            .u32(u32::MAX)
            .u32(1)
            .u32(1)
            .u32(1)
            .u32(60 << 20)
            .u32(60 << 20)
            .out;
        let capture = Capture::from_reader(io::Cursor::new(bytes)).unwrap();
        assert_snapshot!(walk(capture), @"record at byte 24 claims 62914576 bytes but 16 remain");
    }
}
