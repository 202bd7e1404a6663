//! Times of a log and of the captures of its run.

use tcpexp_units::{TimeDelta, Timestamp};

/// The first and the last time of some rows; `None` without any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span(Option<(Timestamp, Timestamp)>);

/// Greatest time between a log and the captures of its run. Loggers start before the captures and end
/// after them, by seconds; another time base is off by years.
const APART: TimeDelta = TimeDelta::from_seconds(3_600);

impl Span {
    pub(super) fn add(&mut self, at: Timestamp) {
        let (first, last) = self.0.unwrap_or((at, at));
        self.0 = Some((first.min(at), last.max(at)));
    }

    /// True if both have times, and all of them are far from those of the other.
    pub(super) fn is_apart_from(self, other: Self) -> bool {
        self.0
            .zip(other.0)
            .is_some_and(|(own, other)| own.0 - other.1 > APART || other.0 - own.1 > APART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(times_s: &[i64]) -> Span {
        let mut span = Span::default();
        for time in times_s {
            span.add(Timestamp::from_nanos(time * 1_000_000_000));
        }
        span
    }

    #[test]
    fn only_times_of_another_base_are_far_from_those_of_the_captures() {
        let captures = span(&[1_767_225_600, 1_767_225_660]);
        assert!(!span(&[1_767_225_590, 1_767_225_670]).is_apart_from(captures));
        assert!(!span(&[1_767_225_665]).is_apart_from(captures));
        assert!(span(&[9, 70]).is_apart_from(captures));
        assert!(!span(&[]).is_apart_from(captures));
    }
}
