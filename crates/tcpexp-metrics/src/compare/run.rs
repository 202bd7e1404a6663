//! One run to a number of each kind for each class.

use std::sync::Arc;

use tcpexp_units::TimeDelta;

use super::measures::Values;
use super::senders::{Run, Sender};
use super::window::{Grid, Window};
use super::{delays, rates, response, sharing};
use crate::fairness::Settling;

/// What is left out, and when flows count as settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How much of the beginning does not count, from the start of traffic on.
    pub warmup: TimeDelta,
    /// The window for shares and rates over time.
    pub window: TimeDelta,
    /// How far from an equal share a flow may be, as a part of it, when they share; and how far
    /// from the capacity the rate, when it has followed a change.
    pub delta: f64,
    /// For how long that must hold.
    pub hold: TimeDelta,
}

impl Default for Options {
    /// No warm-up, windows of 1 s, a tenth for 5 s; the delta is that with which the convergence
    /// time was introduced (Bansal, Balakrishnan, Floyd, Shenker 2001).
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

/// The numbers of one class in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRun {
    /// The class; `None` for all of them together.
    pub class: Option<Arc<str>>,
    /// How many senders it has.
    pub senders: u64,
    /// Transfers whose end was not planned, and how many of them ended.
    pub transfers: [u64; 2],
    /// Its numbers.
    pub values: Values,
}

/// Senders that are measured together.
pub(super) struct Group<'a> {
    pub(super) run: &'a Run,
    pub(super) options: &'a Options,
    pub(super) class: Option<Arc<str>>,
    pub(super) senders: Vec<&'a Sender>,
    /// When any of them was active and the warm-up over.
    pub(super) window: Window,
    /// The run's bins; `None` if nothing was captured, and for probes.
    pub(super) grid: Option<Grid>,
}

/// The numbers of each class of a run, in order of first appearance, and of all together, which
/// come first. A run in which nothing sent has none.
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

    /// The same for all, if it is the same for all.
    pub(super) fn common<T: PartialEq>(&self, of: impl Fn(&Sender) -> Option<T>) -> Option<T> {
        let mut all = self.senders.iter().map(|sender| of(sender));
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first))
            .then_some(first)
    }
}
