//! Runs of consecutive losses.

/// Runs of lost packets that left consecutively, within one flow and direction.
///
/// A packet that arrived or whose fate is unknown ends a run. The lost part of a super-packet that
/// arrived in part is a run of its own, because its position in the super-packet is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossRuns {
    /// Number of runs.
    pub runs: u64,
    /// Number of packets in all runs: all lost packets.
    pub packets: u64,
    /// Number of packets in the longest run; `None` without losses.
    pub longest: Option<u64>,
}

impl LossRuns {
    /// Mean number of packets per run; `None` without losses.
    pub fn mean(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.packets as f64 / self.runs as f64)
    }

    /// Adds the runs of other flows.
    pub(super) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.packets += other.packets;
        self.longest = self.longest.max(other.longest);
    }
}

/// Counts the runs of one flow and direction from its losses in departure order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossCounter {
    found: LossRuns,
    /// Departure index of the last lost packet, and the length of its run so far.
    last: Option<(u64, u64)>,
}

impl LossCounter {
    /// Records the loss of packet `number`, or of `packets` packets at unknown positions.
    pub(super) fn lose(&mut self, number: Option<u64>, packets: u64) {
        self.found.packets += packets;
        let run = match (self.last, number) {
            (Some((last, run)), Some(number)) if last + 1 == number => run + packets,
            _ => {
                self.found.runs += 1;
                packets
            }
        };
        self.found.longest = self.found.longest.max(Some(run));
        self.last = number.map(|number| (number, run));
    }

    pub(super) fn found(&self) -> LossRuns {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(lost: &[Option<u64>]) -> LossRuns {
        let mut counter = LossCounter::default();
        for number in lost {
            counter.lose(*number, 1);
        }
        counter.found()
    }

    #[test]
    fn consecutive_losses_are_one_run() {
        let found = runs(&[3, 4, 5, 8, 10, 11].map(Some));
        let expected = LossRuns {
            runs: 3,
            packets: 6,
            longest: Some(3),
        };
        assert_eq!(found, expected);
        assert_eq!(found.mean(), Some(2.0));
    }

    #[test]
    fn without_losses_there_is_no_longest_run() {
        assert_eq!(runs(&[]), LossRuns::default());
        assert_eq!(runs(&[]).mean(), None);
    }

    #[test]
    fn loss_of_unknown_position_is_a_separate_run() {
        assert_eq!(runs(&[Some(3), None, Some(4)]).runs, 3);
    }
}
