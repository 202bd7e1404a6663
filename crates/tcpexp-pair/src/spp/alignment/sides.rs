//! The side of the path that each address is on.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::sketch::Sketched;
use crate::spp::crossing::PathDirection;
use serde::{Deserialize, Serialize};
use tcpexp_units::TimeDelta;

/// Maps each address to the way its packets go.
///
/// Every packet seen at both points crosses the path, so its two addresses are on opposite sides.
/// This splits the addresses into two halves, but does not show which half is which. The
/// destination time minus the source time includes the delay with a positive sign on the way out
/// and a negative sign on the way back. Of two packets that cross at about the same time, the
/// packet with the larger difference goes out.
///
/// Traffic in one direction has no such packets. The clock offset that other hosts show determines its
/// way. Without a steady offset, the TTLs do, unless most hosts whose way is known contradict them: some
/// paths set the TTL anew. Otherwise the traffic goes from the source to the destination, as the captures are named.
///
/// A translator gives a host another address at the destination. This address is on the side of the host, so it
/// shows the side of other hosts that share it: which capture is the source does not matter.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::spp) struct Sides {
    #[serde(with = "super::sorted")]
    ways_by_sender: HashMap<u64, PathDirection, FixedState>,
    /// True if only the order of the captures determines the side of some addresses, and according
    /// to the clocks the packets of these addresses arrive before they leave.
    pub(in crate::spp) is_against_clocks: bool,
}

impl Sides {
    /// Learns the sides from packets seen at both points, in order of time.
    pub(in crate::spp) fn learn(common: &[(Sketched, Sketched)]) -> Self {
        let mut halves = Halves::default();
        for (packet, at_dst) in common {
            let [sender, receiver] = addresses(packet);
            halves.separate(sender, receiver);
            let [sender_at_dst, receiver_at_dst] = addresses(at_dst);
            if sender_at_dst != sender {
                halves.separate(translated(sender_at_dst), receiver);
            }
            if receiver_at_dst != receiver {
                halves.separate(sender, translated(receiver_at_dst));
            }
        }
        let mut votes: HashMap<u64, Votes, FixedState> = HashMap::default();
        for neighbours in common.windows(2) {
            let [(a, a_dst), (b, b_dst)] = neighbours else {
                continue;
            };
            let (root, a_half) = halves.find(a.fields.source_address);
            let (b_root, b_half) = halves.find(b.fields.source_address);
            if root != b_root || a_half == b_half {
                continue;
            }
            let ordering = (a_dst.time - a.time).cmp(&(b_dst.time - b.time)) as i64;
            // Each pair of neighbours has one vote, so one false match with a huge delay cannot
            // decide.
            votes.entry(root).or_default().time += if a_half { -ordering } else { ordering };
        }
        for (packet, at_dst) in common {
            let (root, half) = halves.find(packet.fields.source_address);
            let votes = votes.entry(root).or_default();
            let ordering = packet.fields.ttl.cmp(&at_dst.fields.ttl) as i64;
            votes.ttl[usize::from(half)] += if half { -ordering } else { ordering };
            votes.sent += if half { -1 } else { 1 };
        }
        let mut evidence = Evidence {
            offset: None,
            has_routers_ttl: votes.values().map(Votes::agreement_with_ttl).sum::<i64>() >= 0,
        };
        if votes.values().any(|votes| votes.by_time().is_none()) {
            evidence.offset =
                known_offset(common, &mut halves, &votes, Votes::by_time).or_else(|| {
                    known_offset(common, &mut halves, &votes, |votes| votes.shown(&evidence))
                });
            let offset = evidence
                .offset
                .map_or(TimeDelta::ZERO, |offset| offset.time);
            for (packet, at_dst) in common {
                let (root, half) = halves.find(packet.fields.source_address);
                let ordering = (at_dst.time - packet.time).cmp(&offset) as i64;
                votes.entry(root).or_default().clock += if half { -ordering } else { ordering };
            }
        }
        let addresses: Vec<u64> = halves.links.keys().copied().collect();
        let way = |address| {
            let (root, half) = halves.find(address);
            let votes = votes.get(&root);
            let first_half_is_out = votes.is_none_or(|votes| votes.first_half_is_out(&evidence));
            (address, way_of(half, first_half_is_out))
        };
        Self {
            ways_by_sender: addresses.into_iter().map(way).collect(),
            is_against_clocks: votes
                .values()
                .any(|votes| votes.are_against_clocks(&evidence)),
        }
    }

