//! Packet reordering and its extent (RFC 4737).

use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

/// Arrival order of one flow's packets in one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Reordering {
    /// Number of packets that have arrived.
    arrived: u64,
    /// Latest run of packets that left after all earlier arrivals. Most flows have no other, so it
    /// is not in the queue, which allocates 128 bytes.
    latest: Option<Stretch>,
    /// The runs before it, in order.
    earlier: VecDeque<Stretch>,
}

/// Consecutive packets that arrived consecutively.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: u64,
    last: u64,
    /// Number of packets that arrived before `first`.
    position: u64,
    /// Departure time of `last`.
    left_at: Timestamp,
}

/// Order of a packet's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// No later packet arrived before this packet.
    Kept,
    /// A later packet arrived before this packet.
    Reordered {
        /// Reordering extent: number of packets that arrived from that later packet until this
        /// packet. Of the packets of a super-packet, the last has the largest extent.
        extent_packets: u64,
    },
}

impl Order {
    pub(super) fn extent_packets(self) -> Option<u64> {
        match self {
            Self::Kept => None,
            Self::Reordered { extent_packets } => Some(extent_packets),
        }
    }
}

impl Reordering {
    /// Records the arrival of packet `number`, which left at `left_at`. A super-packet arrives as several
    /// `packets` in order, because a receiver merges only packets in order (Linux `tcp_gro_receive`);
    /// `number` is that of the last.
    ///
    /// A packet is reordered if a later packet arrived before it (RFC 4737, section 3). The extent
    /// is the number of packets that arrived from the first of these later packets until this
    /// packet (section 4.2). Packets that left more than `longest` before this packet no longer
    /// arrive.
    pub(super) fn arrive(
        &mut self,
        number: u64,
        packets: u64,
        left_at: Timestamp,
        longest: TimeDelta,
    ) -> Order {
        let position = self.arrived;
        self.arrived += packets;
        if let Some(overtaking) = self.first_beyond(number) {
            let after = (number + 1).saturating_sub(overtaking.first);
            // e = i − j, where j is the first arrival of a later packet (RFC 4737, section 4.2).
            let extent_packets = self.arrived - 1 - (overtaking.position + after);
            return Order::Reordered { extent_packets };
        }
        let is_over = |stretch: &Stretch| left_at - stretch.left_at > longest;
        while self.earlier.front().is_some_and(is_over) {
            self.earlier.pop_front();
        }
        let latest = self.latest.filter(|latest| !is_over(latest));
        self.latest = Some(match latest {
            // Another part of a super-packet that arrived in part before.
            Some(latest) if latest.last == number => latest,
            Some(latest) if latest.is_continued_by(number, position) => Stretch {
                last: number,
                left_at,
                ..latest
            },
            before => {
                self.earlier.extend(before);
                Stretch {
                    first: number,
                    last: number,
                    position,
                    left_at,
                }
            }
        });
        Order::Kept
    }

    /// The first run with a later packet than `number`.
    fn first_beyond(&self, number: u64) -> Option<&Stretch> {
        let latest = self.latest.as_ref().filter(|run| run.last > number)?;
        let before = self.earlier.partition_point(|run| run.last <= number);
        Some(self.earlier.get(before).unwrap_or(latest))
    }
}

impl Stretch {
    /// True if packet `number` follows, and arrived after `position` packets without a gap.
    fn is_continued_by(&self, number: u64, position: u64) -> bool {
        self.last + 1 == number && self.position + (number - self.first) == position
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;

    fn extents(numbers: &[u64]) -> Vec<Option<u64>> {
        extents_of(numbers.iter().map(|&number| (number, 1)))
    }

    /// The extents of arrivals, each with the number of its last packet and its number of packets.
    fn extents_of(arrivals: impl IntoIterator<Item = (u64, u64)>) -> Vec<Option<u64>> {
        let mut reordering = Reordering::default();
        let second = TimeDelta::from_seconds(1);
        let arrive = |(number, packets): (u64, u64)| {
            let left_at = Timestamp::from_nanos(number.cast_signed());
            let order = reordering.arrive(number, packets, left_at, second);
            order.extent_packets()
        };
        arrivals.into_iter().map(arrive).collect()
    }

    #[test]
    fn losses_do_not_make_ordered_packets_reordered() {
        assert_eq!(extents(&[0, 1, 4, 5, 9]), [None; 5]);
    }

    #[test]
    fn late_packet_is_reordered_and_its_overtakers_are_not() {
        let found = extents(&[1, 2, 3, 5, 6, 4, 7, 8, 9, 10]);
        let expected = [None, None, None, None, None, Some(2)];
        assert_eq!(found[..6], expected);
        assert_eq!(found[6..], [None; 4]);
    }

    #[test]
    fn parts_of_one_super_packet_are_in_order() {
        assert_eq!(extents(&[0, 1, 1, 1, 2]), [None; 5]);
    }

    #[test]
    fn memory_depends_on_gaps_and_not_on_packets() {
        let mut reordering = Reordering::default();
        let longest = TimeDelta::from_nanos(100);
        for number in 0..10_000 {
            let left_at = Timestamp::from_nanos(2 * number);
            let number = number.cast_unsigned() * 2;
            assert_eq!(reordering.arrive(number, 1, left_at, longest), Order::Kept);
        }
        assert!(reordering.earlier.len() < 60);
        let mut reordering = Reordering::default();
        for number in 0..10_000 {
            let left_at = Timestamp::from_nanos(number);
            reordering.arrive(number.cast_unsigned(), 1, left_at, longest);
        }
        assert!(reordering.earlier.is_empty());
    }

    proptest! {
        #[test]
        fn extent_reaches_back_to_the_earliest_arrival_that_left_later(
            mut numbers in Just((0..60_u64).collect::<Vec<_>>()).prop_shuffle(),
            kept in 1..60_usize,
        ) {
            numbers.truncate(kept);
            let found = extents(&numbers);
            for (i, extent) in found.into_iter().enumerate() {
                let first = numbers[..i].iter().position(|&earlier| earlier > numbers[i]);
                prop_assert_eq!(extent, first.map(|first| (i - first) as u64));
            }
        }

        #[test]
        fn merged_arrival_has_the_extent_of_its_last_packet(
            sizes in prop::collection::vec(1..5_usize, 1..30),
            order in prop::collection::vec(any::<u64>(), 30),
        ) {
            let mut packets = 0;
            let groups = sizes.into_iter().map(|size| {
                packets += size;
                packets - size..packets
            });
            let mut groups: Vec<Range<usize>> = groups.collect();
            groups.sort_by_key(|group| order[group.start % order.len()]);
            let single: Vec<u64> = groups.iter().cloned().flatten().map(|number| number as u64).collect();
            let extents = extents(&single);
            let merged = groups.iter().map(|group| (group.end as u64 - 1, group.len() as u64));
            let mut arrived = 0;
            for (group, found) in groups.iter().zip(extents_of(merged)) {
                arrived += group.len();
                prop_assert_eq!(found, extents[arrived - 1]);
            }
        }
    }
}
