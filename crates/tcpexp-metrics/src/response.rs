//! How long traffic takes to follow a change of its path.
//!
//! The concern is that of RFC 5166, section 2.2.1; the measures are common practice, as that
//! section has none for a step of the capacity.

use tcpexp_units::TimeDelta;

use crate::fairness::Settling;

/// The time from a change of the capacity until the rate of all traffic is within `tolerance`, a
/// share, of the new one. The windows of `rates_bps` start at the change.
///
/// After a step down, what arrives is soon no more than the link carries, whatever senders do:
/// their answer then shows in [`delay_response`]. `None` where [`Settling::time`] is.
pub fn rate_response(
    rates_bps: &[f64],
    capacity_bps: f64,
    tolerance: f64,
    settling: Settling,
) -> Option<TimeDelta> {
    let near = |rate: &f64| (rate - capacity_bps).abs() <= tolerance * capacity_bps;
    settling.time(rates_bps.iter().map(near))
}

/// The time from a change until the delay stays at `bound` or below. The windows of `delays` start
/// at the change; one without a sample does not count as low. Delays and bound are in one unit.
///
/// `None` where [`Settling::time`] is.
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
    fn a_rate_has_followed_when_it_stays_near_the_capacity() {
        // From 5 to 10 Mbit/s: past it once, then within a tenth.
        let rates = [5e6, 9e6, 12e6, 10.9e6, 9.1e6, 5e6];
        assert_eq!(
            millis(rate_response(&rates, 10e6, 0.1, SETTLING)),
            Some(300)
        );
        assert_eq!(millis(rate_response(&rates, 10e6, 0.05, SETTLING)), None);
    }

    #[test]
    fn a_queue_has_drained_when_the_delay_stays_low() {
        let delays = [80.0, 20.0, 30.0, 20.0, 19.0].map(Some);
        assert_eq!(millis(delay_response(&delays, 20.0, SETTLING)), Some(300));
        assert_eq!(millis(delay_response(&delays, 10.0, SETTLING)), None);
    }

    #[test]
    fn a_window_without_a_sample_does_not_show_a_low_delay() {
        let delays = [Some(10.0), None, Some(10.0), Some(10.0)];
        assert_eq!(millis(delay_response(&delays, 20.0, SETTLING)), Some(200));
    }
}
