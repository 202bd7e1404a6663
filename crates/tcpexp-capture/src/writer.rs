//! Writer of pcapng files.

use std::io::{self, Write};

use pcap_parser::pcapng::{EPB_MAGIC, IDB_MAGIC, ISB_MAGIC, SHB_MAGIC};
use tcpexp_units::Timestamp;

use crate::part::{END_BLOCK, HEAD_BLOCK, PartEnd, PartHead, PartMark};
use crate::{Interface, NoTime, Record};

/// The byte-order magic of a section header, in the section's byte order.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Version 1.0: the major number in the lower half.
const VERSION: u32 = 1;
/// Each half of an unknown section length.
const UNKNOWN: u32 = u32::MAX;
/// Length of a section header without options.
const SECTION_BYTES: u32 = 28;
/// Length of a block's type and its two lengths.
const FRAME_BYTES: u64 = 12;
/// The end of a block's options.
const END_OF_OPTIONS: [u8; 4] = [0; 4];
/// The option `opt_comment` of any block.
const COMMENT_OPTION: u16 = 1;
/// The interface option `if_name`.
const NAME_OPTION: u16 = 2;
/// The interface option `if_tsresol`.
const RESOLUTION_OPTION: u16 = 9;
/// Resolution of 10⁻⁹ s, as a negative power of ten.
const NANOSECONDS: u8 = 9;
/// The interface option `if_tsoffset`.
const ORIGIN_OPTION: u16 = 14;
/// The counters `isb_ifrecv` and `isb_ifdrop`.
const RECEIVED_OPTION: u16 = 4;
const DROPPED_OPTION: u16 = 5;
/// Origin of times before 1970, in seconds since 1970: the timestamps of a file have no sign. The
/// earliest time is 2^63 ns before 1970.
const EARLY_ORIGIN_SECONDS: i64 = i64::MIN / 1_000_000_000 - 1;

