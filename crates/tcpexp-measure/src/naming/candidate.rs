//! One candidate: a control's rules, replayed on what the sender saw, and how far they are off.

use super::control::Control;
use super::likelihood::Likelihood;
use super::rules::{Ack, Duplicate, Rule};
use crate::sender::Phase;

/// Greatest error that counts: beyond it, a prediction is wrong, however far.
const MOST: f64 = 4.0;
/// Part of a window by which reconstruction and replay may differ: super-packets leave up to 1.6 %
/// of the window unfilled (measured at 100 Mbit/s).
const BLUR_PART: f64 = 0.02;
/// Maximum weight of a round trip: later ones show more of the shape, up to a point.
const MOST_WEIGHT: u32 = 16;

/// A control's rules in the course of a flow.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) control: Control,
    rule: Box<dyn Rule>,
    cwnd: u32,
    threshold: u32,
    /// The ACK that ended the recovery from the latest loss, until the next ACK.
    ended: Option<Ack>,
    /// Window after that ACK.
    grown: Option<u32>,
    growth: Mean,
    reductions: Mean,
    settlements: Mean,
    likelihood: Likelihood,
}

/// A weighted mean.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    fn value(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

impl Candidate {
    pub(super) fn new((control, rule): (Control, Box<dyn Rule>)) -> Self {
        Self {
            control,
            rule,
            cwnd: 0,
            threshold: 0,
            ended: None,
            grown: None,
            growth: Mean::default(),
            reductions: Mean::default(),
            settlements: Mean::default(),
            likelihood: Likelihood::default(),
        }
    }

    /// Replays an ACK; the window grows only if `grows`.
    pub(super) fn acknowledge(&mut self, ack: &Ack, grows: bool) {
        self.ended = None;
        self.rule.observe(ack);
        if grows {
            self.cwnd = self.rule.grow(self.cwnd, ack).max(1);
        }
    }

    /// Replays an ACK in slow start.
    pub(super) fn start(&mut self, cwnd: u32, ack: &Ack) {
        self.rule.start(cwnd, ack);
    }

    /// Replays an ACK that acknowledges nothing cumulatively.
    pub(super) fn duplicate(&mut self, ack: &Duplicate) {
        self.rule.observe_duplicate(ack);
    }

    /// Begins congestion avoidance with an observed window.
    pub(super) fn begin(&mut self, cwnd: u32) {
        self.follow(cwnd);
        self.rule.begin();
        if let Some(ack) = self.ended.take() {
            self.count(cwnd, &ack);
        }
    }

    /// Counts what the ACK that ended a recovery delivered towards the next segment, if the window after it
    /// is as predicted.
    fn count(&mut self, cwnd: u32, ack: &Ack) {
        let settled = self.rule.settle(self.threshold);
        for before in [settled, cwnd] {
            let mut rule = self.rule.replica();
            if rule.grow(before, ack) == cwnd {
                self.rule = rule;
                return;
            }
        }
    }

    /// Compares the window after a recovery that set `threshold`.
    pub(super) fn settle(&mut self, threshold: u32, cwnd: u32) {
        let predicted = self.rule.settle(threshold);
        self.settlements.add(error(predicted, cwnd), 1.0);
        self.likelihood.reduce(predicted, cwnd);
    }

    /// Takes over an observed window, without a new beginning.
    pub(super) fn follow(&mut self, cwnd: u32) {
        self.cwnd = cwnd;
        self.likelihood.align();
    }

    /// Compares the predicted with the observed window, in the round trip `round` since they were
    /// equal.
    pub(super) fn compare(&mut self, cwnd: u32, round: u32) {
        let weight = f64::from(round.min(MOST_WEIGHT));
        self.growth.add(error(self.cwnd, cwnd), weight);
        self.likelihood.grow(self.cwnd, cwnd);
    }

    /// Predicts the threshold at a loss or a congestion echo in an observed window; it begins `phase`.
    pub(super) fn lose(&mut self, cwnd: u32, phase: Option<Phase>) {
        self.threshold = match phase {
            Some(Phase::WindowReduction) => self.rule.reduce_at_echo(cwnd),
            _ => self.rule.reduce(cwnd),
        };
        self.grown = None;
        if phase == Some(Phase::LossRecovery) {
            self.rule.time_out();
        }
    }

