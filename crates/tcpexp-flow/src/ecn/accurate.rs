//! Feedback of Accurate ECN (RFC 9768): the three-bit ACE counter, and the marked bytes of the `AccECN`
//! option, which show how often the counter wrapped.

use super::handshake::HANDSHAKE_CE;
use super::{CeFeedback, Echo, EcnMode, ace, highest};
use crate::sent_packets::Alike;
use crate::{Segment, StreamOffset};

/// Initial value of the ACE counter (RFC 9768, section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// Modulus of the three-bit ACE counter.
const COUNTS: u32 = 8;
/// Mask of the 24-bit byte counters in the `AccECN` option (RFC 9768, section 3.2.3).
const BYTE_COUNTER_MASK: u32 = 0xff_ffff;

impl CeFeedback {
    /// True if the counter of an ACK that is not known to be newer than the latest went back: it would have
    /// to go up by more packets than arrived (RFC 9768, section 3.2.2.5).
    pub(super) fn is_overtaken(&self, segment: &Segment, arrived: u64) -> bool {
        let Echo::Count(before) = self.state else {
            return false;
        };
        let least = increase(before, ace(segment.flags));
        self.mode == EcnMode::Accurate && least > u64::from(COUNTS / 2) && least > arrived
    }

    /// Processes the ACE field and the `AccECN` option of an ACK, which followed an ACK of the data before `una`;
    /// returns the number of packets that it newly reports as marked.
    pub(super) fn accurate(&mut self, segment: &Segment, una: StreamOffset, arrived: u64) -> u64 {
        let count = ace(segment.flags);
        let bytes = segment.echoed_ce_bytes;
        let new_bytes = bytes.zip(self.echoed_bytes);
        let new_bytes = new_bytes.map(|(now, then)| now.wrapping_sub(then) & BYTE_COUNTER_MASK);
        self.echoed_bytes = bytes.or(self.echoed_bytes);
        let before = match self.state {
            Echo::Count(before) => before,
            // RFC 9768, section 3.2.2.1, table 4.
            Echo::Handshake => return self.start(count == HANDSHAKE_CE),
            Echo::Unknown | Echo::Ece(_) => {
                self.state = Echo::Count(count);
                return 0;
            }
        };
        self.state = Echo::Count(count);
        let least = increase(before, count);
        // Without the data, the sizes of its packets are unknown.
        let is_covered = self.sent.has_any() || segment.ack.is_none_or(|ack| ack <= una);
        // The counter cannot have wrapped if fewer packets arrived (RFC 9768, appendix A.2).
        let marked = if is_covered && arrived < u64::from(COUNTS) {
            Some(least)
        } else {
            new_bytes
                .filter(|_| self.sent.has_any())
                .and_then(|bytes| self.of_bytes(least, u64::from(bytes), una, segment))
        };
        self.is_ambiguous |= marked.is_none();
        let marked = marked.unwrap_or(least);
        self.packets += marked;
        marked
    }

    /// Starts the counter; returns the number of packets reported as marked: 1 if the handshake packet of
    /// this direction was marked.
    pub(super) fn start(&mut self, is_marked: bool) -> u64 {
        self.state = Echo::Count(FIRST_COUNT + u8::from(is_marked));
        self.packets = u64::from(is_marked);
        self.packets
    }

    /// Returns the packet count nearest to the number of packets that have `bytes` of payload, among
    /// `least` plus whole wraps of the counter. `None` if packets of different sizes allow two counts.
    #[cold]
    fn of_bytes(
        &self,
        least: u64,
        bytes: u64,
        una: StreamOffset,
        segment: &Segment,
    ) -> Option<u64> {
        let to = highest(segment.ack?, segment);
        let mut sizes = Vec::new();
        self.sent
            .each(una, to, self.smss_bytes, |alike| sizes.push(alike));
        sizes.sort_by_key(|alike| alike.packet_bytes);
        let most = packets_with(bytes, sizes.iter());
        let fewest = packets_with(bytes, sizes.iter().rev());
        let [fewest, most] = [fewest, most].map(|packets| nearest(least, packets));
        (fewest == most).then_some(fewest)
    }
}

/// Increase of the ACE counter from `before` to `now`, if it did not wrap more than once.
fn increase(before: u8, now: u8) -> u64 {
    // 2^32 is a multiple of `COUNTS`, so a wrapped difference has the right remainder.
    u64::from(u32::from(now).wrapping_sub(u32::from(before)) % COUNTS)
}

/// Number of packets, taken in order, whose payload reaches `bytes`.
fn packets_with<'a>(bytes: u64, sizes: impl Iterator<Item = &'a Alike>) -> u64 {
    let mut left = bytes;
    let mut packets = 0;
    for alike in sizes {
        let taken = left
            .div_ceil(u64::from(alike.packet_bytes))
            .min(alike.packets);
        packets += taken;
        left = left.saturating_sub(taken * u64::from(alike.packet_bytes));
    }
    packets
}

/// Returns the count nearest to `packets`, among `least` plus whole wraps of the counter.
fn nearest(least: u64, packets: u64) -> u64 {
    let wrap = u64::from(COUNTS);
    let beyond = packets.saturating_sub(least);
    least + (beyond + wrap / 2) / wrap * wrap
}
