//! The Internet checksum (RFC 1071).

/// A ones' complement sum in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// Adds bytes that start at an even offset of the summed data.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut sum = self.0;
        let (pairs, rest) = bytes.as_chunks::<2>();
        for pair in pairs {
            sum += u64::from(u16::from_be_bytes(*pair));
        }
        // An odd last byte is padded with a zero byte behind it (RFC 9293, section 3.1).
        if let [last] = rest {
            sum += u64::from(*last) << 8;
        }
        Self(sum)
    }

    /// Adds one 16-bit word, or a sum computed separately.
    pub(crate) fn word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// The sum folded to 16 bits.
    pub(crate) fn folded(self) -> u16 {
        let mut sum = self.0;
        // Carries are added only now (RFC 1071: deferred carries), as 64 bits hold them all.
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    /// Returns the checksum field of the header.
    pub(crate) fn finish(self) -> u16 {
        !self.folded()
    }
}
