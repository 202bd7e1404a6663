//! The order of runs, which depends only on the plan and its seed.

use std::cmp::Reverse;

use tcpexp_units::TimeDelta;

use crate::hash;
use crate::plan::{Cell, Plan};

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
