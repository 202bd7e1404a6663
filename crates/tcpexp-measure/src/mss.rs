//! Lengths of full segments without an MSS option, and on Ethernet.

/// MSS of an end without an MSS option (RFC 9293, section 3.7.1).
pub(crate) const DEFAULT_MSS: u16 = 536;
/// Smallest MSS that Linux applies (`TCP_MIN_SND_MSS`); a host may offer any.
const LEAST_MSS: u16 = 48;
/// Bytes of a segment that timestamps take, with their padding (RFC 7323, appendix A).
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;
/// Longest payload of an Ethernet segment: 1,500 bytes less the headers of IPv4 and TCP.
pub(crate) const LONGEST_ETHERNET_BYTES: u32 = 1_460;
/// Longest payload of a single segment on Ethernet, with jumbo frames.
pub(crate) const LONGEST_SINGLE_BYTES: u32 = 8_960;

/// The MSS that a sender applies for an option with this value; `None` without the option. Linux ignores a
/// value of 0 (`tcp_parse_options`).
pub(crate) fn applied_mss(option: Option<u16>) -> Option<u32> {
    let option = option.filter(|mss| *mss > 0)?;
    Some(option.max(LEAST_MSS).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mss_option_of_zero_counts_as_absent_and_a_small_one_as_the_least_mss() {
        let applied = [None, Some(0), Some(20), Some(88)].map(applied_mss);
        assert_eq!(applied, [None, None, Some(48), Some(88)]);
    }
}
