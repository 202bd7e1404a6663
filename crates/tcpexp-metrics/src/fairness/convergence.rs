//! Settling times, and the convergence time of flows to a fair share.

use tcpexp_units::TimeDelta;

/// The rule for a condition to count as settled: it holds in every window for a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// Length of a window, which is also the resolution of the settling time.
    pub window: TimeDelta,
    /// How long the condition must hold; rounded up to whole windows, at least one.
    pub hold: TimeDelta,
}

impl Settling {
    /// The time from the start of the first window to the start of the first settled one.
    ///
    /// Each element of `windows` is true if the condition holds in that window. The result is too
    /// short by less than one window. `None` if the condition never holds for long enough before the
    /// windows end: the run is censored and has no number.
    pub fn time(&self, windows: impl IntoIterator<Item = bool>) -> Option<TimeDelta> {
        let mut held = 0;
        for (window, holds) in windows.into_iter().enumerate() {
            held = if holds { held + 1 } else { 0 };
            if held == self.windows_to_hold()? {
                // The time ends where the first of the held windows starts.
                let first = i64::try_from(window + 1 - held).ok()?;
                let nanos = self.window.as_nanos().checked_mul(first)?;
                return Some(TimeDelta::from_nanos(nanos));
            }
        }
        None
    }

    fn windows_to_hold(&self) -> Option<usize> {
        let window = self.window.as_nanos();
        if window <= 0 {
            return None;
        }
        let hold = self.hold.as_nanos().max(1);
        // Rounded up without the sum `hold + window - 1`, which may overflow.
        usize::try_from(hold / window + i64::from(hold % window > 0)).ok()
    }
}

/// The delta-fair convergence time: the time until every flow stays within `delta` (a fraction) of an
/// equal share of the delivered rate.
///
/// Each window holds the rates of all flows; the first starts when the last flow joins. For two flows
/// the limits are the shares (1 + delta)/2 and (1 - delta)/2 of RFC 5166, section 2.3, with two
/// differences: shares are of the delivered rate, not of the link, so an idle link is not unfair; and
/// flows start from their actual rates, not from 100/101 and 1/101.
///
/// `None` for fewer than two flows and under the conditions of [`Settling::time`].
pub fn convergence_time(windows: &[Vec<f64>], delta: f64, settling: Settling) -> Option<TimeDelta> {
    if windows.iter().any(|rates| rates.len() < 2) {
        return None;
    }
    settling.time(windows.iter().map(|rates| is_delta_fair(rates, delta)))
}

fn is_delta_fair(rates: &[f64], delta: f64) -> bool {
    let share = rates.iter().sum::<f64>() / rates.len() as f64;
    // Without traffic all rates are equal, but no flow has a share.
    share > 0.0
        && rates
            .iter()
            .all(|rate| (rate - share).abs() <= delta * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECONDS: Settling = Settling {
        window: TimeDelta::from_millis(1000),
        hold: TimeDelta::from_millis(3000),
    };

    fn settled(windows: &str) -> Option<f64> {
        let time = SECONDS.time(windows.chars().map(|holds| holds == '+'));
        time.map(|time| time.as_nanos() as f64 / 1e9)
    }

    #[test]
    fn condition_is_settled_once_it_holds_long_enough() {
        assert_eq!(settled("+++"), Some(0.0));
        assert_eq!(settled("--+++-"), Some(2.0));
        assert_eq!(settled("++-++-+++"), Some(6.0));
    }

    #[test]
    fn run_that_ends_before_the_hold_time_is_censored() {
        assert_eq!(settled(""), None);
        assert_eq!(settled("----"), None);
        assert_eq!(settled("--++"), None);
    }

    #[test]
    fn hold_time_is_rounded_up_to_whole_windows() {
        let hold = |millis| Settling {
            hold: TimeDelta::from_millis(millis),
            ..SECONDS
        };
        let windows = [false, true, true, false, true, true, true];
        let time = |settling: Settling| {
            settling
                .time(windows)
                .map(|time| time.as_nanos() / 1_000_000)
        };
        assert_eq!(time(hold(0)), Some(1000));
        assert_eq!(time(hold(2000)), Some(1000));
        assert_eq!(time(hold(2001)), Some(4000));
        let no_window = Settling {
            window: TimeDelta::from_nanos(0),
            ..SECONDS
        };
        assert_eq!(time(no_window), None);
    }

    #[test]
    fn two_flows_converge_once_their_shares_stay_within_delta_of_a_half() {
        // From 100/101 and 1/101, ever closer; 55 to 45 is just within 10 %.
        let windows = [
            vec![100.0, 1.0],
            vec![80.0, 20.0],
            vec![56.0, 44.0],
            vec![55.0, 45.0],
            vec![11.0, 9.0],
            vec![46.0, 54.0],
        ];
        let time = convergence_time(&windows, 0.1, SECONDS).unwrap();
        assert_eq!(time, TimeDelta::from_millis(3000));
        assert_eq!(convergence_time(&windows, 0.05, SECONDS), None);
    }

    #[test]
    fn window_without_traffic_is_not_converged() {
        let mut windows = vec![vec![1.0, 1.0]; 5];
        windows[2] = vec![0.0, 0.0];
        assert_eq!(convergence_time(&windows, 0.1, SECONDS), None);
        assert_eq!(convergence_time(&vec![vec![1.0]; 5], 0.1, SECONDS), None);
    }

    proptest! {
        #[test]
        fn larger_delta_never_takes_longer(
            windows in prop::collection::vec(prop::collection::vec(0.0..10.0_f64, 3), 0..30),
            delta in 0.0..1.0_f64,
            more in 0.0..1.0_f64,
        ) {
            let strict = convergence_time(&windows, delta, SECONDS);
            let lax = convergence_time(&windows, delta + more, SECONDS);
            prop_assert!(strict.is_none_or(|strict| lax.is_some_and(|lax| lax <= strict)));
        }
    }
}