    /// Way of packets between these address numbers, sender first, at the source and at the destination;
    /// `None` if all of them are unknown.
    pub(in crate::spp) fn path_direction(
        &self,
        at_src: [u64; 2],
        at_dst: [u64; 2],
    ) -> Option<PathDirection> {
        // The sample may not include the sender.
        let of = |[sender, receiver]: [u64; 2]| {
            let of_receiver = || self.ways_by_sender.get(&receiver).map(|way| way.opposite());
            self.ways_by_sender
                .get(&sender)
                .copied()
                .or_else(of_receiver)
        };
        of(at_src).or_else(|| of(at_dst.map(translated)))
    }

    /// Way of a packet seen at both points; `None` if its addresses are unknown.
    pub(super) fn path_direction_of(
        &self,
        packet: &Sketched,
        at_dst: &Sketched,
    ) -> Option<PathDirection> {
        self.path_direction(addresses(packet), addresses(at_dst))
    }
}

/// Address numbers of the sender and the receiver.
fn addresses(packet: &Sketched) -> [u64; 2] {
    [
        packet.fields.source_address,
        packet.fields.destination_address,
    ]
}

/// Key of an address that a translator uses at the destination. The network at the source may give the same
/// address to another host, as private addresses (RFC 1918). Bit 62 is clear in the numbers of IPv4 addresses.
fn translated(address: u64) -> u64 {
    address ^ 1 << 62
}

/// The way of packets from one half of a group.
fn way_of(half: bool, first_half_is_out: bool) -> PathDirection {
    if half == first_half_is_out {
        PathDirection::Back
    } else {
        PathDirection::Out
    }
}

/// The offset of the destination's clock, by the packets of the groups whose way `way_of_group`
/// returns; `None` if they pass one way only.
fn known_offset(
    common: &[(Sketched, Sketched)],
    halves: &mut Halves,
    votes: &HashMap<u64, Votes, FixedState>,
    way_of_group: impl Fn(&Votes) -> Option<bool>,
) -> Option<KnownOffset> {
    let (mut least_out, mut greatest_back) = (None::<TimeDelta>, None::<TimeDelta>);
    for (packet, at_dst) in common {
        let (root, half) = halves.find(packet.fields.source_address);
        let Some(first_half_is_out) = votes.get(&root).and_then(&way_of_group) else {
            continue;
        };
        let difference = at_dst.time - packet.time;
        match way_of(half, first_half_is_out) {
            PathDirection::Out => {
                least_out = Some(least_out.map_or(difference, |least| least.min(difference)));
            }
            PathDirection::Back => {
                greatest_back = Some(greatest_back.map_or(difference, |most| most.max(difference)));
            }
        }
    }
    let (out, back) = least_out.zip(greatest_back)?;
    Some(KnownOffset {
        time: TimeDelta::from_nanos(back.as_nanos().midpoint(out.as_nanos())),
        is_steady: back <= out,
    })
}

/// What all groups together show.
struct Evidence {
    offset: Option<KnownOffset>,
    /// True if at least as many groups confirm as contradict that only routers changed the TTL.
    has_routers_ttl: bool,
}

#[derive(Clone, Copy)]
struct KnownOffset {
    time: TimeDelta,
    /// False if no constant offset fits the packets: a clock drifts or was set.
    is_steady: bool,
}

