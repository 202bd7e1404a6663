//! The latest arrivals, to recognise duplicates.

use tcpexp_flow::FlowId;

/// Number of arrivals remembered.
const REMEMBERED: usize = 64;

/// A flow and the digest of a packet's mark.
pub(super) type Arrived = (FlowId, [u64; 2]);

/// The latest arrivals, as a ring.
#[derive(Debug, Default)]
pub(super) struct Recent {
    arrived: Vec<Arrived>,
    /// Index of the oldest once all places are taken.
    oldest: usize,
}

impl Recent {
    #[inline]
    pub(super) fn add(&mut self, arrived: Arrived) {
        if self.arrived.len() < REMEMBERED {
            self.arrived.push(arrived);
        } else if let Some(oldest) = self.arrived.get_mut(self.oldest) {
            *oldest = arrived;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    pub(super) fn contains(&self, arrived: Arrived) -> bool {
        self.arrived.contains(&arrived)
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
        (0..=last).for_each(|number| recent.add(arrived(number)));
        let first = last + 1 - REMEMBERED as u64;
        assert!((first..=last).all(|number| recent.contains(arrived(number))));
        assert!(!(0..first).any(|number| recent.contains(arrived(number))));
    }
}
