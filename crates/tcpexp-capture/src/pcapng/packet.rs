//! The packet blocks of pcapng.
//!
//! They are decoded here: `pcap-parser` allocates a list of options for every packet, and rejects blocks
//! without padding, which some writers omit.

use super::block::{BODY, Block};
use crate::step::{Found, Step};
use crate::{ByteOrder, Damage, Interface, NoTime};

/// Decodes the packet blocks of a section.
pub(super) struct PacketReader<'a> {
    /// Byte order of the section.
    pub(super) order: ByteOrder,
    /// The interfaces of the file.
    pub(super) interfaces: &'a [Interface],
    /// Index in `interfaces` of the section's first interface.
    pub(super) first: usize,
}

/// A packet block's fixed fields.
struct Packet {
    interface: u32,
    time_units: Option<u64>,
    captured: u32,
    wire: u32,
    /// Number of bytes of the body before the packet.
    fixed_bytes: usize,
}

impl PacketReader<'_> {
    /// Decodes the Enhanced Packet Block.
    #[inline]
    pub(super) fn enhanced(&self, block: &Block<'_>) -> Step {
        let Some(fields) = block.body.first_chunk::<20>() else {
            return block.cut_content(20);
        };
        let interface = self.order.u32([fields[0], fields[1], fields[2], fields[3]]);
        self.timed(block, interface, fields)
    }

    /// Decodes the obsolete Packet Block: like the Enhanced Packet Block, with a 16-bit interface
    /// and a drop counter in one field.
    pub(super) fn obsolete(&self, block: &Block<'_>) -> Step {
        let Some(fields) = block.body.first_chunk::<20>() else {
            return block.cut_content(20);
        };
        let interface = self.order.u16([fields[0], fields[1]]);
        self.timed(block, interface.into(), fields)
    }

    #[inline]
    fn timed(&self, block: &Block<'_>, interface: u32, f: &[u8; 20]) -> Step {
        let order = self.order;
        let high = order.u32([f[4], f[5], f[6], f[7]]);
        let low = order.u32([f[8], f[9], f[10], f[11]]);
        let packet = Packet {
            interface,
            // The upper half comes first in both byte orders, so the time is not a 64-bit number in
            // the file.
            time_units: Some(u64::from(high) << 32 | u64::from(low)),
            captured: order.u32([f[12], f[13], f[14], f[15]]),
            wire: order.u32([f[16], f[17], f[18], f[19]]),
            fixed_bytes: 20,
        };
        self.record(block, &packet)
    }

    /// Decodes the Simple Packet Block: on the section's first interface, without a timestamp, cut
    /// to the interface's snapshot length.
    pub(super) fn simple(&self, block: &Block<'_>) -> Step {
        let Some(wire) = self.order.u32_at(block.body, 0) else {
            return block.cut_content(4);
        };
        let snaplen = self
            .interfaces
            .get(self.first)
            .and_then(|interface| interface.snaplen);
        let packet = Packet {
            interface: 0,
            time_units: None,
            captured: snaplen.map_or(wire, |snaplen| wire.min(snaplen)),
            wire,
            fixed_bytes: 4,
        };
        self.record(block, &packet)
    }

    /// The packet as a record, if its interface is known and the block holds all of it.
    #[inline]
    fn record(&self, block: &Block<'_>, packet: &Packet) -> Step {
        let index = self.first + packet.interface as usize;
        let Some(interface) = self.interfaces.get(index) else {
            let damage = Damage::UnknownInterface {
                offset: block.offset,
                interface: packet.interface,
            };
            return Step::Skip(block.bytes, damage);
        };
        let captured_bytes = packet.captured as usize;
        // No underflow: the callers have read the fixed fields from the body.
        if captured_bytes > block.body.len() - packet.fixed_bytes {
            return block.cut_content(packet.fixed_bytes as u64 + u64::from(packet.captured));
        }
        Step::Record(Found {
            at: match packet.time_units {
                Some(units) => interface.clock.at(units).ok_or(NoTime::OutOfRange),
                None => Err(NoTime::Missing),
            },
            link_type: interface.link_type,
            // Each interface took a block to describe, so no file has 2^32.
            interface: u32::try_from(index).unwrap_or(u32::MAX),
            wire_bytes: packet.wire,
            captured_from: BODY + packet.fixed_bytes,
            captured_bytes,
            record_bytes: block.bytes,
        })
    }
}
