//! Round trips in which the congestion window limited a sender.

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum number of rounds stored; of a longer flow, two rounds become one. Bounds memory.
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

    /// Joins neighbours that follow the same loss.
    fn halve(&mut self) {
        self.length = self.length.saturating_mul(2);
        let mut halved: Vec<Round> = Vec::with_capacity(MOST);
        for pair in self.rounds.chunks(2) {
            halved.push(Round {
                span: pair.iter().fold(TimeDelta::ZERO, |sum, one| sum + one.span),
                ..pair[0]
            });
        }
        self.rounds = halved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_rounds_keep_the_whole_time() {
        let mut rounds = Rounds::default();
        let millis = TimeDelta::from_millis;
        for number in 0..20_000 {
            let at = Timestamp::from_nanos(0) + millis(10 * number);
            rounds.add(
                at,
                Round {
                    began: at,
                    span: millis(10),
                    srtt: millis(10),
                    pipe_segments: 4,
                    loss: None,
                    is_paced: false,
                    has_short_segments: false,
                },
            );
        }
        let sum = rounds
            .all()
            .iter()
            .fold(TimeDelta::ZERO, |sum, one| sum + one.span);
        assert_eq!(sum, millis(200_000));
        assert!(rounds.all().len() <= MOST);
    }
}
