//! The answer: a control, or the reason why it is not certain.

use tcpexp_flow::{Direction, FlowId};

use super::candidate::Fit;
use super::control::Control;
use super::model::ModelWatch;
use crate::Position;
use crate::sender::{CongestionFamily, SenderSummary};

/// Greatest error of a control that fits. On the development paths, the error of the true control was 0
/// in the median and at most 0.43 in 95 of 100 answers; super-packets and lost retransmissions blur
/// windows.
const FITS: f64 = 0.5;
/// Greatest error of a control that fits where all others are clearly worse: at a receiver, the times of the
/// ACKs at the sender are uncertain.
const FITS_ALONE: f64 = 1.0;
/// Natural logarithm of the best control's odds against a control that is clearly worse.
const CLEAR_ODDS: f64 = 25.0;
/// Least mean error that alone rules a control out, if the best control fits.
const FAR: f64 = 1.0;
/// Least number of round trips in congestion avoidance with a filled window.
const MIN_ROUNDS: u32 = 20;
/// Number of cuts at rising delay that did not happen, from which a control is ruled out: by
/// chance, this happens once in 400 flows.
const MOST_MISSED: f64 = 6.0;
/// Least share of ACKs with a filled window, in percent.
const MIN_FILLED_PERCENT: u64 = 30;
/// Least number of probes of the round-trip time for BBR.
const MIN_PROBES: u32 = 1;

/// Prior probability of TCP-LP relative to Reno. Both send the same until TCP-LP backs off. This
/// value is an assumption, not a measurement: TCP-LP is for background transfers and must be
/// selected, and no census of the Internet found it (Mishra et al., SIGMETRICS 2019, found Reno on
/// 0.8 % of the servers).
const LP_PRIOR: f64 = 0.05;
/// Part of the observations that count as independent of each other, because a disturbance of one
/// window also disturbs the next.
const INDEPENDENT: f64 = 0.5;
/// Number of ranking rounds; after two or three rounds, the order no longer changes.
const RANKINGS: usize = 4;
/// Natural logarithm of the best control's odds against a control at the threshold of being ruled out.
const RULED_OUT_ODDS: f64 = 4.0;
/// Share by which an error of [`FITS`] lowers the confidence: another control, which is not on the list,
/// may fit better. On the development paths, 11 of 211 answers with an error of 0.05 and more are wrong,
/// and 5 of 724 others.
const BAD_FIT: f64 = 0.05;
/// Greatest confidence. Of 782 answers on the development paths that this value limits, 5 are wrong,
/// not counting answers of Reno for TCP-LP.
const MOST_CONFIDENCE: f64 = 0.99;
/// Confidence in BBR by its probes of the round-trip time alone: a later version probes too.
const PROBES_CONFIDENCE: f64 = 0.9;

/// Why a sender has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unnamed {
    /// Neither the sender's end was captured nor did timestamps show its order of events.
    NotSeen,
    /// The sender paces its packets, and nothing else shows that it is BBR.
    Paced,
    /// The receiver's window limits the sender.
    ReceiverLimited,
    /// The application sends less than the window allows.
    ApplicationLimited,
    /// Too few round trips in congestion avoidance.
    TooShort,
    /// The control that fits depends on round-trip times, and the capture, which is not the sender's,
    /// does not show most of them.
    DelayNotSeen,
    /// Several controls would have sent the same.
    SeveralFit,
    /// No known control would have sent this.
    NoneFits,
}

impl Unnamed {
    /// All variants.
    pub const ALL: [Self; 8] = [
        Self::NotSeen,
        Self::Paced,
        Self::ReceiverLimited,
        Self::ApplicationLimited,
        Self::TooShort,
        Self::DelayNotSeen,
        Self::SeveralFit,
        Self::NoneFits,
    ];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSeen => "not_seen",
            Self::Paced => "paced",
            Self::ReceiverLimited => "receiver_limited",
            Self::ApplicationLimited => "application_limited",
            Self::TooShort => "too_short",
            Self::DelayNotSeen => "delay_not_seen",
            Self::SeveralFit => "several_fit",
            Self::NoneFits => "none_fits",
        }
    }
}

