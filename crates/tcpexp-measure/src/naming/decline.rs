//! Detects that a window falls without a loss.

use tcpexp_units::{TimeDelta, Timestamp};

/// A fall to less than 19/20 of the window begins a cut; super-packets leave less unfilled.
const BEGINS: (u32, u32) = (19, 20);
/// A cut ends at 9/10 of the window or less. The smallest cut of a control is to 7/8.
const COUNTS: (u32, u32) = (9, 10);
/// Round trips that a cut may take: a proportional reduction takes one.
const MOST_ROUNDS: i64 = 4;

/// The window of a sender in congestion avoidance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decline {
    peak: Option<(Timestamp, u32)>,
    trough: Option<(Timestamp, u32)>,
    began: Option<Timestamp>,
}

impl Decline {
    /// Records a window. Returns windows before and after a cut once it is complete.
    pub(super) fn see(&mut self, at: Timestamp, cwnd: u32, srtt: TimeDelta) -> Option<(u32, u32)> {
        let (peak_at, peak) = *self.peak.get_or_insert((at, cwnd));
        let (Some(began), Some((trough_at, trough))) = (self.began, self.trough) else {
            if cwnd * BEGINS.1 < peak * BEGINS.0 && peak > cwnd + 1 {
                self.began = Some(at);
                self.trough = Some((at, cwnd));
            } else if cwnd >= peak || at - peak_at > srtt + srtt {
                // A slow fall, such as that of Vegas, is no cut.
                self.peak = Some((at, cwnd));
            }
            return None;
        };
        if cwnd < trough {
            self.trough = Some((at, cwnd));
        } else if at - trough_at >= srtt {
            *self = Self {
                peak: Some((at, cwnd)),
                ..Self::default()
            };
            let is_deep = trough * COUNTS.1 <= peak * COUNTS.0;
            // After a cut, the window grows again slowly; the flight of a sender that had nothing to send
            // for a moment is back at once.
            let stays = (cwnd - trough) * 2 <= peak - trough;
            return (is_deep && stays).then_some((peak, trough));
        }
        if (at - began).as_nanos() > MOST_ROUNDS * srtt.as_nanos() {
            *self = Self {
                peak: Some((at, cwnd)),
                ..Self::default()
            };
        }
        None
    }

    /// True if the window is falling.
    pub(super) fn is_falling(&self) -> bool {
        self.began.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cuts in windows that follow each other by 10 ms, with round trips of 40 ms.
    fn cuts(windows: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
        let mut decline = Decline::default();
        (0_i64..)
            .zip(windows)
            .filter_map(|(step, cwnd)| {
                let at = Timestamp::from_nanos(step * 10_000_000);
                decline.see(at, cwnd, TimeDelta::from_millis(40))
            })
            .collect()
    }

    #[test]
    fn gradual_fall_within_a_round_trip_is_one_cut() {
        let fall = [50, 50, 48, 46, 43, 40, 37, 35, 35, 35, 35, 35, 36, 36];
        assert_eq!(cuts(fall), [(50, 35)]);
    }

    #[test]
    fn fall_by_a_segment_per_round_trip_is_no_cut() {
        assert_eq!(cuts((20..60).rev().flat_map(|cwnd| [cwnd; 4])), []);
    }

    #[test]
    fn a_flight_that_is_back_at_once_is_no_cut() {
        let pause = [42, 42, 40, 38, 37, 37, 38, 41, 42, 42, 42, 42];
        assert_eq!(cuts(pause), []);
    }

    #[test]
    fn segments_missing_from_a_burst_are_no_cut() {
        assert_eq!(cuts([60, 60, 58, 60, 59, 60, 61, 59, 61]), []);
    }
}
