//! Windowed maximum (`lib/win_minmax.c`): the three best values of consecutive parts of a window.

/// A value and the round trip of its measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    round: u32,
    value: u64,
}

/// The maximum over the last `window` round trips. As in Linux, it may lag by a part of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [Entry; 3],
}

impl WindowedMax {
    pub(super) fn value(&self) -> u64 {
        self.best[0].value
    }

    /// Records a value; `window` is in round trips.
    pub(super) fn see(&mut self, window: u32, round: u32, value: u64) {
        let entry = Entry { round, value };
        let [first, _, third] = self.best;
        if value >= first.value || round.wrapping_sub(third.round) > window {
            self.best = [entry; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = entry;
            self.best[2] = entry;
        } else if value >= self.best[2].value {
            self.best[2] = entry;
        }
        self.expire(window, entry);
    }

    /// Replaces a best value that leaves the window, and renews the others.
    fn expire(&mut self, window: u32, entry: Entry) {
        let age = |of: Entry| entry.round.wrapping_sub(of.round);
        let [first, second, third] = self.best;
        if age(first) > window {
            self.best = [second, third, entry];
            if age(self.best[0]) > window {
                self.best = [third, entry, entry];
            }
        } else if second.round == first.round && age(first) > window / 4 {
            self.best = [first, entry, entry];
        } else if third.round == second.round && age(first) > window / 2 {
            self.best[2] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: &[u64]) -> u64 {
        let mut max = WindowedMax::default();
        for (round, value) in (0..).zip(values) {
            max.see(10, round, *value);
        }
        max.value()
    }

    #[test]
    fn greatest_value_stays_for_the_window() {
        assert_eq!(after(&[5, 9, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]), 9);
    }

    #[test]
    fn greatest_value_is_forgotten_after_the_window() {
        assert_eq!(after(&[5, 9, 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5]), 6);
    }
}
