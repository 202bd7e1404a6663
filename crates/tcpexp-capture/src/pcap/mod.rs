//! Classic pcap: a 24-byte header, then records.

use pcap_parser::parse_pcap_header;
use tcpexp_units::Timestamp;

use self::header::{Head, Layout, MAGICS, magic};
use self::judge::is_near;
use crate::clock::{Clock, Resolution};
use crate::step::{Found, LONGEST_RECORD, Peek, Search, Step, search};
use crate::{ByteOrder, Damage, Error, Format, Interface};

mod header;
mod judge;

/// Largest default snapshot length of capture tools (tcpdump, Wireshark). A longer record is accepted
/// only if the file's own snapshot length allows it.
const USUAL_SNAPLEN: u32 = 256 << 10;

/// A walk over the records of a pcap file.
#[derive(Debug)]
pub(crate) struct PcapWalk {
    format: Format,
    layout: Layout,
    interface: Interface,
    nanos_per_fraction: i64,
    /// Greatest captured length, in bytes, that takes the fast path.
    usual: u32,
    /// Greatest captured length that is accepted, in bytes.
    limit: u32,
    /// Whole seconds of the last record near the one before it.
    reference: Option<u32>,
    /// Whole seconds of the last record at a distant time, or the reference before the last clock step.
    candidate: Option<u32>,
    /// True if the writer leaves the wire length at 0.
    omits_wire: bool,
    /// True if later records may be read to check a record.
    looks_ahead: bool,
}

impl PcapWalk {
    pub(crate) const HEADER_BYTES: usize = 24;

    /// True if a file that starts with these bytes is pcap.
    pub(crate) fn starts(start: &[u8]) -> bool {
        magic(start).is_some()
    }

    /// True if the magic of a pcap file may start with these bytes.
    pub(crate) fn may_start(start: &[u8]) -> bool {
        MAGICS.iter().any(|(magic, _)| magic.starts_with(start))
    }

