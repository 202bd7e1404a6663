//! Decides whether data that was not captured downstream was lost on the path or missed by the
//! capture.
//!
//! A receiver acknowledges only data that it has (RFC 9293, section 3.4). If it acknowledges data
//! whose bytes are in no packet of the downstream capture, the capture missed this data. With one
//! departure of these bytes, the missed packet is known. With several, at least one of them
//! arrived, but which one is unknown.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_flow::{StreamOffset, is_after};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::SeqNum;

use super::answered::Answered;
use super::at_receiver::AtReceiver;
use super::beyond::LossesBeyond;
use super::departure::Departure;
use super::echoes::Echoes;
use super::seen::Seen;
use super::unwrap::Unwrap;

/// Number of recent holes and retransmissions remembered per direction: enough for a horizon of
/// half a minute at 1 Gbit/s with 1 % loss.
const REMEMBERED: usize = 65_536;
/// Number of repetitions of an acknowledgment that shows that data was lost: three (RFC 5681,
/// section 3.2), each captured at both points.
const REPEATED: u32 = 6;
/// Maximum length of a departure: BIG TCP's super-packets have 512 KB (RFC 2675).
const LONGEST_BYTES: i64 = 1 << 19;

/// Number of SYNs and FINs remembered per direction: of each, one and a retransmission.
const CONTROLS: usize = 4;

/// Reason why a packet was not captured downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) enum Absence {
    /// The receiver lacked it when later data had arrived.
    Lost,
    /// No evidence of its arrival, and the capture is not known to miss packets.
    Unproven,
    /// It arrived, but the capture missed it.
    Missed,
    /// Lost, or missed by the capture.
    LostOrMissed,
}

/// Evidence on data of one direction of a TCP flow that was not captured downstream.
#[derive(Debug, Default)]
pub(in crate::spp) struct Evidence {
    unwrap: Unwrap,
    echoes: Echoes,
    /// The bytes captured downstream.
    seen: Seen,
    /// Retransmissions by their start.
    retransmitted: BTreeMap<StreamOffset, Retransmission>,
    /// End of the data that left.
    snd_nxt: Option<StreamOffset>,
    /// The highest acknowledgment number seen at either point.
    acked: Option<StreamOffset>,
    /// Place (lower half) and value of the highest acknowledgment that left the downstream point.
    acked_downstream: Option<(u32, StreamOffset)>,
    /// From the first retransmission on.
    answered: Option<Box<Answered>>,
    /// Numbers (lower halves) of SYNs and FINs without data, the oldest first.
    controls: [Option<u32>; CONTROLS],
    /// Number of repetitions of `acked` without data.
    repeated: u32,
    /// Bytes that the receiver waited for when later data had arrived.
    lacking: BTreeSet<StreamOffset>,
    /// Losses beyond the downstream point: then the receiver also waits for data that passed it.
    beyond: LossesBeyond,
    at_receiver: AtReceiver,
    /// True if an original was overtaken: then a retransmission does not prove a loss.
    reordered: bool,
    /// Place (lower half) of the latest arrival that filled a hole with retransmitted bytes: a
    /// retransmission, or an original that was overtaken.
    latest_repair: Option<u32>,
    /// Offset below which ranges may have been forgotten.
    forgotten: Option<StreamOffset>,
}

/// The retransmissions that start at one byte.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    /// End of the longest of them.
    end: StreamOffset,
    /// Number (lower half) of the first of them.
    first: u32,
}

impl Evidence {
    /// Adds data that left, in the packet with this lower half of its number.
    pub(in crate::spp) fn depart(&mut self, seq: SeqNum, bytes: u32, number: u32) {
        let (start, end) = self.range(seq, bytes);
        if self.snd_nxt.is_some_and(|snd_nxt| start < snd_nxt) {
            self.answered
                .get_or_insert_with(|| Box::new(Answered::since(self.acked_downstream)));
            // Several retransmissions may start at one byte and end at different bytes.
            let first = Retransmission { end, first: number };
            let longest = &mut self.retransmitted.entry(start).or_insert(first).end;
            *longest = end.max(*longest);
            while self.retransmitted.len() > REMEMBERED {
                self.forget_retransmission();
            }
        }
        self.snd_nxt = Some(self.snd_nxt.map_or(end, |snd_nxt| snd_nxt.max(end)));
    }

