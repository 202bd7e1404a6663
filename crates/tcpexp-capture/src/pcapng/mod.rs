//! pcapng: sections of typed blocks, each framed by its length on both sides.

mod block;
mod options;
mod packet;
mod search;

use pcap_parser::pcapng::{EPB_MAGIC, IDB_MAGIC, ISB_MAGIC, SHB_MAGIC, SPB_MAGIC};

use self::block::{
    BODY, Block, OPB_MAGIC, SECTION_HEADER_BYTES, SHORTEST_BLOCK, section_order, starts_section,
    supported, unsupported_version, whole_block,
};
use self::options::{Described, interface, read_statistics};
use self::packet::PacketReader;
use self::search::BlockSearch;
use crate::part::{END_BLOCK, HEAD_BLOCK, PartEnd, PartHead};
use crate::step::{Found, LONGEST_RECORD, Peek, Search, Step};
use crate::{ByteOrder, Damage, Error, Format, Interface, PacketOptions};

/// Length of the shortest block: the least number of bytes read of a block.
const SHORTEST_BLOCK_BYTES: usize = SHORTEST_BLOCK as usize;

/// Upper bound on the interfaces kept for one file, over all its sections. A machine with a network
/// interface for each of its containers has some thousands; a description of 32 bytes takes some
/// hundred in memory.
const MAX_INTERFACES: usize = 1 << 16;

/// A walk over the blocks of a pcapng file.
#[derive(Debug)]
pub(crate) struct NgWalk {
    first_order: ByteOrder,
    /// Byte order of the current section.
    order: ByteOrder,
    /// Index in `interfaces` of the section's first interface.
    section_interfaces: usize,
    interfaces: Vec<Interface>,
    /// True if a section header or an interface was unreadable: interface numbers are unknown until
    /// the next section.
    section_lost: bool,
    part_head: Option<PartHead>,
    part_end: Option<PartEnd>,
}

impl NgWalk {
    /// Length of the shortest section header.
    pub(crate) const HEADER_BYTES: usize = SECTION_HEADER_BYTES;

    /// True if a file that starts with these bytes is pcapng.
    pub(crate) fn starts(start: &[u8]) -> bool {
        starts_section(start)
    }

    /// True if a pcapng file may start with these bytes, which are fewer than its magic.
    pub(crate) fn may_start(start: &[u8]) -> bool {
        SHB_MAGIC.to_be_bytes().starts_with(start)
    }

    /// Reads the first section header without consuming it.
    pub(crate) fn open(start: &[u8]) -> Result<Self, Error> {
        let Some(header) = start.get(..Self::HEADER_BYTES) else {
            return Err(Error::HeaderCut {
                have: start.len(),
                needed: Self::HEADER_BYTES,
            });
        };
        let Some(order) = section_order(header) else {
            return Err(Error::NotCapture {
                start: crate::FirstBytes::of(start),
            });
        };
        if let Some((major, minor)) = unsupported_version(header, order) {
            return Err(Error::Version {
                format: "pcapng",
                major,
                minor,
            });
        }
        Ok(Self {
            first_order: order,
            order,
            section_interfaces: 0,
            interfaces: Vec::new(),
            section_lost: false,
            part_head: None,
            part_end: None,
        })
    }

    #[inline]
    pub(crate) const fn order(&self) -> ByteOrder {
        self.order
    }

    pub(crate) const fn part(&self) -> (&Option<PartHead>, &Option<PartEnd>) {
        (&self.part_head, &self.part_end)
    }