    /// Reads the file header.
    pub(crate) fn open(start: &[u8]) -> Result<Self, Error> {
        let cut = Error::HeaderCut {
            have: start.len(),
            needed: Self::HEADER_BYTES,
        };
        let (Some(&header), Some(magic)) = (start.first_chunk::<24>(), magic(start)) else {
            return Err(cut);
        };
        // pcap-parser does not recognise the modified format in big-endian, but all else is the
        // same.
        let mut header = header;
        if magic.modified && magic.byte_order == ByteOrder::Big {
            header[..4].copy_from_slice(&[0xa1, 0xb2, 0xc3, 0xd4]);
        }
        let Ok((_, fields)) = parse_pcap_header(&header) else {
            return Err(cut);
        };
        let version = (fields.version_major, fields.version_minor);
        if !matches!(version, (2, 0..=4)) {
            return Err(Error::Version {
                format: "pcap",
                major: version.0,
                minor: version.1,
            });
        }
        // The upper bits are the length of the frame check sequence.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "low 16 bits"
        )]
        let link_type = fields.network.0 as u16;
        let (power, nanos_per_fraction) = if magic.nanoseconds {
            (9, 1)
        } else {
            (6, 1_000)
        };
        let clock = Clock::new(Resolution::PowerOfTen(power), 0);
        // Records of offloaded segments may exceed the stated snapshot length, so a small value
        // does not lower the limit.
        let limit = fields.snaplen.clamp(USUAL_SNAPLEN, LONGEST_RECORD);
        Ok(Self {
            format: Format::Pcap {
                version,
                byte_order: magic.byte_order,
                nanoseconds: magic.nanoseconds,
                modified: magic.modified,
            },
            layout: Layout::new(magic, version.1),
            interface: Interface::new(link_type, fields.snaplen, clock),
            nanos_per_fraction,
            usual: match fields.snaplen {
                // libpcap also reads a snapshot length of 0 as no limit.
                0 => limit,
                snaplen => snaplen.min(limit),
            },
            limit,
            reference: None,
            candidate: None,
            omits_wire: false,
            looks_ahead: true,
        })
    }

    /// Makes the walk accept a doubtful record without reading the records after it.
    pub(crate) fn stop_looking_ahead(&mut self) {
        self.looks_ahead = false;
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the record at the start of the window, if it is complete, of the usual length and near
    /// the record before it in time.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "to hand its answer over in memory takes as long as to find it"
    )]
    pub(crate) fn usual(&mut self, window: &[u8]) -> Option<Found> {
        let head = self.layout.whole(window)?;
        // The subtraction wraps for an empty record, which thus is not usual.
        let is_usual = head.captured.wrapping_sub(1) < self.usual
            && head.captured <= head.wire
            && self
                .reference
                .is_some_and(|reference| is_near(reference, head.seconds));
        is_usual.then(|| {
            self.reference = Some(head.seconds);
            self.found(head)
        })
    }

    pub(crate) fn step(&mut self, window: &[u8], at_end: bool, offset: u64) -> Step {
        match self.usual(window) {
            Some(found) => Step::Record(found),
            None => self.unusual(window, at_end, offset),
        }
    }

    /// Finds `ROW` consecutive records whose times are near the last sound record's, or `LONG_ROW`
    /// records near each other.
    pub(crate) fn search(&self, window: &[u8], at_end: bool) -> Search {
        search(window, at_end, self.layout.header_bytes, |bytes| {
            self.row_at(bytes, at_end)
        })
    }

    /// Returns the content at the start of the window, without consuming it.
    pub(crate) fn peek(&self, window: &[u8]) -> Peek {
        let header_bytes = self.layout.header_bytes;
        match self.layout.head(window) {
            None => Peek::More(header_bytes),
            // Longer records need the checks of `unusual`: a damaged length would lead to a wrong
            // place.
            Some(head) if head.captured > self.usual || head.is_empty() => Peek::Unknown,
            Some(head) => {
                Peek::Record(Some(self.time(head)), header_bytes + head.captured as usize)
            }
        }
    }

    #[inline]
    fn time(&self, head: Head) -> Timestamp {
        // No overflow: 2^32 seconds are half the range, and 2^32 microseconds are little more than
        // an hour.
        let nanos = i64::from(head.seconds) * 1_000_000_000
            + i64::from(head.fraction) * self.nanos_per_fraction;
        Timestamp::from_nanos(nanos)
    }

    #[inline]
    fn found(&self, head: Head) -> Found {
        let header_bytes = self.layout.header_bytes;
        let captured_bytes = head.captured as usize;
        Found {
            at: Ok(self.time(head)),
            link_type: self.interface.link_type,
            interface: 0,
            wire_bytes: head.wire,
            captured_from: header_bytes,
            captured_bytes,
            record_bytes: header_bytes + captured_bytes,
        }
    }

    /// Handles everything but a complete record of the usual kind.
    #[cold]
    fn unusual(&mut self, window: &[u8], at_end: bool, offset: u64) -> Step {
        let header_bytes = self.layout.header_bytes;
        let left = window.len() as u64;
        let Some(head) = self.layout.head(window) else {
            return match (at_end, window.is_empty()) {
                (false, _) => Step::More(header_bytes),
                (true, true) => Step::End,
                // Fewer bytes than a header hold no record, so a search would find nothing.
                (true, false) => Step::Broken {
                    damage: Damage::HeaderCut { offset, left },
                    search: false,
                },
            };
        };
        let record_bytes = header_bytes + head.captured as usize;
        if head.captured > self.limit {
            return Step::Broken {
                damage: Damage::Oversized {
                    offset,
                    claimed: record_bytes as u64,
                    limit: u64::from(self.limit) + header_bytes as u64,
                },
                search: true,
            };
        }
        // Either condition alone is common: offload exceeds the snapshot length, and some writers
        // leave the wire length at 0.
        if head.captured > self.usual && head.captured > head.wire {
            return Step::Broken {
                damage: Damage::MoreThanThePacket {
                    offset,
                    captured: head.captured,
                    wire: head.wire,
                },
                search: true,
            };
        }
        if record_bytes <= window.len() {
            return self.judge(head, &window[record_bytes..], at_end, offset);
        }
        if !at_end {
            return Step::More(record_bytes);
        }
        // Either the end of the record is missing, or its length is wrong and sound records follow.
        Step::Broken {
            damage: Damage::RecordCut {
                offset,
                claimed: record_bytes as u64,
                left,
            },
            search: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::Capture;
    use crate::build::{Bytes, big, little, read};

    const MICROS: u32 = 0xa1b2_c3d4;
    const NANOS: u32 = 0xa1b2_3c4d;
    const MODIFIED: u32 = 0xa1b2_cd34;

    /// Three packets of 60, 1500 and 60 bytes.
    fn three(header: Bytes) -> Vec<u8> {
        header
            .record(100, 1, 60, &[1; 60])
            .record(100, 2, 1_500, &[2; 96])
            .record(101, 3, 60, &[3; 60])
            .out
    }

    fn format(file: &[u8]) -> String {
        Capture::from_bytes(file).unwrap().format().to_string()
    }

    #[test]
    fn both_byte_orders_and_both_units_yield_the_same_packets() {
        let file = three(little().pcap(MICROS, 4));
        assert_snapshot!(format(&file), @"pcap, microseconds, little-endian");
        assert_snapshot!(read(&file), @"
        24: 100000001000 ns, link 1, interface 0, 60 of 60 bytes [01, 01, 01, 01]
        100: 100000002000 ns, link 1, interface 0, 96 of 1500 bytes [02, 02, 02, 02]
        212: 101000003000 ns, link 1, interface 0, 60 of 60 bytes [03, 03, 03, 03]
        ");
        let other = three(big().pcap(MICROS, 4));
        assert_snapshot!(format(&other), @"pcap, microseconds, big-endian");
        assert_eq!(read(&file), read(&other));

        let file = three(little().pcap(NANOS, 4));
        assert_snapshot!(format(&file), @"pcap, nanoseconds, little-endian");
        assert_snapshot!(read(&file), @"
        24: 100000000001 ns, link 1, interface 0, 60 of 60 bytes [01, 01, 01, 01]
        100: 100000000002 ns, link 1, interface 0, 96 of 1500 bytes [02, 02, 02, 02]
        212: 101000000003 ns, link 1, interface 0, 60 of 60 bytes [03, 03, 03, 03]
        ");
        let other = three(big().pcap(NANOS, 4));
        assert_snapshot!(format(&other), @"pcap, nanoseconds, big-endian");
        assert_eq!(read(&file), read(&other));
    }

    #[test]
    fn the_modified_format_has_eight_more_bytes_per_record() {
        let two = |start: Bytes| {
            let header = start.pcap(MODIFIED, 4).u32(7).u32(8).u32(2).u32(60);
            let first = header.u32(3).u16(8).u16(0).raw(&[1, 2]);
            let second = first.u32(9).u32(8).u32(1).u32(60);
            second.u32(3).u16(8).u16(0).raw(&[3]).out
        };
        assert_snapshot!(read(&two(little())), @"
        24: 7000008000 ns, link 1, interface 0, 2 of 60 bytes [01, 02]
        50: 9000008000 ns, link 1, interface 0, 1 of 60 bytes [03]
        ");
        assert_eq!(read(&two(little())), read(&two(big())));
        assert_snapshot!(format(&two(big())), @"modified pcap, microseconds, big-endian");
    }

    #[test]
    fn lengths_are_swapped_before_version_2_3_and_have_either_order_in_version_2_3() {
        let swapped = |minor| {
            big()
                .pcap(MICROS, minor)
                .u32(7)
                .u32(8)
                .u32(60)
                .u32(2)
                .raw(&[1, 2])
                .u32(7)
                .u32(9)
                .u32(60)
                .u32(1)
                .raw(&[3])
                .out
        };
        assert_snapshot!(read(&swapped(2)), @"
        24: 7000008000 ns, link 1, interface 0, 2 of 60 bytes [01, 02]
        42: 7000009000 ns, link 1, interface 0, 1 of 60 bytes [03]
        ");
        assert_eq!(read(&swapped(2)), read(&swapped(3)));
        assert_eq!(
            read(&three(big().pcap(MICROS, 3))),
            read(&three(big().pcap(MICROS, 4)))
        );
        assert_snapshot!(format(&swapped(2)), @"pcap 2.2, microseconds, big-endian");
    }

    #[test]
    fn the_upper_half_of_the_link_type_field_is_ignored() {
        let file = little()
            .u32(MICROS)
            .u16(2)
            .u16(4)
            .u64(0)
            .u32(0)
            .u32(0xf400_0071)
            .record(1, 0, 4, &[9])
            .out;
        assert_snapshot!(read(&file), @"24: 1000000000 ns, link 113, interface 0, 1 of 4 bytes [09]");
        let capture = Capture::from_bytes(&file).unwrap();
        assert_eq!(capture.interfaces()[0].snaplen, None);
    }

    #[test]
    fn impossible_times_are_read_as_written() {
        let file = little()
            .pcap(MICROS, 4)
            .record(0, 0, 1, &[1])
            .record(5, 1_000_000, 1, &[1])
            .record(u32::MAX, u32::MAX, 1, &[1])
            .out;
        assert_snapshot!(read(&file), @"
        24: 0 ns, link 1, interface 0, 1 of 1 bytes [01]
        41: 6000000000 ns, link 1, interface 0, 1 of 1 bytes [01]
        58: no time: outlier at 4294971589967295000 ns, link 1, interface 0, 1 of 1 bytes [01]
        ");
    }

    #[test]
    fn a_header_alone_is_a_capture_without_records() {
        assert_eq!(read(&little().pcap(MICROS, 4).out), "");
    }

    #[test]
    fn a_record_longer_than_the_snapshot_length_is_read_if_its_packet_was_that_long() {
        let file = little()
            .pcap(MICROS, 4)
            .record(1, 2, 80_000, &vec![7; 80_000])
            .out;
        assert_snapshot!(read(&file), @"24: 1000002000 ns, link 1, interface 0, 80000 of 80000 bytes [07, 07, 07, 07]");
    }

    #[test]
    fn error_of_an_unreadable_file_names_the_reason() {
        let header = little().pcap(MICROS, 4).out;
        assert_snapshot!(read(b""), @"error: the file is empty");
        assert_snapshot!(read(&header[..2]), @"error: the file ends after 2 of the 24 bytes of its header");
        assert_snapshot!(read(&header[..23]), @"error: the file ends after 23 of the 24 bytes of its header");
        assert_snapshot!(read(&big().pcap(MICROS, 5).out), @"error: pcap version 2.5 is not supported");
        assert_snapshot!(read(b"time,rtt\n0.1,20\n"), @r#"error: not a capture: it starts with 74 69 6d 65 2c 72 74 74 ("time,rtt")"#);
        assert_snapshot!(read(b"\x00\x11\x53\x18\xa2\x58\x26\x3b\x02\x00"), @"error: not a capture: it starts with 00 11 53 18 a2 58 26 3b");
        assert_snapshot!(read(b"snoop\0\0\0\0\0\0\x02"), @"error: Solaris snoop is not supported; convert it first: editcap -F pcapng FILE OUT");
        assert_snapshot!(read(b"\xfd7zXZ\0\0\x04\xe6\xd6"), @"error: xz compression is not supported; decompress it first: xz -dc FILE | ...");
    }

    #[test]
    fn a_truncated_record_is_damage_and_earlier_records_are_used() {
        let file = three(little().pcap(MICROS, 4));
        assert_snapshot!(read(&file[..file.len() - 1]), @"
        24: 100000001000 ns, link 1, interface 0, 60 of 60 bytes [01, 01, 01, 01]
        100: 100000002000 ns, link 1, interface 0, 96 of 1500 bytes [02, 02, 02, 02]
        record at byte 212 claims 76 bytes but 75 remain
        ");
        assert_snapshot!(read(&file[..file.len() - 70]), @"
        24: 100000001000 ns, link 1, interface 0, 60 of 60 bytes [01, 01, 01, 01]
        100: 100000002000 ns, link 1, interface 0, 96 of 1500 bytes [02, 02, 02, 02]
        the file ends at byte 218, 6 bytes into a record header
        ");
    }

    #[test]
    fn a_header_before_garbage_is_damage_without_records() {
        let file = little().pcap(MICROS, 4).raw(&[0xee; 100]).out;
        assert_snapshot!(read(&file), @"record at byte 24 claims 4008636158 bytes, more than the 262160 a record can have");
    }

    #[test]
    fn records_after_garbage_are_found() {
        let file = little()
            .pcap(MICROS, 4)
            .record(100, 1, 60, &[1; 60])
            .raw(&[0xee; 333])
            .record(100, 2, 60, &[2; 60])
            .record(100, 3, 60, &[3; 60])
            .out;
        assert_snapshot!(read(&file), @"
        24: 100000001000 ns, link 1, interface 0, 60 of 60 bytes [01, 01, 01, 01]
        433: 100000002000 ns, link 1, interface 0, 60 of 60 bytes [02, 02, 02, 02]
        509: 100000003000 ns, link 1, interface 0, 60 of 60 bytes [03, 03, 03, 03]
        record at byte 100 claims 4008636158 bytes, more than the 262160 a record can have; skipped 333 bytes to byte 433
        ");
        let mut capture = Capture::from_bytes(&file).unwrap();
        while capture.next_record().is_some() {}
        assert_eq!(
            (capture.skipped_bytes(), capture.damaged_places()),
            (333, 1)
        );
    }

    #[test]
    fn a_false_length_does_not_hide_the_records_after_it() {
        let mut file = three(little().pcap(MICROS, 4));
        // The captured length of the first record: 60 + 2^17, longer than the file.
        file[24 + 8 + 2] = 2;
        assert_snapshot!(read(&file), @"
        100: 100000002000 ns, link 1, interface 0, 96 of 1500 bytes [02, 02, 02, 02]
        212: 101000003000 ns, link 1, interface 0, 60 of 60 bytes [03, 03, 03, 03]
        record at byte 24 claims 131132 captured bytes of a 60-byte packet; skipped 76 bytes to byte 100
        ");
    }

    #[test]
    fn garbage_at_a_distant_time_is_not_read_as_records() {
        let file = little()
            .pcap(MICROS, 4)
            .record(1_700_000_000, 1, 60, &[1; 60])
            .raw(&[0xee; 33])
            .record(1_000, 2, 60, &[2; 60])
            .record(1_000, 3, 60, &[3; 60])
            .out;
        assert_snapshot!(read(&file), @"
        24: 1700000000000001000 ns, link 1, interface 0, 60 of 60 bytes [01, 01, 01, 01]
        record at byte 100 claims 4008636158 bytes, more than the 262160 a record can have
        ");
    }

    /// Seconds of the records of `many`.
    const START: u32 = 1_700_000_000;

    /// 40 packets of 64 bytes, 10 ms apart.
    fn many() -> Vec<u8> {
        (0..40_u32)
            .fold(little().pcap(MICROS, 4), |bytes, i| {
                let packet = i.wrapping_mul(2_654_435_761).to_be_bytes().repeat(16);
                bytes.record(START, i * 10_000, 64, &packet)
            })
            .out
    }

    /// Offset of record `number` of `many`.
    fn place(number: usize) -> usize {
        24 + number * 80
    }

    /// Offsets of the records, and the damage.
    fn offsets(file: &[u8]) -> (Vec<usize>, String) {
        let mut capture = Capture::from_bytes(file).unwrap();
        let mut offsets = Vec::new();
        while let Some(record) = capture.next_record() {
            offsets.push(usize::try_from(record.offset).unwrap());
        }
        let damage = capture.damage().map(ToString::to_string);
        (offsets, damage.unwrap_or_default())
    }

    #[test]
    fn zeroed_bytes_hide_only_the_records_they_touch() {
        for from in place(10) + 8..place(11) + 8 {
            for zeros in [160, 161, 176, 400, 1_000] {
                let mut file = many();
                file[from..from + zeros].fill(0);
                // A packet of zeros is a sound record.
                let is_touched = |number: &usize| {
                    let head = place(*number);
                    head < from + zeros && from < head + 16
                };
                let sound: Vec<usize> = (0..40)
                    .filter(|number| !is_touched(number))
                    .map(place)
                    .collect();
                let (found, damage) = offsets(&file);
                for offset in &sound {
                    assert!(found.contains(offset), "{from}+{zeros}: {offset}, {damage}");
                }
                assert!(found.len() <= sound.len() + 1, "{from}+{zeros}: {found:?}");
                assert!(damage.contains("skipped"), "{from}+{zeros}: {damage}");
            }
        }
    }

    #[test]
    fn a_page_of_zeros_is_reported_from_its_first_record_to_the_next_sound_one() {
        let mut file = many();
        file[place(10) + 40..place(13) + 8].fill(0);
        let (found, damage) = offsets(&file);
        assert_eq!(found.len(), 37);
        assert_snapshot!(damage, @"record at byte 904 has an implausible time or length; skipped 240 bytes to byte 1144");
    }

    #[test]
    fn a_flipped_bit_of_a_time_or_captured_length_hides_at_most_its_own_record() {
        for number in [0, 1, 2, 20, 37, 38, 39] {
            for bit in (0..32).chain(64..96) {
                let mut file = many();
                file[place(number) + bit / 8] ^= 1 << (bit % 8);
                let (found, damage) = offsets(&file);
                for other in (0..40).filter(|&other| other != number) {
                    let offset = place(other);
                    assert!(
                        found.contains(&offset),
                        "{number}, bit {bit}: {other}, {damage}"
                    );
                }
                // A wrong length is damage, a wrong time is judged as an outlier.
                assert_eq!(
                    !damage.is_empty(),
                    bit >= 64,
                    "{number}, bit {bit}: {damage}"
                );
            }
        }
    }

    #[test]
    fn a_false_length_of_the_last_but_one_record_is_not_a_truncated_file() {
        let mut file = many();
        // 64 + 128 captured bytes of a packet of 1088: plausible, but longer than the file.
        file[place(38) + 8] |= 128;
        file[place(38) + 13] |= 4;
        let (found, damage) = offsets(&file);
        assert_eq!(found.last(), Some(&place(39)));
        assert_snapshot!(damage, @"record at byte 3064 claims 208 bytes but 160 remain; skipped 80 bytes to byte 3144");
    }

    #[test]
    fn records_at_a_distant_time_after_garbage_are_found_if_they_are_many() {
        let mut file = little()
            .pcap(MICROS, 4)
            .record(1_000, 1, 4, &[1; 4])
            .record(1_000, 2, 4, &[1; 4])
            .raw(&[0xee; 33])
            .out;
        let garbage_to = file.len();
        file.extend(&many()[24..]);
        let (found, damage) = offsets(&file);
        assert_eq!(found.len(), 42);
        assert_eq!(found.get(2), Some(&garbage_to));
        assert_snapshot!(damage, @"record at byte 64 claims 4008636158 bytes, more than the 262160 a record can have; skipped 33 bytes to byte 97");
    }

    #[test]
    fn clock_steps_and_alternating_clocks_are_no_damage() {
        const DAY: u32 = 86_400;
        let file = |seconds: &[u32]| {
            seconds
                .iter()
                .fold(little().pcap(MICROS, 4), |bytes, &seconds| {
                    bytes.record(seconds, 0, 8, &[7; 8])
                })
                .out
        };
        for seconds in [
            &[1, 2, 9 * DAY, 9 * DAY + 1][..],
            &[9 * DAY, 9 * DAY + 1, 1, 2],
            &[0, 2 * DAY, 4 * DAY, 6 * DAY, 8 * DAY],
            &[1, 400 * DAY, 2, 400 * DAY, 3, 400 * DAY, 4],
            &[1, 2, 400 * DAY],
        ] {
            let (found, damage) = offsets(&file(seconds));
            assert_eq!((found.len(), damage.as_str()), (seconds.len(), ""));
        }
    }

    #[test]
    fn a_writer_that_leaves_the_wire_length_at_0_is_read() {
        let file = [5, 6, 4_000_000, 4_000_001, 4_000_002, 7]
            .iter()
            .fold(little().pcap(MICROS, 4), |bytes, &seconds| {
                bytes.record(seconds, 0, 0, &[7; 8])
            })
            .out;
        let (found, damage) = offsets(&file);
        assert_eq!((found.len(), damage.as_str()), (6, ""));
    }

    #[test]
    fn fields_that_are_wrong_in_all_records_are_no_damage() {
        let file = |fraction: u32, wire: u32| {
            (0..6)
                .fold(little().pcap(MICROS, 4), |bytes, i| {
                    bytes.record(START + i, fraction, wire, &[7; 8])
                })
                .out
        };
        // A negative number of microseconds, and one captured byte more than the packet has.
        for file in [file(4_293_970_815, 8), file(5, 7)] {
            let (found, damage) = offsets(&file);
            assert_eq!((found.len(), damage.as_str()), (6, ""));
        }
    }

    #[test]
    fn an_empty_record_between_others_is_read() {
        let file = little()
            .pcap(MICROS, 4)
            .record(5, 1, 60, &[1; 60])
            .record(5, 2, 60, &[])
            .record(5, 3, 0, &[])
            .record(5, 4, 60, &[1; 60])
            .out;
        assert_eq!(offsets(&file), (vec![24, 100, 116, 132], String::new()));
    }

    #[test]
    fn a_file_of_a_few_bytes_is_cut_only_if_a_magic_starts_with_them() {
        for cut in [
            &b"\xd4\xc3"[..],
            b"\xa1\xb2\x3c",
            b"\n\r\r",
            b"\x1f\x8b",
            b"\x28\xb5\x2f",
            b"\x04\x22",
        ] {
            assert!(
                read(cut).starts_with("error: the file ends after"),
                "{cut:?}"
            );
        }
        for other in [&b"1"[..], b"\n", b"7\n", b"ok\n", b"BZh", b"\0\0\0"] {
            assert!(read(other).starts_with("error: not a capture"), "{other:?}");
        }
    }
}
