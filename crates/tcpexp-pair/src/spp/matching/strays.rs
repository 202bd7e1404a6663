//! Packets in flows that only one point has shown.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use tcpexp_units::Timestamp;

/// Number of packets remembered per point: as many as the flows that wait for the other point may
/// hold back.
const REMEMBERED: usize = 262_144;

/// Recent packets of one point in flows that the other point has not shown.
///
/// A record with a damaged address or port puts its packet into a separate flow. The packet then
/// seems to be lost although it arrived; all its other fields are found in the separate flow.
#[derive(Debug, Default)]
pub(in crate::spp) struct Strays {
    /// Time of the latest packet by the digest of its mark.
    packets: HashMap<[u64; 2], Timestamp, FixedState>,
    in_order: VecDeque<(Timestamp, [u64; 2])>,
}

impl Strays {
    /// Adds a packet, and forgets the oldest if there are too many. Damaged records rarely cause that
    /// many flows at only one point.
    pub(in crate::spp) fn add(&mut self, at: Timestamp, digest: [u64; 2]) {
        self.packets.insert(digest, at);
        self.in_order.push_back((at, digest));
        if self.in_order.len() > REMEMBERED {
            self.forget_oldest();
        }
    }

    /// True if a remembered packet has this digest.
    pub(in crate::spp) fn has(&self, digest: [u64; 2]) -> bool {
        self.packets.contains_key(&digest)
    }

    /// Forgets the packets before `horizon`.
    pub(in crate::spp) fn forget(&mut self, horizon: Timestamp) {
        while self.in_order.front().is_some_and(|(at, _)| *at < horizon) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((at, digest)) = self.in_order.pop_front()
            // A later packet may have the same digest.
            && self.packets.get(&digest) == Some(&at)
        {
            self.packets.remove(&digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn stray_is_remembered_until_its_latest_packet_is_before_the_horizon() {
        let mut strays = Strays::default();
        strays.add(seconds(1), [1, 1]);
        strays.add(seconds(2), [2, 2]);
        strays.add(seconds(3), [1, 1]);
        strays.forget(seconds(3));
        assert_eq!(
            [[1, 1], [2, 2]].map(|digest| strays.has(digest)),
            [true, false]
        );
        strays.forget(seconds(4));
        assert!(!strays.has([1, 1]));
    }

    #[test]
    fn old_entries_are_forgotten_beyond_the_limit() {
        let mut strays = Strays::default();
        for number in 0..300_000 {
            strays.add(seconds(0), [number, 0]);
        }
        assert_eq!(
            (strays.packets.len(), strays.in_order.len()),
            (REMEMBERED, REMEMBERED)
        );
        assert_eq!(
            [[0, 0], [299_999, 0]].map(|digest| strays.has(digest)),
            [false, true]
        );
    }
}
