//! Arrivals without a departure.

use std::collections::VecDeque;

use tcpexp_units::Timestamp;
use tcpexp_wire::SeqNum;

/// Number of arrivals remembered per direction: of a capture that misses one packet in a hundred,
/// those within the longest one-way delay at 150 Mbit/s.
const REMEMBERED: usize = 4_096;

/// Arrivals of one direction that no departure explains.
///
/// Each may be a packet whose record in one of the captures is damaged. Then its departure seems to
/// have no arrival, although the packet was not lost.
#[derive(Debug, Default)]
pub(in crate::spp) struct Unexplained {
    /// Time and sequence number, in order of time; of datagrams, the first bytes.
    arrivals: VecDeque<(Timestamp, SeqNum)>,
    /// Arrivals up to here may be forgotten.
    forgotten: Option<Timestamp>,
}

impl Unexplained {
    /// Adds an arrival.
    pub(in crate::spp) fn add(&mut self, at: Timestamp, seq: SeqNum) {
        // Times must not decrease; coarse clocks and records out of order are within the margin of
        // a search.
        let at = self.arrivals.back().map_or(at, |(last, _)| at.max(*last));
        self.arrivals.push_back((at, seq));
        if self.arrivals.len() > REMEMBERED {
            self.forgotten = self.arrivals.pop_front().map(|(at, _)| at);
        }
    }

    /// True if an arrival from `from` to `to` may be the departure of `bytes` at `seq`: at most one
    /// bit of its sequence number differs from a number in the departure.
    pub(in crate::spp) fn may_include(
        &self,
        [from, to]: [Timestamp; 2],
        seq: SeqNum,
        bytes: u32,
    ) -> bool {
        if self.forgotten.is_some_and(|forgotten| from <= forgotten) {
            return true;
        }
        let next = self.arrivals.partition_point(|(at, _)| *at < from);
        let within = self.arrivals.range(next..).take_while(|(at, _)| *at <= to);
        let mut numbers = within.map(|(_, number)| number.0);
        numbers.any(|number| {
            let is_part = |number: u32| number.wrapping_sub(seq.0) < bytes.max(1);
            is_part(number) || (0..u32::BITS).any(|bit| is_part(number ^ 1 << bit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    const SEQ: u32 = 5_000;

    #[test]
    fn arrival_may_be_a_departure_with_one_other_bit() {
        let mut unexplained = Unexplained::default();
        unexplained.add(millis(10), SeqNum(SEQ));
        let includes = |from, to, seq, bytes| {
            unexplained.may_include([millis(from), millis(to)], SeqNum(seq), bytes)
        };
        assert!(includes(5, 15, 5_000, 0));
        assert!(includes(5, 15, SEQ ^ 1 << 20, 1_000));
        assert!(includes(5, 15, 4_000, 3_000));
        assert!(!includes(5, 15, SEQ ^ 3 << 20, 1_000));
        assert!(!includes(11, 15, 5_000, 0));
        assert!(!includes(5, 9, 5_000, 0));
    }

    #[test]
    fn forgotten_arrivals_may_be_any_departure() {
        let mut unexplained = Unexplained::default();
        for at in 0..5_000 {
            unexplained.add(millis(at), SeqNum(0));
        }
        assert!(unexplained.may_include([millis(3), millis(4)], SeqNum(77 << 8), 1));
        assert!(!unexplained.may_include([millis(3_000), millis(3_004)], SeqNum(77 << 8), 1));
    }
}