/// How the first slow start ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlowStartExit {
    /// At a loss or a congestion echo.
    Loss,
    /// Without a loss: at rising delay (`HyStart`, RFC 9406; Vegas), or at a known threshold.
    Delay,
}

impl SlowStartExit {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Delay => "delay",
        }
    }
}

/// What the answer rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Number of ACKs.
    pub acks: u64,
    /// Number of ACKs with a filled window or in a recovery.
    pub filled: u64,
    /// Number of ACKs while the receiver's window limited the sender.
    pub receiver_limited: u64,
    /// Number of ACKs of a sender that paces.
    pub paced: u64,
    /// Round trips whose windows were compared.
    pub rounds: u32,
    /// Reductions at losses or congestion echoes that were compared.
    pub reductions: u32,
    /// Reductions in response to congestion echoes.
    pub echo_reductions: u32,
    /// Cuts of the window without a loss.
    pub lossless_cuts: u32,
    /// Segments in the network when the first full segment was acknowledged. This is the initial
    /// window, or less if the application had less to send, or more if acknowledgments of smaller
    /// segments had increased the window. `None` if the capture began later.
    pub initial_window_segments: Option<u32>,
    /// How the first slow start ended; `None` if it did not end.
    pub slow_start_exit: Option<SlowStartExit>,
    /// The latest window outside of recoveries.
    pub(super) latest_cwnd: Option<u32>,
    /// Number of ACKs of new data outside of recoveries, and of those that show a round-trip time.
    pub(super) measuring: u64,
    pub(super) measured: u64,
}

impl Evidence {
    /// True if most ACKs show a round-trip time.
    const fn shows_delay(&self) -> bool {
        self.measured * 2 > self.measuring
    }
}

/// The answer for one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// The control, or why it is not certain.
    pub answer: Result<Control, Unnamed>,
    /// Probability that `answer` is right; `None` without a name.
    pub confidence: Option<f64>,
    /// The fits of the candidates, best first. Empty if nothing was compared.
    pub fits: Vec<Fit>,
    /// The controls that are not ruled out, best first. Empty if none fits.
    pub candidates: Vec<Control>,
    /// What the answer rests on.
    pub evidence: Evidence,
}

impl Named {
    pub(super) fn of(
        summary: &SenderSummary,
        mut fits: Vec<Fit>,
        evidence: Evidence,
        model: &ModelWatch,
    ) -> Self {
        // Of controls that fit equally well, the rare one comes last.
        fits.sort_by_key(|fit| fit.control == Control::Lp);
        rank(&mut fits);
        if evidence.rounds == 0 {
            fits.clear();
        }
        let candidates: Vec<Control> = if fits.first().is_some_and(is_fitting) {
            let left = fits.iter().filter(|fit| !is_ruled_out(fit));
            left.map(|fit| fit.control).collect()
        } else {
            fitting_alone(&fits).into_iter().collect()
        };
        let answer = answer(summary, &candidates, &evidence, model);
        Self {
            flow: summary.flow,
            direction: summary.direction,
            confidence: answer.ok().map(|control| match control {
                Control::Bbr if is_paced_as_bbr(summary) => MOST_CONFIDENCE,
                Control::Bbr => PROBES_CONFIDENCE,
                _ => confidence(&fits),
            }),
            answer,
            fits,
            candidates,
            evidence,
        }
    }
}

/// Sorts the controls, the likeliest first. The off-by-one rate depends on the best control. Each round
/// uses the rate of the previous round's best control; the first round uses the rate of an arbitrary
/// control.
fn rank(fits: &mut [Fit]) {
    for _ in 0..RANKINGS {
        let Some(best) = fits.first().copied() else {
            return;
        };
        let log = |fit: &Fit| fit.likelihood.log(&best.likelihood);
        for fit in &mut *fits {
            fit.log_odds = (log(&best) - log(fit)) * INDEPENDENT;
        }
        fits.sort_by(|a, b| {
            let by_fit = is_fitting(b).cmp(&is_fitting(a));
            let by_cuts = is_missing_cuts(a).cmp(&is_missing_cuts(b));
            by_fit.then(by_cuts).then(a.log_odds.total_cmp(&b.log_odds))
        });
    }
    let best = fits.first().map_or(0.0, |best| best.log_odds);
    for fit in fits {
        fit.log_odds -= best;
    }
}

