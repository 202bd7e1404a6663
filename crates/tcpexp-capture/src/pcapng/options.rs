//! The options of interface blocks.
//!
//! `pcap-parser` splits a block into options. Their values are read here, because it rejects binary
//! resolutions and reads time offsets as little-endian.

use pcap_parser::PcapError;
use pcap_parser::pcapng::{PcapNGOption, parse_option_be, parse_option_le};

use crate::clock::{Clock, Resolution};
use crate::{ByteOrder, Interface};

const END_OF_OPTIONS: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// Reads an Interface Description Block; `None` if the block is too short.
pub(super) fn interface(body: &[u8], order: ByteOrder) -> Option<Interface> {
    let link_type = order.u16_at(body, 0)?;
    let snaplen = order.u32_at(body, 4)?;
    let mut name = None;
    let mut resolution = Clock::MICROSECONDS.resolution();
    let mut offset_seconds = 0;
    // The snapshot length was read up to byte 8, so the slice exists.
    for (code, value) in options(&body[8..], order) {
        match (code, value.as_bytes()) {
            (IF_NAME, Ok(bytes)) if name.is_none() => name = text(bytes),
            (IF_TSRESOL, Ok(&[byte])) => resolution = Resolution::from_option(byte),
            (IF_TSOFFSET, Ok(bytes)) => {
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
    Some(interface)
}

/// Stores the counters of an Interface Statistics Block; absent counters keep their value.
pub(super) fn read_statistics(body: &[u8], order: ByteOrder, interface: &mut Interface) {
    let mut dropped = None;
    // Interface number and time come first.
    for (code, value) in options(body.get(12..).unwrap_or_default(), order) {
        let Some(count) = value
            .as_bytes()
            .ok()
            .and_then(|bytes| <[u8; 8]>::try_from(bytes).ok())
            .map(|bytes| order.u64(bytes))
        else {
            continue;
        };
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
pub(super) fn options(
    mut bytes: &[u8],
    order: ByteOrder,
) -> impl Iterator<Item = (u16, PcapNGOption<'_>)> {
    let parse = match order {
        ByteOrder::Little => parse_option_le::<PcapError<&[u8]>>,
        ByteOrder::Big => parse_option_be::<PcapError<&[u8]>>,
    };
    std::iter::from_fn(move || {
        let (rest, option) = parse(bytes).ok()?;
        bytes = rest;
        let code = option.code.0;
        (code != END_OF_OPTIONS).then_some((code, option))
    })
}

/// Decodes UTF-8 text up to the zero byte that some writers append.
fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    (!text.is_empty()).then(|| text.into_owned())
}
