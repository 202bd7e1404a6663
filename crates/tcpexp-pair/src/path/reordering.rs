//! Packet reordering and its extent (RFC 4737).

use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

/// Arrival order of one flow's packets in one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Reordering {
    arrived: u64,
    /// Packets that left after all packets that arrived before them, as runs of consecutive
    /// numbers.
    ahead: VecDeque<Stretch>,
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
        /// packet.
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
    /// Records the arrival of packet `number`, which left at `left_at`.
    ///
    /// A packet is reordered if a later packet arrived before it (RFC 4737, section 3). The extent
    /// is the number of packets that arrived from the first of these later packets until this
    /// packet (section 4.2). Packets that left more than `longest` before this packet no longer
    /// arrive.
    pub(super) fn arrive(&mut self, number: u64, left_at: Timestamp, longest: TimeDelta) -> Order {
        let position = self.arrived;
        self.arrived += 1;
        let overtaken_by = self.ahead.partition_point(|stretch| stretch.last <= number);
        if let Some(overtaking) = self.ahead.get(overtaken_by) {
            let after = (number + 1).saturating_sub(overtaking.first);
            // e = i − j, where j is the first arrival of a later packet (RFC 4737, section 4.2).
            let extent_packets = position - (overtaking.position + after);
            return Order::Reordered { extent_packets };
        }
        while let Some(oldest) = self.ahead.front()
            && left_at - oldest.left_at > longest
        {
            self.ahead.pop_front();
        }
        match self.ahead.back_mut() {
            // Another part of a super-packet that arrived in part before.
            Some(latest) if latest.last == number => {}
            Some(latest)
                if latest.last + 1 == number
                    && latest.position + (number - latest.first) == position =>
            {
                latest.last = number;
                latest.left_at = left_at;
            }
            _ => self.ahead.push_back(Stretch {
                first: number,
                last: number,
                position,
                left_at,
            }),
        }
        Order::Kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extents(numbers: &[u64]) -> Vec<Option<u64>> {
        let mut reordering = Reordering::default();
        let second = TimeDelta::from_seconds(1);
        let arrive = |number: &u64| {
            let left_at = Timestamp::from_nanos(number.cast_signed());
            reordering.arrive(*number, left_at, second).extent_packets()
        };
        numbers.iter().map(arrive).collect()
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
            assert_eq!(reordering.arrive(number, left_at, longest), Order::Kept);
        }
        assert!(reordering.ahead.len() < 60);
        let mut reordering = Reordering::default();
        for number in 0..10_000 {
            let left_at = Timestamp::from_nanos(number);
            reordering.arrive(number.cast_unsigned(), left_at, longest);
        }
        assert_eq!(reordering.ahead.len(), 1);
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
    }
}
