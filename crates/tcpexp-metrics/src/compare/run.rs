//! Reduces one run to a value per measure for each class of traffic.

use std::sync::Arc;

use super::group::{Group, Options};
use super::measures::Values;
use super::senders::Run;
use super::{calls, delays, marks, rates, response, sharing, video};

/// The values of one class in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRun {
    /// The class; `None` for all classes together.
    pub class: Option<Arc<str>>,
    /// Number of senders.
    pub senders: u64,
    /// Transfers whose end was not planned: all, and those captured from start to end.
    pub transfers: [u64; 2],
    /// A value per measure.
    pub values: Values,
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

impl Group<'_> {
    fn measured(&self) -> ClassRun {
        let mut values = Values::default();
        rates::measure(self, &mut values);
        delays::measure(self, &mut values);
        marks::measure(self, &mut values);
        sharing::measure(self, &mut values);
        response::measure(self, &mut values);
        calls::measure(self, &mut values);
        video::measure(self, &mut values);
        let transfers = || self.senders.iter().flat_map(|sender| &sender.transfers);
        let ended = transfers().filter(|transfer| transfer.completion.took().is_some());
        ClassRun {
            class: self.class.clone(),
            senders: self.senders.len() as u64,
            transfers: [transfers().count() as u64, ended.count() as u64],
            values,
        }
    }
}
