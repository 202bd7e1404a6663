//! Recognises damaged records by the checksum of the IPv4 header (RFC 791, section 3.1).
//!
//! A wrong checksum alone does not prove damage: a sender may leave the field to its interface, and
//! programs that change the addresses of captures often do not update the checksum.

use crate::protocol::{TCP, UDP};

/// Length of an IPv4 header without options.
const HEADER_BYTES: usize = 20;

/// True if `bytes` begin with an IPv4 header without options and with a right checksum.
#[cold]
pub(crate) fn is_v4(bytes: &[u8]) -> bool {
    let header = bytes.first_chunk::<HEADER_BYTES>();
    header.is_some_and(|header| header[0] == 0x45 && is_right(header))
}

/// True if damage to an IPv4 header hides the transport header: the checksum is wrong, but becomes right
/// when the protocol, fragment-offset or header-length field is set to a usual value.
#[cold]
pub(crate) fn hides_transport(header: &[u8]) -> bool {
    let Some(&found) = header.first_chunk::<HEADER_BYTES>() else {
        return false;
    };
    if is_right(header) {
        return false;
    }
    let mut of_whole = found;
    // The three flags stay (RFC 791, section 3.1).
    of_whole[6] &= 0xe0;
    of_whole[7] = 0;
    let mut without_options = found;
    without_options[0] = 0x45;
    let of_protocol = [TCP, UDP].map(|protocol| {
        let mut header = found;
        header[9] = protocol;
        header
    });
    let repaired = [of_whole, without_options].into_iter().chain(of_protocol);
    repaired
        .filter(|header| header[0] == 0x45 && matches!(header[9], TCP | UDP))
        .any(|header| is_right(&header))
}

/// True if the total length in an IPv4 header is damaged: the checksum is wrong, and would
/// be right with `ip_bytes`, the length of the datagram in its frame.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one comparison per packet")]
pub(crate) fn has_damaged_length(header: &[u8], ip_bytes: usize) -> bool {
    let total = [header[2], header[3]].map(usize::from);
    total[0] << 8 | total[1] != ip_bytes && is_right_for_length(header, ip_bytes)
}

#[cold]
fn is_right_for_length(header: &[u8], ip_bytes: usize) -> bool {
    let (Some(&found), Ok(ip_bytes)) = (header.first_chunk(), u16::try_from(ip_bytes)) else {
        return false;
    };
    let mut repaired: [u8; HEADER_BYTES] = found;
    repaired[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
    found[0] == 0x45 && !is_right(&found) && is_right(&repaired)
}

/// True if the checksum of `header` is present and right.
fn is_right(header: &[u8]) -> bool {
    let (words, _) = header.as_chunks::<2>();
    let sum: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    // At most 30 words: the second addition of the carries leaves none.
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum == 0xffff && header[10..12] != [0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Header of a TCP segment without options; Wikipedia's example of a checksum, with TCP.
    const HEADER: [u8; HEADER_BYTES] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, TCP, 0xb8, 0x6c, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    fn with(byte: usize, flipped: u8) -> [u8; HEADER_BYTES] {
        let mut header = HEADER;
        header[byte] ^= flipped;
        header
    }

    #[test]
    fn header_is_recognised_by_its_checksum() {
        assert!(is_v4(&HEADER));
        assert!(!is_v4(&HEADER[..19]));
        assert!((0..8).all(|bit| !is_v4(&with(13, 1 << bit))));
    }

    #[test]
    fn damaged_protocol_fragment_offset_or_length_hides_a_segment() {
        for (byte, flipped) in [(9, 1), (9, 0x80), (6, 0x10), (7, 1), (0, 2)] {
            assert!(hides_transport(&with(byte, flipped)), "{byte} {flipped}");
        }
    }

    #[test]
    fn damaged_length_is_recognised_by_the_length_of_the_frame() {
        for bit in 0..8 {
            assert!(has_damaged_length(&with(2, 1 << bit), 0x73), "{bit}");
            assert!(has_damaged_length(&with(3, 1 << bit), 0x73), "{bit}");
        }
        // The frame has a trailer, or was cut; the address was changed later.
        assert!(!has_damaged_length(&HEADER, 0x77));
        assert!(!has_damaged_length(&with(15, 4), 0x77));
        assert!(!has_damaged_length(&with(3, 1), 0x1_0073));
    }

    #[test]
    fn other_headers_hide_nothing() {
        assert!(!hides_transport(&HEADER));
        // The address is damaged, or was changed later.
        assert!(!hides_transport(&with(15, 4)));
        let mut of_icmp = with(9, TCP ^ 1);
        // TCP less ICMP.
        of_icmp[11] += 5;
        assert!(!hides_transport(&of_icmp));
        of_icmp[10..12].fill(0);
        assert!(!hides_transport(&of_icmp));
    }
}