    /// Adds a SYN or FIN without data that left, by the lower half of its number.
    /// It takes a sequence number (RFC 9293, section 3.4), so it is acknowledged as data is.
    pub(in crate::spp) fn depart_control(&mut self, number: u32) {
        self.controls.rotate_left(1);
        self.controls[CONTROLS - 1] = Some(number);
    }

    /// Adds data that arrived, at this place (lower half).
    pub(in crate::spp) fn arrive(&mut self, seq: SeqNum, bytes: u32, place: u32) {
        let (start, end) = self.range(seq, bytes);
        let is_repair = self.answered.is_some()
            && self.was_retransmitted(start, end)
            && !self.seen.has_any(start, end);
        if is_repair && let Some(answered) = &mut self.answered {
            answered.arrive(place, start, end);
        }
        if self.beyond.has_suspect(start, end)
            && let Some(answered) = &mut self.answered
            && answered.waits_at(place, start, end)
        {
            self.beyond.prove();
        }
        if self.seen.extend(start, end) {
            return;
        }
        // Late data that left only once was overtaken on the path (RFC 4737, section 3).
        if self.seen.is_before_last(start) {
            if self.was_retransmitted(start, end) {
                self.latest_repair = Some(place);
            } else {
                self.reordered = true;
            }
        }
        self.seen.add(start, end);
        let forgotten = self.seen.limit(REMEMBERED);
        self.forget(forgotten);
    }

    /// Adds the time `at` on the clock of the downstream point at which data arrived; `tick` is the resolution of this
    /// clock.
    #[inline]
    pub(in crate::spp) fn arrive_in_time(
        &mut self,
        (seq, bytes): (SeqNum, u32),
        place: u32,
        at: Timestamp,
        tick: TimeDelta,
    ) {
        if self.at_receiver.is_shown() {
            return;
        }
        let (start, end) = self.range(seq, bytes);
        // The receiver may have acknowledged an earlier transmission.
        if !self.was_retransmitted(start, end) {
            self.at_receiver.arrive(place, at, end, tick);
        }
    }

    /// Adds that the arrival at the place `arrival` (lower half) is this departure.
    pub(in crate::spp) fn identify(&mut self, departure: &Departure, arrival: u32) {
        if self.latest_repair != Some(arrival) {
            return;
        }
        let start = self.unwrap.peek(departure.seq);
        let end = start.plus(departure.payload_bytes);
        self.reordered |= !self.is_retransmission(departure.number, start, end);
    }

    /// Adds the timestamp of a segment without data that left, by the lower half of its number.
    pub(in crate::spp) fn depart_without_data(&mut self, number: u32, tsval: u32) {
        self.echoes.depart(number, tsval);
    }

    /// Adds the timestamp of a segment that arrived.
    pub(in crate::spp) fn arrive_at(&mut self, tsval: u32) {
        self.echoes.arrive(tsval);
    }

    /// Adds the timestamp that a segment of the other direction echoes.
    pub(in crate::spp) fn echo(&mut self, tsecr: u32) {
        self.echoes.echo(tsecr);
    }

    /// Reason why `departure` was not captured downstream, or not in full. `misses` is true if the
    /// capture is known to miss packets.
    pub(in crate::spp) fn absence_of(&self, departure: &Departure, misses: bool) -> Absence {
        let Departure { seq, number, .. } = *departure;
        match departure.payload_bytes {
            0 => {
                let misses = misses || self.echoes.show_missed(number);
                if self.controls.contains(&Some(number)) {
                    self.absence(seq, 1, number, misses)
                } else {
                    // It has no bytes that an acknowledgment covers.
                    Absence::unproven(misses)
                }
            }
            bytes => self.absence(seq, bytes, number, misses),
        }
    }

