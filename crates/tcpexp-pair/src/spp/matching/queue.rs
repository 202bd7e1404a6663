//! Packets in flight, in order of departure.

use std::collections::VecDeque;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tcpexp_units::Timestamp;

use super::departure::{Departure, Identity};

/// Packets in order of departure, indexed by identity.
///
/// Packets arrive nearly in order of departure, so both ends of the queue stay in the processor's
/// cache. The index takes five bytes per packet. In a hash map of the packets themselves, each
/// lookup waits some hundred cycles.
#[derive(Debug, Default)]
pub(in crate::spp) struct Queue {
    /// `None` for packets that have been taken out.
    packets: VecDeque<Option<(Identity, Departure)>>,
    /// Number of packets removed from the front; added to an index, it gives a constant place.
    passed: u32,
    places: HashTable<u32>,
}

impl Queue {
    /// Adds a packet, or returns the identical packet that is already in the queue.
    #[inline]
    pub(in crate::spp) fn push(
        &mut self,
        identity: Identity,
        departure: impl FnOnce() -> Departure,
    ) -> Option<&mut Departure> {
        let Self {
            packets,
            passed,
            places,
        } = self;
        // Places wrap after 2^32 packets. Fewer are in flight, so the wrapped difference is exact.
        let packet = |&place: &u32| packets[place.wrapping_sub(*passed) as usize];
        let is = |place: &u32| packet(place).is_some_and(|(one, _)| one == identity);
        // `take_if` removes the entry of a packet and the packet together, so no entry is a hole.
        let hash = |place: &u32| packet(place).map_or(0, |(one, _)| one.hash());
        let found = match places.entry(identity.hash(), is, hash) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(vacant) => {
                let length = u32::try_from(packets.len()).expect("2^32 packets fill any memory");
                vacant.insert(passed.wrapping_add(length));
                packets.push_back(Some((identity, departure())));
                return None;
            }
        };
        let packet = &mut packets[found.wrapping_sub(*passed) as usize];
        packet.as_mut().map(|(_, departure)| departure)
    }

    /// Takes a packet out.
    pub(in crate::spp) fn take(&mut self, identity: &Identity) -> Option<Departure> {
        self.take_if(identity, |_| true)?.ok()
    }

    /// Takes a packet out if `is_it` is true, or else returns its departure time as the error.
    #[inline]
    pub(in crate::spp) fn take_if(
        &mut self,
        identity: &Identity,
        is_it: impl FnOnce(&Departure) -> bool,
    ) -> Option<Result<Departure, Timestamp>> {
        let Self {
            packets,
            passed,
            places,
        } = self;
        let index = |place: u32| place.wrapping_sub(*passed) as usize;
        let is = |&place: &u32| packets[index(place)].is_some_and(|packet| packet.0 == *identity);
        let found = places.find_entry(identity.hash(), is).ok()?;
        let packet = &mut packets[index(*found.get())];
        let (_, departure) = packet.as_ref()?;
        if !is_it(departure) {
            return Some(Err(departure.at));
        }
        let (_, departure) = packet.take()?;
        found.remove();
        self.trim();
        Some(Ok(departure))
    }

    /// Takes out the earliest departure if it is before `due`.
    pub(in crate::spp) fn take_before(&mut self, due: Timestamp) -> Option<(Identity, Departure)> {
        // `trim` removes holes at the front.
        let (identity, _) = self
            .packets
            .front()?
            .filter(|(_, departure)| departure.at < due)?;
        self.take(&identity).map(|departure| (identity, departure))
    }

    /// Returns the packets for which `is_wanted` is true, in order of departure.
    pub(in crate::spp) fn identities(
        &self,
        is_wanted: impl Fn(&Identity) -> bool,
    ) -> Vec<Identity> {
        let identities = self.packets.iter().flatten().map(|(identity, _)| *identity);
        identities.filter(is_wanted).collect()
    }

    fn trim(&mut self) {
        // Inner holes stay until they reach the front: their removal would renumber the later
        // places.
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.passed = self.passed.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tcpexp_flow::{Direction, FlowId};
    use tcpexp_wire::SeqNum;

    use super::*;
    use crate::spp::crossing::PathDirection;

    fn packet(number: u64) -> (Identity, Departure) {
        let at = Timestamp::from_nanos(number.cast_signed());
        let identity = Identity::new(FlowId(0), [number % 7, number]);
        let (direction, path_direction) = (Direction::Forward, PathDirection::Out);
        (
            identity,
            Departure {
                direction,
                path_direction,
                at,
                time: at,
                piece: 0,
                record: 0,
                number: 0,
                payload_bytes: 0,
                seq: SeqNum(0),
                header_bytes: 0,
                ecn: tcpexp_wire::Ecn::NotEct,
                has_twin: false,
            },
        )
    }

    proptest! {
        #[test]
        fn each_queued_packet_is_found_once(order in Just((0..60_u64).collect::<Vec<_>>()).prop_shuffle(), lag in 1..40_u64) {
            let mut queue = Queue::default();
            let mut arrivals = order.into_iter();
            for number in 0..60 {
                let (identity, departure) = packet(number);
                prop_assert!(queue.push(identity, || departure).is_none());
                let like_it = queue.push(identity, || departure).map(|departure| departure.at);
                prop_assert_eq!(like_it, Some(departure.at));
                let kept = queue.take_if(&identity, |_| false).map(|taken| taken.map(|_| ()));
                prop_assert_eq!(kept, Some(Err(departure.at)));
                // Some of the packets to arrive have not left yet.
                if number >= lag && let Some(arrival) = arrivals.next() {
                    let (identity, departure) = packet(arrival);
                    let found = queue.take(&identity).map(|departure| departure.at);
                    prop_assert_eq!(found, (arrival <= number).then_some(departure.at));
                    prop_assert!(queue.take(&identity).is_none());
                }
            }
            let mut left = Vec::new();
            while let Some((_, departure)) = queue.take_before(Timestamp::from_nanos(50)) {
                left.push(departure.at);
            }
            prop_assert!(left.is_sorted());
            prop_assert!(queue.packets.iter().flatten().all(|(_, departure)| departure.at.as_nanos() >= 50));
            prop_assert_eq!(queue.places.len(), queue.packets.iter().flatten().count());
        }
    }
}
