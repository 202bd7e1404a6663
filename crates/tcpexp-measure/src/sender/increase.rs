//! Growth of the window in congestion avoidance.
//!
//! A window that the sender fills shows how fast its congestion control increases it: by a segment
//! per window acknowledged (RFC 5681, equation 3), or faster, as CUBIC does (RFC 9438). The same rate
//! applies for the rest of the round trip in which the application runs out of data.

/// Number of segments by which the window must grow for a rate.
const MIN_GROWN_SEGMENTS: u32 = 2;

/// The segments counted towards the next increase, and the number of segments that an increase
/// takes, measured while the sender fills its window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Increase {
    /// Segments acknowledged since the last increase.
    count: u32,
    /// The window when the current measurement began, at an increase.
    from: Option<u32>,
    /// The window at the latest ACK; 0 if the sender did not fill it.
    latest: u32,
    /// Segments acknowledged since the current measurement began.
    delivered: u32,
    /// Acknowledged segments per segment of growth, as last measured.
    measured: Option<u32>,
}

impl Increase {
    /// Counts acknowledged segments. Returns true if they increase a window of `cwnd` segments by
    /// one.
    pub(super) fn deliver(&mut self, segments: u32, cwnd: u32) -> bool {
        self.delivered = self.delivered.saturating_add(segments);
        self.count = self.count.saturating_add(segments);
        let needed = self.measured.unwrap_or(cwnd).min(cwnd);
        let increases = self.count >= needed;
        if increases {
            self.count -= needed;
        }
        increases
    }

    /// Takes note of a filled window in congestion avoidance.
    pub(super) fn reach(&mut self, cwnd: u32) {
        let before = std::mem::replace(&mut self.latest, cwnd);
        if before > 0 && cwnd > before {
            self.count = 0;
        }
        match self.from {
            Some(from) if cwnd > before => {
                let grown = cwnd.saturating_sub(from);
                if grown >= MIN_GROWN_SEGMENTS {
                    self.measured = Some(self.delivered.div_ceil(grown));
                    self.begin(cwnd);
                }
            }
            // A measurement between two increases counts whole steps.
            None if before > 0 && cwnd > before => self.begin(cwnd),
            // A window that shrinks without a loss has another rule.
            _ if cwnd < before => {
                self.forget();
                self.latest = cwnd;
            }
            _ => {}
        }
    }

    fn begin(&mut self, cwnd: u32) {
        self.from = Some(cwnd);
        self.delivered = 0;
    }

    /// Interrupts the measurement: the window is not filled.
    pub(super) fn pause(&mut self) {
        self.from = None;
        self.latest = 0;
    }

    /// Forgets the rate; the segments stay counted, as in `snd_cwnd_cnt` of Linux.
    pub(super) fn forget(&mut self) {
        *self = Self {
            count: self.count,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that grows by one per `per_increase` segments while it is filled, two segments
    /// acknowledged at a time.
    fn filled(per_increase: u32, increases: u32) -> Increase {
        let mut increase = Increase::default();
        let mut acknowledged = 0;
        for _ in 0..per_increase * increases / 2 {
            increase.reach(60 + acknowledged / per_increase);
            increase.deliver(2, 60);
            acknowledged += 2;
        }
        increase.reach(60 + acknowledged / per_increase);
        increase
    }

    /// Number of segments until the window grows without being filled.
    fn next(mut increase: Increase) -> Option<u32> {
        increase.pause();
        (1..200).find(|_| increase.deliver(1, 64))
    }

    #[test]
    fn window_keeps_growing_at_the_rate_of_whole_steps() {
        assert_eq!(next(filled(20, 3)), Some(20));
        assert_eq!(next(filled(20, 6)), Some(20));
    }

    #[test]
    fn window_grows_by_a_segment_per_window_without_a_known_rate() {
        assert_eq!(next(Increase::default()), Some(64));
        assert_eq!(next(filled(20, 2)), Some(64));
        // No congestion control is replayed as slower than this.
        assert_eq!(next(filled(100, 3)), Some(64));
    }

    #[test]
    fn rate_is_not_measured_across_a_pause_or_a_smaller_window() {
        let mut increase = Increase::default();
        for cwnds in [[60, 61].as_slice(), &[62, 63, 62, 63]] {
            for cwnd in cwnds {
                increase.reach(*cwnd);
                increase.deliver(20, 64);
            }
            increase.pause();
        }
        assert_eq!(next(increase), Some(44));
    }
}
