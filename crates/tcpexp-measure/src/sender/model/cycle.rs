//! The gain cycle of BBR: its first phase is random, so all are replayed, and the pacing decides.

use tcpexp_units::{TimeDelta, Timestamp};

/// The pacing gains, in percent (`bbr_pacing_gain`).
pub(super) const GAINS: [u16; 8] = [125, 75, 100, 100, 100, 100, 100, 100];
/// Standard deviation of the logarithm of the observed by the predicted time of sending: timers and
/// bursts. Measured at 2 to 15 Mbit/s.
const SPREAD: f64 = 0.06;
/// Greatest squared error that counts, in units of [`SPREAD`]: the difference of the gains 1 and 1.25.
const MOST_ERROR: f64 = 14.0;
/// Part of the error that is kept from one span to the next, so that about one cycle counts.
const KEPT: f64 = 0.96;
/// Difference of the errors of the two best candidates from which the best is certain: its likelihood
/// is e⁴ = 55 times as great.
const CERTAIN: f64 = 8.0;

/// Most candidates.
pub(super) const MOST_CANDIDATES: usize = 16;
/// Segments by which the flight in the replay may differ from the kernel's: the time of the next
/// departure is uncertain, and a super-packet has two segments.
const FLIGHT_ERROR: u32 = 2;
/// Part of a round trip below which the beginnings of two candidates in the same phase are one.
const SAME: i64 = 4;
/// Error of the best candidate beyond which none of them fits: eight wrong comparisons.
const LOST: f64 = 8.0 * MOST_ERROR;

/// One candidate for the phase of the cycle.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    phase: usize,
    since: Timestamp,
    error: f64,
    /// True if a candidate that ends the phase sooner was added.
    has_split: bool,
}

/// What ends a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) at: Timestamp,
    pub(super) least_rtt: TimeDelta,
    /// Segments in the network before the ACK.
    pub(super) in_flight: u32,
    pub(super) has_lost: bool,
    /// The flights at which the phases with the gains 1.25 and 0.75 end.
    pub(super) full: u32,
    pub(super) drained: u32,
}

/// The candidates for the phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    candidates: Vec<Candidate>,
    /// Changes whenever the candidates are others.
    generation: u32,
}

impl Cycle {
    /// Enters the cycle. It starts in any phase but that of gain 0.75 (`bbr_reset_probe_bw_mode`).
    pub(super) fn begin(&mut self, at: Timestamp) {
        self.generation += 1;
        self.candidates.clear();
        let phases = (0..GAINS.len()).filter(|phase| *phase != 1);
        self.candidates.extend(phases.map(|phase| Candidate {
            phase,
            since: at,
            error: 0.0,
            has_split: false,
        }));
    }

    /// Begins anew if no candidate fits: the phase may be any, and half over.
    fn find_again(&mut self, now: &Progress) {
        let is_lost = self
            .best()
            .is_some_and(|best| self.candidates[best].error > LOST);
        if is_lost {
            let half = TimeDelta::from_nanos(now.least_rtt.as_nanos() / 2);
            let phases =
                (0..GAINS.len()).flat_map(|phase| [(phase, now.at), (phase, now.at - half)]);
            self.generation += 1;
            self.candidates.clear();
            self.candidates
                .extend(phases.map(|(phase, since)| Candidate {
                    phase,
                    since,
                    error: 0.0,
                    has_split: false,
                }));
        }
    }

    /// Moves each candidate on (`bbr_is_next_cycle_phase`).
    pub(super) fn advance(&mut self, now: &Progress) {
        self.find_again(now);
        let mut split = Vec::new();
        for candidate in &mut self.candidates {
            let is_full_length = now.at - candidate.since > now.least_rtt;
            let (took, rtt) = (
                (now.at - candidate.since).as_nanos(),
                now.least_rtt.as_nanos(),
            );
            let (is_nearly, is_late) = (took * 4 > rtt * 3, took > rtt * 2);
            // `may_be_over` is true if the kernel, which counts slightly differently, may have ended the
            // phase.
            let (is_over, may_be_over) = match GAINS[candidate.phase] {
                125 => (
                    is_full_length && (now.has_lost || now.in_flight >= now.full),
                    is_nearly && now.in_flight + FLIGHT_ERROR >= now.full || is_late,
                ),
                75 => (
                    is_full_length || now.in_flight <= now.drained,
                    now.in_flight <= now.drained + FLIGHT_ERROR,
                ),
                _ => (is_full_length, false),
            };
            let next = Candidate {
                phase: (candidate.phase + 1) % GAINS.len(),
                since: now.at,
                error: candidate.error,
                has_split: false,
            };
            if is_over {
                *candidate = next;
            } else if may_be_over && !candidate.has_split {
                candidate.has_split = true;
                split.push(Candidate {
                    // Without other evidence, the replay is right.
                    error: candidate.error + CERTAIN,
                    ..next
                });
            }
        }
        if !split.is_empty() {
            self.candidates.append(&mut split);
            self.merge(now.least_rtt);
        }
    }

    /// Drops each candidate whose phase a better candidate began at nearly the same time, and keeps the
    /// best [`MOST_CANDIDATES`] of the others.
    fn merge(&mut self, least_rtt: TimeDelta) {
        self.candidates.sort_by(|a, b| a.error.total_cmp(&b.error));
        let mut kept: Vec<Candidate> = Vec::with_capacity(MOST_CANDIDATES);
        for candidate in self.candidates.drain(..) {
            let is_known = kept.iter().any(|better| {
                let apart = (better.since - candidate.since).as_nanos().abs();
                better.phase == candidate.phase && apart * SAME < least_rtt.as_nanos()
            });
            if !is_known && kept.len() < MOST_CANDIDATES {
                kept.push(candidate);
            }
        }
        self.candidates = kept;
        self.generation += 1;
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// The phases of all candidates, in order.
    pub(super) fn phases(&self) -> impl Iterator<Item = usize> + '_ {
        self.candidates.iter().map(|candidate| candidate.phase)
    }

    /// Adds the logarithm of the observed by the predicted time of a span, for each candidate in
    /// order.
    pub(super) fn compare(&mut self, ratios: &[f64]) {
        for (candidate, ratio) in self.candidates.iter_mut().zip(ratios) {
            let error = (ratio / SPREAD).powi(2).min(MOST_ERROR);
            candidate.error = candidate.error * KEPT + error;
        }
    }

    /// Place of the best candidate.
    pub(super) fn best(&self) -> Option<usize> {
        let places = 0..self.candidates.len();
        places.min_by(|a, b| {
            let error = |place: usize| self.candidates[place].error;
            error(*a).total_cmp(&error(*b))
        })
    }

    /// The phase, if the pacing shows it.
    pub(super) fn phase(&self) -> Option<usize> {
        let best = self.candidates[self.best()?];
        let mut others = self.candidates.iter().filter(|c| c.phase != best.phase);
        others
            .all(|other| other.error - best.error >= CERTAIN)
            .then_some(best.phase)
    }

    /// The pacing gain in percent, if all candidates that are not ruled out agree on it.
    pub(super) fn gain_percent(&self) -> Option<u16> {
        let best = self.candidates[self.best()?];
        let gain = GAINS[best.phase];
        let agree = self
            .candidates
            .iter()
            .filter(|other| other.error - best.error < CERTAIN)
            .all(|other| GAINS[other.phase] == gain);
        agree.then_some(gain)
    }
}
