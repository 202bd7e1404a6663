//! Builds capture files for tests.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::{ByteOrder, Capture, NoTime};

/// Appends numbers in one byte order.
#[derive(Clone)]
pub(crate) struct Bytes {
    pub(crate) order: ByteOrder,
    pub(crate) out: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(order: ByteOrder) -> Self {
        Self {
            order,
            out: Vec::new(),
        }
    }

    pub(crate) fn u16(mut self, value: u16) -> Self {
        self.out.extend(match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.out.extend(match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
        self
    }

    pub(crate) fn u64(mut self, value: u64) -> Self {
        self.out.extend(match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.out.extend(bytes);
        self
    }

    pub(crate) fn pad(mut self) -> Self {
        self.out.resize(self.out.len().next_multiple_of(4), 0);
        self
    }

    /// A pcap file header: Ethernet, snaplen 65535.
    pub(crate) fn pcap(self, magic: u32, minor: u16) -> Self {
        self.u32(magic).u16(2).u16(minor).u64(0).u32(65_535).u32(1)
    }

    /// A pcap record.
    pub(crate) fn record(self, seconds: u32, fraction: u32, wire: u32, captured: &[u8]) -> Self {
        self.u32(seconds)
            .u32(fraction)
            .u32(len(captured))
            .u32(wire)
            .raw(captured)
    }

    /// A pcapng block; pads its body.
    pub(crate) fn block(self, kind: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let body = body(Self::new(self.order)).pad().out;
        let length = len(&body) + 12;
        self.u32(kind).u32(length).raw(&body).u32(length)
    }

    pub(crate) fn section(self) -> Self {
        self.block(0x0a0d_0d0a, |body| {
            body.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX)
        })
    }

    /// An interface description with options `(code, value)`.
    pub(crate) fn interface(self, link_type: u16, snaplen: u32, options: &[(u16, &[u8])]) -> Self {
        self.block(1, |body| {
            body.u16(link_type).u16(0).u32(snaplen).options(options)
        })
    }

    pub(crate) fn options(self, options: &[(u16, &[u8])]) -> Self {
        let all = options.iter().fold(self, |bytes, (code, value)| {
            let length = u16::try_from(value.len()).unwrap();
            bytes.u16(*code).u16(length).raw(value).pad()
        });
        all.u32(0)
    }

    /// An Enhanced Packet Block.
    pub(crate) fn packet(self, interface: u32, units: u64, wire: u32, captured: &[u8]) -> Self {
        self.block(6, |body| {
            body.u32(interface)
                .u32(u32::try_from(units >> 32).unwrap())
                .u32(u32::try_from(units & 0xffff_ffff).unwrap())
                .u32(len(captured))
                .u32(wire)
                .raw(captured)
        })
    }
}

pub(crate) fn little() -> Bytes {
    Bytes::new(ByteOrder::Little)
}

pub(crate) fn big() -> Bytes {
    Bytes::new(ByteOrder::Big)
}

fn len(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

pub(crate) fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// All records as text, one per line, then the damage.
pub(crate) fn walk(mut capture: Capture<'_>) -> String {
    let mut out = String::new();
    while let Some(record) = capture.next_record() {
        let at = match record.at {
            Ok(at) => format!("{} ns", at.as_nanos()),
            Err(NoTime::Missing) => "no time".to_owned(),
            Err(NoTime::OutOfRange) => "no time: out of range".to_owned(),
            Err(NoTime::Outlier(at)) => format!("no time: outlier at {} ns", at.as_nanos()),
        };
        writeln!(
            out,
            "{}: {at}, link {}, interface {}, {} of {} bytes {:02x?}",
            record.offset,
            record.link_type,
            record.interface,
            record.captured.len(),
            record.wire_bytes,
            &record.captured[..record.captured.len().min(4)],
        )
        .unwrap();
    }
    assert!(capture.next_record().is_none(), "must fuse");
    match capture.damage() {
        Some(damage) => out + &damage.to_string(),
        None => out.trim_end().to_owned(),
    }
}

pub(crate) fn read(file: &[u8]) -> String {
    match Capture::from_bytes(file) {
        Ok(capture) => walk(capture),
        Err(error) => format!("error: {error}"),
    }
}
