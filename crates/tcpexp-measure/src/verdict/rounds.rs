//! Round trips in which the congestion window limited a sender.

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum number of rounds stored; of a longer flow, two rounds after the same loss become one. Bounds memory.
const MOST: usize = 8_192;

/// About one round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) began: Timestamp,
    /// Time in which the window limited the sender.
    pub(super) span: TimeDelta,
    pub(super) srtt: TimeDelta,
    pub(super) pipe_segments: u32,
    /// Index of the latest loss; `None` before the first.
    pub(super) loss: Option<usize>,
    /// True if the sender paces below its window, so that its window may not be the limit.
    pub(super) is_paced: bool,
    /// True if not all segments in flight were full.
    pub(super) has_short_segments: bool,
}

/// The rounds of a sender, in time order.
#[derive(Debug)]
pub(super) struct Rounds {
    rounds: Vec<Round>,
    /// Number of round-trip times in one round.
    length: i64,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            rounds: Vec::new(),
            length: 1,
        }
    }
}

impl Rounds {
    /// Adds a time of `piece.span` that ends at `at`; it begins a round unless the latest round lasts.
    pub(super) fn add(&mut self, at: Timestamp, piece: Round) {
        let length = TimeDelta::from_nanos(piece.srtt.as_nanos().saturating_mul(self.length));
        if let Some(latest) = self.rounds.last_mut()
            && at - latest.began < length
            && latest.loss == piece.loss
        {
            latest.span += piece.span;
            return;
        }
        if self.rounds.len() == MOST {
            self.halve();
        }
        self.rounds.push(piece);
    }

    pub(super) fn all(&self) -> &[Round] {
        &self.rounds
    }

    /// Joins pairs of neighbours that follow the same loss. Because a flow has at most half as many losses, the
    /// number of rounds falls by a quarter or more.
    fn halve(&mut self) {
        self.length = self.length.saturating_mul(2);
        let mut halved: Vec<Round> = Vec::with_capacity(MOST);
        let mut is_single = false;
        for round in self.rounds.drain(..) {
            match halved.last_mut() {
                Some(latest) if is_single && latest.loss == round.loss => {
                    latest.span += round.span;
                    is_single = false;
                }
                _ => {
                    halved.push(round);
                    is_single = true;
                }
            }
        }
        self.rounds = halved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 10 ms, one every 10 ms, with a loss after each `per_loss` rounds.
    fn add(count: i64, per_loss: i64) -> Rounds {
        let mut rounds = Rounds::default();
        let millis = TimeDelta::from_millis;
        for number in 0..count {
            let at = Timestamp::from_nanos(0) + millis(10 * number);
            rounds.add(
                at,
                Round {
                    began: at,
                    span: millis(10),
                    srtt: millis(10),
                    pipe_segments: 4,
                    loss: usize::try_from(number / per_loss - 1).ok(),
                    is_paced: false,
                    has_short_segments: false,
                },
            );
        }
        rounds
    }

    #[test]
    fn joined_rounds_keep_the_whole_time() {
        let rounds = add(20_000, i64::MAX);
        let sum: TimeDelta = rounds.all().iter().map(|round| round.span).sum();
        assert_eq!(sum, TimeDelta::from_millis(200_000));
        assert!(rounds.all().len() <= MOST);
    }

    #[test]
    fn joined_rounds_keep_the_time_after_each_loss() {
        let rounds = add(20_000, 5);
        assert!(rounds.all().len() <= MOST);
        for loss in 0..3_999 {
            let after = rounds.all().iter().filter(|round| round.loss == Some(loss));
            let span: TimeDelta = after.map(|round| round.span).sum();
            assert_eq!(span, TimeDelta::from_millis(50), "after loss {loss}");
        }
    }
}
