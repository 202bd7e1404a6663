//! Detection of outlier timestamps: a record years away from the records around it.
//!
//! A clock step moves all later records, and joined captures continue at another time. A single
//! record far from all others is neither of these. Its timestamp is damaged or was written wrongly,
//! and would distort every duration, bin and clock estimate.

use tcpexp_units::{TimeDelta, Timestamp};

/// Greatest distance between neighbouring records that needs no check: a day, the longest silence
/// of a live link in the project's captures.
const NEAR: TimeDelta = TimeDelta::from_seconds(86_400);
/// Number of following records that decide. Two interfaces with different clocks alternate more
/// often than this.
const LOOK_AHEAD: usize = 8;
/// Limit for the last record of a file, which no later record can confirm. A capture may pause for
/// days, but a last record a year after all others is an outlier.
const NEVER: TimeDelta = TimeDelta::from_seconds(365 * 86_400);

/// Position of a capture in time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    latest: Option<Timestamp>,
    /// Latest time before the last jump, because records of two clocks may alternate.
    before: Option<Timestamp>,
}

impl Progress {
    /// Returns true if `at` is within `NEAR` of the latest time, and then records it.
    #[inline]
    pub(crate) fn follows(&mut self, at: Timestamp) -> bool {
        let follows = self.latest.is_some_and(|latest| is_near(latest, at));
        if follows {
            self.latest = Some(at);
        }
        follows
    }

    /// Decides whether `at`, which is not near the latest time, is an outlier. `next` returns the
    /// times of the following records, as long as there are any.
    #[cold]
    pub(crate) fn is_outlier(
        &mut self,
        at: Timestamp,
        mut next: impl FnMut() -> Option<Timestamp>,
    ) -> bool {
        // Records of two interfaces with different clocks alternate: the other clock is no outlier.
        if self.before.is_some_and(|before| is_near(before, at)) {
            return self.accept(at);
        }
        let mut seen: Option<Timestamp> = None;
        let mut returns = false;
        let mut others_agree = false;
        for _ in 0..LOOK_AHEAD {
            let Some(time) = next() else { break };
            // A later record confirms the time: the clock stepped, or the file joins two captures.
            if is_near(time, at) {
                return self.accept(at);
            }
            returns |= self.latest.is_some_and(|latest| is_near(time, latest));
            others_agree |= seen.is_some_and(|seen| is_near(time, seen));
            seen = Some(time);
        }
        let is_outlier = match (self.latest, seen) {
            // The first record of a file is an outlier if the records after it agree with each
            // other.
            (None, _) => others_agree,
            (Some(latest), None) => !is_within(latest, at, NEVER),
            // Only a return to the latest time shows that this record is an outlier.
            (Some(_), Some(_)) => returns,
        };
        is_outlier || self.accept(at)
    }

    /// Continues from `at`, which is not an outlier; always returns false.
    pub(crate) fn accept(&mut self, at: Timestamp) -> bool {
        self.before = self.latest.replace(at);
        false
    }
}

#[inline]
fn is_near(one: Timestamp, other: Timestamp) -> bool {
    is_within(one, other, NEAR)
}

#[inline]
fn is_within(one: Timestamp, other: Timestamp, distance: TimeDelta) -> bool {
    one.as_nanos().abs_diff(other.as_nanos()) <= distance.as_nanos().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    /// Returns the indices of the outliers among records at these seconds.
    fn outliers(seconds: &[i64]) -> Vec<usize> {
        let times: Vec<Timestamp> = seconds
            .iter()
            .map(|seconds| Timestamp::from_nanos(seconds * 1_000_000_000))
            .collect();
        let mut progress = Progress::default();
        let is_outlier = |&place: &usize| {
            let mut behind = times[place + 1..].iter().copied();
            !progress.follows(times[place]) && progress.is_outlier(times[place], || behind.next())
        };
        (0..times.len()).filter(is_outlier).collect()
    }

    #[test]
    fn a_record_alone_in_time_is_an_outlier_at_any_position() {
        let far = 40 * 365 * DAY;
        assert_eq!(outliers(&[1, 2, far, 3, 4]), [2]);
        assert_eq!(outliers(&[far, 1, 2, 3]), [0]);
        assert_eq!(outliers(&[1, 2, 3, far]), [3]);
        assert_eq!(outliers(&[far, far + 1, far + 2, 0, far + 3]), [3]);
    }

    #[test]
    fn a_clock_step_and_a_long_pause_are_not_outliers() {
        assert_eq!(outliers(&[1, 2, 9 * DAY, 9 * DAY + 1]), []);
        assert_eq!(outliers(&[9 * DAY, 9 * DAY + 1, 1, 2]), []);
        assert_eq!(outliers(&[0, 2 * DAY, 4 * DAY, 6 * DAY]), []);
        assert_eq!(outliers(&[0, 9 * DAY]), []);
        assert_eq!(outliers(&[0]), []);
    }

    #[test]
    fn two_clocks_in_one_file_yield_no_outliers() {
        let other = 400 * DAY;
        assert_eq!(outliers(&[1, other, 2, other + 1, 3, other + 2, 4]), []);
    }
}
