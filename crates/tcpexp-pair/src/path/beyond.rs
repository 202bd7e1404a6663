//! Packets that were captured further along the path.
//!
//! With more than two points, a packet that the next capture lacks may be in a later one. It then
//! passed the next point, and the capture there missed it. This assumes that every packet passes
//! all points.

use super::PathPacket;
use crate::spp::{DirectionCounts, Fate, PacketOutcome};

/// The packets of one capture that one other capture shows.
#[derive(Clone, Debug, Default)]
pub struct SeenAt {
    arrived: Records,
    /// Records that did not arrive, or not in full.
    absent: Records,
}

/// The packets of one capture that captures beyond the next point show.
#[derive(Clone, Debug, Default)]
pub struct SeenBeyond {
    whole: Records,
    part: Records,
}

/// A set of record numbers, with one bit per record of the capture.
#[derive(Clone, Debug, Default)]
struct Records(Vec<u64>);

/// Packets of one direction of a flow whose fate a capture beyond the next point decided.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judged {
    lost_to_missed: u64,
    unsure_to_missed: u64,
    lost_to_unsure: u64,
}

impl SeenAt {
    /// Adds a packet on its way between the two points.
    pub fn add(&mut self, packet: &PathPacket) {
        let Some(record) = packet.sent_record else {
            return;
        };
        match packet.fate {
            Fate::Delivered => self.arrived.insert(record),
            Fate::Lost | Fate::Missed | Fate::LostOrMissed | Fate::Ambiguous | Fate::Outside => {
                self.absent.insert(record);
            }
            Fate::Copy | Fate::Duplicate | Fate::Unseen => {}
        }
    }
}

impl SeenBeyond {
    /// Adds the packets that one capture beyond the next point shows.
    pub fn add(&mut self, seen: &SeenAt) {
        for (place, &arrived) in seen.arrived.0.iter().enumerate() {
            let absent = seen.absent.0.get(place).copied().unwrap_or_default();
            self.whole.add_word(place, arrived & !absent);
            self.part.add_word(place, arrived & absent);
        }
    }

    /// The fate of a packet, given the fate between its point and the next one.
    ///
    /// Part of a super-packet beyond the next point may be the part that the next capture shows.
    pub(super) fn judge(&self, outcome: &PacketOutcome) -> Fate {
        let fate = outcome.fate;
        let (Fate::Lost | Fate::LostOrMissed, Some(sent)) = (fate, outcome.sent) else {
            return fate;
        };
        if self.whole.contains(sent.record) {
            Fate::Missed
        } else if self.part.contains(sent.record) {
            Fate::LostOrMissed
        } else {
            fate
        }
    }
}

impl Records {
    fn insert(&mut self, record: u64) {
        let Some((place, bit)) = Self::bit(record) else {
            return;
        };
        self.add_word(place, bit);
    }

    fn add_word(&mut self, place: usize, bits: u64) {
        if bits == 0 {
            return;
        }
        if self.0.len() <= place {
            self.0.resize(place + 1, 0);
        }
        self.0[place] |= bits;
    }

    fn contains(&self, record: u64) -> bool {
        let bit = Self::bit(record);
        bit.is_some_and(|(place, bit)| self.0.get(place).is_some_and(|word| word & bit != 0))
    }

    fn bit(record: u64) -> Option<(usize, u64)> {
        let bits = u64::from(u64::BITS);
        Some((usize::try_from(record / bits).ok()?, 1 << (record % bits)))
    }
}

impl Judged {
    /// Counts packets whose fate changed.
    pub(super) fn count(&mut self, before: Fate, after: Fate, packets: u64) {
        match (before, after) {
            (Fate::Lost, Fate::Missed) => self.lost_to_missed += packets,
            (Fate::LostOrMissed, Fate::Missed) => self.unsure_to_missed += packets,
            (Fate::Lost, Fate::LostOrMissed) => self.lost_to_unsure += packets,
            _ => {}
        }
    }

    /// Moves the packets to the counts of their fate.
    pub(super) fn correct(self, counts: &mut DirectionCounts) {
        counts.lost -= self.lost_to_missed + self.lost_to_unsure;
        counts.lost_unproven = counts.lost_unproven.min(counts.lost);
        counts.lost_or_missed += self.lost_to_unsure;
        counts.lost_or_missed -= self.unsure_to_missed;
        counts.missed += self.lost_to_missed + self.unsure_to_missed;
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Direction, FlowId};
    use tcpexp_units::Timestamp;

    use super::*;
    use crate::spp::{DelayErrors, Passing, PathDirection};

    fn outcome(record: u64, fate: Fate) -> PacketOutcome {
        let sent = Passing {
            record,
            time: Timestamp::MIN,
            at: Timestamp::MIN,
            ecn: tcpexp_wire::Ecn::NotEct,
        };
        PacketOutcome {
            flow: FlowId(0),
            direction: Direction::Forward,
            path_direction: PathDirection::Out,
            fate,
            number: None,
            sent: Some(sent),
            received: None,
            one_way_delay: None,
            packets: 1,
            payload_bytes: 0,
            ip_bytes: 40,
        }
    }

    fn row(record: u64, fate: Fate) -> PathPacket {
        PathPacket::new(&outcome(record, fate), None, DelayErrors::default(), None)
    }

    /// What a later capture shows of records 0 to 199: the even ones, and 128 in part.
    fn beyond() -> SeenBeyond {
        let mut seen = SeenAt::default();
        for record in 0..200 {
            let fate = if record % 2 == 0 {
                Fate::Delivered
            } else {
                Fate::Lost
            };
            seen.add(&row(record, fate));
        }
        seen.add(&row(128, Fate::Lost));
        let mut beyond = SeenBeyond::default();
        beyond.add(&SeenAt::default());
        beyond.add(&seen);
        beyond
    }

    #[test]
    fn a_packet_seen_beyond_the_next_point_has_passed_that_point() {
        for fate in [Fate::Lost, Fate::LostOrMissed] {
            assert_eq!(beyond().judge(&outcome(64, fate)), Fate::Missed);
            assert_eq!(beyond().judge(&outcome(65, fate)), fate);
            assert_eq!(beyond().judge(&outcome(1_000_000, fate)), fate);
        }
    }

    #[test]
    fn a_super_packet_seen_in_part_may_be_lost_or_missed() {
        assert_eq!(
            beyond().judge(&outcome(128, Fate::Lost)),
            Fate::LostOrMissed
        );
    }

    #[test]
    fn a_fate_other_than_a_loss_does_not_change() {
        for fate in [Fate::Delivered, Fate::Outside, Fate::Ambiguous] {
            assert_eq!(beyond().judge(&outcome(64, fate)), fate);
        }
    }

    #[test]
    fn judged_packets_move_between_counts_and_keep_the_sum() {
        let mut judged = Judged::default();
        judged.count(Fate::Lost, Fate::Missed, 3);
        judged.count(Fate::Lost, Fate::LostOrMissed, 2);
        judged.count(Fate::LostOrMissed, Fate::Missed, 4);
        judged.count(Fate::Lost, Fate::Lost, 9);
        let mut counts = DirectionCounts {
            lost: 10,
            lost_or_missed: 5,
            missed: 1,
            ..DirectionCounts::default()
        };
        judged.correct(&mut counts);
        assert_eq!(
            [counts.lost, counts.lost_or_missed, counts.missed],
            [5, 3, 8]
        );
    }
}
