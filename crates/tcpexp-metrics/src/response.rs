//! How long traffic takes to adapt to a change of its path.
//!
//! RFC 5166, section 2.2.1, names the concern but defines no metric for a step of the capacity. The
//! metrics here are the common practice of settling times.

use tcpexp_units::TimeDelta;

use crate::fairness::Settling;

/// The time from a change of the capacity until the rate of all traffic stays within `tolerance`
/// (a fraction) of the new capacity.
///
/// The first window of `rates_bps` starts at the change. After a step down, the link itself limits
/// the arrival rate at once, so the reaction of the senders shows in [`delay_response`] instead.
/// `None` under the conditions of [`Settling::time`].
pub fn rate_response(
    rates_bps: &[f64],
    capacity_bps: f64,
    tolerance: f64,
    settling: Settling,
) -> Option<TimeDelta> {
    let near = |rate: &f64| (rate - capacity_bps).abs() <= tolerance * capacity_bps;
    settling.time(rates_bps.iter().map(near))
}

/// The time from a change until the delay stays at or below `bound`.
///
/// The first window of `delays` starts at the change. A window without a sample does not count as
/// low. Delays and bound share one unit. `None` under the conditions of [`Settling::time`].
pub fn delay_response(delays: &[Option<f64>], bound: f64, settling: Settling) -> Option<TimeDelta> {
    let low = |delay: &Option<f64>| delay.is_some_and(|delay| delay <= bound);
    settling.time(delays.iter().map(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLING: Settling = Settling {
        window: TimeDelta::from_millis(100),
        hold: TimeDelta::from_millis(200),
    };

    fn millis(time: Option<TimeDelta>) -> Option<i64> {
        time.map(|time| time.as_nanos() / 1_000_000)
    }

    #[test]
    fn rate_has_settled_when_it_stays_near_the_capacity() {
        // A step from 5 to 10 Mbit/s: one overshoot, then within 10 %.
        let rates = [5e6, 9e6, 12e6, 10.9e6, 9.1e6, 5e6];
        assert_eq!(
            millis(rate_response(&rates, 10e6, 0.1, SETTLING)),
            Some(300)
        );
        assert_eq!(millis(rate_response(&rates, 10e6, 0.05, SETTLING)), None);
    }

    #[test]
    fn queue_has_drained_when_the_delay_stays_low() {
        let delays = [80.0, 20.0, 30.0, 20.0, 19.0].map(Some);
        assert_eq!(millis(delay_response(&delays, 20.0, SETTLING)), Some(300));
        assert_eq!(millis(delay_response(&delays, 10.0, SETTLING)), None);
    }

    #[test]
    fn window_without_a_sample_does_not_count_as_low_delay() {
        let delays = [Some(10.0), None, Some(10.0), Some(10.0)];
        assert_eq!(millis(delay_response(&delays, 20.0, SETTLING)), Some(200));
    }
}