/// Writes records as one little-endian pcapng section with timestamps in nanoseconds. Packets share one
/// interface per link type. Records copied from another capture keep their interfaces. Times before 1970
/// have an interface of their own.
///
/// ```
/// use tcpexp_capture::{Capture, PcapngWriter};
/// use tcpexp_units::Timestamp;
///
/// let mut writer = PcapngWriter::new(Vec::new())?;
/// writer.packet(Timestamp::from_nanos(1_000_000_002), 1, 60, &[0xaa, 0xbb])?;
/// let file = writer.into_inner();
///
/// let mut capture = Capture::from_bytes(&file).expect("a pcapng file");
/// let record = capture.next_record().expect("a record");
/// assert_eq!(record.at.unwrap().as_nanos(), 1_000_000_002);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: Vec<Described>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header.
    pub fn new(mut out: W) -> io::Result<Self> {
        let section = [
            SHB_MAGIC,
            SECTION_BYTES,
            BYTE_ORDER_MAGIC,
            VERSION,
            UNKNOWN,
            UNKNOWN,
            SECTION_BYTES,
        ];
        write_words(&mut out, &section)?;
        Ok(Self {
            out,
            interfaces: Vec::new(),
        })
    }

    /// Writes one packet: its captured bytes, and its length on the wire.
    pub fn packet(
        &mut self,
        at: Timestamp,
        link_type: u16,
        wire_bytes: u32,
        captured: &[u8],
    ) -> io::Result<()> {
        self.packet_with_comment(at, link_type, wire_bytes, captured, "")
    }

    /// Writes one packet with a comment, which Wireshark shows as `frame.comment`. An empty comment
    /// is left out; one of more than 65 535 bytes is refused.
    pub fn packet_with_comment(
        &mut self,
        at: Timestamp,
        link_type: u16,
        wire_bytes: u32,
        captured: &[u8],
        comment: &str,
    ) -> io::Result<()> {
        let comments = Some(comment.as_bytes()).filter(|comment| !comment.is_empty());
        self.packet_with_comments(at, link_type, wire_bytes, captured, comments)
    }

    /// Writes one packet with comments.
    pub fn packet_with_comments<'a>(
        &mut self,
        at: Timestamp,
        link_type: u16,
        wire_bytes: u32,
        captured: &[u8],
        comments: impl IntoIterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        let interface = Described {
            link_type,
            ..Described::default()
        };
        let packet = PacketToWrite {
            at,
            wire_bytes,
            captured,
        };
        let mut options = Vec::new();
        for comment in comments {
            option(COMMENT_OPTION, comment, &mut options)?;
        }
        self.write(&packet, interface, options)
    }

    /// Writes a record of another capture with its comments, on the same interface. `mark`
    /// is the record's place in that capture if this file is a part of it. `interface` pairs the
    /// interface's index in the other capture with its description.
    ///
    /// A record without a time is refused.
    pub fn record(
        &mut self,
        record: &Record<'_>,
        interface: (usize, &Interface),
        mark: Option<&PartMark>,
    ) -> io::Result<()> {
        let (Ok(at) | Err(NoTime::Outlier(at))) = record.at else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let packet = PacketToWrite {
            at,
            wire_bytes: record.wire_bytes,
            captured: record.captured,
        };
        let mut options = Vec::new();
        for comment in record.options.comments() {
            option(COMMENT_OPTION, comment, &mut options)?;
        }
        if let Some(mark) = mark {
            mark.write(&mut options);
        }
        self.write(&packet, Described::of(interface), options)
    }

    /// Writes the counters of an interface.
    pub fn statistics(&mut self, interface: (usize, &Interface), at: Timestamp) -> io::Result<()> {
        let Interface {
            received, dropped, ..
        } = interface.1;
        let number = self.interface(Described::of(interface))?;
        let mut options = Vec::new();
        for (code, count) in [(RECEIVED_OPTION, received), (DROPPED_OPTION, dropped)] {
            if let Some(count) = count {
                options.extend(code.to_le_bytes());
                options.extend(8_u16.to_le_bytes());
                options.extend(count.to_le_bytes());
            }
        }
        options.extend(END_OF_OPTIONS);
        let [high, low] = halves(at.as_nanos().max(0).cast_unsigned());
        self.block(ISB_MAGIC, &[number, high, low], &[&options])
    }

    /// Makes the file a part: the first block after the section header.
    pub fn part_head(&mut self, head: &PartHead) -> io::Result<()> {
        self.block(HEAD_BLOCK, &[], &[&head.to_body()])
    }

    /// Ends a part.
    pub fn part_end(&mut self, end: &PartEnd) -> io::Result<()> {
        self.block(END_BLOCK, &[], &[&end.to_body()])
    }

    /// Returns the output. The file is complete after each packet.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write(
        &mut self,
        packet: &PacketToWrite<'_>,
        interface: Described,
        mut options: Vec<u8>,
    ) -> io::Result<()> {
        let origin_seconds = if packet.at.as_nanos() < 0 {
            EARLY_ORIGIN_SECONDS
        } else {
            0
        };
        let interface = self.interface(Described {
            origin_seconds,
            ..interface
        })?;
        if !options.is_empty() {
            options.extend(END_OF_OPTIONS);
        }
        let since_origin =
            i128::from(packet.at.as_nanos()) - i128::from(origin_seconds) * 1_000_000_000;
        let since_origin = u64::try_from(since_origin).map_err(|_| io::ErrorKind::InvalidData)?;
        let [high, low] = halves(since_origin);
        let captured_bytes = word(packet.captured.len())?;
        let head = [interface, high, low, captured_bytes, packet.wire_bytes];
        self.block(EPB_MAGIC, &head, &[packet.captured, &options])
    }

    /// Returns the number of an interface, and describes it at first use.
    fn interface(&mut self, wanted: Described) -> io::Result<u32> {
        if let Some(known) = self.interfaces.iter().position(|one| *one == wanted) {
            return word(known);
        }
        let mut options = Vec::new();
        if let Some(name) = &wanted.name {
            option(NAME_OPTION, name.as_bytes(), &mut options)?;
        }
        option(RESOLUTION_OPTION, &[NANOSECONDS], &mut options)?;
        option(
            ORIGIN_OPTION,
            &wanted.origin_seconds.to_le_bytes(),
            &mut options,
        )?;
        options.extend(END_OF_OPTIONS);
        let head = [wanted.link_type.into(), wanted.snaplen];
        self.block(IDB_MAGIC, &head, &[&options])?;
        self.interfaces.push(wanted);
        word(self.interfaces.len() - 1)
    }

    /// Writes a block: words, then texts, each padded to whole words.
    fn block(&mut self, kind: u32, head: &[u32], texts: &[&[u8]]) -> io::Result<()> {
        let mut length = FRAME_BYTES + 4 * head.len() as u64;
        for text in texts {
            length += (text.len() as u64).next_multiple_of(4);
        }
        let length = u32::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?;
        write_words(&mut self.out, &[kind, length])?;
        write_words(&mut self.out, head)?;
        for text in texts {
            self.out.write_all(text)?;
            let padding = text.len().next_multiple_of(4) - text.len();
            self.out.write_all(&[0; 3][..padding])?;
        }
        write_words(&mut self.out, &[length])
    }
}

