//! The congestion control of a sender as text for a terminal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tcpexp_measure::naming::{Control, Evidence, Fit, Named, Unnamed};
use tcpexp_measure::sender::{CongestionFamily, CongestionHint};

use crate::cells::{count, counted, wrapped};
use crate::remark::words;

/// Range of odds that the text shows as a number.
const LEAST_TIMES: f64 = 2.0;
const MOST_TIMES: f64 = 1e6;
/// Maximum number of candidates in the text.
const MOST_CANDIDATES: usize = 4;
/// From this median on, in percent, reductions hold the window: no rule for losses leaves more than 7/8 of it
/// (Scalable TCP, Illinois), and a few round trips of growth add little.
const HELD_PERCENT: u32 = 95;
/// Least number of reductions for this statement.
const MIN_HELD: u32 = 3;

/// The named senders of a capture: those with the most ACKs, and the number of each control.
#[derive(Clone, Debug)]
pub struct TopControls {
    most: usize,
    /// The senders with the most ACKs, and some more.
    kept: Vec<Named>,
    /// Number of senders by control; `None` if it is not certain.
    counts: BTreeMap<Option<&'static str>, u64>,
}

impl TopControls {
    /// Shows at most `most` senders.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Adds a sender.
    pub fn add(&mut self, named: Named) {
        let control = named.answer.ok().map(Control::name);
        *self.counts.entry(control).or_default() += 1;
        self.kept.push(named);
        // A sort of twice the senders makes its cost per sender small.
        if self.kept.len() > 2 * self.most {
            self.select();
        }
    }

    fn select(&mut self) {
        let order = |named: &Named| (named.flow, named.direction.index());
        self.kept.sort_by(|a, b| {
            let by_acks = b.evidence.acks.cmp(&a.evidence.acks);
            by_acks.then(order(a).cmp(&order(b)))
        });
        self.kept.truncate(self.most);
    }

    /// Formats one line per sender, for a terminal of `width` columns, after a line with the number of
    /// senders of each control.
    pub fn into_text(mut self, width: usize) -> String {
        self.select();
        let all: u64 = self.counts.values().sum();
        if all == 0 {
            return "no TCP sender whose data was acknowledged\n".to_owned();
        }
        let mut counts: Vec<_> = self.counts.into_iter().collect();
        // The most frequent first, and those without a name last.
        counts.sort_by_key(|(control, number)| (control.is_none(), Reverse(*number)));
        let counts = counts.into_iter().map(|(control, number)| {
            let control = control.unwrap_or("not certain");
            format!("{} {control}", count(number, usize::MAX))
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        let total = format!("congestion control of {}: {counts}", counted(all, "sender"));
        let lines = self.kept.iter().flat_map(|named| {
            let (flow, direction) = (named.flow, named.direction.name());
            wrapped(
                &words(&format!("{flow} {direction}: {}", named_control(named))),
                width,
            )
        });
        let total = wrapped(&words(&total), width);
        let lines = total.into_iter().chain(lines);
        lines.map(|line| line + "\n").collect()
    }
}

/// The named congestion control with its evidence, or why there is no certain name.
pub(crate) fn named_control(named: &Named) -> String {
    let compared = compared(&named.evidence);
    match named.answer {
        Ok(Control::Bbr) => format!("bbr{}: paces by BBR's rules", confidence(named)),
        Ok(control) => {
            let name = format!("{}{}", control.name(), confidence(named));
            match named.fits.as_slice() {
                [best, second, ..] => {
                    let [error, other] = [best, second].map(fit);
                    let odds = less_likely(second);
                    format!("{name}: {compared}; error {error}, next {other}{odds}")
                }
                _ => format!("{name}: {compared}"),
            }
        }
        Err(Unnamed::SeveralFit) => {
            let left = few_names(&named.candidates);
            format!("not certain, several_fit: {compared}; not ruled out: {left}")
        }
        Err(reason) => format!("not certain, {}: {compared}", reason.name()),
    }
}

/// The confidence in a name, in percent.
fn confidence(named: &Named) -> String {
    let percent = named.confidence.map(|confidence| confidence * 100.0);
    percent.map_or_else(String::new, |percent| format!(" ({percent:.0} %)"))
}

/// How much less likely the control is than the best one, if the windows show it.
fn less_likely(fit: &Fit) -> String {
    let times = fit.log_odds.exp();
    if times >= MOST_TIMES {
        ", over a million times less likely".to_owned()
    } else if times >= LEAST_TIMES {
        format!(", {times:.0} times less likely")
    } else {
        String::new()
    }
}

/// The first names of some controls, and the number of the rest.
fn few_names(controls: &[Control]) -> String {
    let shown = controls.len().min(MOST_CANDIDATES);
    let names = controls[..shown].iter().map(|control| control.name());
    let names = names.collect::<Vec<_>>().join(", ");
    match controls.len() - shown {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn compared(evidence: &Evidence) -> String {
    let Evidence {
        rounds, reductions, ..
    } = evidence;
    format!("{rounds} round trips and {reductions} reductions compared")
}

fn fit(fit: &Fit) -> String {
    format!("{} {:.2}", fit.control.name(), fit.error())
}

/// The likely congestion control, or why it remains undecided.
pub(crate) fn likely_control(hint: &CongestionHint, model_window: Option<u32>) -> String {
    let times = |n: u32, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let reductions = || {
        let median = hint.reduction_percent.unwrap_or_default();
        format!(
            "{} of a full window, median to {median} %",
            times(hint.reductions, "reduction")
        )
    };
    match hint.family {
        Some(family) => {
            let evidence = match family {
                CongestionFamily::DelayBased if hint.lossless_reductions > 0 => format!(
                    ": {} without a loss",
                    times(hint.lossless_reductions, "reduction")
                ),
                CongestionFamily::DelayBased => ": holds its window, no loss".to_owned(),
                // The window of BBR is two bandwidth-delay products (`bbr_cwnd_gain` of Linux).
                CongestionFamily::ModelBased => model_window.map_or(String::new(), |segments| {
                    format!(
                        "; 2 x rate x least RTT = {}",
                        counted(segments.into(), "segment")
                    )
                }),
                _ => format!(": {}", reductions()),
            };
            format!("may be {}{evidence}", family.title())
        }
        None if hint.reductions == 0 => "unknown: no reduction of a full window".to_owned(),
        None if hint.reductions == 1 => format!("unknown: only {}", reductions()),
        None if hint.reductions >= MIN_HELD
            && hint
                .reduction_percent
                .is_some_and(|median| median >= HELD_PERCENT) =>
        {
            // A receiver does not always see that BBR paces.
            format!(
                "unknown: {}, as with BBR, whose window is larger than this, or Westwood+",
                reductions()
            )
        }
        None => format!("unknown: {} fit no rule", reductions()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_that_hold_the_window_may_be_those_of_bbr() {
        let hint = |reductions, percent| CongestionHint {
            reduction_percent: Some(percent),
            reductions,
            ..CongestionHint::default()
        };
        assert_eq!(
            likely_control(&hint(3, 99), None),
            "unknown: 3 reductions of a full window, median to 99 %, as with BBR, whose window is larger than this, or \
             Westwood+"
        );
        let doubtful = "unknown: 2 reductions of a full window, median to 99 % fit no rule";
        assert_eq!(likely_control(&hint(2, 99), None), doubtful);
    }
}