    /// True if the downstream capture provably missed this packet, or a packet that left at the same
    /// time. The capture does not have this packet.
    pub(in crate::spp) fn proves_miss(&self, departure: &Departure) -> bool {
        let start = self.unwrap.peek(departure.seq);
        let end = start.plus(departure.payload_bytes);
        self.absence_of(departure, false) == Absence::Missed
            || departure.payload_bytes == 0 && self.echoes.show_missed(departure.number)
            || departure.payload_bytes > 0 && self.was_answered(start, end)
    }

    /// Adds an acknowledgment from the other direction: it covers all bytes before `ack`. `is_pure`
    /// is true if its packet holds no data.
    pub(in crate::spp) fn acknowledge(&mut self, ack: SeqNum, is_pure: bool) {
        let ack = self.offset(ack);
        if self.acked.is_none_or(|acked| acked < ack) {
            self.acked = Some(ack);
            self.repeated = 0;
        } else if self.acked == Some(ack) && is_pure {
            self.repeated = self.repeated.saturating_add(1);
            let is_sent = self.snd_nxt.is_some_and(|snd_nxt| ack < snd_nxt);
            if self.repeated == REPEATED && is_sent {
                if self.seen.has_any(ack, ack.plus(1)) {
                    self.beyond.suspect(ack);
                }
                self.lacking.insert(ack);
                while self.lacking.len() > REMEMBERED {
                    self.lacking.pop_first();
                }
            }
        }
    }

    /// Adds an acknowledgment that left the downstream point, at this place (lower half) and time on its clock.
    pub(in crate::spp) fn acknowledge_downstream(
        &mut self,
        place: u32,
        at: Timestamp,
        ack: SeqNum,
    ) {
        let ack = self.offset(ack);
        if self.acked_downstream.is_none_or(|(_, acked)| acked < ack) {
            self.acked_downstream = Some((place, ack));
            self.at_receiver.acknowledge(place, at, ack);
            if let Some(answered) = &mut self.answered {
                answered.acknowledge(place, ack);
            }
        }
    }

    /// Reason why the downstream capture has not all of the `bytes` from `seq` on, which left in the
    /// packet with this lower half of its number. `bytes` is at least 1; `misses` is true if the capture
    /// is known to miss packets.
    fn absence(&self, seq: SeqNum, bytes: u32, number: u32, misses: bool) -> Absence {
        let unproven = Absence::unproven(misses);
        let start = self.unwrap.peek(seq);
        let end = start.plus(bytes);
        if self.seen.has_all(start, end) {
            // These bytes left only once, so either a retransmission left unseen, or this packet
            // arrived and a capture or the path changed it.
            if !self.was_retransmitted(start, end) {
                return Absence::LostOrMissed;
            }
            // The receiver had the bytes before they were captured, from this packet or another.
            if self.was_answered(start, end) {
                return Absence::LostOrMissed;
            }
            let is_original = !self.is_retransmission(number, start, end);
            return if is_original && self.was_repaired(start, end, misses) {
                Absence::Lost
            } else {
                unproven
            };
        }
        if self.acked.is_none_or(|acked| acked < end) {
            return unproven;
        }
        let is_forgotten = self.forgotten.is_some_and(|forgotten| start < forgotten);
        if is_forgotten || self.was_retransmitted(start, end) {
            Absence::LostOrMissed
        } else {
            Absence::Missed
        }
    }

    /// True if these bytes arrived only in a retransmission, while the receiver waited for them: then
    /// the original was lost. It does not prove the loss of another retransmission, which may have
    /// arrived afterwards.
    fn was_repaired(&self, start: StreamOffset, end: StreamOffset, misses: bool) -> bool {
        // A sender also retransmits data that arrived: all data after a timeout, and data that is late
        // (RFC 4653, section 2). The receiver waits for late data as for lost data.
        // Beyond a point between the ends, the path may lose data that the capture missed. The receiver waits for
        // this data, although it passed the point. `beyond` finds such losses only if the capture has some of the
        // data that is lost there.
        self.at_receiver.is_shown()
            && !self.reordered
            && !self.beyond.are_proven()
            // With no acknowledgment missed, the receiver's last one suffices.
            && (self.was_lacking(start, end) || !misses && self.was_awaited(start, end))
    }

