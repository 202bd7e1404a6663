//! Detects a sender that sends by its own clock instead of in response to ACKs.

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum time from an ACK to the data sent in response, at the sender.
pub(super) const ANSWER: TimeDelta = TimeDelta::from_micros(300);
/// Packets less than this apart are one burst.
const BURST: TimeDelta = TimeDelta::from_micros(100);
/// Minimum number of bursts for a decision.
const MIN_PACKETS: u64 = 200;
/// A sender whose bursts follow an ACK this many times less often than by chance answers from afar.
const RARER: u128 = 4;
/// Least number of answers by chance for this decision. Where chance gives eight, it gives none or one to one
/// sender in 330 (Poisson distribution).
const MIN_BY_CHANCE: u128 = 8;

/// Counts bursts sent in response to an ACK, and other bursts.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    /// Time of the first ACK.
    since: Option<Timestamp>,
    acked_at: Option<Timestamp>,
    /// Total time in which a burst would have counted as an answer.
    answer_time: TimeDelta,
    sent: Option<Timestamp>,
    /// True if the latest ACK reports gaps.
    is_repairing: bool,
    answers: u64,
    unasked: u64,
}

impl Pacing {
    #[inline]
    pub(super) fn on_ack(&mut self, at: Timestamp, reports_gaps: bool) {
        self.is_repairing = reports_gaps;
        if let Some(acked_at) = self.acked_at {
            self.answer_time += (at - acked_at).max(TimeDelta::ZERO).min(ANSWER);
        }
        self.since = self.since.or(Some(at));
        self.acked_at = Some(at);
    }

    #[inline]
    pub(super) fn send(&mut self, at: Timestamp) {
        let is_burst = self.sent.is_some_and(|sent| at - sent < BURST);
        // A burst has one cause, so only its first packet counts. In a recovery, a sender that paces answers ACKs too, as
        // it sends no more than they acknowledge (packet conservation; RFC 6937).
        if !is_burst && !self.is_repairing {
            if self.acked_at.is_some_and(|acked_at| at - acked_at < ANSWER) {
                self.answers += 1;
            } else {
                self.unasked += 1;
            }
        }
        self.sent = Some(at);
    }

    /// True if a timer sends most bursts. `is_far` is true if the sender is known to answer later than
    /// [`ANSWER`].
    pub(super) fn is_paced(&self, is_far: bool) -> bool {
        let total = self.answers + self.unasked;
        let is_late = is_far && self.answers_from_afar();
        total >= MIN_PACKETS && self.unasked * 2 > total && !is_late
    }

    /// True if nearly all bursts answer an ACK: no timer paces them.
    pub(super) fn is_clocked_by_acks(&self, is_far: bool) -> bool {
        self.unasked * 10 < self.answers || is_far && self.answers_from_afar()
    }

    /// True if fewer bursts follow an ACK closely than if the two had nothing to do with each other, so a
    /// sender that cannot answer within [`ANSWER`] answers later.
    ///
    /// A timer that knows nothing of the ACKs hits the time after them by chance, unless the round-trip
    /// time is a multiple of its period.
    pub(super) fn answers_from_afar(&self) -> bool {
        let (Some(first), Some(last)) = (self.since, self.acked_at) else {
            return false;
        };
        let nanos = |span: TimeDelta| u128::from(span.as_nanos().unsigned_abs());
        let bursts = u128::from(self.answers + self.unasked);
        let by_chance = bursts * nanos(self.answer_time) / nanos(last - first).max(1);
        by_chance >= MIN_BY_CHANCE && u128::from(self.answers) * RARER < by_chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts this long after each ACK, which come every 10 ms, and this much later each time.
    fn sent(after_micros: i64, drift_micros: i64) -> Pacing {
        let mut pacing = Pacing::default();
        let micros = |micros: i64| Timestamp::from_nanos(micros * 1_000);
        let mut events: Vec<(i64, bool)> = (0..1_000)
            .flat_map(|turn| {
                let acked = turn * 10_000;
                [
                    (acked, true),
                    (acked + after_micros + turn * drift_micros, false),
                ]
            })
            .collect();
        events.sort_unstable();
        for (at, is_ack) in events {
            if is_ack {
                pacing.on_ack(micros(at), false);
            } else {
                pacing.send(micros(at));
            }
        }
        pacing
    }

    #[test]
    fn a_sender_that_answers_acks_at_once_or_from_afar_is_not_paced() {
        for after_micros in [10, 299, 301, 1_500, 3_000, 9_000] {
            let is_far = after_micros >= 300;
            let pacing = sent(after_micros, 0);
            assert!(!pacing.is_paced(is_far), "{after_micros}");
            assert!(pacing.is_clocked_by_acks(is_far), "{after_micros}");
        }
    }

    #[test]
    fn a_sender_that_could_answer_at_once_and_does_not_is_paced() {
        // If the round-trip time is a multiple of its period, a timer follows each ACK by the same time.
        assert!(sent(3_000, 0).is_paced(false));
    }

    #[test]
    fn answers_to_acks_that_report_gaps_do_not_count() {
        let mut pacing = sent(4_000, 77);
        let micros = |turn: i64, micros: i64| {
            Timestamp::from_nanos((20_000_000 + turn * 10_000 + micros) * 1_000)
        };
        for turn in 0..10_000 {
            pacing.on_ack(micros(turn, 0), true);
            pacing.send(micros(turn, 10));
        }
        assert!(pacing.is_paced(false));
    }

    #[test]
    fn a_timer_that_knows_nothing_of_the_acks_is_paced() {
        // Each burst is at another place between two ACKs.
        for drift_micros in [7, 77, -13] {
            let pacing = sent(4_000, drift_micros);
            for is_far in [false, true] {
                assert!(pacing.is_paced(is_far), "{drift_micros}");
                assert!(!pacing.is_clocked_by_acks(is_far), "{drift_micros}");
            }
        }
    }
}
