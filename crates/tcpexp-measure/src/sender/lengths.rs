//! The sender maximum segment size, from the data.

/// Lengths kept at a time.
const KEPT: usize = 16;
/// A length of fewer segments than this share, in percent, is an exception.
const COMMON_PERCENT: u64 = 2;
/// The longest payload of a packet that is not merged from several, on Ethernet.
const LONGEST_SINGLE_BYTES: u32 = 8_960;
/// What any path carries (RFC 9293, section 3.7.1); segments that are smaller are not full.
const LEAST_SMSS_BYTES: u32 = 536;
/// Assumed without any evidence: an Ethernet segment with timestamps.
const USUAL_SMSS_BYTES: u32 = 1_448;

/// How often which payload lengths occur; rare ones are forgotten.
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
                // The usual length is found first.
                if index > 0 {
                    self.counts.swap(index, index - 1);
                }
                return;
            }
            if self.counts[index].1 < self.counts[least].1 {
                least = index;
            }
        }
        // A new length takes over the count of the rarest (Metwally et al., 2005), so a frequent one
        // is never missed.
        let (length, count) = &mut self.counts[least];
        *length = payload_bytes;
        *count += 1;
    }

    /// The SMSS, given what the handshake allows at most.
    ///
    /// The longest common payload. Super-packets are longer than the handshake allows and say only
    /// that segments are full.
    pub(super) fn smss_bytes(&self, allowed: Option<u32>) -> u32 {
        let limit = allowed.unwrap_or(LONGEST_SINGLE_BYTES);
        let common = |&&(length, count): &&(u32, u64)| {
            length > 0 && count * 100 >= self.total * COMMON_PERCENT
        };
        let merged = self.counts.iter().filter(|(length, _)| *length > limit);
        let longest = self.counts.iter().filter(common).map(|&(length, _)| length);
        let single = longest
            .clone()
            .filter(|&length| (LEAST_SMSS_BYTES..=limit).contains(&length))
            .max();
        match (allowed, single) {
            // Full segments were merged into super-packets; the rest are the ends of writes.
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

    /// Whether more than an exception are longer than this.
    pub(super) fn is_above(&self, smss_bytes: u32) -> bool {
        let above = self
            .counts
            .iter()
            .filter(|(length, _)| *length > smss_bytes);
        above.map(|(_, count)| count).sum::<u64>() * 100 >= self.total * COMMON_PERCENT
    }

    /// What a super-packet was merged from, where no handshake says.
    fn divided(longest: u32, single: u32) -> u32 {
        // Two segments of Ethernet are longer than one, and shorter than a jumbo frame.
        [1_448, 1_460, 1_428, 1_440]
            .into_iter()
            .find(|smss| longest > *smss && longest.is_multiple_of(*smss))
            .unwrap_or(single)
    }
}
