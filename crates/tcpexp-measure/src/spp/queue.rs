//! Packets in flight in the order in which they left.

use std::collections::VecDeque;

use hashbrown::HashTable;
use tcpexp_units::Timestamp;

use super::exact::{Departure, Identity};

/// Packets in order of departure that are found by what they are.
///
/// They arrive nearly in the order in which they left, so both ends of the queue are in the
/// processor's cache, and the index beside it takes five bytes a packet: a hash map of the packets
/// themselves takes some hundred cycles to wait for each.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Those that have arrived leave a hole.
    packets: VecDeque<Option<(Identity, Departure)>>,
    /// How many have left the queue at its front, so that a place in it keeps its number.
    passed: u32,
    places: HashTable<u32>,
}

impl Queue {
    /// Adds a packet that is not in the queue.
    #[inline]
    pub(super) fn push(&mut self, identity: Identity, departure: Departure) {
        let Self {
            packets,
            passed,
            places,
        } = self;
        let length = u32::try_from(packets.len()).expect("memory ends before 2^32 packets");
        let hash_at = |&place: &u32| {
            let packet = packets[place.wrapping_sub(*passed) as usize];
            packet.map_or(0, |(identity, _)| identity.hash())
        };
        places.insert_unique(identity.hash(), passed.wrapping_add(length), hash_at);
        self.packets.push_back(Some((identity, departure)));
    }

    /// When and where a packet left.
    #[inline]
    pub(super) fn get(&self, identity: &Identity) -> Option<&Departure> {
        let place = *self
            .places
            .find(identity.hash(), |&place| self.is(place, identity))?;
        let packet = &self.packets[place.wrapping_sub(self.passed) as usize];
        packet.as_ref().map(|(_, departure)| departure)
    }

    /// When and where a packet left, to change it.
    pub(super) fn get_mut(&mut self, identity: &Identity) -> Option<&mut Departure> {
        let place = *self
            .places
            .find(identity.hash(), |&place| self.is(place, identity))?;
        let packet = &mut self.packets[place.wrapping_sub(self.passed) as usize];
        packet.as_mut().map(|(_, departure)| departure)
    }

    /// Takes a packet out.
    #[inline]
    pub(super) fn take(&mut self, identity: &Identity) -> Option<Departure> {
        let Self {
            packets,
            passed,
            places,
        } = self;
        let index = |place: u32| place.wrapping_sub(*passed) as usize;
        let is = |&place: &u32| packets[index(place)].is_some_and(|packet| packet.0 == *identity);
        let (place, _) = places.find_entry(identity.hash(), is).ok()?.remove();
        let packet = packets[index(place)].take();
        self.trim();
        packet.map(|(_, departure)| departure)
    }

    /// Takes out the packet that left first, if that was before `due`.
    pub(super) fn take_before(&mut self, due: Timestamp) -> Option<(Identity, Departure)> {
        // The queue has no hole in front.
        let (identity, _) = self
            .packets
            .front()?
            .filter(|(_, departure)| departure.at < due)?;
        self.take(&identity).map(|departure| (identity, departure))
    }

    fn is(&self, place: u32, identity: &Identity) -> bool {
        let packet = &self.packets[place.wrapping_sub(self.passed) as usize];
        packet.as_ref().is_some_and(|packet| packet.0 == *identity)
    }

    fn trim(&mut self) {
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

    use super::super::Way;
    use super::*;

    fn packet(number: u64) -> (Identity, Departure) {
        let at = Timestamp::from_nanos(number.cast_signed());
        let identity = Identity::new(FlowId(0), [number % 7, number]);
        let (direction, way) = (Direction::Forward, Way::Out);
        (
            identity,
            Departure {
                direction,
                way,
                at,
                time: at,
                piece: 0,
                record: 0,
                number: 0,
                payload_bytes: 0,
                header_bytes: 0,
                has_twin: false,
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_is_in_the_queue_is_found_once(order in Just((0..60_u64).collect::<Vec<_>>()).prop_shuffle(), lag in 1..40_u64) {
            let mut queue = Queue::default();
            let mut arrivals = order.into_iter();
            for number in 0..60 {
                let (identity, departure) = packet(number);
                queue.push(identity, departure);
                prop_assert_eq!(queue.get(&identity).map(|departure| departure.at), Some(departure.at));
                // Some of those meant to arrive have not left yet.
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
