//! The sender maximum segment size, from the data.

use crate::mss::{LONGEST_ETHERNET_BYTES, LONGEST_SINGLE_BYTES};

/// Number of lengths counted at a time.
const KEPT: usize = 16;
/// Minimum share of segments, in percent, for a common length.
const COMMON_PERCENT: u64 = 2;
/// Default MSS (RFC 9293, section 3.7.1); shorter segments are not full.
const MIN_SMSS_BYTES: u32 = 536;
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

/// The longest payloads of a sender that the MSS options of a handshake allow, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offers {
    /// By the sender's own option, which usually follows from the MTU of its interface (RFC 6691). That MTU
    /// limits the segments too, but the option itself does not. `None` without the option.
    pub(super) own: Option<u32>,
    /// By the option of the data's receiver (RFC 9293, section 3.7.1). `None` without the option.
    pub(super) other: Option<u32>,
    /// By default, if an option is absent (RFC 9293, section 3.7.1).
    pub(super) default: u32,
}

impl Offers {
    /// The SMSS of nearly all senders.
    fn usual_bytes(self) -> u32 {
        let [own, other] = [self.own, self.other].map(|bytes| bytes.unwrap_or(self.default));
        own.min(other)
    }

    /// The longest segment of a sender that is not limited by its own option.
    fn most_bytes(self) -> u32 {
        self.other.unwrap_or(LONGEST_SINGLE_BYTES)
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

    /// The SMSS, given the options of the handshake. Without a handshake, it is not known if each packet
    /// may hold several segments or if none holds a full one.
    ///
    /// The SMSS is the longest common payload. Super-packets are longer than the handshake allows
    /// and show only that their segments are full. Without a handshake, or after the path has shortened
    /// the segments, lengths that are multiples of one of them are those of super-packets.
    pub(super) fn smss(&self, offers: Option<Offers>) -> Smss {
        let Some(offers) = offers else {
            return self.of_data(LONGEST_SINGLE_BYTES);
        };
        let (usual, most) = (offers.usual_bytes(), offers.most_bytes());
        let longer = self
            .up_to(most)
            .filter(|length| *length > usual && !length.is_multiple_of(usual));
        match longer.max() {
            Some(longer) if offers.other == Some(longer) => Smss::known(longer),
            Some(_) if !self.holds(usual) => self.of_data(most),
            _ => self.lone_multiple(usual, most).map_or_else(
                || Smss::known(self.allowed(usual)),
                |length| Smss {
                    bytes: length,
                    is_known: offers.other == Some(length),
                },
            ),
        }
    }

    /// The only common length, if it is a multiple of the usual segment length that the receiver allows in one
    /// segment. Packets of one length do not show whether each holds several segments, or a single one of a sender
    /// that its own option does not limit. Segments of Ethernet are usual enough.
    fn lone_multiple(&self, usual: u32, most: u32) -> Option<u32> {
        if ETHERNET_SMSS_BYTES.contains(&usual) {
            return None;
        }
        let longest = self.up_to(most).max()?;
        let is_multiple = longest > usual && longest.is_multiple_of(usual);
        // The ends of writes are shorter than a segment.
        let is_lone = self.longest() == Some(longest)
            && self
                .common()
                .all(|(length, _)| length == longest || length < usual);
        (is_multiple && is_lone).then_some(longest)
    }

    /// The SMSS of a sender that does not exceed what the handshake allows.
    fn allowed(&self, allowed: u32) -> u32 {
        if self.holds(allowed) {
            return allowed;
        }
        let single = self.up_to(allowed).max();
        let shorter = self.divisor(allowed).or(single);
        // After path MTU discovery between two hosts with jumbo frames, all packets may hold several segments.
        let may_be_merged = (LONGEST_ETHERNET_BYTES + 1..=LONGEST_SINGLE_BYTES).contains(&allowed);
        let merged = shorter.or(self.longest()).filter(|_| may_be_merged);
        let divided = merged.and_then(Self::divided);
        divided.or(shorter).unwrap_or(allowed)
    }

    /// True if packets of segments of this length are there: single ones, or super-packets, which merge the full
    /// segments; shorter payloads are the ends of writes.
    fn holds(&self, segment_bytes: u32) -> bool {
        let is_merged = |&(length, _): &(u32, u64)| {
            length > segment_bytes && length.is_multiple_of(segment_bytes)
        };
        self.up_to(segment_bytes).max() == Some(segment_bytes) || self.counts.iter().any(is_merged)
    }

    /// The SMSS, at most `limit`, if only the data shows it.
    fn of_data(&self, limit: u32) -> Smss {
        let Some(longest) = self.longest().filter(|longest| *longest >= MIN_SMSS_BYTES) else {
            return Smss {
                bytes: USUAL_SMSS_BYTES,
                is_known: false,
            };
        };
        let divisor = self.divisor(limit);
        let found = Self::divided(divisor.unwrap_or(longest))
            .or(divisor)
            .or(self.up_to(limit).max());
        Smss {
            bytes: found.unwrap_or(USUAL_SMSS_BYTES),
            is_known: found.is_some_and(|bytes| {
                bytes <= LONGEST_ETHERNET_BYTES || JUMBO_SMSS_BYTES.contains(&bytes)
            }),
        }
    }

    /// The longest common length.
    fn longest(&self) -> Option<u32> {
        self.common().map(|(length, _)| length).max()
    }

    /// The common lengths that may be those of single full segments up to this long.
    fn up_to(&self, limit: u32) -> impl Iterator<Item = u32> {
        self.common()
            .map(|(length, _)| length)
            .filter(move |length| (MIN_SMSS_BYTES..=limit).contains(length))
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
        let longest = self.longest()?;
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
        offered(allowed.map(|allowed| [Some(allowed); 2]), payloads)
    }

    /// The SMSS of packets with these payloads, given what the options of the sender and the receiver allow.
    fn offered(allowed: Option<[Option<u32>; 2]>, payloads: &[(u32, u32)]) -> (u32, bool) {
        let offers = allowed.map(|[own, other]| Offers {
            own,
            other,
            default: 536,
        });
        let mut lengths = Lengths::default();
        for &(length, count) in payloads {
            for _ in 0..count {
                lengths.add(length);
            }
        }
        let smss = lengths.smss(offers);
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

    #[test]
    fn segments_longer_than_the_own_option_allows_are_as_long_as_the_receiver_allows() {
        let of = |own: u32, other: u32, payloads: &[(u32, u32)]| {
            offered(Some([Some(own), Some(other)]), payloads)
        };
        assert_eq!(of(1_428, 1_448, &[(1_448, 90), (600, 10)]), (1_448, true));
        assert_eq!(of(1_448, 8_948, &[(8_948, 90), (600, 10)]), (8_948, true));
        // The MTU of the sender's interface is neither that of its option nor that of the receiver.
        assert_eq!(of(1_428, 8_948, &[(1_448, 90), (600, 10)]), (1_448, true));
        let merged = [(1_448, 20), (2_896, 50), (8_688, 30)];
        assert_eq!(of(1_428, 8_948, &merged), (1_448, true));
        // Super-packets of segments that the own option allows.
        let merged = [(2_896, 60), (4_000, 40)];
        assert_eq!(of(1_448, 8_948, &merged), (1_448, true));
        // One segment, or two full ones and the end of a write.
        assert!(!of(1_448, 8_948, &[(4_000, 100)]).1);
        // A sender whose option is absent announces nothing.
        assert_eq!(
            offered(Some([None, Some(1_448)]), &[(1_448, 9)]),
            (1_448, true)
        );
        // A receiver without the option allows 536 bytes, but its option may have been removed on the path.
        assert_eq!(
            offered(Some([Some(1_460), None]), &[(1_460, 9)]),
            (1_460, true)
        );
        assert_eq!(offered(Some([Some(1_460), None]), &[(536, 9)]), (536, true));
    }

    #[test]
    fn packets_of_one_length_are_segments_only_if_the_receiver_allows_exactly_as_long_ones() {
        let of = |own: u32, other: Option<u32>, payloads: &[(u32, u32)]| {
            offered(Some([Some(own), other]), payloads)
        };
        assert_eq!(
            of(724, Some(1_448), &[(1_448, 90), (600, 10)]),
            (1_448, true)
        );
        assert!(!of(700, Some(1_448), &[(1_400, 100)]).1);
        assert!(!of(1_448, None, &[(1_072, 100)]).1);
        // Several multiples are super-packets.
        let merged = [(1_400, 50), (2_800, 50)];
        assert_eq!(of(700, Some(1_448), &merged), (700, true));
        let merged = [(700, 20), (1_400, 80)];
        assert_eq!(of(700, Some(1_448), &merged), (700, true));
    }

    #[test]
    fn super_packets_of_ethernet_segments_are_no_segments_of_a_jumbo_frame() {
        assert_eq!(smss(Some(8_948), &[(2_896, 100)]), (1_448, true));
        assert_eq!(smss(Some(8_948), &[(14_480, 100)]), (1_448, true));
        // Segments of a loopback interface.
        assert_eq!(smss(Some(65_483), &[(14_480, 100)]), (14_480, true));
    }
}