/// A packet to write.
struct PacketToWrite<'a> {
    at: Timestamp,
    wire_bytes: u32,
    captured: &'a [u8],
}

/// Description of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Described {
    /// Number among the interfaces of the capture that is copied: it may have several with equal
    /// descriptions.
    place: usize,
    link_type: u16,
    /// 0 for no limit.
    snaplen: u32,
    name: Option<String>,
    /// Origin of its times, in seconds since 1970.
    origin_seconds: i64,
}

impl Described {
    fn of((place, interface): (usize, &Interface)) -> Self {
        Self {
            place,
            link_type: interface.link_type,
            snaplen: interface.snaplen.unwrap_or(0),
            name: interface.name.clone(),
            origin_seconds: 0,
        }
    }
}

/// The upper and the lower half of a time, which a block stores in this order whatever its byte order.
fn halves(time: u64) -> [u32; 2] {
    let [low @ .., h4, h5, h6, h7] = time.to_le_bytes();
    [
        u32::from_le_bytes([h4, h5, h6, h7]),
        u32::from_le_bytes(low),
    ]
}

/// Appends an option, which must be shorter than 65,536 bytes.
fn option(code: u16, value: &[u8], options: &mut Vec<u8>) -> io::Result<()> {
    let length = u16::try_from(value.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    options.extend(code.to_le_bytes());
    options.extend(length.to_le_bytes());
    options.extend(value);
    options.resize(options.len().next_multiple_of(4), 0);
    Ok(())
}

fn word(number: usize) -> io::Result<u32> {
    u32::try_from(number).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn write_words(out: &mut impl Write, words: &[u32]) -> io::Result<()> {
    words
        .iter()
        .try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Capture;

    /// Time, link type, length on the wire and bytes of a packet.
    type Packet = (i64, u16, u32, Vec<u8>);

    fn packets() -> impl Strategy<Value = Vec<Packet>> {
        // A day of nanoseconds around 1970: packets further apart are outliers.
        let at = -43_200_000_000_000..43_200_000_000_000_i64;
        let bytes = prop::collection::vec(any::<u8>(), 0..70);
        let packet = (at, 0..3_u16, any::<u16>(), bytes).prop_map(|(at, link, more, bytes)| {
            let wire_bytes = u32::try_from(bytes.len()).unwrap() + u32::from(more);
            (at, link, wire_bytes, bytes)
        });
        prop::collection::vec(packet, 0..20)
    }

    #[test]
    fn a_comment_leaves_the_packet_as_it_is() {
        let at = Timestamp::from_nanos(7);
        for comment in ["", "a", "four", "retransmission by a timeout"] {
            let mut writer = PcapngWriter::new(Vec::new()).unwrap();
            writer
                .packet_with_comment(at, 1, 60, b"abcde", comment)
                .unwrap();
            writer.packet(at, 1, 61, b"fg").unwrap();
            let file = writer.into_inner();
            let text = String::from_utf8_lossy(&file);
            assert!(text.contains(comment));
            let mut capture = Capture::from_bytes(&file).unwrap();
            for expected in [(60, &b"abcde"[..]), (61, b"fg")] {
                let record = capture.next_record().unwrap();
                assert_eq!((record.wire_bytes, record.captured), expected);
            }
            assert!(capture.next_record().is_none() && capture.damage().is_none());
        }
    }

    proptest! {
        #[test]
        fn written_packets_are_read_back(packets in packets()) {
            let mut writer = PcapngWriter::new(Vec::new()).unwrap();
            for (at, link_type, wire_bytes, captured) in &packets {
                let at = Timestamp::from_nanos(*at);
                writer.packet(at, *link_type, *wire_bytes, captured).unwrap();
            }
            let file = writer.into_inner();
            let mut capture = Capture::from_bytes(&file).unwrap();
            let mut read: Vec<Packet> = Vec::new();
            while let Some(record) = capture.next_record() {
                let at = record.at.unwrap().as_nanos();
                read.push((at, record.link_type, record.wire_bytes, record.captured.to_vec()));
            }
            prop_assert_eq!(read, packets);
            prop_assert!(capture.damage().is_none());
        }
    }
}
