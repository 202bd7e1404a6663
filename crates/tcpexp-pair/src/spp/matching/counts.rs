//! Packet counts of one direction.

use std::ops::AddAssign;

use super::evidence::Absence;
use super::outcome::Fate;
use super::ranges::Settled;

/// Packet counts of one direction.
///
/// At the upstream point `seen = matched + ambiguous + copies + lost + missed + lost_or_missed +
/// outside`; at the downstream point `arrived = arrivals_matched + arrivals_ambiguous +
/// arrivals_copies + unseen_upstream + arrivals_outside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Packets at the upstream point.
    pub seen: u64,
    /// Packets of `seen` that were matched downstream.
    pub matched: u64,
    /// Packets of `seen` that are indistinguishable from another packet, or captured around an unknown
    /// clock step; not used.
    pub ambiguous: u64,
    /// Packets of `seen` that are second captures of one packet.
    pub copies: u64,
    /// Packets of `seen` not found downstream while the downstream capture was running. Without
    /// [`Options::outcomes`](crate::spp::Options::outcomes), no evidence is weighed, and this
    /// includes packets that the downstream capture missed: see [`not_found`](Self::not_found).
    pub lost: u64,
    /// Packets of `lost` without a proof of the loss, such as datagrams and acknowledgments: the
    /// downstream capture may have missed some of them, although it is not known to miss any.
    pub lost_unproven: u64,
    /// Packets of `seen` that provably arrived, but that the downstream capture missed.
    pub missed: u64,
    /// Packets of `seen` that were lost, or that the downstream capture missed.
    pub lost_or_missed: u64,
    /// Packets of `seen` sent while the downstream capture may not have been running.
    pub outside: u64,
    /// Packets at the downstream point.
    pub arrived: u64,
    /// Packets of `arrived` that were matched upstream.
    pub arrivals_matched: u64,
    /// Packets of `arrived` that are indistinguishable from another packet, such as a retransmission
    /// that left unseen, or that may have left in another flow or with other numbers, because a flow
    /// table shed a part of this flow or no packet of it was matched before, or captured around an unknown
    /// clock step, or first fragments of packets that may have left whole; not used.
    pub arrivals_ambiguous: u64,
    /// Packets of `arrivals_ambiguous` that equal only a departure that later packets overtook. A
    /// retransmission that left unseen is overtaken too.
    pub arrivals_overtaken: u64,
    /// Packets of `arrivals_ambiguous` whose first fragment arrived: they may have left whole.
    pub arrivals_fragmented: u64,
    /// Packets of `arrived` that are second captures or network duplicates.
    pub arrivals_copies: u64,
    /// Packets of `arrived` not found upstream while the upstream capture was running.
    pub unseen_upstream: u64,
    /// Packets of `arrived` sent while the upstream capture may not have been running.
    pub arrivals_outside: u64,
}

impl AddAssign for DirectionCounts {
    fn add_assign(&mut self, other: Self) {
        self.seen += other.seen;
        self.matched += other.matched;
        self.ambiguous += other.ambiguous;
        self.copies += other.copies;
        self.lost += other.lost;
        self.lost_unproven += other.lost_unproven;
        self.missed += other.missed;
        self.lost_or_missed += other.lost_or_missed;
        self.outside += other.outside;
        self.arrived += other.arrived;
        self.arrivals_matched += other.arrivals_matched;
        self.arrivals_ambiguous += other.arrivals_ambiguous;
        self.arrivals_overtaken += other.arrivals_overtaken;
        self.arrivals_fragmented += other.arrivals_fragmented;
        self.arrivals_copies += other.arrivals_copies;
        self.unseen_upstream += other.unseen_upstream;
        self.arrivals_outside += other.arrivals_outside;
    }
}

impl DirectionCounts {
    /// Packets of `seen` that were never found downstream while that capture was running, for any
    /// reason: lost, missed by the capture, or in a damaged record. The number is the same with and
    /// without [`Options::outcomes`](crate::spp::Options::outcomes).
    pub fn not_found(&self) -> u64 {
        self.lost + self.missed + self.lost_or_missed
    }

    /// True if packets arrive, but no arrival is matched to a departure. There is then no evidence
    /// that the downstream capture has all packets.
    pub(in crate::spp) fn shows_nothing(&self) -> bool {
        self.arrived > 0 && self.arrivals_matched == 0
    }

    /// Counts packets dropped before the flow was found at the other point.
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

    /// Counts missing packets and returns their fate.
    pub(in crate::spp) fn settle_missing(
        &mut self,
        settled: Settled,
        outside: bool,
        absence: Absence,
    ) -> Fate {
        self.seen += settled.packets;
        let missing = settled.missing.min(settled.packets);
        // A super-packet may have arrived in part.
        self.matched += settled.packets - missing;
        // An ambiguous packet may have arrived, so neither the end of a capture nor evidence
        // decides.
        if settled.ambiguous {
            self.ambiguous += missing;
            Fate::Ambiguous
        } else if outside {
            self.outside += missing;
            Fate::Outside
        } else {
            let (count, fate) = match absence {
                Absence::Lost => (&mut self.lost, Fate::Lost),
                Absence::Unproven => {
                    self.lost_unproven += missing;
                    (&mut self.lost, Fate::Lost)
                }
                Absence::Missed => (&mut self.missed, Fate::Missed),
                Absence::LostOrMissed => (&mut self.lost_or_missed, Fate::LostOrMissed),
            };
            *count += missing;
            fate
        }
    }
}