    /// True if the departure of these bytes with this number (lower half) is not their first.
    fn is_retransmission(&self, number: u32, start: StreamOffset, end: StreamOffset) -> bool {
        self.retransmissions(start, end)
            .any(|retransmission| !is_after(retransmission.first, number))
    }

    /// True if any of these bytes left more than once.
    fn was_retransmitted(&self, start: StreamOffset, end: StreamOffset) -> bool {
        self.retransmissions(start, end).next().is_some()
    }

    /// The retransmissions that have any of these bytes.
    fn retransmissions(
        &self,
        start: StreamOffset,
        end: StreamOffset,
    ) -> impl Iterator<Item = &Retransmission> {
        // An overlapping range starts before `start` by at most the longest departure.
        let around = self.retransmitted.range(start.moved(-LONGEST_BYTES)..end);
        around
            .map(|(_, retransmission)| retransmission)
            .filter(move |retransmission| retransmission.end > start)
    }

    /// True if any of these bytes were captured only after the receiver had acknowledged them.
    fn was_answered(&self, start: StreamOffset, end: StreamOffset) -> bool {
        let answered = self.answered.as_ref();
        answered.is_some_and(|answered| answered.has(start, end))
    }

    /// True if the receiver waited for one of these bytes when its retransmission arrived.
    fn was_awaited(&self, start: StreamOffset, end: StreamOffset) -> bool {
        let answered = self.answered.as_ref();
        answered.is_some_and(|answered| answered.was_awaited(start, end))
    }

    /// True if the receiver waited for one of these bytes when later data had arrived.
    fn was_lacking(&self, start: StreamOffset, end: StreamOffset) -> bool {
        self.lacking.range(start..end).next().is_some()
    }

    fn forget_retransmission(&mut self) {
        let oldest = self.retransmitted.pop_first();
        self.forget(oldest.map(|(_, retransmission)| retransmission.end));
    }

    fn forget(&mut self, up_to: Option<StreamOffset>) {
        self.forgotten = self.forgotten.max(up_to);
    }

    fn range(&mut self, seq: SeqNum, bytes: u32) -> (StreamOffset, StreamOffset) {
        let start = self.offset(seq);
        (start, start.plus(bytes))
    }

    fn offset(&mut self, seq: SeqNum) -> StreamOffset {
        self.unwrap.offset(seq)
    }
}

