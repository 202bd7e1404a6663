//! Detects a sender that sends by its own clock instead of in response to ACKs.

use tcpexp_units::{TimeDelta, Timestamp};

use crate::vantage::ANSWER;

/// Packets less than this apart are one burst.
const BURST: TimeDelta = TimeDelta::from_micros(100);
/// Minimum number of bursts for a decision.
const MIN_BURSTS: u64 = 200;
/// A sender whose bursts follow an ACK this many times less often than by chance answers from afar.
const RARER: u128 = 4;
/// Least number of bursts expected by chance for this decision. If eight are expected, one sender in 330
/// has none or one (Poisson distribution).
const MIN_BY_CHANCE: u128 = 8;

/// Times after an ACK in which bursts are compared with chance. Where ACKs arrive every 0.1 to 1 ms, any
/// burst follows an ACK within [`ANSWER`], so only shorter times show whether the burst answers the ACK.
const AFTER: [TimeDelta; 3] = [
    ANSWER,
    TimeDelta::from_micros(100),
    TimeDelta::from_micros(30),
];
/// Least and greatest share of the watched time, in percent, that the times after ACKs may take for the
/// comparison: above it, chance and answers differ too little; below it, a slow host may answer later.
const COMPARED_PERCENT: (u128, u128) = (5, 80);
/// Least number of bursts by chance for the comparison: its standard deviation is at most 10 %.
const MIN_COMPARED: u128 = 100;
/// Bursts that a timer sends reach at least this share of the number expected by chance. A host that
/// always answers later than the compared time has fewer.
const LEAST_OF_CHANCE: (u128, u128) = (3, 5);

/// Counts bursts soon after an ACK, and other bursts, while no ACK reports gaps.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    acked_at: Option<Timestamp>,
    sent: Option<Timestamp>,
    /// True if the latest ACK reports gaps.
    is_repairing: bool,
    /// Bursts after the first ACK, and the time in which they were counted.
    bursts: u64,
    watched: TimeDelta,
    /// In the order of [`AFTER`].
    after: [After; 3],
}

/// The bursts within a time after an ACK, and the total of these times.
#[derive(Clone, Copy, Debug, Default)]
struct After {
    bursts: u64,
    time: TimeDelta,
}

impl Pacing {
    #[inline]
    pub(super) fn on_ack(&mut self, at: Timestamp, reports_gaps: bool) {
        let acked_at = self.acked_at.replace(at);
        if let Some(acked_at) = acked_at.filter(|_| !self.is_repairing) {
            let gap = (at - acked_at).max(TimeDelta::ZERO);
            self.watched += gap;
            for (after, most) in self.after.iter_mut().zip(AFTER) {
                after.time += gap.min(most);
            }
        }
        self.is_repairing = reports_gaps;
    }

    #[inline]
    pub(super) fn send(&mut self, at: Timestamp) {
        let is_burst = self.sent.is_some_and(|sent| at - sent < BURST);
        // A burst has one cause, so only its first packet counts. In a recovery, a sender that paces answers ACKs too, as
        // it sends no more than they acknowledge (packet conservation; RFC 6937).
        if !is_burst
            && !self.is_repairing
            && let Some(acked_at) = self.acked_at
        {
            self.bursts += 1;
            for (after, most) in self.after.iter_mut().zip(AFTER) {
                after.bursts += u64::from(at - acked_at < most);
            }
        }
        self.sent = Some(at);
    }

    /// True if a timer sends most bursts. `is_far` is true if the sender is known to answer later than
    /// [`ANSWER`].
    pub(super) fn is_paced(&self, is_far: bool) -> bool {
        let is_late = is_far && self.answers_from_afar();
        let is_unasked = self.answers() * 2 < self.bursts && !is_late;
        self.bursts >= MIN_BURSTS && (is_unasked || self.ignores_acks())
    }

    /// True if most bursts are independent of the ACKs before them.
    ///
    /// Of all bursts, a share c answers ACKs within a short time, and the others are within this time by chance p: the
    /// share within it is q = c + (1 - c) p, so c = (q - p) / (1 - p). The shortest time that the sender needs for an
    /// answer is not known, so c must be small for each time.
    fn ignores_acks(&self) -> bool {
        let all = u128::from(self.bursts);
        let mut is_most_unasked = false;
        for after in self.after {
            let by_chance = self.by_chance(after.time);
            let (least, most) = COMPARED_PERCENT;
            let is_compared = (least * all..=most * all).contains(&(by_chance * 100));
            if !is_compared || by_chance < MIN_COMPARED {
                continue;
            }
            let within = u128::from(after.bursts);
            let (part, whole) = LEAST_OF_CHANCE;
            // Two thirds of the bursts or more answer.
            if within * whole < by_chance * part || within * 3 >= 2 * all + by_chance {
                return false;
            }
            is_most_unasked |= within * 2 < all + by_chance;
        }
        is_most_unasked
    }

