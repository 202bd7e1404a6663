//! The queue of a path, seen by its delay.

use tcpexp_metrics::quantile::whole_percentile;
use tcpexp_units::TimeDelta;

use super::rounds::Round;

/// Smallest queueing delay that counts, in percent of the base round-trip time. Measured: `CoDel`
/// keeps 7 ms of 100 ms at its losses; links without a queue varied by less than 4 %.
const QUEUE_PERCENT: i64 = 5;
/// Queueing delay that counts whatever the share. Measured without a queue: delayed ACKs add up to
/// 3 ms to the smoothed round-trip time.
const QUEUE_DELAY: TimeDelta = TimeDelta::from_millis(5);
/// On short paths, the share of the round-trip time that counts in place of [`QUEUE_DELAY`].
const SHORT_PATH_PERCENT: i64 = 25;
/// Smallest queueing delay that counts on any path: timer and interrupt delays of hosts.
const LEAST_QUEUE_DELAY: TimeDelta = TimeDelta::from_micros(500);

/// The queue of the path, by its delay.
pub(super) struct Queue {
    pub(super) base_rtt: TimeDelta,
    /// The smallest delay that counts.
    least: TimeDelta,
    /// Delay of the full queue.
    pub(super) peak: TimeDelta,
}

impl Queue {
    /// The queue of a path with these round trips, and those with a delay.
    pub(super) fn of(base_rtt: TimeDelta, rounds: &[Round]) -> (Self, Vec<Round>) {
        let mut queue = Self {
            base_rtt,
            least: least_queue_delay(base_rtt),
            peak: TimeDelta::ZERO,
        };
        let filled = rounds.iter().copied();
        let filled: Vec<Round> = filled.filter(|round| queue.is_filled(round.srtt)).collect();
        queue.peak = peak_delay(&filled, base_rtt);
        (queue, filled)
    }

    pub(super) fn is_filled(&self, srtt: TimeDelta) -> bool {
        srtt - self.base_rtt >= self.least
    }
}

/// Delay of a full queue: the 90th percentile of the rounds with a queue. The median would be that of a
/// half full queue, since a loss-based window falls after each loss. A pacing sender has a nearly constant
/// queue after its start, so its median counts.
fn peak_delay(filled: &[Round], base_rtt: TimeDelta) -> TimeDelta {
    let delays = filled.iter().map(|round| round.srtt - base_rtt);
    let mut delays: Vec<i64> = delays.map(TimeDelta::as_nanos).collect();
    delays.sort_unstable();
    let paced = filled.iter().filter(|round| round.is_paced).count();
    let percent = if paced * 2 > filled.len() { 50 } else { 90 };
    whole_percentile(&delays, percent).map_or(TimeDelta::ZERO, TimeDelta::from_nanos)
}

fn least_queue_delay(base_rtt: TimeDelta) -> TimeDelta {
    let percent =
        |share: i64| TimeDelta::from_nanos(base_rtt.as_nanos().saturating_mul(share) / 100);
    percent(QUEUE_PERCENT)
        .max(percent(SHORT_PATH_PERCENT).min(QUEUE_DELAY))
        .max(LEAST_QUEUE_DELAY)
}

#[cfg(test)]
mod tests {
    use tcpexp_units::Timestamp;

    use super::*;

    #[test]
    fn peak_delay_of_two_rounds_lies_between_their_delays() {
        let peak = |is_paced| {
            let round = |millis| Round {
                began: Timestamp::from_nanos(0),
                span: TimeDelta::ZERO,
                srtt: TimeDelta::from_millis(millis),
                pipe_segments: 10,
                loss: None,
                is_paced,
                has_short_segments: false,
            };
            peak_delay(&[20, 40].map(round), TimeDelta::from_millis(10))
        };
        assert_eq!(peak(true), TimeDelta::from_millis(20));
        assert_eq!(peak(false), TimeDelta::from_millis(28));
    }
}
