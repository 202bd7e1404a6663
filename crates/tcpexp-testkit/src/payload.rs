//! Payload bytes derived from their position in a stream.

use std::sync::LazyLock;

use crate::checksum::Checksum;
use crate::prng::Prng;
use crate::quic::QuicHeader;

/// Length after which a stream repeats, in bytes; a prime, so no segment size divides it.
const PERIOD: u64 = 65_521;

/// Payload of a segment: a slice of an endless stream.
///
/// The bytes depend only on the stream and the position. A retransmission therefore carries the
/// original bytes, even with other segment boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Number of the stream; each stream has its own bytes.
    pub stream: u32,
    /// Offset of the first byte in the stream.
    pub position: u64,
    /// Length in bytes.
    pub len: u16,
    /// Number that overwrites the first eight bytes, as the datagrams of measurement tools carry.
    pub number: Option<u64>,
    /// QUIC header that overwrites the first bytes.
    pub quic: Option<QuicHeader>,
}

/// The bytes of slightly more than one period, and their running sums.
struct Table {
    bytes: Vec<u8>,
    sums: Vec<u64>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut prng = Prng::new(1);
    let period: Vec<u8> = (0..PERIOD).map(|_| prng.bits() as u8).collect();
    // The longest payload may start at the last byte of the period.
    let longest = usize::from(u16::MAX);
    let bytes: Vec<u8> = period
        .iter()
        .chain(period.iter().cycle().take(longest))
        .copied()
        .collect();
    let mut sums = vec![0];
    let mut sum = 0;
    for (index, byte) in bytes.iter().enumerate() {
        // The checksum adds 16-bit words, in which even bytes are the upper half.
        sum += u64::from(*byte) << if index % 2 == 0 { 8 } else { 0 };
        sums.push(sum);
    }
    Table { bytes, sums }
});

impl Payload {
    /// Creates the slice of `len` bytes at `position` of a stream.
    pub const fn new(stream: u32, position: u64, len: u16) -> Self {
        Self {
            stream,
            position,
            len,
            number: None,
            quic: None,
        }
    }

    /// Appends the first bytes, at most `limit`.
    pub fn write(&self, out: &mut Vec<u8>, limit: usize) {
        let from = out.len();
        let start = self.start();
        let taken = usize::from(self.len).min(limit);
        out.extend_from_slice(&TABLE.bytes[start..start + taken]);
        let head = self.head();
        let overwritten = taken.min(head.len());
        out[from..from + overwritten].copy_from_slice(&head[..overwritten]);
    }

    /// Returns what overwrites the first bytes.
    fn head(&self) -> Vec<u8> {
        match (self.number, &self.quic) {
            (Some(number), _) => number.to_be_bytes().to_vec(),
            (None, Some(header)) => header.to_bytes(),
            (None, None) => Vec::new(),
        }
    }

    /// Returns the ones' complement sum of all bytes from the table of sums.
    pub(crate) fn sum(&self) -> u16 {
        let mut head = self.head();
        head.truncate(usize::from(self.len));
        if head.is_empty() {
            return self.stream_sum(0);
        }
        Checksum::default()
            .bytes(&head)
            .word(self.stream_sum(head.len()))
            .folded()
    }

    /// Returns the sum without the first `skipped` bytes.
    fn stream_sum(&self, skipped: usize) -> u16 {
        let (from, to) = (self.start() + skipped, self.start() + usize::from(self.len));
        let mut sum = TABLE.sums[to] - TABLE.sums[from];
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        // RFC 1071 section 2 (B): a sum from an odd offset has its two bytes swapped.
        let swapped = (from % 2 == 1) ^ (skipped % 2 == 1);
        if swapped {
            (sum as u16).swap_bytes()
        } else {
            sum as u16
        }
    }

    fn start(&self) -> usize {
        // 40 503 is 2^16 over the golden ratio, so streams with close numbers start far apart.
        let shift = u64::from(self.stream).wrapping_mul(40_503);
        ((shift + self.position % PERIOD) % PERIOD) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(payload: Payload) -> Vec<u8> {
        let mut out = Vec::new();
        payload.write(&mut out, usize::MAX);
        out
    }

    proptest! {
        #[test]
        fn the_fast_checksum_equals_the_sum_of_the_bytes(
            stream in any::<u32>(), position in 0..u64::from(u32::MAX), len in 0..3000_u16,
            number in any::<Option<u64>>(), id in 0..=20_usize,
        ) {
            let quic = QuicHeader::short(true, &[7; 20][..id]);
            let payload = Payload {
                number,
                quic: Some(quic),
                ..Payload::new(stream, position, len)
            };
            let summed = Checksum::default().bytes(&bytes(payload)).folded();
            // 0 and 0xFFFF are equal in ones' complement.
            prop_assert_eq!(payload.sum() % 0xFFFF, summed % 0xFFFF);
        }

        #[test]
        fn a_stream_split_in_two_has_the_same_bytes(position in 0..200_000_u64, cut in 1..1459_u16) {
            let mut parts = bytes(Payload::new(3, position, cut));
            parts.extend(bytes(Payload::new(3, position + u64::from(cut), 1460 - cut)));
            prop_assert_eq!(parts, bytes(Payload::new(3, position, 1460)));
        }
    }
}
