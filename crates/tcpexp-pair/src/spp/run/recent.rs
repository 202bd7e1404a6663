//! The latest arrivals of data matched by its range, to recognise duplicates.

use tcpexp_flow::FlowId;
use tcpexp_units::Timestamp;

/// Number of arrivals remembered.
const REMEMBERED: usize = 64;

/// A flow and the digest of a packet's mark.
pub(super) type Arrived = (FlowId, [u64; 2]);

/// The latest arrivals, as a ring.
#[derive(Debug, Default)]
pub(super) struct Recent {
    arrived: Vec<Arrived>,
    /// Times of the arrivals; apart from them, since searches compare the arrivals alone.
    times: Vec<Timestamp>,
    /// Index of the oldest once all places are taken.
    oldest: usize,
}

impl Recent {
    #[inline]
    pub(super) fn add(&mut self, arrived: Arrived, at: Timestamp) {
        if self.arrived.len() < REMEMBERED {
            self.arrived.push(arrived);
            self.times.push(at);
        } else if let Some(oldest) = self.arrived.get_mut(self.oldest) {
            *oldest = arrived;
            self.times[self.oldest] = at;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    /// Time of the latest equal arrival; `None` if none is remembered.
    pub(super) fn time_of(&self, arrived: Arrived) -> Option<Timestamp> {
        let all = self.arrived.iter().zip(&self.times);
        all.filter(|(one, _)| **one == arrived)
            .map(|(_, at)| *at)
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_arrivals_are_remembered_and_earlier_ones_forgotten() {
        let mut recent = Recent::default();
        let arrived = |number: u64| (FlowId(0), [number, 0]);
        let last = 3 * REMEMBERED as u64 + 7;
        let at = |number: u64| Timestamp::from_nanos(number.cast_signed());
        (0..=last).for_each(|number| recent.add(arrived(number), at(number)));
        let first = last + 1 - REMEMBERED as u64;
        assert!((first..=last).all(|number| recent.time_of(arrived(number)) == Some(at(number))));
        assert!((0..first).all(|number| recent.time_of(arrived(number)).is_none()));
    }
}
