//! The order of numbers that wrap.

/// True if `a` follows `b` modulo 2^32 (serial number arithmetic, RFC 1982, section 3.2).
///
/// Sequence numbers (RFC 9293, section 3.4) and timestamps (RFC 7323, section 5.2) have this order, and so
/// have the lower halves of record numbers. `b` must be less than 2^31 away.
#[must_use]
pub const fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_follows_those_less_than_half_the_range_before_it() {
        assert!(is_after(1, 0));
        assert!(!is_after(0, 0));
        assert!(!is_after(0, 1));
        assert!(is_after(0, u32::MAX));
        assert!(!is_after(u32::MAX, 0));
        assert!(is_after((1 << 31) - 1, 0));
    }
}
