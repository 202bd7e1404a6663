//! What became of one direction's packets.

use std::ops::AddAssign;

use super::evidence::Absence;
use super::outcome::Fate;
use super::ranges::Settled;

/// What became of one direction's packets.
///
/// At the upstream point `seen = matched + ambiguous + copies + lost + missed + lost_or_missed +
/// outside`; at the downstream point `arrived = arrivals_matched + arrivals_ambiguous + arrivals_copies +
/// unseen_upstream + arrivals_outside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Packets at the point that this direction passes first.
    pub seen: u64,
    /// Of these, found again downstream.
    pub matched: u64,
    /// Of these, like another packet in every field that identifies one; not used.
    pub ambiguous: u64,
    /// Of these, second captures of one packet.
    pub copies: u64,
    /// Of these, never seen downstream though the downstream capture was running.
    pub lost: u64,
    /// Of these, shown to have arrived though the downstream capture missed them.
    pub missed: u64,
    /// Of these, lost or missed by the downstream capture: nothing shows which.
    pub lost_or_missed: u64,
    /// Of these, sent while the downstream capture was not running.
    pub outside: u64,
    /// Packets at the point that this direction passes last.
    pub arrived: u64,
    /// Of these, found upstream too.
    pub arrivals_matched: u64,
    /// Of these, like another packet in every field that identifies one; not used.
    pub arrivals_ambiguous: u64,
    /// Of these, second captures or copies made on the path.
    pub arrivals_copies: u64,
    /// Of these, not seen upstream though the upstream capture was running.
    pub unseen_upstream: u64,
    /// Of these, sent while the upstream capture was not running.
    pub arrivals_outside: u64,
}

impl AddAssign for DirectionCounts {
    fn add_assign(&mut self, other: Self) {
        self.seen += other.seen;
        self.matched += other.matched;
        self.ambiguous += other.ambiguous;
        self.copies += other.copies;
        self.lost += other.lost;
        self.missed += other.missed;
        self.lost_or_missed += other.lost_or_missed;
        self.outside += other.outside;
        self.arrived += other.arrived;
        self.arrivals_matched += other.arrivals_matched;
        self.arrivals_ambiguous += other.arrivals_ambiguous;
        self.arrivals_copies += other.arrivals_copies;
        self.unseen_upstream += other.unseen_upstream;
        self.arrivals_outside += other.arrivals_outside;
    }
}

impl DirectionCounts {
    /// Packets from before the flow was found at the other point.
    pub(in crate::spp) fn drop_before_found(&mut self, upstream: bool, packets: u64) {
        if upstream {
            self.seen += packets;
            self.outside += packets;
        } else {
            self.arrived += packets;
            self.arrivals_outside += packets;
        }
    }

    pub(in crate::spp) fn settle_matched(&mut self, settled: Settled) {
        self.seen += settled.packets;
        self.matched += settled.packets;
    }

    /// Counts the missing ones; returns what became of them.
    pub(in crate::spp) fn settle_missing(
        &mut self,
        settled: Settled,
        outside: bool,
        absence: Absence,
    ) -> Fate {
        self.seen += settled.packets;
        let missing = settled.missing.min(settled.packets);
        self.matched += settled.packets - missing;
        if settled.ambiguous {
            self.ambiguous += missing;
            Fate::Ambiguous
        } else if outside {
            self.outside += missing;
            Fate::Outside
        } else {
            let (count, fate) = match absence {
                Absence::Lost => (&mut self.lost, Fate::Lost),
                Absence::Missed => (&mut self.missed, Fate::Missed),
                Absence::LostOrMissed => (&mut self.lost_or_missed, Fate::LostOrMissed),
            };
            *count += missing;
            fate
        }
    }
}
