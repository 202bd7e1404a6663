//! Writer of pcapng files.

use std::io::{self, Write};

use pcap_parser::pcapng::{EPB_MAGIC, IDB_MAGIC, SHB_MAGIC};
use tcpexp_units::Timestamp;

/// The byte-order magic of a section header, in the section's byte order.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Version 1.0: the major number in the lower half.
const VERSION: u32 = 1;
/// Each half of an unknown section length.
const UNKNOWN: u32 = u32::MAX;
/// Length of a section header without options.
const SECTION_BYTES: u32 = 28;
/// Length of an interface description with its resolution and its origin of time.
const INTERFACE_BYTES: u32 = 44;
/// Length of an enhanced packet block without packet and padding.
const PACKET_BYTES: u32 = 32;
/// The option `opt_comment` of any block.
const COMMENT_OPTION: u16 = 1;
/// The interface option `if_tsresol`, of one byte.
const RESOLUTION_OPTION: u32 = 9 | 1 << 16;
/// Resolution of 10⁻⁹ s, as a negative power of ten.
const NANOSECONDS: u32 = 9;
/// The interface option `if_tsoffset`, of eight bytes.
const ORIGIN_OPTION: u32 = 0x0e | 8 << 16;
/// Origin of times before 1970, in seconds since 1970: the timestamps of a file have no sign. The
/// earliest time is 2^63 ns before 1970.
const EARLY_ORIGIN_SECONDS: i64 = i64::MIN / 1_000_000_000 - 1;

/// Writes records as one little-endian pcapng section, with an interface for each link type and
/// timestamps in nanoseconds. Times before 1970 have an interface of their own.
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
    /// Link type of each interface, and the origin of its times in seconds since 1970.
    interfaces: Vec<(u16, i64)>,
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
        let origin = if at.as_nanos() < 0 {
            EARLY_ORIGIN_SECONDS
        } else {
            0
        };
        let interface = self.interface(link_type, origin)?;
        let captured_bytes = word(captured.len())?;
        // -n mod 4 is the distance from n to the next multiple of four, without overflow near 2^32.
        let padding = captured_bytes.wrapping_neg() % 4;
        let options = comment_option(comment)?;
        let length = captured_bytes
            .checked_add(padding + PACKET_BYTES + word(options.len())?)
            .ok_or(io::ErrorKind::InvalidData)?;
        // The block stores the upper half of the time first, whatever the byte order.
        let since_origin = i128::from(at.as_nanos()) - i128::from(origin) * 1_000_000_000;
        let since_origin = u64::try_from(since_origin).map_err(|_| io::ErrorKind::InvalidData)?;
        let [low @ .., h4, h5, h6, h7] = since_origin.to_le_bytes();
        let (low, high) = (
            u32::from_le_bytes(low),
            u32::from_le_bytes([h4, h5, h6, h7]),
        );
        let head = [
            EPB_MAGIC,
            length,
            interface,
            high,
            low,
            captured_bytes,
            wire_bytes,
        ];
        write_words(&mut self.out, &head)?;
        self.out.write_all(captured)?;
        self.out.write_all(&[0; 3][..padding as usize])?;
        self.out.write_all(&options)?;
        write_words(&mut self.out, &[length])
    }

    /// Returns the output. The file is complete after each packet.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Returns the number of the interface with this link type and origin of time, and describes it
    /// at first use.
    fn interface(&mut self, link_type: u16, origin: i64) -> io::Result<u32> {
        let wanted = (link_type, origin);
        if let Some(known) = self.interfaces.iter().position(|one| *one == wanted) {
            return word(known);
        }
        let [o0, o1, o2, o3, o4, o5, o6, o7] = origin.to_le_bytes();
        let description = [
            IDB_MAGIC,
            INTERFACE_BYTES,
            link_type.into(),
            0, // No snapshot length.
            RESOLUTION_OPTION,
            NANOSECONDS,
            ORIGIN_OPTION,
            u32::from_le_bytes([o0, o1, o2, o3]),
            u32::from_le_bytes([o4, o5, o6, o7]),
            0, // End of the options.
            INTERFACE_BYTES,
        ];
        write_words(&mut self.out, &description)?;
        self.interfaces.push(wanted);
        word(self.interfaces.len() - 1)
    }
}

/// The options of a packet block with a comment.
fn comment_option(comment: &str) -> io::Result<Vec<u8>> {
    if comment.is_empty() {
        return Ok(Vec::new());
    }
    let length = u16::try_from(comment.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut option = COMMENT_OPTION.to_le_bytes().to_vec();
    option.extend(length.to_le_bytes());
    option.extend(comment.as_bytes());
    option.resize(option.len().next_multiple_of(4), 0);
    // The end of the options.
    option.extend([0; 4]);
    Ok(option)
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
