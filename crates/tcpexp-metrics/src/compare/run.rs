//! Reduces one run to a value per measure for each class of traffic.

use std::sync::Arc;

use tcpexp_units::TimeDelta;

use super::measures::Values;
use super::senders::{Run, Sender};
use super::window::{Grid, Window};
use super::{delays, rates, response, sharing};
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

/// The values of one class in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRun {
    /// The class; `None` for all classes together.
    pub class: Option<Arc<str>>,
    /// Number of senders.
    pub senders: u64,
    /// Transfers whose end was not planned: all, and those that ended.
    pub transfers: [u64; 2],
    /// A value per measure.
    pub values: Values,
}

/// Senders measured together.
pub(super) struct Group<'a> {
    pub(super) run: &'a Run,
    pub(super) options: &'a Options,
    pub(super) class: Option<Arc<str>>,
    pub(super) senders: Vec<&'a Sender>,
    /// From the first sender's start (or the end of the warm-up) to the last sender's end.
    pub(super) window: Window,
    /// The run's bins; `None` without a capture and for probes.
    pub(super) grid: Option<Grid>,
}

/// The values of a run: first of all classes together, then of each class in order of appearance.
///
/// Empty for a run without senders.
pub fn measure_run(run: &Run, options: &Options) -> Vec<ClassRun> {
    let mut classes: Vec<Option<&Arc<str>>> = vec![None];
    for sender in &run.senders {
        if !classes.contains(&Some(&sender.class)) {
            classes.push(Some(&sender.class));
        }
    }
    let group = |class| Group::of(run, options, class);
    classes
        .into_iter()
        .filter_map(group)
        .map(|group| group.measured())
        .collect()
}

impl<'a> Group<'a> {
    fn of(run: &'a Run, options: &'a Options, class: Option<&Arc<str>>) -> Option<Self> {
        let is_in = |sender: &&Sender| match class {
            Some(class) => sender.class == *class,
            None => !sender.is_probe,
        };
        let senders: Vec<&Sender> = run.senders.iter().filter(is_in).collect();
        let active = senders.iter().map(|sender| sender.active);
        let mut window = active.reduce(Window::span_with)?;
        window.from = window.from.max(run.origin + options.warmup);
        let arrived = run.senders.iter().flat_map(|sender| &sender.arrived);
        let sends = senders.iter().any(|sender| !sender.is_probe);
        Some(Self {
            run,
            options,
            class: class.map(Arc::clone),
            senders,
            window,
            grid: Grid::of(arrived).filter(|_| sends),
        })
    }

    fn measured(&self) -> ClassRun {
        let mut values = Values::default();
        rates::measure(self, &mut values);
        delays::measure(self, &mut values);
        sharing::measure(self, &mut values);
        response::measure(self, &mut values);
        let transfers = || self.senders.iter().flat_map(|sender| &sender.transfers);
        let ended = transfers().filter(|transfer| transfer.completion.is_some());
        ClassRun {
            class: self.class.clone(),
            senders: self.senders.len() as u64,
            transfers: [transfers().count() as u64, ended.count() as u64],
            values,
        }
    }

    /// The property that all senders share; `None` if they differ.
    pub(super) fn common<T: PartialEq>(&self, of: impl Fn(&Sender) -> Option<T>) -> Option<T> {
        let mut all = self.senders.iter().map(|sender| of(sender));
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first))
            .then_some(first)
    }
}
