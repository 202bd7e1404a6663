//! The sender maximum segment size, from the data.

/// Number of lengths counted at a time.
const KEPT: usize = 16;
/// Minimum share of segments, in percent, for a common length.
const COMMON_PERCENT: u64 = 2;
/// Longest payload of a single segment on Ethernet, with jumbo frames.
const LONGEST_SINGLE_BYTES: u32 = 8_960;
/// Default MSS (RFC 9293, section 3.7.1); shorter segments are not full.
const MIN_SMSS_BYTES: u32 = 536;
/// SMSS without evidence: an Ethernet segment with timestamps.
const USUAL_SMSS_BYTES: u32 = 1_448;

/// Counts of payload lengths; rare lengths are dropped.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    counts: [(u32, u64); KEPT],
    total: u64,
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

    /// The SMSS, given the maximum that the handshake allows.
    ///
    /// The SMSS is the longest common payload. Super-packets are longer than the handshake allows
    /// and show only that their segments are full.
    pub(super) fn smss_bytes(&self, allowed: Option<u32>) -> u32 {
        let limit = allowed.unwrap_or(LONGEST_SINGLE_BYTES);
        let common = |&&(length, count): &&(u32, u64)| {
            length > 0 && count * 100 >= self.total * COMMON_PERCENT
        };
        let merged = self.counts.iter().filter(|(length, _)| *length > limit);
        let longest = self.counts.iter().filter(common).map(|&(length, _)| length);
        let single = longest
            .clone()
            .filter(|&length| (MIN_SMSS_BYTES..=limit).contains(&length))
            .max();
        match (allowed, single) {
            // Super-packets merge the full segments; shorter payloads are the ends of writes.
            (Some(allowed), Some(single)) if single < allowed => {
                let fits = merged
                    .filter(|(length, _)| length.is_multiple_of(allowed))
                    .count();
                if fits > 0 { allowed } else { single }
            }
            (Some(allowed), None) => allowed,
            (None, None) => USUAL_SMSS_BYTES,
            (_, Some(single)) => match longest.max() {
                Some(longest) if allowed.is_none() => Self::divided(longest, single),
                _ => single,
            },
        }
    }

    /// True if longer payloads are common.
    pub(super) fn is_above(&self, smss_bytes: u32) -> bool {
        let above = self
            .counts
            .iter()
            .filter(|(length, _)| *length > smss_bytes);
        above.map(|(_, count)| count).sum::<u64>() * 100 >= self.total * COMMON_PERCENT
    }

    /// The segment length of a super-packet, without a handshake.
    fn divided(longest: u32, single: u32) -> u32 {
        // Two merged Ethernet segments are shorter than a jumbo frame, so try the SMSS values of
        // Ethernet first (IPv4 and IPv6, with and without timestamps).
        [1_448, 1_460, 1_428, 1_440]
            .into_iter()
            .find(|smss| longest > *smss && longest.is_multiple_of(*smss))
            .unwrap_or(single)
    }
}
