//! Feedback of Accurate ECN (RFC 9768): the three-bit ACE counter, and the marked bytes of the `AccECN`
//! option, which show how often the counter wrapped.

use super::handshake::HANDSHAKE_CE;
use super::reported::Reported;
use super::{CeFeedback, Echo, ace};
use crate::sent_packets::Alike;
use crate::{Segment, StreamOffset};

/// Initial value of the ACE counter (RFC 9768, section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// Modulus of the three-bit ACE counter.
const COUNTS: u32 = 8;
/// Mask of the 24-bit byte counters in the `AccECN` option (RFC 9768, section 3.2.3).
const BYTE_COUNTER_MASK: u32 = 0xff_ffff;

/// The marked packets counted since the latest ACK with the `AccECN` option.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SinceOption {
    /// The least and the most payload that these packets may have.
    bytes: [u64; 2],
}

impl CeFeedback {
    /// True if the counter of this ACK, which reports no new data, is not used: the counter is older than the
    /// latest one, or nothing shows which of the two is older. Up to `new` packets may have arrived behind a gap.
    ///
    /// The counter of a later ACK includes what this ACK reports.
    pub(super) fn passes_over(&mut self, segment: &Segment, reported: &Reported, new: u64) -> bool {
        let (Echo::First(before) | Echo::Count(before)) = self.state else {
            return false;
        };
        let Some(ack) = segment.ack else {
            return true;
        };
        let new_bytes = self.new_bytes(segment);
        if new_bytes.is_some_and(has_fallen) || reported.highest(ack) < self.reported.highest(ack) {
            return true;
        }
        // The byte counter never falls, so this ACK is newer, and the bytes show whether the packet counter wrapped.
        if new_bytes.is_some_and(|bytes| bytes > 0) {
            return false;
        }
        let least = increase(before, ace(segment.flags));
        // An unchanged counter may have wrapped.
        let increase = if least > 0 { least } else { u64::from(COUNTS) };
        let arrived = if new_bytes.is_some() {
            // No payload arrived marked.
            self.repeats.most_without_payload()
        } else {
            new + self.repeats.most()
        };
        // An increase by more packets than can have arrived is a decrease (RFC 9768, section 3.2.2.5).
        self.is_undecided |= increase <= arrived;
        true
    }

    /// Processes the ACE field and the `AccECN` option of an ACK, which followed an ACK of the data before `una`
    /// and reports up to `new` data packets as newly received; returns the number of packets that it newly reports
    /// as marked.
    pub(super) fn accurate(&mut self, segment: &Segment, una: StreamOffset, new: u64) -> u64 {
        let count = ace(segment.flags);
        let new_bytes = self.new_bytes(segment);
        if new_bytes.is_some_and(has_fallen) {
            // The counter of an ACK that arrived earlier includes what this ACK counts.
            return 0;
        }
        let echoed_bytes = segment.echoed_ce_bytes.or(self.echoed_bytes);
        let before = match self.state {
            Echo::First(before) => {
                // The path clears the field (RFC 9768, section 3.2.2.4).
                self.is_ambiguous |= count == 0;
                before
            }
            Echo::Count(before) => before,
            // RFC 9768, section 3.2.2.1, table 4.
            Echo::Handshake => {
                self.is_ambiguous |= count == 0;
                self.echoed_bytes = echoed_bytes;
                return self.start(count == HANDSHAKE_CE);
            }
            Echo::Unknown | Echo::Ece(_) => {
                self.state = Echo::Count(count);
                self.echoed_bytes = echoed_bytes;
                return 0;
            }
        };
        let least = increase(before, count);
        // Without the data, the sizes of its packets are unknown.
        let is_covered = self.sent.has_any() || segment.ack.is_none_or(|ack| ack <= una);
        let arrived = new + self.repeats.most() + self.duplicates(segment);
        // The counter cannot have wrapped if fewer packets arrived (RFC 9768, appendix A.2).
        let proven = self.fewest_with(least, new_bytes);
        let (marked, is_decided) = if is_covered && arrived < u64::from(COUNTS) && proven == least {
            (Some(least), true)
        } else {
            let of_bytes = new_bytes
                .filter(|_| self.sent.has_any() && !self.sizes.are_latest_unsure())
                .and_then(|bytes| self.of_bytes(least, u64::from(bytes), una, segment))
                // Fewer packets cannot hold the bytes, and more have not arrived, as far as the ACKs show.
                .filter(|(marked, _)| (proven..=proven.max(arrived)).contains(marked));
            (
                of_bytes.map(|(marked, _)| marked),
                of_bytes.is_some_and(|(_, is_only)| is_only),
            )
        };
        let brings_nothing = segment
            .ack
            .is_none_or(|ack| self.brings_nothing(una, ack, new));
        if !is_decided && new_bytes.is_some() && brings_nothing {
            // The counters of a later ACK include those of this ACK, and may decide.
            self.is_undecided = true;
            return 0;
        }
        self.state = Echo::Count(count);
        self.echoed_bytes = echoed_bytes;
        self.is_ambiguous |= !is_decided;
        self.is_undecided = false;
        let marked = marked.unwrap_or(least);
        self.packets += marked;
        if segment.echoed_ce_bytes.is_some() {
            self.since_option = SinceOption::default();
            self.sizes.cover(una.max(segment.ack.unwrap_or(una)));
        } else if marked > 0 {
            self.count_without_option(marked, una, segment);
        }
        marked
    }

    /// Starts the counter; returns the number of packets reported as marked: 1 if the handshake packet of
    /// this direction was marked.
    pub(super) fn start(&mut self, is_marked: bool) -> u64 {
        self.state = Echo::First(FIRST_COUNT + u8::from(is_marked));
        self.packets = u64::from(is_marked);
        self.packets
    }