    pub(crate) fn format(&self) -> Format {
        Format::PcapNg {
            byte_order: self.first_order,
        }
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    #[inline]
    pub(crate) fn step(&mut self, window: &[u8], at_end: bool, offset: u64) -> Step {
        let order = self.order;
        // Fast path: a complete Enhanced Packet Block.
        if let Some(head) = window.first_chunk::<BODY>()
            && order.u32([head[0], head[1], head[2], head[3]]) == EPB_MAGIC
        {
            let length = order.u32([head[4], head[5], head[6], head[7]]);
            if let Some(block) = whole_block(window, EPB_MAGIC, length, order, offset) {
                let step = self.packets().enhanced(&block);
                if let Step::Record(found) = &step
                    && has_options(found)
                {
                    self.add_drops(found, window);
                }
                return step;
            }
        }
        self.other_block(window, at_end, offset)
    }

    /// Returns the content at the start of the window, without consuming it.
    pub(crate) fn peek(&self, window: &[u8]) -> Peek {
        let order = self.order;
        let Some(head) = window.first_chunk::<SHORTEST_BLOCK_BYTES>() else {
            return Peek::More(SHORTEST_BLOCK_BYTES);
        };
        let kind = order.u32([head[0], head[1], head[2], head[3]]);
        let length = order.u32([head[4], head[5], head[6], head[7]]);
        if !(SHORTEST_BLOCK..=LONGEST_RECORD).contains(&length) {
            return Peek::Unknown;
        }
        let Some(block) = whole_block(window, kind, length, order, 0) else {
            let padded = length.next_multiple_of(4) as usize;
            return if window.len() < padded {
                Peek::More(padded)
            } else {
                Peek::Unknown
            };
        };
        let step = match kind {
            EPB_MAGIC => self.packets().enhanced(&block),
            OPB_MAGIC => self.packets().obsolete(&block),
            // Blocks after a section header have other interfaces.
            SHB_MAGIC | IDB_MAGIC => return Peek::Unknown,
            _ => return Peek::Pass(block.bytes),
        };
        match step {
            Step::Record(found) => Peek::Record(found.at.ok(), block.bytes),
            // A packet of an unknown interface, or with cut content, has no time to compare.
            _ => Peek::Pass(block.bytes),
        }
    }

    /// Finds the next section, or a row of blocks of this one.
    pub(crate) fn search(&self, window: &[u8], at_end: bool) -> Search {
        let interfaces = self.interfaces.len() - self.section_interfaces;
        BlockSearch {
            // With interface numbers unknown, packets would get a wrong link type and clock.
            order: (!self.section_lost).then_some(self.order),
            interfaces: u32::try_from(interfaces).unwrap_or(u32::MAX),
        }
        .run(window, at_end)
    }

    fn other_block(&mut self, window: &[u8], at_end: bool, offset: u64) -> Step {
        let Some(head) = window.first_chunk::<12>() else {
            return match (at_end, window.is_empty()) {
                (false, _) => Step::More(12),
                (true, true) => Step::End,
                (true, false) => Step::Broken {
                    damage: Damage::HeaderCut {
                        offset,
                        left: window.len() as u64,
                    },
                    search: false,
                },
            };
        };
        // A section header is in the byte order of its own section, not of the section before.
        let mut order = self.order;
        if Self::starts(head) {
            match section_order(head) {
                Some(its_order) => order = its_order,
                None => return self.lost(SHB_MAGIC, Damage::SectionByteOrder { offset }),
            }
        }
        let kind = order.u32([head[0], head[1], head[2], head[3]]);
        let length = order.u32([head[4], head[5], head[6], head[7]]);
        if length < SHORTEST_BLOCK {
            return self.lost(kind, Damage::BlockLength { offset, length });
        }
        if length > LONGEST_RECORD {
            let damage = Damage::Oversized {
                offset,
                claimed: length.into(),
                limit: LONGEST_RECORD.into(),
            };
            return self.lost(kind, damage);
        }
        match whole_block(window, kind, length, order, offset) {
            Some(block) => self.block(&block, order),
            None => self.no_block(window, at_end, kind, length, order, offset),
        }
    }

    /// Handles an incomplete block, or one whose two lengths differ.
    fn no_block(
        &mut self,
        window: &[u8],
        at_end: bool,
        kind: u32,
        length: u32,
        order: ByteOrder,
        offset: u64,
    ) -> Step {
        let padded = length.next_multiple_of(4) as usize;
        // The second length may come after the padding, so the block is judged only with its
        // padding.
        if window.len() < padded && !at_end {
            return Step::More(padded);
        }
        match order.u32_at(window, length as usize - 4) {
            Some(trailing) => self.lost(
                kind,
                Damage::BlockTrailer {
                    offset,
                    leading: length,
                    trailing,
                },
            ),
            // Either the end of the block is missing, or its length is wrong and sound blocks follow.
            None => self.lost(
                kind,
                Damage::RecordCut {
                    offset,
                    claimed: length.into(),
                    left: window.len() as u64,
                },
            ),
        }
    }

    fn block(&mut self, block: &Block<'_>, order: ByteOrder) -> Step {
        match block.kind {
            EPB_MAGIC => return self.packets().enhanced(block),
            OPB_MAGIC => {
                let step = self.packets().obsolete(block);
                if let Step::Record(found) = &step {
                    self.add_obsolete_drops(found, block);
                }
                return step;
            }
            SPB_MAGIC => return self.packets().simple(block),
            SHB_MAGIC => return self.section(block, order),
            IDB_MAGIC if self.interfaces.len() == MAX_INTERFACES => {
                let damage = Damage::TooManyInterfaces {
                    offset: block.offset,
                    limit: MAX_INTERFACES,
                };
                return Step::Skip(block.bytes, damage);
            }
            IDB_MAGIC => match interface(block.body, order) {
                Some(described) => return self.describe(described, block),
                None => return self.lost(IDB_MAGIC, block.too_short_for(8)),
            },
            ISB_MAGIC => self.statistics(block),
            HEAD_BLOCK if self.part_head.is_none() => {
                self.part_head = PartHead::read(block.body, order);
            }
            END_BLOCK => self.part_end = PartEnd::read(block.body, order),
            // Names, secrets, journals and custom blocks do not affect packets.
            _ => {}
        }
        Step::Pass(block.bytes)
    }

    /// Adds an interface.
    fn describe(&mut self, described: Described, block: &Block<'_>) -> Step {
        let number = self.interfaces.len() - self.section_interfaces;
        self.interfaces.push(described.interface);
        if described.is_sound {
            return Step::Pass(block.bytes);
        }
        let damage = Damage::InterfaceOptions {
            offset: block.offset,
            // The limit on interfaces is below 2^32.
            interface: u32::try_from(number).unwrap_or(u32::MAX),
        };
        Step::Doubt(block.bytes, damage)
    }

    fn section(&mut self, block: &Block<'_>, order: ByteOrder) -> Step {
        if block.body.len() < Self::HEADER_BYTES - SHORTEST_BLOCK as usize {
            return self.lost(SHB_MAGIC, block.too_short_for(16));
        }
        // The version follows the byte order mark.
        let version = [4, 6].map(|at| order.u16_at(block.body, at).unwrap_or(0));
        if !supported(version) {
            return Step::Broken {
                damage: Damage::SectionVersion {
                    offset: block.offset,
                    major: version[0],
                    minor: version[1],
                },
                search: false,
            };
        }
        self.order = order;
        self.section_interfaces = self.interfaces.len();
        self.section_lost = false;
        Step::Pass(block.bytes)
    }

    /// Stores interface statistics; statistics of an unknown interface are ignored.
    fn statistics(&mut self, block: &Block<'_>) {
        let interface = self.order.u32_at(block.body, 0).and_then(|number| {
            self.interfaces
                .get_mut(self.section_interfaces + number as usize)
        });
        if let Some(interface) = interface {
            read_statistics(block.body, self.order, interface);
        }
    }

    /// Adds the drop counter among the options of the Enhanced Packet Block at the start of `window`.
    #[cold]
    fn add_drops(&mut self, found: &Found, window: &[u8]) {
        /// Number of packets lost between this one and the one before it (`pcapng` draft, section 4.3).
        const EPB_DROPCOUNT: u16 = 4;
        let packet_to = found.captured_from + found.captured_bytes;
        let tail = window.get(packet_to..found.record_bytes);
        let options = PacketOptions {
            tail: tail.unwrap_or_default(),
            order: self.order,
        };
        for (_, value) in options.iter().filter(|(code, _)| *code == EPB_DROPCOUNT) {
            let count = <[u8; 8]>::try_from(value).ok();
            if let (Some(count), Some(interface)) =
                (count, self.interfaces.get_mut(found.interface as usize))
            {
                interface.add_drops(self.order.u64(count));
            }
        }
    }

    /// Adds the drop counter of an obsolete Packet Block.
    fn add_obsolete_drops(&mut self, found: &Found, block: &Block<'_>) {
        /// The number of drops is unknown (`pcapng` draft, appendix A).
        const UNKNOWN: u16 = 0xffff;
        let count = self.order.u16_at(block.body, 2);
        // Writers that do not count leave 0.
        if let Some(count) = count.filter(|count| !matches!(*count, 0 | UNKNOWN))
            && let Some(interface) = self.interfaces.get_mut(found.interface as usize)
        {
            interface.add_drops(count.into());
        }
    }

    /// Reads the packet blocks of the current section.
    #[inline]
    fn packets(&self) -> PacketReader<'_> {
        PacketReader {
            order: self.order,
            interfaces: &self.interfaces,
            first: self.section_interfaces,
        }
    }

