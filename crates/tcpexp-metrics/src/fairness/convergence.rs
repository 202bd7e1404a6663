//! How long it takes until flows share, or something else settles.

use tcpexp_units::TimeDelta;

/// When something counts as settled: from the first window on from which it holds in every one
/// for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// How long a window is. What is shorter averages out, and no time is told more finely.
    pub window: TimeDelta,
    /// How long it must hold; rounded up to windows, and at least one.
    pub hold: TimeDelta,
}

impl Settling {
    /// The time from the start of the first of `windows`, which say of each whether it holds, to
    /// the start of the first one that is settled. Too short by less than a window.
    ///
    /// `None` if that was not seen: nothing settled, or the end came before it had held for long
    /// enough. Such a run is censored, and no number stands for it.
    pub fn time(&self, windows: impl IntoIterator<Item = bool>) -> Option<TimeDelta> {
        let mut held = 0;
        for (window, holds) in windows.into_iter().enumerate() {
            held = if holds { held + 1 } else { 0 };
            if held == self.windows_to_hold()? {
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
        usize::try_from(hold / window + i64::from(hold % window > 0)).ok()
    }
}

/// The delta-fair convergence time: from the start of the first window to the first from which
/// every flow is within `delta` of an equal share of what all of them got.
///
/// `windows` hold the rates of all flows and start where the last flow joins. For two flows these
/// are the shares of (1 + delta)/2 and (1 - delta)/2 of RFC 5166, section 2.3, but of what was
/// delivered and not of the link, so that a link that is not full is no lack of fairness; and the
/// flows start where they are and not at 100/101 and 1/101.
///
/// `None` for fewer than two flows, and where [`Settling::time`] is.
pub fn convergence_time(windows: &[Vec<f64>], delta: f64, settling: Settling) -> Option<TimeDelta> {
    if windows.iter().any(|rates| rates.len() < 2) {
        return None;
    }
    settling.time(windows.iter().map(|rates| is_delta_fair(rates, delta)))
}

fn is_delta_fair(rates: &[f64], delta: f64) -> bool {
    let share = rates.iter().sum::<f64>() / rates.len() as f64;
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
    fn settled_is_what_holds_for_as_long_as_asked() {
        assert_eq!(settled("+++"), Some(0.0));
        assert_eq!(settled("--+++-"), Some(2.0));
        assert_eq!(settled("++-++-+++"), Some(6.0));
    }

    #[test]
    fn what_does_not_hold_until_the_end_is_censored() {
        assert_eq!(settled(""), None);
        assert_eq!(settled("----"), None);
        assert_eq!(settled("--++"), None);
    }

    #[test]
    fn a_hold_that_is_no_whole_number_of_windows_is_rounded_up() {
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
    fn two_flows_converge_where_their_shares_are_within_delta_of_a_half() {
        // 100/101 to 1/101, then closer and closer; 55 to 45 is just within a tenth.
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
    fn a_window_without_traffic_is_not_fair() {
        let mut windows = vec![vec![1.0, 1.0]; 5];
        windows[2] = vec![0.0, 0.0];
        assert_eq!(convergence_time(&windows, 0.1, SECONDS), None);
        assert_eq!(convergence_time(&vec![vec![1.0]; 5], 0.1, SECONDS), None);
    }

    proptest! {
        #[test]
        fn a_laxer_delta_never_takes_longer(
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
