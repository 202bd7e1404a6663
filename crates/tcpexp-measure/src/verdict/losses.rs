//! Losses of a sender, and the goodput between them.

use tcpexp_flow::StreamOffset;
use tcpexp_metrics::quantile::whole_percentile;
use tcpexp_units::{TimeDelta, Timestamp};

/// Away from the sender, losses belong to one recovery if they are less than this number of round
/// trips apart. Measured: second halves of split recoveries began within 2.1 round trips.
const ROUNDS_APART: i64 = 3;
/// Minimum number of losses to judge the goodput between them. With five, one transfer in 20 with
/// losses at random had a constant goodput by chance.
const MIN_LOSSES: usize = 8;

/// A loss that the sender noticed otherwise than by a timeout, or congestion echoes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub(super) at: Timestamp,
    /// `snd_una` when the loss was noticed.
    pub(super) una: StreamOffset,
    /// The smoothed round-trip time just before.
    pub(super) srtt: TimeDelta,
    /// True if it follows a silence that a retransmission timeout may have ended.
    pub(super) is_after_silence: bool,
}

/// The losses that begin a recovery of their own, as far as a capture away from the sender shows. There,
/// the order of the sender's events is recovered from timestamps, and a recovery from a burst of losses
/// may count twice. A recovery after a timeout looks like a fast one.
pub(super) fn apart(losses: &[Loss]) -> Vec<Loss> {
    let mut apart: Vec<Loss> = Vec::new();
    for loss in losses.iter().filter(|loss| !loss.is_after_silence) {
        let since = apart.last().map(|latest| loss.at - latest.at);
        if since.is_none_or(|since| since.as_nanos() >= loss.srtt.as_nanos() * ROUNDS_APART) {
            apart.push(*loss);
        }
    }
    apart
}

/// The goodputs between losses, in bits per second.
pub(super) fn goodputs(losses: &[Loss]) -> Vec<i64> {
    let pairs = losses.windows(2).filter_map(|pair| {
        // Behind a clock that was set back, the time is unknown.
        let nanos = i128::from(pair[1].at.checked_since(pair[0].at)?.as_nanos());
        let bits = i128::from(pair[1].una.since(pair[0].una)) * 8_000_000_000;
        i64::try_from(bits.checked_div(nanos)?).ok()
    });
    pairs.collect()
}

/// Distance of the quartiles in percent of the median.
pub(super) fn spread_percent(mut values: Vec<i64>) -> Option<i64> {
    if values.len() + 1 < MIN_LOSSES {
        return None;
    }
    values.sort_unstable();
    let quantile = |percent| whole_percentile(&values, percent).map(i128::from);
    let spread = (quantile(75)? - quantile(25)?) * 100;
    i64::try_from(spread / quantile(50)?.max(1)).ok()
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    fn loss(at_millis: i64, is_after_silence: bool) -> Loss {
        Loss {
            at: Timestamp::from_nanos(0) + TimeDelta::from_millis(at_millis),
            una: StreamOffset::first(SeqNum(0)),
            srtt: TimeDelta::from_millis(10),
            is_after_silence,
        }
    }

    #[test]
    fn quartiles_of_the_goodput_are_interpolated() {
        // R: quantile(c(10, 20, 40, 50, 60, 80, 90), c(1, 2, 3) / 4) is 30, 50 and 70.
        let values = vec![90, 10, 80, 20, 60, 40, 50];
        assert_eq!(spread_percent(values), Some(80));
    }

    #[test]
    fn losses_of_one_recovery_and_after_silences_do_not_count() {
        let losses = [
            loss(0, false),
            loss(29, false),
            loss(30, false),
            loss(90, true),
            loss(100, false),
        ];
        let kept: Vec<i64> = apart(&losses)
            .iter()
            .map(|loss| (loss.at - losses[0].at).as_nanos() / 1_000_000)
            .collect();
        assert_eq!(kept, [0, 30, 100]);
    }
}
