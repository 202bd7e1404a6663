//! Times in which a capture at the sender hides data in flight, because it missed this data.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

use super::unsent_acks::UnsentAcks;
use crate::missed::UNCOUNTED_BYTES;

/// Maximum gap in the stream; a longer gap resets the state. Linux buffers 4 MiB by default
/// (`tcp_wmem`), and each segment of a gap takes memory.
pub(super) const LONGEST_GAP_BYTES: i64 = 1 << 26;
/// Time without an ACK after which no data is in flight: the least retransmission timeout (RFC 6298, section 2.4).
const LONGEST_FLIGHT: TimeDelta = TimeDelta::from_seconds(1);

/// The times in which missed data may have been in flight before another packet shows the data.
#[derive(Clone, Debug, Default)]
pub(super) struct DataGaps {
    /// Places of the last packet before the data was sent, and of the last packet that shows the data, in order.
    around: Vec<(u64, u64)>,
}

impl DataGaps {
    /// The times, to be passed in the order of the capture.
    pub(super) fn walk(&self) -> DataGapWalk<'_> {
        DataGapWalk(&self.around)
    }
}

/// The times that are still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataGapWalk<'a>(&'a [(u64, u64)]);

impl DataGapWalk<'_> {
    /// True if the capture hides data in flight at the packet at this place.
    #[inline]
    pub(super) fn hides(&mut self, place: u64) -> bool {
        match self.0 {
            [(from, _), ..] if place > *from => self.arrive(place),
            _ => false,
        }
    }

    #[cold]
    fn arrive(&mut self, place: u64) -> bool {
        while let [(_, until), rest @ ..] = self.0
            && place >= *until
        {
            self.0 = rest;
        }
        self.0.first().is_some_and(|(from, _)| place > *from)
    }
}

/// Search for these times in the first pass.
#[derive(Debug, Default)]
pub(super) struct DataGapSearch {
    /// Place of the latest new data.
    sent: u64,
    /// Place and time of the latest ACK.
    acked: Option<(u64, Timestamp)>,
    /// The places, and the latest ACK of data that was not captured, if ACKs show the data.
    found: Vec<(u64, u64, Option<StreamOffset>)>,
}

impl DataGapSearch {
    /// Takes new data behind `gap_bytes` that were not captured.
    #[inline]
    pub(super) fn send(&mut self, place: u64, at: Timestamp, gap_bytes: i64) {
        if gap_bytes > 0 {
            self.see(place, at, None, gap_bytes);
        }
        self.sent = place;
    }

    /// Takes an ACK.
    #[inline]
    pub(super) fn on_ack(&mut self, place: u64, at: Timestamp) {
        self.acked = Some((place, at));
    }

    /// Takes an ACK of data beyond `nxt`, the end of the captured data.
    #[cold]
    pub(super) fn on_ack_beyond(
        &mut self,
        place: u64,
        at: Timestamp,
        ack: StreamOffset,
        nxt: StreamOffset,
    ) {
        self.see(place, at, Some(ack), ack.since(nxt));
    }

    #[cold]
    fn see(&mut self, place: u64, at: Timestamp, ack: Option<StreamOffset>, gap_bytes: i64) {
        if !(UNCOUNTED_BYTES + 1..=LONGEST_GAP_BYTES).contains(&gap_bytes) {
            return;
        }
        let last_ack = self
            .acked
            .filter(|(_, acked)| at - *acked >= LONGEST_FLIGHT);
        let from = last_ack.map_or(self.sent, |(acked, _)| acked.max(self.sent));
        // Each ACK before the next captured data shows the same missed data.
        match self.found.last_mut() {
            Some((same, until, of)) if *same == from && of.is_some() && ack.is_some() => {
                (*until, *of) = (place, ack);
            }
            _ => self.found.push((from, place, ack)),
        }
    }

    pub(super) fn found(&self, unsent: &UnsentAcks) -> DataGaps {
        let is_real = |place, ack: Option<_>| ack.is_none_or(|ack| !unsent.has(place, ack));
        let found = self.found.iter().copied();
        let found = found.filter(|&(_, place, ack)| is_real(place, ack));
        DataGaps {
            around: found.map(|(from, until, _)| (from, until)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    #[test]
    fn acks_of_the_same_missed_data_are_one_gap() {
        let at = Timestamp::from_nanos;
        let nxt = StreamOffset::first(SeqNum(0));
        let missed = nxt.plus(10_000);
        let mut search = DataGapSearch::default();
        search.send(1, at(1), 0);
        for place in 2..100 {
            search.on_ack_beyond(place, at(2), missed, nxt);
            search.on_ack(place, at(2));
        }
        search.send(100, at(3), 10_000);
        let gaps = search.found(&UnsentAcks::default());
        assert_eq!(gaps.around, [(1, 99), (1, 100)]);
        let mut walk = gaps.walk();
        let hidden: Vec<u64> = (0..103).filter(|place| walk.hides(*place)).collect();
        let between: Vec<u64> = (2..100).collect();
        assert_eq!(hidden, between);
    }
}
