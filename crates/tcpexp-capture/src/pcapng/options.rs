//! The options of interface blocks.
//!
//! They are read here: `pcap-parser` rejects binary resolutions, reads time offsets as little-endian and
//! does not say whether a list is malformed.

use crate::clock::{Clock, Resolution};
use crate::{ByteOrder, Interface};

const END_OF_OPTIONS: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// An interface as its block describes it.
pub(super) struct Described {
    pub(super) interface: Interface,
    /// True if all options are well-formed.
    pub(super) is_sound: bool,
}

/// Reads an Interface Description Block; `None` if the block is too short.
pub(super) fn interface(body: &[u8], order: ByteOrder) -> Option<Described> {
    let link_type = order.u16_at(body, 0)?;
    let snaplen = order.u32_at(body, 4)?;
    let mut name = None;
    let mut resolution = Clock::MICROSECONDS.resolution();
    let mut offset_seconds = 0;
    // The snapshot length was read up to byte 8, so the slice exists.
    let mut options = options(&body[8..], order);
    let mut is_sound = true;
    for (code, value) in options.by_ref() {
        is_sound &= is_well_formed(code, value);
        match (code, value) {
            (IF_NAME, bytes) if name.is_none() => name = text(bytes),
            (IF_TSRESOL, &[byte]) => resolution = Resolution::from_option(byte),
            (IF_TSOFFSET, bytes) => {
                if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
                    offset_seconds = order.u64(bytes).cast_signed();
                }
            }
            _ => {}
        }
    }
    let clock = Clock::new(resolution, offset_seconds);
    let mut interface = Interface::new(link_type, snaplen, clock);
    interface.name = name;
    Some(Described {
        interface,
        is_sound: is_sound && options.ends_well(),
    })
}

/// True if an interface's option has a value of its kind: a wrong length may hide the options after it.
fn is_well_formed(code: u16, value: &[u8]) -> bool {
    // Draft-ietf-opsawg-pcapng, section 4.2.
    match code {
        // Resolution, and length of the frame check sequence.
        IF_TSRESOL | 13 => value.len() == 1,
        // Time zone.
        10 => value.len() == 4,
        // Address of IPv6 with a prefix length.
        5 => value.len() == 17,
        // MAC address.
        6 => value.len() == 6,
        // Address of IPv4 with a mask, EUI-64, speeds, and time offset.
        4 | 7 | 8 | 16 | 17 | IF_TSOFFSET => value.len() == 8,
        // Comment, name, description, operating system and hardware: only zeros follow a zero.
        1 | IF_NAME | 3 | 12 | 15 => {
            let mut behind = value.iter().skip_while(|&&byte| byte != 0);
            behind.all(|&byte| byte == 0)
        }
        _ => true,
    }
}

/// Stores the counters of an Interface Statistics Block; absent counters keep their value.
pub(super) fn read_statistics(body: &[u8], order: ByteOrder, interface: &mut Interface) {
    let mut dropped = None;
    // Interface number and time come first.
    for (code, value) in options(body.get(12..).unwrap_or_default(), order) {
        let Ok(count) = <[u8; 8]>::try_from(value) else {
            continue;
        };
        let count = order.u64(count);
        // All ones: the writer does not know the count, as in the drops of old packet blocks.
        if count == u64::MAX {
            continue;
        }
        match code {
            ISB_IFRECV => interface.received = Some(count),
            // Packets lost in the interface and in the operating system are both missing from the
            // file.
            ISB_IFDROP | ISB_OSDROP => {
                dropped = Some(dropped.unwrap_or(0_u64).saturating_add(count));
            }
            _ => {}
        }
    }
    if let Some(count) = dropped {
        interface.state_drops(count);
    }
}

/// Returns the options up to the end mark, or up to the first option that exceeds the block.
pub(super) fn options(bytes: &[u8], order: ByteOrder) -> Options<'_> {
    Options { bytes, order }
}

/// A list of options.
pub(super) struct Options<'a> {
    /// The bytes after the options that were read.
    bytes: &'a [u8],
    order: ByteOrder,
}

impl Options<'_> {
    /// True if nothing but an end mark and padding follows.
    fn ends_well(&self) -> bool {
        self.bytes.iter().all(|&byte| byte == 0)
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.bytes;
        let code = self
            .order
            .u16_at(bytes, 0)
            .filter(|code| *code != END_OF_OPTIONS)?;
        let value_to = 4 + usize::from(self.order.u16_at(bytes, 2)?);
        let value = bytes.get(4..value_to)?;
        // Some writers omit the padding of the last option.
        self.bytes = bytes
            .get(value_to.next_multiple_of(4)..)
            .unwrap_or_default();
        Some((code, value))
    }
}

/// Decodes UTF-8 text up to the zero byte that some writers append.
fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    (!text.is_empty()).then(|| text.into_owned())
}