/// Votes on whether the first half of a group of addresses is on the source side.
#[derive(Default)]
struct Votes {
    time: i64,
    /// By the packets of each half. Routers decrement the TTL, so it is larger at the point passed
    /// first. Decides only for one-way traffic.
    ttl: [i64; 2],
    /// Assumes that the clocks have the offset that other groups show, or agree.
    clock: i64,
    /// Assumes that more packets go from the source to the destination.
    sent: i64,
}

impl Votes {
    /// The way that times show.
    fn by_time(&self) -> Option<bool> {
        decided(self.time)
    }

    /// What times, a steady offset and TTLs show; `None` if nothing.
    fn shown(&self, evidence: &Evidence) -> Option<bool> {
        let is_steady = evidence.offset.is_some_and(|offset| offset.is_steady);
        self.by_time()
            .or_else(|| decided(self.clock).filter(|_| is_steady))
            .or_else(|| decided(self.ttl.iter().sum()).filter(|_| evidence.has_routers_ttl))
    }

    /// 1 if the TTLs of both halves agree, or the TTLs agree with the times; -1 if they contradict each other or
    /// the times; 0 if nothing shows either.
    fn agreement_with_ttl(&self) -> i64 {
        let [first, second] = self.ttl.map(i64::signum);
        let with_time = (first + second) * self.time.signum();
        if first * second < 0 || with_time < 0 {
            -1
        } else {
            i64::from(first * second > 0 || with_time > 0)
        }
    }

    fn first_half_is_out(&self, evidence: &Evidence) -> bool {
        let clock = decided(self.clock).filter(|_| evidence.offset.is_some());
        self.shown(evidence).or(clock).unwrap_or(self.sent >= 0)
    }

    /// True if the order of the captures decides, against the clocks.
    fn are_against_clocks(&self, evidence: &Evidence) -> bool {
        let decides = evidence.offset.is_none() && self.shown(evidence).is_none();
        decides && self.sent.signum() * self.clock.signum() < 0
    }
}

/// Returns `None` for as many votes against as for.
fn decided(votes: i64) -> Option<bool> {
    (votes != 0).then_some(votes > 0)
}

/// Addresses in groups of two halves: a disjoint-set forest that also stores the half of each
/// address.
#[derive(Default)]
struct Halves {
    links: HashMap<u64, Link, FixedState>,
}

#[derive(Clone, Copy)]
struct Link {
    parent: u64,
    /// True if this address is in the other half than its parent.
    apart: bool,
    /// Number of addresses below a root; the smaller group joins the larger.
    size: u32,
}

impl Halves {
    /// Returns the root of the group, and whether `address` is in the other half than the root.
    fn find(&mut self, address: u64) -> (u64, bool) {
        let alone = Link {
            parent: address,
            apart: false,
            size: 1,
        };
        let mut link = *self.links.entry(address).or_insert(alone);
        let (mut root, mut apart) = (address, false);
        // Groups join by size, so a path has at most log₂ n links and needs no compression.
        while link.parent != root {
            apart ^= link.apart;
            root = link.parent;
            link = self.links[&root];
        }
        (root, apart)
    }

    fn separate(&mut self, a: u64, b: u64) {
        let ((a_root, a_apart), (b_root, b_apart)) = (self.find(a), self.find(b));
        // The relation is known. A false match may contradict it, so earlier packets decide.
        if a_root == b_root {
            return;
        }
        let (a_size, b_size) = (self.links[&a_root].size, self.links[&b_root].size);
        let (parent, child) = if a_size < b_size {
            (b_root, a_root)
        } else {
            (a_root, b_root)
        };
        let size = a_size.saturating_add(b_size);
        self.links.insert(
            child,
            Link {
                parent,
                // The two addresses must end up apart: if both are in like halves of their groups,
                // the roots are apart.
                apart: a_apart == b_apart,
                size: 0,
            },
        );
        self.links.insert(
            parent,
            Link {
                parent,
                apart: false,
                size,
            },
        );
    }
}
