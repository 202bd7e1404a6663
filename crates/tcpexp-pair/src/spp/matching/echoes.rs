//! Which segments without data the receiver has seen, by the timestamps that it echoes.
//!
//! A receiver echoes the timestamp of the latest segment that arrived in order (RFC 7323, section
//! 4.3). If it echoes the timestamp of a segment, and no captured arrival has this timestamp, the
//! downstream capture missed a segment with it.

use std::collections::VecDeque;

use tcpexp_flow::is_after;

/// Number of timestamps remembered: of a clock with a tick of one millisecond (RFC 7323, section
/// 5.4), those within a horizon of half a minute, twice.
const REMEMBERED: usize = 65_536;

/// Timestamps of one direction of a flow, in increasing order. Older ones that arrive later are left
/// out.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    /// Number (lower half) and timestamp of departures without data.
    departed: VecDeque<(u32, u32)>,
    arrived: VecDeque<u32>,
    echoed: VecDeque<u32>,
}

impl Echoes {
    /// Adds a departure without data, by the lower half of its number.
    pub(super) fn depart(&mut self, number: u32, tsval: u32) {
        if self.departed.back().is_none_or(|(last, _)| *last < number) {
            self.departed.push_back((number, tsval));
            if self.departed.len() > REMEMBERED {
                self.departed.pop_front();
            }
        }
    }

    /// Adds the timestamp of an arrival.
    pub(super) fn arrive(&mut self, tsval: u32) {
        add(&mut self.arrived, tsval);
    }

    /// Adds a timestamp that the receiver echoed.
    pub(super) fn echo(&mut self, tsecr: u32) {
        add(&mut self.echoed, tsecr);
    }

    /// True if a segment with the timestamp of this departure arrived and was not captured.
    pub(super) fn show_missed(&self, number: u32) -> bool {
        let place = self.departed.binary_search_by_key(&number, |(of, _)| *of);
        place.is_ok_and(|place| {
            let (_, tsval) = self.departed[place];
            has(&self.echoed, tsval) && !has(&self.arrived, tsval)
        })
    }
}

/// Adds a timestamp if it is later than all others.
fn add(stamps: &mut VecDeque<u32>, stamp: u32) {
    if stamps.back().is_none_or(|last| is_after(stamp, *last)) {
        stamps.push_back(stamp);
        if stamps.len() > REMEMBERED {
            stamps.pop_front();
        }
    }
}

fn has(stamps: &VecDeque<u32>, stamp: u32) -> bool {
    let place = stamps.partition_point(|other| is_after(stamp, *other));
    stamps.get(place) == Some(&stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of the departures 0 to 4, with timestamps from `from` on, was missed; two of them
    /// were captured on arrival.
    fn missed(from: u32, answers: &[u32]) -> [bool; 5] {
        let stamp = |number: u32| from.wrapping_add(number);
        let mut echoes = Echoes::default();
        for number in 0..5 {
            echoes.depart(number, stamp(number));
        }
        for number in [1, 3] {
            echoes.arrive(stamp(number));
        }
        for number in answers {
            echoes.echo(stamp(*number));
        }
        [0, 1, 2, 3, 4].map(|number| echoes.show_missed(number))
    }

    #[test]
    fn echoed_timestamp_without_an_arrival_shows_a_missed_segment() {
        for from in [7, u32::MAX - 2, i32::MAX.cast_unsigned() - 1] {
            assert_eq!(missed(from, &[1, 2, 3]), [false, false, true, false, false]);
            assert_eq!(missed(from, &[1, 3]), [false; 5]);
        }
    }

    #[test]
    fn old_entries_are_forgotten_beyond_the_limit() {
        let mut echoes = Echoes::default();
        for number in 0..100_000 {
            echoes.depart(number, number);
            echoes.arrive(number);
            echoes.echo(number);
        }
        let lengths = [
            echoes.departed.len(),
            echoes.arrived.len(),
            echoes.echoed.len(),
        ];
        assert_eq!(lengths, [REMEMBERED; 3]);
        assert_eq!(echoes.departed.back(), Some(&(99_999, 99_999)));
        assert_eq!(
            [echoes.arrived.back(), echoes.echoed.back()],
            [Some(&99_999); 2]
        );
    }
}
