//! Senders measured together, and the options of their measures.

use std::sync::Arc;

use tcpexp_units::TimeDelta;

use super::senders::{Run, Sender};
use super::window::{Grid, Window};
use crate::fairness::Settling;

/// The part of a run that counts, and the conditions for settling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Time after the start of traffic that does not count.
    pub warmup: TimeDelta,
    /// Width of the windows of rates and shares over time.
    pub window: TimeDelta,
    /// Tolerated deviation, as a fraction: of a converged flow from an equal share, and of a settled
    /// rate from the capacity.
    pub delta: f64,
    /// How long a settled condition must hold.
    pub hold: TimeDelta,
}

impl Default for Options {
    /// No warm-up, windows of 1 s, a delta of 0.1 held for 5 s. Bansal, Balakrishnan, Floyd, Shenker
    /// (2001) introduced the convergence time with this delta.
    fn default() -> Self {
        Self {
            warmup: TimeDelta::ZERO,
            window: TimeDelta::from_seconds(1),
            delta: 0.1,
            hold: TimeDelta::from_seconds(5),
        }
    }
}

impl Options {
    pub(super) const fn settling(&self) -> Settling {
        Settling {
            window: self.window,
            hold: self.hold,
        }
    }
}

/// Senders measured together.
pub(super) struct Group<'a> {
    pub(super) run: &'a Run,
    pub(super) options: &'a Options,
    pub(super) class: Option<Arc<str>>,
    pub(super) senders: Vec<&'a Sender>,
    /// From the first sender's start (or the end of the warm-up) to the last sender's end.
    pub(super) window: Window,
    /// The run's bins; `None` without a capture, and for probes.
    pub(super) grid: Option<Grid>,
}

impl<'a> Group<'a> {
    pub(super) fn of(run: &'a Run, options: &'a Options, class: Option<&Arc<str>>) -> Option<Self> {
        let is_in = |sender: &&Sender| match class {
            Some(class) => sender.class == *class,
            None => !sender.is_probe,
        };
        let senders: Vec<&Sender> = run.senders.iter().filter(is_in).collect();
        let active = senders.iter().map(|sender| sender.active);
        let mut window = active.reduce(Window::span_with)?;
        window.from = window.from.max(run.origin + options.warmup);
        // All bins of a capture lie on one grid, so a class without bins takes the grid of the
        // others.
        let arrived = run.senders.iter().flat_map(|sender| &sender.arrived);
        let sends = senders.iter().any(|sender| !sender.is_probe);
        Some(Self {
            run,
            options,
            class: class.map(Arc::clone),
            senders,
            window,
            // A grid would give probes a goodput of 0 instead of none.
            grid: Grid::of(arrived).filter(|_| sends),
        })
    }

    /// True if the round-trip times of a sender are unknown because of the position of the capture.
    pub(super) fn is_captured_elsewhere(&self) -> bool {
        self.senders
            .iter()
            .any(|sender| sender.is_captured_elsewhere)
    }

    /// The property that all senders share; `None` if they differ.
    pub(super) fn common<T: PartialEq>(&self, of: impl Fn(&Sender) -> Option<T>) -> Option<T> {
        let mut all = self.senders.iter().map(|sender| of(sender));
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first))
            .then_some(first)
    }
}
