//! The order of runs, which depends only on the plan and its seed.

use std::cmp::Reverse;

use tcpexp_runs::only::{Only, OnlyError};
use tcpexp_units::TimeDelta;
use thiserror::Error;

use crate::plan::{Cell, Plan};
use tcpexp_runs::hash;

/// A planned run.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Number of the cell in the grid, from 1.
    pub number: usize,
    /// Repetition, from 1.
    pub repetition: u32,
    /// Seed of the random numbers of this run.
    pub seed: u64,
}

/// All runs of a plan in their order. Repetitions are outermost, so that a sweep that is ended early
/// has covered the grid.
pub fn runs(plan: &Plan) -> Vec<Planned<'_>> {
    let mut all = Vec::new();
    for repetition in 1..=plan.run.repetitions {
        let cells = plan.cells.iter().enumerate();
        let mut runs: Vec<_> = cells
            .map(|(index, cell)| Planned {
                cell,
                number: index + 1,
                repetition,
                seed: seed(plan.run.seed, &cell.hash, repetition),
            })
            .collect();
        if plan.run.shuffle {
            // Each key depends on its run only, so a further cell does not change the order of the
            // others.
            runs.sort_by_cached_key(|run| Reverse(random(run.seed, "order")));
        }
        all.extend(runs);
    }
    all
}

/// Why no run is selected.
#[derive(Debug, Error)]
pub enum SelectError {
    /// The plan has no run of this name.
    #[error("the plan has no run {name}; its first run is {first}")]
    Name {
        /// The name.
        name: String,
        /// Name of the first run.
        first: String,
    },
    /// The parameters select no cell.
    #[error(transparent)]
    Only(#[from] OnlyError),
}

/// The names of the runs that `only` selects: a list of names, or values of parameters as in [`Only`].
pub fn selected(plan: &Plan, only: &str) -> Result<Vec<String>, SelectError> {
    let runs = runs(plan);
    if only.contains('=') {
        let only: Only = only.parse()?;
        only.check(plan.cells.iter().map(|cell| &cell.parameters))?;
        let selected = runs.iter().filter(|run| only.takes(&run.cell.parameters));
        return Ok(selected.map(Planned::name).collect());
    }
    let known: Vec<String> = runs.iter().map(Planned::name).collect();
    let names: Vec<String> = only.split(',').map(|name| name.trim().to_owned()).collect();
    match names.iter().find(|name| !known.contains(name)) {
        None => Ok(names),
        Some(name) => Err(SelectError::Name {
            name: name.clone(),
            first: known.first().cloned().unwrap_or_default(),
        }),
    }
}

/// The seed of one run. It depends only on the plan's seed, the cell and the repetition, so the same
/// cell in another sweep with the same seed is the same experiment.
fn seed(seed: u64, cell: &str, repetition: u32) -> u64 {
    hash::fnv(format!("{seed} {cell} {repetition}").as_bytes())
}

/// A pseudorandom number that depends only on `seed` and its purpose.
fn random(seed: u64, for_what: &str) -> u64 {
    // The upper bits of FNV hardly differ for texts that differ at their end. Mix them with the finalizer
    // of splitmix64 (Steele et al., 2014).
    let mut mixed = hash::fnv(for_what.as_bytes()) ^ seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Planned<'_> {
    /// Name of the run and of its directory. Names sort in the order of the grid.
    pub fn name(&self) -> String {
        let hash = &self.cell.hash[..8];
        format!("{:04}-{hash}-r{:02}", self.number, self.repetition)
    }

    /// Start jitter of a generator, less than `most`.
    pub fn jitter(&self, generator: &str, most: TimeDelta) -> TimeDelta {
        let most = u64::try_from(most.as_nanos()).unwrap_or(0);
        // `checked_rem` is `None` for a plan without jitter.
        let nanos = random(self.seed, generator).checked_rem(most).unwrap_or(0);
        TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(0))
    }
}