    /// True if nearly all bursts answer an ACK: no timer paces them.
    pub(super) fn is_clocked_by_acks(&self, is_far: bool) -> bool {
        let unasked = self.bursts - self.answers();
        unasked * 10 < self.answers() && !self.ignores_acks() || is_far && self.answers_from_afar()
    }

    /// True if fewer bursts closely follow an ACK than if bursts were independent of ACKs. This shows a
    /// sender that cannot answer within [`ANSWER`] and answers later.
    ///
    /// A timer that is independent of the ACKs hits the time after them by chance, unless the
    /// round-trip time is a multiple of its period.
    pub(super) fn answers_from_afar(&self) -> bool {
        let by_chance = self.by_chance(self.after[0].time);
        by_chance >= MIN_BY_CHANCE && u128::from(self.answers()) * RARER < by_chance
    }

    /// Number of bursts within [`ANSWER`] of an ACK.
    const fn answers(&self) -> u64 {
        self.after[0].bursts
    }

    /// Number of bursts that are by chance within this part of the watched time.
    fn by_chance(&self, part: TimeDelta) -> u128 {
        let nanos = |span: TimeDelta| u128::from(span.as_nanos().unsigned_abs());
        u128::from(self.bursts) * nanos(part) / nanos(self.watched).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts this long after each ACK, which come every 10 ms, and this much later each time.
    fn sent(after_micros: i64, drift_micros: i64) -> Pacing {
        let turns = (0..1_000).map(|turn| turn * 10_000 + after_micros + turn * drift_micros);
        seen(10_000, turns)
    }

    /// Bursts at these times, and ACKs at this distance until the last of them.
    fn seen(acks_every_micros: i64, bursts_micros: impl Iterator<Item = i64>) -> Pacing {
        let bursts: Vec<i64> = bursts_micros.collect();
        let end = bursts.iter().copied().max().unwrap();
        let acks = (0..=end / acks_every_micros).map(|turn| (turn * acks_every_micros, true));
        let mut events: Vec<(i64, bool)> = acks.collect();
        events.extend(bursts.into_iter().map(|at| (at, false)));
        events.sort_unstable();
        let mut pacing = Pacing::default();
        for (at, is_ack) in events {
            let at = Timestamp::from_nanos(at * 1_000);
            if is_ack {
                pacing.on_ack(at, false);
            } else {
                pacing.send(at);
            }
        }
        pacing
    }

    /// The distance of ACKs at 100 Mbit/s, one for two segments.
    const FAST_MICROS: i64 = 240;

    #[test]
    fn a_timer_between_acks_of_a_fast_path_is_paced() {
        for period_micros in [120, 121, 238, 243, 480] {
            let pacing = seen(FAST_MICROS, (0..20_000).map(|turn| turn * period_micros));
            // A period that divides the distance of the ACKs keeps its place between them.
            let is_apart = FAST_MICROS % period_micros != 0 && period_micros % FAST_MICROS != 0;
            assert_eq!(pacing.is_paced(false), is_apart, "{period_micros}");
        }
    }

    #[test]
    fn answers_on_a_fast_path_are_not_paced_however_long_the_sender_takes() {
        for after_micros in [5, 20, 40, 90, 120, 150, 200, 230] {
            let answers = (0..20_000).map(|turn| turn * FAST_MICROS + after_micros);
            let pacing = seen(FAST_MICROS, answers);
            assert!(!pacing.is_paced(false), "{after_micros}");
        }
        // From 50 to 250 us after ACKs that come every 0.5 or 1 ms.
        for every in [500, 1_000] {
            let answers = (0..20_000).map(|turn| turn * every + 50 + turn * 37 % 200);
            assert!(!seen(every, answers).is_paced(false), "{every}");
        }
    }

    #[test]
    fn a_timer_is_paced_although_some_bursts_answer() {
        // A third of the time, as at the start of a connection, ACKs release the data.
        let answers = (0..5_000).map(|turn| turn * FAST_MICROS + 15);
        let timer = (0..10_000).map(|turn| 5_000 * FAST_MICROS + turn * 247);
        assert!(seen(FAST_MICROS, answers.chain(timer)).is_paced(false));
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
    fn a_timer_independent_of_the_acks_is_paced() {
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