impl Absence {
    /// Absence without evidence of an arrival.
    pub(in crate::spp) fn unproven(misses: bool) -> Self {
        if misses {
            Self::LostOrMissed
        } else {
            Self::Unproven
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1_000;

    /// Evidence from segment numbers that departed and that were captured downstream.
    fn evidence(departed: &[u32], seen: &[u32], acked: u32) -> Evidence {
        let mut evidence = Evidence::default();
        for (segment, number) in departed.iter().zip(0..) {
            evidence.depart(SeqNum(segment * SEGMENT), SEGMENT, number);
        }
        for number in seen {
            evidence.arrive(SeqNum(number * SEGMENT), SEGMENT, 0);
        }
        evidence.acknowledge(SeqNum(acked * SEGMENT), true);
        evidence
    }

    /// Adds data that is acknowledged at once where it arrives.
    fn answer_at_once(evidence: &mut Evidence) {
        let at = Timestamp::from_nanos(0);
        evidence.acknowledge_downstream(1, at, SeqNum(SEGMENT));
        evidence.arrive_in_time((SeqNum(0), SEGMENT), 0, at, TimeDelta::ZERO);
    }

    fn of(evidence: &Evidence, number: u32) -> Absence {
        evidence.absence(SeqNum(number * SEGMENT), SEGMENT, 0, false)
    }

    #[test]
    fn acknowledged_data_sent_once_and_not_captured_on_arrival_was_missed() {
        let evidence = evidence(&[1, 2, 3, 4], &[1, 2, 4], 5);
        assert_eq!(of(&evidence, 3), Absence::Missed);
    }

    #[test]
    fn data_whose_retransmission_arrived_is_lost_without_proof() {
        let evidence = evidence(&[1, 2, 3, 4, 3], &[1, 2, 4, 3], 5);
        assert_eq!(of(&evidence, 3), Absence::Unproven);
    }

    #[test]
    fn acknowledged_data_sent_twice_and_not_captured_on_arrival_was_lost_or_missed() {
        let evidence = evidence(&[1, 2, 3, 4, 3], &[1, 2, 4], 5);
        assert_eq!(of(&evidence, 3), Absence::LostOrMissed);
    }

    #[test]
    fn unacknowledged_data_was_lost_unless_the_capture_is_known_to_miss_packets() {
        let evidence = evidence(&[1, 2, 3, 4], &[1, 2, 4], 3);
        assert_eq!(of(&evidence, 3), Absence::Unproven);
        let by_a_bad_capture = evidence.absence(SeqNum(3 * SEGMENT), SEGMENT, 2, true);
        assert_eq!(by_a_bad_capture, Absence::LostOrMissed);
    }

    #[test]
    fn data_that_left_once_and_arrived_changed_is_not_lost() {
        let evidence = evidence(&[1, 2, 3, 4], &[1, 2, 3, 4], 5);
        assert_eq!(of(&evidence, 3), Absence::LostOrMissed);
    }

    #[test]
    fn waiting_of_the_receiver_proves_no_loss_before_a_point_beyond_which_packets_are_lost() {
        // The fourth segment is captured and lost beyond the point; the second was not captured.
        let mut evidence = Evidence::default();
        answer_at_once(&mut evidence);
        for segment in 1..=6 {
            evidence.depart(SeqNum(segment * SEGMENT), SEGMENT, segment);
            if segment != 2 {
                evidence.arrive(SeqNum(segment * SEGMENT), SEGMENT, segment);
            }
        }
        for (lost, place) in [(2, 10), (4, 20)] {
            let at = Timestamp::from_nanos(place.into());
            evidence.acknowledge_downstream(place, at, SeqNum(lost * SEGMENT));
            for _ in 0..=REPEATED {
                evidence.acknowledge(SeqNum(lost * SEGMENT), true);
            }
            evidence.depart(SeqNum(lost * SEGMENT), SEGMENT, place);
            evidence.arrive(SeqNum(lost * SEGMENT), SEGMENT, place + 1);
            let second = [false, true]
                .map(|misses| evidence.absence(SeqNum(2 * SEGMENT), SEGMENT, 2, misses));
            let expected = if lost == 2 {
                [Absence::Lost; 2]
            } else {
                [Absence::Unproven, Absence::LostOrMissed]
            };
            assert_eq!(second, expected);
        }
    }

    #[test]
    fn in_a_bad_capture_a_retransmission_proves_a_loss_only_if_the_receiver_waited_for_the_data() {
        let absence = |repetitions| {
            let mut evidence = evidence(&[1, 2, 3, 4], &[1, 2, 4], 3);
            answer_at_once(&mut evidence);
            for _ in 0..repetitions {
                evidence.acknowledge(SeqNum(3 * SEGMENT), true);
            }
            evidence.depart(SeqNum(3 * SEGMENT), SEGMENT, 4);
            evidence.arrive(SeqNum(3 * SEGMENT), SEGMENT, 0);
            evidence.acknowledge(SeqNum(5 * SEGMENT), true);
            let [good, bad] = [false, true]
                .map(|misses| evidence.absence(SeqNum(3 * SEGMENT), SEGMENT, 2, misses));
            (good, bad)
        };
        assert_eq!(absence(1), (Absence::Unproven, Absence::LostOrMissed));
        assert_eq!(absence(REPEATED), (Absence::Lost, Absence::Lost));
    }
}