    /// Predicts the threshold at a loss in the window that the recovery before left.
    pub(super) fn lose_again(&mut self, phase: Option<Phase>) {
        let cwnd = self.rule.settle(self.threshold);
        self.lose(cwnd, phase);
    }

    /// Predicts the window after the ACK that ended a recovery.
    pub(super) fn end_recovery(&mut self, ack: &Ack) {
        // The sender may undo the recovery, so the rule itself stays as it is.
        let mut rule = self.rule.replica();
        rule.begin();
        self.grown = Some(rule.grow(self.rule.settle(self.threshold), ack));
        self.ended = Some(*ack);
    }

    /// Compares the predicted with the observed threshold.
    pub(super) fn compare_threshold(&mut self, threshold: u32) {
        // The flight after a recovery shows the window, which the ACK that ended the recovery has grown.
        let settled = self.rule.settle(self.threshold);
        let predicted = self.grown.unwrap_or(settled);
        self.reductions.add(error(predicted, threshold), 1.0);
        self.likelihood.reduce(predicted, threshold);
    }

    /// Replays a cut without a loss, and compares it with the prediction if `after` is known.
    pub(super) fn cut(&mut self, before: u32, after: Option<u32>) {
        let predicted = self.rule.cut(before).unwrap_or(self.cwnd);
        if let Some(after) = after {
            self.reductions.add(error(predicted, after), 1.0);
            self.likelihood.reduce(predicted, after);
        }
    }

    pub(super) fn fit(&self) -> Fit {
        Fit {
            control: self.control,
            growth: self.growth.value(),
            // Most controls agree on what follows a recovery, so these errors would dilute the
            // others in a common mean.
            reductions: greater(self.reductions.value(), self.settlements.value()),
            missed_cuts: self.rule.missed_cuts(),
            log_odds: 0.0,
            likelihood: self.likelihood,
        }
    }
}

/// The mean errors of a control's predictions.
///
/// Unit: the uncertainty of an observed window, 1 segment and 2 % of the window, beyond one segment
/// of rounding; at most 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The control.
    pub control: Control,
    /// Error of the predicted growth; `None` if no growth was observed.
    pub growth: Option<f64>,
    /// Error of the predicted reductions; `None` if none was observed.
    pub reductions: Option<f64>,
    /// Number of cuts at rising delay that the control would have made on average, and that did not
    /// happen.
    pub missed_cuts: f64,
    /// Natural logarithm of the odds of the best control against this one, by all observed windows; negative if
    /// only its cuts or the size of its errors rule it out.
    pub log_odds: f64,
    pub(super) likelihood: Likelihood,
}

impl Fit {
    /// The greater of the two errors.
    pub fn error(&self) -> f64 {
        let growth = self.growth.unwrap_or(0.0);
        growth.max(self.reductions.unwrap_or(0.0))
    }
}

fn greater(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn error(predicted: u32, observed: u32) -> f64 {
    let off = f64::from(predicted.abs_diff(observed).saturating_sub(1));
    (off / (1.0 + f64::from(observed) * BLUR_PART)).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naming::rules;

    #[test]
    fn the_ack_that_ends_a_recovery_may_have_grown_the_observed_window() {
        let mut candidates = rules::all().into_iter();
        let illinois = candidates.find(|(control, _)| *control == Control::Illinois);
        let mut candidate = Candidate::new(illinois.unwrap());
        candidate.lose(40, Some(Phase::FastRecovery));
        candidate.end_recovery(&Ack {
            segments: 40,
            is_open: true,
            ..Ack::default()
        });
        // Half of the window, and 20 more: at first, Illinois adds 10 segments per window.
        candidate.compare_threshold(40);
        assert_eq!(candidate.fit().reductions, Some(0.0));
        candidate.compare_threshold(25);
        assert_ne!(candidate.fit().reductions, Some(0.0));
    }
}
