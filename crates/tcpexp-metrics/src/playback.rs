//! Playback of a video whose segments arrive one after another.

use tcpexp_units::{TimeDelta, Timestamp};

/// How a video was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playback {
    /// Times that playback waited for a segment after it had begun.
    pub stalls: u64,
    /// Total time of these waits.
    pub stalled: TimeDelta,
    /// Media time of all segments.
    pub played: TimeDelta,
}

impl Playback {
    /// Plays segments of `segment` media time, which arrive completely at these times, in their order.
    /// `None` without segments.
    ///
    /// Playback begins when the first segment has arrived, and goes on after a stall when the awaited
    /// segment has arrived.
    pub fn of(arrivals: &[Timestamp], segment: TimeDelta) -> Option<Self> {
        let mut runs_out = *arrivals.first()?;
        let mut playback = Self {
            stalls: 0,
            stalled: TimeDelta::ZERO,
            played: TimeDelta::ZERO,
        };
        for arrival in arrivals {
            if *arrival > runs_out {
                playback.stalls += 1;
                playback.stalled += *arrival - runs_out;
                runs_out = *arrival;
            }
            runs_out = runs_out + segment;
            playback.played += segment;
        }
        Some(playback)
    }

    /// Stalled time over the time from the first picture to the last (the rebuffering ratio); `None` if
    /// both are the same.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of times below 2^52 ns")]
    pub fn stall_ratio(&self) -> Option<f64> {
        let whole = (self.stalled + self.played).as_nanos();
        (whole > 0).then(|| self.stalled.as_nanos() as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(arrivals_s: &[i64]) -> Option<Playback> {
        let at = |seconds: &i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let arrivals: Vec<Timestamp> = arrivals_s.iter().map(at).collect();
        Playback::of(&arrivals, TimeDelta::from_seconds(4))
    }

    #[test]
    fn segments_in_time_play_without_a_stall() {
        let played = play(&[3, 5, 11, 12]).unwrap();
        assert_eq!(played.stalls, 0);
        assert_eq!(played.played, TimeDelta::from_seconds(16));
        assert_eq!(played.stall_ratio(), Some(0.0));
    }

    #[test]
    fn a_late_segment_stalls_playback_until_it_has_arrived() {
        // The first two segments play from 3 s to 11 s. The third comes 5 s later, and the fourth, due
        // at 20 s, another 1 s later.
        let stalled = play(&[3, 4, 16, 21]).unwrap();
        assert_eq!(stalled.stalls, 2);
        assert_eq!(stalled.stalled, TimeDelta::from_seconds(6));
        assert_eq!(stalled.stall_ratio(), Some(6.0 / 22.0));
    }

    #[test]
    fn no_segments_are_no_video() {
        assert_eq!(play(&[]), None);
    }
}
