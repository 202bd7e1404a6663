//! Reads the simulator's output: classic little-endian pcap in nanoseconds, whole Ethernet frames.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tcpexp_units::Timestamp;

/// One record of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) at: Timestamp,
    frame: Vec<u8>,
}

/// All records of a capture.
pub(crate) fn records(file: &[u8]) -> Vec<Record> {
    let number = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
    let mut records = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let nanos = i64::from(number(at)) * 1_000_000_000 + i64::from(number(at + 4));
        let len = number(at + 8) as usize;
        records.push(Record {
            at: Timestamp::from_nanos(nanos),
            frame: file[at + 16..at + 16 + len].to_vec(),
        });
        at += 16 + len;
    }
    records
}

impl Record {
    fn ip(&self) -> &[u8] {
        &self.frame[14..]
    }

    fn is_v4(&self) -> bool {
        self.ip()[0] >> 4 == 4
    }

    fn is_tcp(&self) -> bool {
        self.ip()[if self.is_v4() { 9 } else { 6 }] == 6
    }

    fn transport(&self) -> &[u8] {
        &self.ip()[if self.is_v4() { 20 } else { 40 }..]
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_be_bytes(*self.transport()[at..].first_chunk().unwrap())
    }

    pub(crate) fn ip_id(&self) -> u16 {
        u16::from_be_bytes(*self.ip()[4..].first_chunk().unwrap())
    }

    /// Sequence number; 0 for a datagram.
    pub(crate) fn seq(&self) -> u32 {
        let tcp = u32::from(self.is_tcp());
        tcp * u32::from_be_bytes(*self.transport()[4..].first_chunk().unwrap())
    }

    pub(crate) fn flags(&self) -> u8 {
        self.transport()[13]
    }

    pub(crate) fn payload(&self) -> &[u8] {
        let header = if self.is_tcp() {
            usize::from(self.transport()[12] >> 4) * 4
        } else {
            8
        };
        &self.transport()[header..]
    }

    /// True if the source port is the higher port; servers have low ports.
    pub(crate) fn is_from_client(&self) -> bool {
        self.short(0) > self.short(2)
    }

    pub(crate) fn client(&self) -> (IpAddr, u16) {
        let (width, start) = if self.is_v4() { (4, 12) } else { (16, 8) };
        let from_client = self.is_from_client();
        let start = if from_client { start } else { start + width };
        let bytes = &self.ip()[start..start + width];
        let address = match bytes.first_chunk::<16>() {
            Some(bytes) => Ipv6Addr::from(*bytes).into(),
            None => Ipv4Addr::from(*bytes.first_chunk::<4>().unwrap()).into(),
        };
        (address, self.short(if from_client { 0 } else { 2 }))
    }

    pub(crate) fn checksums_are_valid(&self) -> bool {
        let addresses = if self.is_v4() { 12..20 } else { 8..40 };
        let protocol = if self.is_tcp() { 6 } else { 17 };
        let length = self.transport().len() as u64;
        let pseudo = sum(&self.ip()[addresses]) + protocol + length;
        let header = if self.is_v4() {
            sum(&self.ip()[..20])
        } else {
            0xFFFF
        };
        fold(pseudo + sum(self.transport())) == 0xFFFF && fold(header) == 0xFFFF
    }
}

fn sum(bytes: &[u8]) -> u64 {
    let words = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from));
    words.sum()
}

fn fold(mut sum: u64) -> u64 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum
}
