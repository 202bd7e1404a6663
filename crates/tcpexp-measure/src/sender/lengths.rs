//! The sender maximum segment size, from the data.

/// Number of lengths counted at a time.
const KEPT: usize = 16;
/// Minimum share of segments, in percent, for a common length.
const COMMON_PERCENT: u64 = 2;
/// Longest payload of a single segment on Ethernet, with jumbo frames.
const LONGEST_SINGLE_BYTES: u32 = 8_960;
/// Default MSS (RFC 9293, section 3.7.1); shorter segments are not full.
const MIN_SMSS_BYTES: u32 = 536;
/// Longest payload of an Ethernet segment: 1,500 bytes less the headers of IPv4 and TCP.
const LONGEST_ETHERNET_BYTES: u32 = 1_460;
/// SMSS values of Ethernet: IPv4 and IPv6, with and without timestamps.
const ETHERNET_SMSS_BYTES: [u32; 4] = [1_448, 1_460, 1_428, 1_440];
/// SMSS values of jumbo frames of 9,000 bytes.
const JUMBO_SMSS_BYTES: [u32; 4] = [8_948, 8_960, 8_928, 8_940];
/// SMSS without evidence: an Ethernet segment with timestamps.
const USUAL_SMSS_BYTES: u32 = 1_448;

/// Counts of payload lengths; rare lengths are dropped.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    counts: [(u32, u64); KEPT],
    total: u64,
}

/// A sender maximum segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Smss {
    pub(super) bytes: u32,
    /// False if no packet shows the size: each may hold several segments, or none holds a full one.
    pub(super) is_known: bool,
}

impl Smss {
    fn known(bytes: u32) -> Self {
        Self {
            bytes,
            is_known: true,
        }
    }
}

impl Lengths {
    #[inline]
    pub(super) fn add(&mut self, payload_bytes: u32) {
        self.total += 1;
        let mut least = 0;
        for index in 0..KEPT {
            let (length, count) = &mut self.counts[index];
            if *length == payload_bytes {
                *count += 1;
                // Move frequent lengths to the front.
                if index > 0 {
                    self.counts.swap(index, index - 1);
                }
                return;
            }
            if self.counts[index].1 < self.counts[least].1 {
                least = index;
            }
        }
        // A new length takes over the count of the rarest (Metwally et al., 2005), so the counters
        // never miss a frequent length.
        let (length, count) = &mut self.counts[least];
        *length = payload_bytes;
        *count += 1;
    }

    /// The SMSS, given the maximum that the handshake allows. Without a handshake, it is not known if each packet
    /// may hold several segments or if none holds a full one.
    ///
    /// The SMSS is the longest common payload. Super-packets are longer than the handshake allows
    /// and show only that their segments are full. Without a handshake, or after the path has shortened
    /// the segments, lengths that are multiples of one of them are those of super-packets.
    pub(super) fn smss(&self, allowed: Option<u32>) -> Smss {
        let limit = allowed.unwrap_or(LONGEST_SINGLE_BYTES);
        let longest = self.common().map(|(length, _)| length).max();
        let single = self
            .common()
            .map(|(length, _)| length)
            .filter(|length| (MIN_SMSS_BYTES..=limit).contains(length))
            .max();
        if let Some(allowed) = allowed {
            // Super-packets merge the full segments; shorter payloads are the ends of writes.
            let is_merged =
                |&(length, _): &(u32, u64)| length > allowed && length.is_multiple_of(allowed);
            if single == Some(allowed) || self.counts.iter().any(is_merged) {
                return Smss::known(allowed);
            }
            let shorter = self.divisor(allowed).or(single);
            return Smss::known(shorter.unwrap_or(allowed));
        }
        let longest = longest.filter(|longest| *longest >= MIN_SMSS_BYTES);
        let Some(longest) = longest else {
            return Smss {
                bytes: USUAL_SMSS_BYTES,
                is_known: false,
            };
        };
        let divisor = self.divisor(limit);
        let found = Self::divided(divisor.unwrap_or(longest))
            .or(divisor)
            .or(single);
        Smss {
            bytes: found.unwrap_or(USUAL_SMSS_BYTES),
            is_known: found.is_some_and(|bytes| {
                bytes <= LONGEST_ETHERNET_BYTES || JUMBO_SMSS_BYTES.contains(&bytes)
            }),
        }
    }