fn is_missing_cuts(fit: &Fit) -> bool {
    fit.missed_cuts > MOST_MISSED
}

/// True if the predicted windows are wrong in most round trips or after most reductions, even if they
/// change in the same way.
fn is_far(fit: &Fit) -> bool {
    fit.error() >= FAR
}

fn is_fitting(fit: &Fit) -> bool {
    !is_missing_cuts(fit) && fit.error() <= FITS
}

/// The best control if it fits less well, but all others far worse.
fn fitting_alone(fits: &[Fit]) -> Option<Control> {
    let (best, others) = fits.split_first()?;
    let is_alone = others.iter().all(|fit| fit.log_odds >= CLEAR_ODDS);
    let is_fitting = !is_missing_cuts(best) && best.error() <= FITS_ALONE;
    (is_alone && is_fitting).then_some(best.control)
}

/// True if `fit` is clearly worse than the best control.
fn is_ruled_out(fit: &Fit) -> bool {
    is_missing_cuts(fit) || is_far(fit) || fit.log_odds >= RULED_OUT_ODDS
}

/// Probability that the best control is the sender's, computed from the odds against each other
/// control and from the error of the best control.
fn confidence(fits: &[Fit]) -> f64 {
    let Some(best) = fits.first() else {
        return 0.0;
    };
    let prior = |control: Control| {
        if control == Control::Lp {
            LP_PRIOR
        } else {
            1.0
        }
    };
    let left = fits
        .iter()
        .filter(|fit| !is_missing_cuts(fit) && !is_far(fit));
    let weight = |fit: &Fit| prior(fit.control) * (-fit.log_odds.max(0.0)).exp();
    let all: f64 = left.map(weight).sum();
    let known = 1.0 - BAD_FIT * best.error() / FITS;
    (prior(best.control) / all * known).min(MOST_CONFIDENCE)
}

/// True if the observed pacing is that of BBR.
fn is_paced_as_bbr(summary: &SenderSummary) -> bool {
    summary.model_fit.is_some_and(|fit| fit.is_bbr())
}

fn answer(
    summary: &SenderSummary,
    candidates: &[Control],
    evidence: &Evidence,
    model: &ModelWatch,
) -> Result<Control, Unnamed> {
    if summary.hint.family == Some(CongestionFamily::ModelBased) {
        return if model.probes >= MIN_PROBES || is_paced_as_bbr(summary) {
            Ok(Control::Bbr)
        } else {
            Err(Unnamed::Paced)
        };
    }
    if evidence.rounds < MIN_ROUNDS {
        return Err(missing(evidence));
    }
    let is_elsewhere = summary
        .position
        .is_some_and(|position| position != Position::Sender);
    // TCP-LP without a cut of its own is Reno, and rare.
    let is_reno = candidates.contains(&Control::Reno);
    let likely: Vec<Control> = candidates
        .iter()
        .copied()
        .filter(|control| *control != Control::Lp || !is_reno)
        .collect();
    match likely[..] {
        [] => Err(Unnamed::NoneFits),
        [control] if is_elsewhere && control.needs_delay() && !evidence.shows_delay() => {
            Err(Unnamed::DelayNotSeen)
        }
        [control] => Ok(control),
        _ => Err(Unnamed::SeveralFit),
    }
}

/// What kept the window from view.
fn missing(evidence: &Evidence) -> Unnamed {
    if evidence.filled * 100 >= evidence.acks * MIN_FILLED_PERCENT {
        return Unnamed::TooShort;
    }
    if evidence.receiver_limited * 2 > evidence.acks {
        Unnamed::ReceiverLimited
    } else if evidence.acks < u64::from(MIN_ROUNDS) {
        Unnamed::TooShort
    } else {
        Unnamed::ApplicationLimited
    }
}
