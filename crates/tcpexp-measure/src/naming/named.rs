//! The answer: a control, or the reason why it is not certain.

use tcpexp_flow::{Direction, FlowId};

use super::candidate::Fit;
use super::control::Control;
use super::model::ModelWatch;
use crate::Position;
use crate::sender::{CongestionFamily, SenderSummary};

/// Greatest error of a control that fits. In the development half, that of the true control was at
/// most 0.03 at the sender.
const FITS: f64 = 0.15;
/// Least error of a control that is ruled out, with few observations and with many. In between, it
/// falls with the square root of their number, as the uncertainty of a mean does.
const RULED_OUT: (f64, f64) = (1.0, 0.25);
/// Number of observed reductions up to which the first of the two applies.
const FEW_REDUCTIONS: f64 = 4.0;
/// Number of observed round trips up to which the first of the two applies. Round trips of one
/// epoch depend on each other, so more of them are needed.
const FEW_ROUNDS: f64 = 40.0;
/// Minimum ratio between the error of an excluded control and the error of the best control.
const MIN_RATIO: f64 = 2.5;
/// Least number of round trips in congestion avoidance with a filled window.
const MIN_ROUNDS: u32 = 20;
/// Number of cuts at rising delay that did not happen, from which a control is ruled out: by
/// chance, this happens once in 400 flows.
const MOST_MISSED: f64 = 6.0;
/// Least share of ACKs with a filled window, in percent.
const MIN_FILLED_PERCENT: u64 = 30;
/// Least number of probes of the round-trip time for BBR.
const MIN_PROBES: u32 = 1;

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
    /// The capture is not the sender's, and the control that fits depends on round-trip times, which
    /// only the sender measures.
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
    /// Segments in the network when the first full segment was acknowledged: the initial window, or
    /// less if the application had less to send, or more if acknowledgments of smaller segments had
    /// grown it. `None` if the capture began later.
    pub initial_window_segments: Option<u32>,
    /// How the first slow start ended; `None` if it did not end.
    pub slow_start_exit: Option<SlowStartExit>,
    /// The latest window outside of recoveries.
    pub(super) latest_cwnd: Option<u32>,
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
        fits.sort_by(|a, b| {
            let by_cuts = is_missing_cuts(a).cmp(&is_missing_cuts(b));
            by_cuts.then(a.error().total_cmp(&b.error()))
        });
        if evidence.rounds == 0 {
            fits.clear();
        }
        let candidates = fits.first().filter(|best| is_fitting(best)).map(|best| {
            let left = fits
                .iter()
                .filter(|fit| !is_ruled_out(fit, best, &evidence));
            left.map(|fit| fit.control).collect()
        });
        let candidates: Vec<Control> = candidates.unwrap_or_default();
        Self {
            flow: summary.flow,
            direction: summary.direction,
            answer: answer(summary, &candidates, &evidence, model),
            fits,
            candidates,
            evidence,
        }
    }
}

fn is_missing_cuts(fit: &Fit) -> bool {
    fit.missed_cuts > MOST_MISSED
}

fn is_fitting(fit: &Fit) -> bool {
    !is_missing_cuts(fit) && fit.error() <= FITS
}

/// True if `fit` is clearly worse than `best`.
fn is_ruled_out(fit: &Fit, best: &Fit, evidence: &Evidence) -> bool {
    let reductions = evidence.reductions + evidence.lossless_cuts;
    is_missing_cuts(fit)
        || is_worse(
            fit.growth,
            best.growth,
            f64::from(evidence.rounds) / FEW_ROUNDS,
        )
        || is_worse(
            fit.reductions,
            best.reductions,
            f64::from(reductions) / FEW_REDUCTIONS,
        )
}

/// True if an error rules a control out beside that of the best, where `more` is the number of
/// observations by the number that counts as few.
fn is_worse(error: Option<f64>, best: Option<f64>, more: f64) -> bool {
    let (Some(error), Some(best)) = (error, best) else {
        return false;
    };
    let limit = (RULED_OUT.0 / more.max(1.0).sqrt()).max(RULED_OUT.1);
    error >= limit && error >= MIN_RATIO * best
}

fn answer(
    summary: &SenderSummary,
    candidates: &[Control],
    evidence: &Evidence,
    model: &ModelWatch,
) -> Result<Control, Unnamed> {
    if summary.hint.family == Some(CongestionFamily::ModelBased) {
        return if model.probes >= MIN_PROBES || summary.model_fit.is_some_and(|fit| fit.is_bbr()) {
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
    match candidates {
        [] => Err(Unnamed::NoneFits),
        [control] if is_elsewhere && control.needs_delay() => Err(Unnamed::DelayNotSeen),
        [control] => Ok(*control),
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
