//! The control bits of a TCP header.

use std::fmt;

/// The nine control bits of a TCP header (RFC 9293, section 3.1; AE is RFC 9768).
///
/// Prints one letter per set bit, lowest bit first: a SYN+ACK is `SA` and a FIN+ACK is `FA`. No set
/// bit prints as `-`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(1);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(1 << 1);
    /// Reset the connection.
    pub const RST: Self = Self(1 << 2);
    /// Push function.
    pub const PSH: Self = Self(1 << 3);
    /// The acknowledgment field is meaningful.
    pub const ACK: Self = Self(1 << 4);
    /// The urgent pointer is meaningful.
    pub const URG: Self = Self(1 << 5);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(1 << 6);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(1 << 7);
    /// Accurate ECN (RFC 9768); NS before that (RFC 3540).
    pub const AE: Self = Self(1 << 8);

    const LETTERS: [(Self, char); 9] = [
        (Self::FIN, 'F'),
        (Self::SYN, 'S'),
        (Self::RST, 'R'),
        (Self::PSH, 'P'),
        (Self::ACK, 'A'),
        (Self::URG, 'U'),
        (Self::ECE, 'E'),
        (Self::CWR, 'C'),
        (Self::AE, 'N'),
    ];

    /// Extracts the flags from bytes 12 and 13 of a TCP header; ignores data offset and reserved
    /// bits.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x01ff)
    }

    /// The flags at their header positions: FIN is bit 0, AE is bit 8.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the union of these flags and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if every flag of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if FIN is set.
    #[inline]
    pub const fn fin(self) -> bool {
        self.contains(Self::FIN)
    }

    /// True if SYN is set.
    #[inline]
    pub const fn syn(self) -> bool {
        self.contains(Self::SYN)
    }

    /// True if RST is set.
    #[inline]
    pub const fn rst(self) -> bool {
        self.contains(Self::RST)
    }

    /// True if PSH is set.
    #[inline]
    pub const fn psh(self) -> bool {
        self.contains(Self::PSH)
    }

    /// True if ACK is set.
    #[inline]
    pub const fn ack(self) -> bool {
        self.contains(Self::ACK)
    }

    /// True if URG is set.
    #[inline]
    pub const fn urg(self) -> bool {
        self.contains(Self::URG)
    }

    /// True if ECE is set.
    #[inline]
    pub const fn ece(self) -> bool {
        self.contains(Self::ECE)
    }

    /// True if CWR is set.
    #[inline]
    pub const fn cwr(self) -> bool {
        self.contains(Self::CWR)
    }

    /// True if AE, formerly NS, is set.
    #[inline]
    pub const fn ae(self) -> bool {
        self.contains(Self::AE)
    }
}

impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: String = Self::LETTERS
            .iter()
            .filter(|(flag, _)| self.contains(*flag))
            .map(|(_, letter)| letter)
            .collect();
        f.pad(if letters.is_empty() { "-" } else { &letters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syn_ack_prints_as_sa() {
        assert_eq!(TcpFlags::SYN.with(TcpFlags::ACK).to_string(), "SA");
        assert_eq!(TcpFlags::PSH.with(TcpFlags::ACK).to_string(), "PA");
        assert_eq!(TcpFlags::from_bits(0x01ff).to_string(), "FSRPAUECN");
        assert_eq!(TcpFlags::NONE.to_string(), "-");
        assert_eq!(format!("{:>3}", TcpFlags::ACK), "  A");
    }

    #[test]
    fn data_offset_and_reserved_bits_are_not_flags() {
        assert_eq!(
            TcpFlags::from_bits(0x8e12),
            TcpFlags::SYN.with(TcpFlags::ACK)
        );
    }

    #[test]
    fn each_bit_has_its_accessor() {
        let accessors: [fn(TcpFlags) -> bool; 9] = [
            TcpFlags::fin,
            TcpFlags::syn,
            TcpFlags::rst,
            TcpFlags::psh,
            TcpFlags::ack,
            TcpFlags::urg,
            TcpFlags::ece,
            TcpFlags::cwr,
            TcpFlags::ae,
        ];
        for (bit, _) in accessors.iter().enumerate() {
            let flags = TcpFlags::from_bits(1 << bit);
            for (other, is_set) in accessors.iter().enumerate() {
                assert_eq!(is_set(flags), bit == other, "bit {bit}, accessor {other}");
            }
        }
    }
}