    /// Increase of the marked-byte counter since the latest ACK with the option; `None` without either value.
    fn new_bytes(&self, segment: &Segment) -> Option<u32> {
        let values = segment.echoed_ce_bytes.zip(self.echoed_bytes);
        values.map(|(now, then)| now.wrapping_sub(then) & BYTE_COUNTER_MASK)
    }

    /// The fewest packets that can hold the new marked bytes, among `least` plus whole wraps of the counter.
    fn fewest_with(&self, least: u64, new_bytes: Option<u32>) -> u64 {
        let [_, most_counted] = self.since_option.bytes;
        let bytes = u64::from(new_bytes.unwrap_or(0)).saturating_sub(most_counted);
        count_from(least, bytes.div_ceil(u64::from(self.smss_bytes)))
    }

    /// Number of packets that the ACK reports as received twice (RFC 2883).
    fn duplicates(&self, segment: &Segment) -> u64 {
        let block = segment.sack_blocks().next();
        let block = block.filter(|_| segment.reports_duplicate());
        let bytes = block.map_or(0, |(from, to)| to.since(from).max(0).unsigned_abs());
        bytes.div_ceil(u64::from(self.smss_bytes))
    }

    /// Notes that an ACK without the option reports `marked` packets, which the next option includes.
    fn count_without_option(&mut self, marked: u64, una: StreamOffset, segment: &Segment) {
        let smss = u64::from(self.smss_bytes);
        let least = self
            .sizes(una, segment)
            .first()
            .map_or(1, |alike| alike.packet_bytes);
        // Pure ACKs have no payload.
        let with_payload = marked.saturating_sub(self.repeats.most());
        let since = &mut self.since_option;
        since.bytes[0] += with_payload * u64::from(least);
        since.bytes[1] += marked * smss;
    }

    /// The packets that an ACK may newly report as received, the smallest first.
    fn sizes(&self, una: StreamOffset, segment: &Segment) -> Vec<Alike> {
        let mut sizes = Vec::new();
        if let Some(ack) = segment.ack {
            let reported = Reported::of(segment, ack);
            let hidden = self.hidden_end(una, ack, &reported);
            let to = hidden.unwrap_or_else(|| reported.highest(ack));
            let take = |alike| sizes.push(alike);
            self.sent.each(una, to, self.smss_bytes, take);
        }
        sizes.sort_by_key(|alike| alike.packet_bytes);
        sizes
    }

    /// Returns the number of marked packets whose payload is `bytes`, among `least` plus whole wraps of the counter,
    /// and whether no other count is possible. If several or none are possible, the count nearest to the number of
    /// packets with payload is returned. `None` if packets of different sizes have two nearest counts.
    ///
    /// The packets of ACKs without the option are among the bytes too. Marked packets without payload are not.
    #[cold]
    fn of_bytes(
        &self,
        least: u64,
        bytes: u64,
        una: StreamOffset,
        segment: &Segment,
    ) -> Option<(u64, bool)> {
        let sizes = self.sizes(una, segment);
        let [fewest_bytes, most_bytes] = self.since_option.bytes;
        let smss = u64::from(self.smss_bytes);
        let most = packets_with(bytes.saturating_sub(fewest_bytes), sizes.iter(), smss);
        let fewest = packets_with(bytes.saturating_sub(most_bytes), sizes.iter().rev(), smss);
        let without_payload = self.repeats.most_without_payload();
        let first = count_from(least, fewest);
        let next = first + u64::from(COUNTS);
        if first <= most + without_payload && most + without_payload < next {
            return Some((first, true));
        }
        // The capture may show packets of other sizes than those that arrived, so the nearest count is taken.
        let [by_fewest, by_most] = [fewest, most].map(|packets| nearest(least, packets));
        (by_fewest == by_most).then_some((by_fewest, without_payload == 0))
    }
}

/// True if the increase of the marked-byte counter is a decrease, modulo the counter.
fn has_fallen(new_bytes: u32) -> bool {
    new_bytes > BYTE_COUNTER_MASK / 2
}

/// Increase of the ACE counter from `before` to `now`, if it did not wrap more than once.
fn increase(before: u8, now: u8) -> u64 {
    // 2^32 is a multiple of `COUNTS`, so a wrapped difference has the right remainder.
    u64::from(u32::from(now).wrapping_sub(u32::from(before)) % COUNTS)
}

/// Number of packets, taken in order, whose payload reaches `bytes`. What is left after all of them was sent
/// again, in packets of the size of the first, or of the SMSS.
fn packets_with<'a>(bytes: u64, sizes: impl Iterator<Item = &'a Alike>, smss_bytes: u64) -> u64 {
    let mut left = bytes;
    let (mut packets, mut first_bytes) = (0, None);
    for alike in sizes {
        let packet_bytes = u64::from(alike.packet_bytes.max(1));
        first_bytes.get_or_insert(packet_bytes);
        let taken = left.div_ceil(packet_bytes).min(alike.packets);
        packets += taken;
        left = left.saturating_sub(taken * packet_bytes);
    }
    packets + left.div_ceil(first_bytes.unwrap_or(smss_bytes))
}

/// Returns the lowest count that is not below `packets`, among `least` plus whole wraps of the counter.
fn count_from(least: u64, packets: u64) -> u64 {
    let wraps = packets.saturating_sub(least).div_ceil(u64::from(COUNTS));
    least + wraps * u64::from(COUNTS)
}

/// Returns the count nearest to `packets`, among `least` plus whole wraps of the counter.
fn nearest(least: u64, packets: u64) -> u64 {
    let wrap = u64::from(COUNTS);
    let beyond = packets.saturating_sub(least);
    least + (beyond + wrap / 2) / wrap * wrap
}
