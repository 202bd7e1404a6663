//! Medians over the runs of a cell, and comparison with a baseline cell.

use std::sync::Arc;

use super::measures::{Measure, Values};
use super::run::ClassRun;
use crate::bounds::{Bounds, bounded_percentiles};
use crate::fairness::{friendliness, harm_less_is_better, harm_more_is_better};
use crate::repetition::{Bootstrap, Estimate};

/// A valid run of a cell.
#[derive(Clone, Debug)]
pub struct RunOfCell {
    /// Index of the cell.
    pub cell: usize,
    /// The values of each class.
    pub classes: Vec<ClassRun>,
}

/// One row: a class of a cell, over all runs of the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellClass {
    /// Index of the cell.
    pub cell: usize,
    /// The class; `None` for all classes together.
    pub class: Option<Arc<str>>,
    /// Number of runs with this class.
    pub runs: u64,
    /// Senders per run; `None` if the runs differ.
    pub senders: Option<u64>,
    /// Transfers of all runs whose end was not planned: all, and those captured from start to end.
    pub transfers: [u64; 2],
    estimates: Vec<Option<Estimate>>,
    reached: Vec<u64>,
}

impl CellClass {
    /// The median over the runs with its interval; infinite if most runs ended before the time was
    /// reached, and if it is not known.
    pub fn estimate(&self, measure: Measure) -> Option<Estimate> {
        self.estimates[measure as usize]
    }

    /// Number of runs that reached the condition, for a measure that is a time.
    pub fn reached_runs(&self, measure: Measure) -> u64 {
        self.reached[measure as usize]
    }
}

/// One row for each cell and class: cells in order, classes in order of appearance.
///
/// `baselines` names each cell's baseline cell, if any. The function also sets the measures of `runs`
/// that need a baseline.
pub fn compare(
    runs: &mut [RunOfCell],
    baselines: &[Option<usize>],
    bootstrap: &Bootstrap,
) -> Vec<CellClass> {
    set_harm(runs, baselines);
    let mut rows = Vec::new();
    for cell in 0..baselines.len() {
        let of_cell = || runs.iter().filter(|run| run.cell == cell);
        let mut classes: Vec<&Option<Arc<str>>> = Vec::new();
        for class in of_cell().flat_map(|run| &run.classes) {
            if !classes.contains(&&class.class) {
                classes.push(&class.class);
            }
        }
        rows.extend(classes.into_iter().map(|class| {
            let of_class = of_cell().flat_map(|run| &run.classes);
            let of_class: Vec<&ClassRun> = of_class.filter(|run| run.class == *class).collect();
            row(cell, &of_class, bootstrap)
        }));
    }
    rows
}

fn row(cell: usize, runs: &[&ClassRun], bootstrap: &Bootstrap) -> CellClass {
    let values = |measure| -> Vec<Bounds> {
        runs.iter()
            .filter_map(|run| run.values.bounds(measure))
            .collect()
    };
    let senders = runs.first().map(|run| run.senders);
    CellClass {
        cell,
        class: runs.first().and_then(|run| run.class.clone()),
        runs: runs.len() as u64,
        senders: senders.filter(|first| runs.iter().all(|run| run.senders == *first)),
        transfers: [0, 1].map(|which| runs.iter().map(|run| run.transfers[which]).sum()),
        estimates: Measure::ALL
            .map(|measure| bootstrap.estimate_bounded(&values(measure)))
            .to_vec(),
        reached: Measure::ALL
            .map(|measure| {
                values(measure)
                    .iter()
                    .filter(|value| value.most.is_finite())
                    .count() as u64
            })
            .to_vec(),
    }
}

/// Sets the measures that compare a run with the medians of its baseline cell.
fn set_harm(runs: &mut [RunOfCell], baselines: &[Option<usize>]) {
    let medians = |cell: usize, class: &Option<Arc<str>>| {
        let of_class = runs
            .iter()
            .filter(|run| run.cell == cell)
            .flat_map(|run| &run.classes);
        let of_class: Vec<&ClassRun> = of_class.filter(|run| run.class == *class).collect();
        [
            Measure::FlowGoodput,
            Measure::RttMedian,
            Measure::CompletionMedian,
        ]
        .map(|measure| {
            let values: Vec<Bounds> = of_class
                .iter()
                .filter_map(|run| run.values.bounds(measure))
                .collect();
            // If most transfers of the baseline failed, or the capture cut them off, their completion
            // time is no base to compare with.
            let [median] = bounded_percentiles(&values, [0.5])?;
            median.value().filter(|median| median.is_finite())
        })
    };
    // All medians are taken first, because the loop below changes the runs.
    let bases: Vec<Vec<_>> = runs
        .iter()
        .map(|run| {
            let baseline = baselines.get(run.cell).copied().flatten();
            let of = |class: &ClassRun| baseline.map(|cell| medians(cell, &class.class));
            run.classes.iter().map(of).collect()
        })
        .collect();
    for (run, bases) in runs.iter_mut().zip(bases) {
        for (class, bases) in run.classes.iter_mut().zip(bases) {
            if let Some(bases) = bases {
                harm(&mut class.values, bases);
            }
        }
    }
}

fn harm(values: &mut Values, [goodput, rtt, completion]: [Option<f64>; 3]) {
    let with = |base: Option<f64>, measure| base.zip(values.value(measure));
    let goodputs = with(goodput, Measure::FlowGoodput);
    let rtts = with(rtt, Measure::RttMedian);
    // If most transfers failed, their completion time has no bound and neither has the harm.
    let completions = completion
        .zip(values.bounds(Measure::CompletionMedian))
        .filter(|(_, now)| now.least.is_finite());
    values.set(
        Measure::Friendliness,
        goodputs.and_then(|(base, now)| friendliness(now, base)),
    );
    values.set(
        Measure::GoodputHarm,
        goodputs.and_then(|(base, now)| harm_more_is_better(base, now)),
    );
    values.set(
        Measure::RttHarm,
        rtts.and_then(|(base, now)| harm_less_is_better(base, now)),
    );
    let harm_of = |(base, now): (f64, Bounds)| {
        Some(Bounds {
            least: harm_less_is_better(base, now.least)?,
            // Its limit, for a transfer that takes without bound.
            most: if now.most.is_finite() {
                harm_less_is_better(base, now.most)?
            } else {
                1.0
            },
        })
    };
    values.set_bounds(Measure::CompletionHarm, completions.and_then(harm_of));
}