    fn common(&self) -> impl Iterator<Item = (u32, u64)> + Clone {
        let least = self.total * COMMON_PERCENT;
        let counts = self.counts.iter().copied();
        counts.filter(move |(length, count)| *length > 0 && count * 100 >= least)
    }

    /// The greatest common divisor of two common lengths, if it is a possible segment length. At least one
    /// of the two is longer than a segment on Ethernet. If several pairs have such a
    /// divisor, returns that of the pair with the most packets.
    fn divisor(&self, limit: u32) -> Option<u32> {
        let longest = self.common().map(|(length, _)| length).max()?;
        if longest <= LONGEST_ETHERNET_BYTES {
            return None;
        }
        let pairs = self
            .common()
            .enumerate()
            .flat_map(|(place, one)| self.common().skip(place + 1).map(move |other| (one, other)));
        let packets = |divisor: u32| {
            let multiples = self
                .common()
                .filter(|(length, _)| length.is_multiple_of(divisor));
            multiples.map(|(_, count)| count).sum::<u64>()
        };
        pairs
            .filter(|((one, _), (other, _))| *one.max(other) > LONGEST_ETHERNET_BYTES)
            .map(|((one, _), (other, _))| greatest_common_divisor(one, other))
            .filter(|divisor| (MIN_SMSS_BYTES..=limit).contains(divisor))
            .max_by_key(|divisor| (packets(*divisor), *divisor))
    }

    /// True if longer payloads are common.
    pub(super) fn is_above(&self, smss_bytes: u32) -> bool {
        let above = self
            .counts
            .iter()
            .filter(|(length, _)| *length > smss_bytes);
        above.map(|(_, count)| count).sum::<u64>() * 100 >= self.total * COMMON_PERCENT
    }

    /// The segment length of a super-packet of Ethernet segments.
    fn divided(longest: u32) -> Option<u32> {
        // Two merged Ethernet segments are shorter than a jumbo frame, so try the SMSS values of
        // Ethernet first.
        ETHERNET_SMSS_BYTES
            .into_iter()
            .find(|smss| longest > *smss && longest.is_multiple_of(*smss))
    }
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    let (mut one, mut other) = (one, other);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SMSS of packets with these payloads, each as often as given.
    fn smss(allowed: Option<u32>, payloads: &[(u32, u32)]) -> (u32, bool) {
        let mut lengths = Lengths::default();
        for &(length, count) in payloads {
            for _ in 0..count {
                lengths.add(length);
            }
        }
        let smss = lengths.smss(allowed);
        (smss.bytes, smss.is_known)
    }

    #[test]
    fn common_lengths_that_are_multiples_of_one_are_those_of_super_packets() {
        let segments = |smss: u32| [(smss, 20), (2 * smss, 50), (3 * smss, 30), (700, 3)];
        for single in [1_436, 1_388, 1_220, 1_424] {
            assert_eq!(smss(None, &segments(single)), (single, true));
            // Path MTU discovery between two hosts with jumbo frames.
            assert_eq!(smss(Some(8_948), &segments(single)), (single, true));
        }
        // No packet holds a single segment.
        assert_eq!(smss(None, &[(2_872, 50), (4_308, 50)]), (1_436, true));
        // Writes of the application that are no multiples.
        let writes = [(8_192, 30), (1_436, 40), (5_744, 10)];
        assert_eq!(smss(None, &writes), (1_436, true));
    }

    #[test]
    fn single_segments_of_a_jumbo_frame_are_no_super_packets() {
        assert_eq!(smss(None, &[(8_948, 40), (1_000, 60)]), (8_948, true));
        assert_eq!(
            smss(None, &[(1_448, 40), (600, 50), (1_200, 10)]),
            (1_448, true)
        );
        assert_eq!(
            smss(Some(8_948), &[(8_948, 40), (2_872, 60)]),
            (8_948, true)
        );
    }

    #[test]
    fn segments_that_are_not_full_show_no_segment_size() {
        assert!(!smss(None, &[(200, 50), (500, 50)]).1);
        assert_eq!(smss(Some(1_448), &[(200, 50), (500, 50)]), (1_448, true));
    }

    #[test]
    fn super_packets_of_one_length_show_no_segment_size() {
        assert!(!smss(None, &[(2_872, 98), (500, 2)]).1);
        assert!(!smss(None, &[(65_483, 100)]).1);
        assert_eq!(smss(None, &[(2_896, 98), (500, 2)]), (1_448, true));
        assert_eq!(smss(None, &[(14_480, 100)]), (1_448, true));
    }
}