    #[cold]
    fn lost(&mut self, kind: u32, damage: Damage) -> Step {
        // Interface numbers count from the section header, so a missing block shifts them.
        self.section_lost |= matches!(kind, SHB_MAGIC | IDB_MAGIC);
        Step::Broken {
            damage,
            search: true,
        }
    }
}

/// True if the block of a packet has room for options: more than padding and the second length.
#[inline]
fn has_options(found: &Found) -> bool {
    found.record_bytes - found.captured_from - found.captured_bytes >= 8
}

#[cfg(test)]
mod tests {
    use insta::{assert_debug_snapshot, assert_snapshot};

    use super::*;
    use crate::Capture;
    use crate::build::{Bytes, big, little, read};

    const TSRESOL: u16 = 9;
    const TSOFFSET: u16 = 14;

    /// One section, one Ethernet interface with options, two packets.
    fn two(start: Bytes, options: &[(u16, &[u8])]) -> Vec<u8> {
        start
            .section()
            .interface(1, 0, options)
            .packet(0, 1_000_001, 60, &[1; 5])
            .packet(0, (1 << 40) + 7, 60, &[2; 8])
            .out
    }

    #[test]
    fn a_resolution_scales_the_time() {
        assert_snapshot!(read(&two(little(), &[])), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        ");
        assert_snapshot!(read(&two(little(), &[(TSRESOL, &[9])])), @"
        60: 1000001 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        100: 1099511627783 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        ");
        assert_snapshot!(read(&two(little(), &[(TSRESOL, &[0x80 + 20])])), @"
        60: 953675270 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        100: 1048576000006675 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        ");
        let all: [&[(u16, &[u8])]; 3] = [&[], &[(TSRESOL, &[9])], &[(TSRESOL, &[0x80 + 20])]];
        for options in all {
            assert_eq!(read(&two(little(), options)), read(&two(big(), options)));
        }
    }

    #[test]
    fn a_time_offset_is_signed_and_in_the_byte_order_of_its_section() {
        let hour_before = (-3_600_i64).to_le_bytes();
        assert_snapshot!(read(&two(little(), &[(TSOFFSET, &hour_before)])), @"
        64: -3598999999000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        104: 1095911627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        ");
        let swapped = (-3_600_i64).to_be_bytes();
        assert_eq!(
            read(&two(little(), &[(TSOFFSET, &hour_before)])),
            read(&two(big(), &[(TSOFFSET, &swapped)]))
        );
    }

    #[test]
    fn each_section_has_its_own_byte_order_and_interfaces() {
        let mut file = little()
            .section()
            .interface(1, 0, &[(2, b"eth0")])
            .interface(113, 0, &[])
            .packet(1, 5_000_000, 60, &[1])
            .out;
        file.extend(
            big()
                .section()
                .interface(101, 96, &[(2, b"tun0"), (TSRESOL, &[9])])
                .packet(0, 5_000_000, 60, &[2])
                .out,
        );
        assert_snapshot!(read(&file), @"
        84: 5000000000 ns, link 113, interface 1, 1 of 60 bytes [01]
        188: 5000000 ns, link 101, interface 2, 1 of 60 bytes [02]
        ");
        let mut capture = Capture::from_bytes(&file).unwrap();
        while capture.next_record().is_some() {}
        let names: Vec<_> = capture
            .interfaces()
            .iter()
            .map(|interface| (interface.name.as_deref(), interface.snaplen))
            .collect();
        assert_eq!(
            names,
            [(Some("eth0"), None), (None, None), (Some("tun0"), Some(96))]
        );
    }

    #[test]
    fn a_simple_packet_has_no_time_and_is_cut_to_the_snapshot_length() {
        let file = big()
            .section()
            .interface(1, 4, &[])
            .block(3, |body| body.u32(3).raw(&[1, 2, 3]))
            .block(3, |body| body.u32(60).raw(&[4; 4]))
            .out;
        assert_snapshot!(read(&file), @"
        52: no time, link 1, interface 0, 3 of 3 bytes [01, 02, 03]
        72: no time, link 1, interface 0, 4 of 60 bytes [04, 04, 04, 04]
        ");
    }

    #[test]
    fn an_old_packet_block_is_read() {
        let file = little()
            .section()
            .interface(1, 0, &[])
            .block(2, |body| {
                body.u16(0)
                    .u16(9)
                    .u32(0)
                    .u32(77)
                    .u32(3)
                    .u32(60)
                    .raw(&[1, 2, 3])
            })
            .out;
        assert_snapshot!(read(&file), @"52: 77000 ns, link 1, interface 0, 3 of 60 bytes [01, 02, 03]");
    }

    #[test]
    fn the_last_statistics_block_counts() {
        let statistics = |bytes: Bytes, received: u64, dropped: u64| {
            let (received, dropped) = (received.to_be_bytes(), dropped.to_be_bytes());
            bytes.block(5, |body| {
                body.u32(0)
                    .u64(0)
                    .options(&[(4, &received), (5, &dropped), (7, &dropped)])
            })
        };
        let start = big().section().interface(1, 0, &[]);
        let file = statistics(statistics(start, 10, 1), 20, 3)
            .block(5, |body| body.u32(8).u64(0))
            .out;
        let mut capture = Capture::from_bytes(&file).unwrap();
        assert!(capture.next_record().is_none());
        let interface = &capture.interfaces()[0];
        assert_debug_snapshot!((interface.received, interface.dropped), @"
        (
            Some(
                20,
            ),
            Some(
                6,
            ),
        )
        ");
    }

    #[test]
    fn other_blocks_and_packet_options_are_ignored() {
        let file = little()
            .section()
            .block(4, |body| body.u32(0))
            .interface(1, 0, &[])
            .block(0x8765_4321, |body| body.raw(&[0xee; 999]))
            .block(6, |body| {
                body.u32(0)
                    .u32(0)
                    .u32(5)
                    .u32(2)
                    .u32(60)
                    .raw(&[1, 2])
                    .pad()
                    .options(&[(1, b"comment"), (2, &[1, 0, 0, 0])])
            })
            .out;
        assert_snapshot!(read(&file), @"1080: 5000 ns, link 1, interface 0, 2 of 60 bytes [01, 02]");
    }

    #[test]
    fn a_length_without_padding_is_read_with_or_without_padding() {
        let packet = |bytes: Bytes, padding: &[u8]| {
            bytes
                .u32(6)
                .u32(33)
                .u32(0)
                .u32(0)
                .u32(5)
                .u32(1)
                .u32(60)
                .raw(&[9])
                .raw(padding)
                .u32(33)
        };
        let start = little().section().interface(1, 0, &[]);
        let padded = packet(packet(start.clone(), &[0; 3]), &[0; 3]).out;
        let unpadded = packet(packet(start, &[]), &[]).out;
        assert_snapshot!(read(&padded), @"
        52: 5000 ns, link 1, interface 0, 1 of 60 bytes [09]
        88: 5000 ns, link 1, interface 0, 1 of 60 bytes [09]
        ");
        assert_snapshot!(read(&unpadded), @"
        52: 5000 ns, link 1, interface 0, 1 of 60 bytes [09]
        85: 5000 ns, link 1, interface 0, 1 of 60 bytes [09]
        ");
    }

    #[test]
    fn error_of_an_unreadable_file_names_the_reason() {
        let section = |bom: u32, major| {
            little()
                .block(SHB_MAGIC, |body| body.u32(bom).u16(major).u16(0).u64(0))
                .out
        };
        assert_snapshot!(read(&section(0x1a2b_3c4d, 2)), @"error: pcapng version 2.0 is not supported");
        assert_snapshot!(read(&section(7, 1)), @"error: not a capture: it starts with 0a 0d 0d 0a 1c 00 00 00");
        assert_snapshot!(read(&section(0x1a2b_3c4d, 1)[..20]), @"error: the file ends after 20 of the 28 bytes of its header");
    }

    #[test]
    fn a_packet_of_an_unknown_interface_is_skipped() {
        let file = little()
            .section()
            .packet(0, 1, 60, &[1])
            .interface(1, 0, &[])
            .packet(0, 2, 60, &[2])
            .packet(1, 3, 60, &[3])
            .out;
        assert_snapshot!(read(&file), @"
        88: 2000 ns, link 1, interface 0, 1 of 60 bytes [02]
        packet at byte 28 refers to interface 0, which has no description block
        ");
        let mut capture = Capture::from_bytes(&file).unwrap();
        while capture.next_record().is_some() {}
        assert_eq!((capture.skipped_bytes(), capture.damaged_places()), (72, 2));
    }

    #[test]
    fn a_packet_longer_than_its_block_is_skipped() {
        let mut file = two(little(), &[]);
        file[28 + 24 + 20] = 200;
        assert_snapshot!(read(&file), @"
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        block at byte 52 claims 220 bytes of content but has room for 28
        ");
    }

    #[test]
    fn a_truncated_block_is_damage_and_earlier_blocks_are_used() {
        let file = two(little(), &[]);
        assert_snapshot!(read(&file[..file.len() - 1]), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        record at byte 92 claims 40 bytes but 39 remain
        ");
        assert_snapshot!(read(&file[..file.len() - 33]), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        the file ends at byte 99, 7 bytes into a record header
        ");
    }

    #[test]
    fn blocks_after_garbage_are_found() {
        let mut file = two(little(), &[]);
        let whole = read(&file);
        let garbage_from = file.len();
        file.extend([0xee; 101]);
        file.extend(&two(little(), &[])[28 + 24..]);
        let found = read(&file);
        assert!(found.starts_with(&whole));
        assert_snapshot!(found, @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        233: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        273: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        record at byte 132 claims 4008636142 bytes, more than the 67108864 a record can have; skipped 101 bytes to byte 233
        ");
        assert_eq!(garbage_from, 132);
    }

    #[test]
    fn a_new_section_after_garbage_is_found() {
        let mut file = two(little(), &[]);
        file.extend([0xee; 101]);
        file.extend(two(big(), &[]));
        assert_snapshot!(read(&file), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        285: 1000001000 ns, link 1, interface 1, 5 of 60 bytes [01, 01, 01, 01]
        325: 1099511627783000 ns, link 1, interface 1, 8 of 60 bytes [02, 02, 02, 02]
        record at byte 132 claims 4008636142 bytes, more than the 67108864 a record can have; skipped 101 bytes to byte 233
        ");
    }

    #[test]
    fn blocks_of_a_section_without_a_header_are_not_read() {
        let mut file = two(little(), &[]);
        let mut other = two(little(), &[]);
        other[8] ^= 1; // its byte order mark
        file.extend(other);
        file.extend(two(big(), &[]));
        assert_snapshot!(read(&file), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        316: 1000001000 ns, link 1, interface 1, 5 of 60 bytes [01, 01, 01, 01]
        356: 1099511627783000 ns, link 1, interface 1, 8 of 60 bytes [02, 02, 02, 02]
        section at byte 132 has an invalid byte-order magic; skipped 132 bytes to byte 264
        ");
    }

    #[test]
    fn each_frame_error_names_its_block() {
        let mut short = two(little(), &[]);
        short[28 + 24 + 4] = 11;
        assert_snapshot!(read(&short), @"
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        block at byte 52 claims an impossible length of 11 bytes; skipped 40 bytes to byte 92
        ");
        let mut huge = two(little(), &[]);
        huge[28 + 24 + 7] = 0x77;
        assert_snapshot!(read(&huge), @"
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        record at byte 52 claims 1996488744 bytes, more than the 67108864 a record can have; skipped 40 bytes to byte 92
        ");
        let mut trailer = two(little(), &[]);
        trailer[28 + 24 + 40 - 4] = 12;
        assert_snapshot!(read(&trailer), @"
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        block at byte 52 has length 40 at its start and 12 at its end; skipped 40 bytes to byte 92
        ");
        let mut version = two(little(), &[]);
        version.extend(
            little()
                .block(SHB_MAGIC, |body| body.u32(0x1a2b_3c4d).u16(3).u16(1).u64(0))
                .out,
        );
        assert_snapshot!(read(&version), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        section at byte 132 is in unsupported pcapng version 3.1
        ");
        let mut tiny = two(little(), &[]);
        tiny.extend(little().block(IDB_MAGIC, |body| body.u32(1)).out);
        assert_snapshot!(read(&tiny), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        block at byte 132 claims 8 bytes of content but has room for 4
        ");
    }

    #[test]
    fn interfaces_beyond_the_limit_are_skipped_with_their_packets() {
        let mut bytes = little().section();
        for _ in 0..=MAX_INTERFACES {
            bytes = bytes.interface(1, 0, &[]);
        }
        let limit = u32::try_from(MAX_INTERFACES).unwrap();
        let file = bytes
            .packet(limit - 1, 1, 1, &[1])
            .packet(limit, 2, 1, &[2])
            .out;
        let mut capture = crate::Capture::from_bytes(&file).unwrap();
        assert_eq!(capture.next_record().unwrap().interface, limit - 1);
        assert!(capture.next_record().is_none());
        assert_eq!(
            (capture.interfaces().len(), capture.damaged_places()),
            (MAX_INTERFACES, 2)
        );
        assert_snapshot!(capture.damage().unwrap(), @"interface at byte 1572892 exceeds the limit of 65536 interfaces");
    }

    #[test]
    fn packets_after_a_section_header_that_is_too_short_have_no_interface() {
        let mut bytes = two(little(), &[]);
        bytes.extend(little().block(SHB_MAGIC, |body| body.u32(0x1a2b_3c4d)).out);
        // The lost section's first interface would have another link type.
        bytes.extend(little().interface(101, 0, &[]).packet(0, 3, 1, &[3]).out);
        bytes.extend(
            little()
                .section()
                .interface(101, 0, &[])
                .packet(0, 4, 1, &[4])
                .out,
        );
        assert_snapshot!(read(&bytes), @"
        52: 1000001000 ns, link 1, interface 0, 5 of 60 bytes [01, 01, 01, 01]
        92: 1099511627783000 ns, link 1, interface 0, 8 of 60 bytes [02, 02, 02, 02]
        260: 4000 ns, link 101, interface 1, 1 of 1 bytes [04]
        block at byte 132 claims 16 bytes of content but has room for 4; skipped 76 bytes to byte 208
        ");
    }

    #[test]
    fn a_flipped_bit_of_a_length_hides_only_its_own_block() {
        let start = little().section().interface(1, 0, &[]);
        let first = start.out.len();
        let file = (0..6_u64)
            .fold(start, |bytes, i| bytes.packet(0, i, 60, &[7; 48]))
            .out;
        let place = |number: usize| first + number * 80;
        for number in 0..6 {
            for bit in 0..32 {
                let mut damaged = file.clone();
                damaged[place(number) + 4 + bit / 8] ^= 1 << (bit % 8);
                let shown = read(&damaged);
                for other in (0..6).filter(|&other| other != number) {
                    let line = format!("{}: {}000 ns", place(other), other);
                    // Zero microseconds print as a single digit.
                    let line = line.replace(": 0000 ns", ": 0 ns");
                    assert!(shown.contains(&line), "{number}, bit {bit}: {shown}");
                }
                let is_last = number == 5;
                assert!(is_last || shown.contains("skipped 80 bytes"), "{shown}");
            }
        }
    }

    #[test]
    fn packets_after_an_interface_of_a_false_length_have_no_interface() {
        let start = little().section().interface(1, 0, &[]);
        let second = start.out.len();
        let mut file = start
            .interface(101, 0, &[])
            .interface(113, 0, &[])
            .packet(1, 1, 60, &[1])
            .packet(1, 2, 60, &[2])
            .packet(1, 3, 60, &[3])
            .out;
        file[second + 5] ^= 16; // 4096 bytes more
        assert_snapshot!(read(&file), @"record at byte 52 claims 4120 bytes but 156 remain");
    }

    /// Drops of the interfaces after the last record.
    fn dropped(file: &[u8]) -> Vec<Option<u64>> {
        let mut capture = Capture::from_bytes(file).unwrap();
        while capture.next_record().is_some() {}
        assert!(capture.damage().is_none());
        capture.interfaces().iter().map(|one| one.dropped).collect()
    }

    #[test]
    fn drops_are_found_whether_or_not_the_packet_is_padded() {
        let options = little().options(&[(4, &3_u64.to_le_bytes())]).out;
        for length in 1..=8_u32 {
            let drops = |is_padded: bool| {
                let fixed = little().u32(0).u64(0).u32(length).u32(60);
                let packet = fixed.raw(&[4; 8][..length as usize]);
                let packet = if is_padded { packet.pad() } else { packet };
                let body = packet.raw(&options).out;
                let block_bytes = u32::try_from(body.len()).unwrap() + 12;
                let file = little().section().interface(1, 0, &[]);
                let file = file.u32(6).u32(block_bytes).raw(&body).u32(block_bytes);
                dropped(&file.packet(0, 1, 60, &[1]).out)
            };
            assert_eq!([true, false].map(drops), [[Some(3)], [Some(3)]]);
        }
    }

    fn dropping(bytes: Bytes, interface: u32, count: u64) -> Bytes {
        let count = count.to_le_bytes();
        bytes.block(6, |body| {
            let fixed = body.u32(interface).u64(0).u32(2).u32(60);
            fixed
                .raw(&[1, 2])
                .pad()
                .options(&[(1, b"new"), (4, &count)])
        })
    }

    #[test]
    fn drops_before_packets_are_summed_for_each_interface() {
        let start = || little().section().interface(1, 0, &[]).interface(1, 0, &[]);
        let packets = dropping(dropping(start(), 0, 2), 0, 4).packet(0, 0, 60, &[1]);
        assert_eq!(dropped(&packets.out), [Some(6), None]);
        let other = dropping(packets, 1, 1).out;
        assert_eq!(dropped(&other), [Some(6), Some(1)]);
        assert_eq!(dropped(&start().packet(0, 0, 60, &[1]).out), [None, None]);
    }

    #[test]
    fn drops_of_packets_and_of_statistics_count_once() {
        let statistics = |bytes: Bytes, count: u64| {
            let count = count.to_le_bytes();
            bytes.block(5, |body| body.u32(0).u64(0).options(&[(5, &count)]))
        };
        let start = || dropping(little().section().interface(1, 0, &[]), 0, 5);
        assert_eq!(dropped(&statistics(start(), 5).out), [Some(5)]);
        assert_eq!(dropped(&statistics(start(), 9).out), [Some(9)]);
        assert_eq!(dropped(&statistics(start(), 1).out), [Some(5)]);
        let without_count = little().section().interface(1, 0, &[]);
        assert_eq!(dropped(&statistics(without_count, u64::MAX).out), [None]);
    }

    #[test]
    fn drops_of_old_packet_blocks_are_summed_unless_unknown() {
        let packet = |bytes: Bytes, count: u16| {
            bytes.block(2, |body| {
                let fixed = body.u16(0).u16(count).u64(0).u32(1).u32(60);
                fixed.raw(&[1])
            })
        };
        let start = || little().section().interface(1, 0, &[]);
        let file = packet(packet(packet(start(), 4), 0xffff), 3).out;
        assert_eq!(dropped(&file), [Some(7)]);
        assert_eq!(dropped(&packet(start(), 0xffff).out), [None]);
        assert_eq!(dropped(&packet(start(), 0).out), [None]);
    }

    /// Damage of a file with an interface that has these bytes as options.
    fn damage_of_options(options: &[u8]) -> String {
        let file = little()
            .section()
            .block(1, |body| body.u16(1).u16(0).u32(0).raw(options))
            .packet(0, 1_000_000, 60, &[1])
            .out;
        let mut capture = Capture::from_bytes(&file).unwrap();
        assert!(capture.next_record().is_some() && capture.next_record().is_none());
        assert_eq!(capture.skipped_bytes(), 0);
        capture
            .damage()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    #[test]
    fn malformed_options_of_an_interface_are_damage() {
        let sound = little()
            .options(&[(2, b"lo"), (TSRESOL, &[9]), (TSOFFSET, &[0; 8])])
            .out;
        assert_eq!(damage_of_options(&sound), "");
        assert_eq!(damage_of_options(&[]), "");
        // The end mark may be missing, and padding may follow it.
        assert_eq!(damage_of_options(&sound[..sound.len() - 4]), "");
        assert_eq!(damage_of_options(&[&sound[..], &[0; 8]].concat()), "");

        let message = "the options of interface 0 at byte 28 are malformed, so its times may have another unit or offset";
        for malformed in [
            little().options(&[(TSRESOL, &[9, 0])]),
            little().options(&[(TSOFFSET, &[0; 4])]),
            little().u16(TSOFFSET).u16(8).u32(7),
            little()
                .u16(2)
                .u16(9)
                .raw(b"lo")
                .pad()
                .options(&[(TSRESOL, &[9])]),
            little()
                .u16(2)
                .u16(2)
                .raw(b"lo")
                .options(&[(TSRESOL, &[9])]),
            little().u32(0).options(&[(TSRESOL, &[9])]),
        ] {
            assert_eq!(damage_of_options(&malformed.out), message);
        }
    }

    #[test]
    fn a_flipped_bit_of_an_option_length_is_damage() {
        let sound = little()
            .options(&[
                (2, b"eth0"),
                (TSRESOL, &[9]),
                (TSOFFSET, &[0, 1, 0, 0, 0, 0, 0, 0]),
            ])
            .out;
        for length in [2, 10, 18] {
            for bit in 0..16 {
                let mut options = sound.clone();
                options[length + bit / 8] ^= 1 << (bit % 8);
                assert_ne!(damage_of_options(&options), "", "{length}, bit {bit}");
            }
        }
    }
}
