//! How far the round-trip time follows the bytes in flight, which shows whose queue delays them.

use tcpexp_metrics::quantile::whole_median;

use super::rounds::Round;

/// Minimum number of round trips with a queue for deciding whose queue it is: two for each third.
const MIN_ROUNDS: usize = 6;
/// Minimum growth of the bytes in flight, in percent, between the rounds with the least and the most.
const MIN_FLIGHT_GROWTH: i64 = 10;

/// Compares the third of the rounds with the most bytes in flight to the third with the least: the
/// growth of the round-trip time in percent of the growth of the bytes in flight.
pub(super) fn rtt_growth_percent(filled: &[Round]) -> Option<i64> {
    if filled.len() < MIN_ROUNDS {
        return None;
    }
    let mut rounds = filled.to_vec();
    rounds.sort_unstable_by_key(|round| (round.pipe_segments, round.srtt));
    let third = rounds.len() / 3;
    let of = |rounds: &[Round]| {
        let pipes = rounds.iter().map(|round| i64::from(round.pipe_segments));
        let srtts = rounds.iter().map(|round| round.srtt.as_nanos());
        let (pipe, srtt) = (
            whole_median(pipes.collect())?,
            whole_median(srtts.collect())?,
        );
        Some((i128::from(pipe), i128::from(srtt)))
    };
    let (few, low) = of(&rounds[..third])?;
    let (many, high) = of(&rounds[rounds.len() - third..])?;
    if few <= 0 || low <= 0 || (many - few) * 100 < few * i128::from(MIN_FLIGHT_GROWTH) {
        return None;
    }
    i64::try_from(100 * (high - low) * few / (low * (many - few))).ok()
}
