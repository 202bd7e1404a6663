//! The order of runs: pure, and the same for the same plan and seed.

use std::cmp::Reverse;

use tcpexp_units::TimeDelta;

use crate::hash;
use crate::plan::{Cell, Plan};

/// One run to be done.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The cell's place in the grid, from 1.
    pub number: usize,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// What this run's random numbers come from.
    pub seed: u64,
}

/// All runs of a plan in their order. All cells come once before any comes again, so that a sweep
/// that is ended early has seen them all.
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
            runs.sort_by_cached_key(|run| Reverse(random(run.seed, "order")));
        }
        all.extend(runs);
    }
    all
}

/// The seed of one run. It depends on nothing but the cell, so a cell that is repeated alone, or in
/// another sweep with the same seed, is the same experiment.
fn seed(seed: u64, cell: &str, repetition: u32) -> u64 {
    hash::fnv(format!("{seed} {cell} {repetition}").as_bytes())
}

/// A number that looks random and depends only on `seed` and what it is `for_what`.
fn random(seed: u64, for_what: &str) -> u64 {
    // FNV's upper bits hardly differ for texts that differ at their end: mix once more (splitmix64).
    let mut mixed = hash::fnv(for_what.as_bytes()) ^ seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Planned<'_> {
    /// The run's name, and its directory's: sorts as the grid does.
    pub fn name(&self) -> String {
        let hash = &self.cell.hash[..8];
        format!("{:04}-{hash}-r{:02}", self.number, self.repetition)
    }

    /// By how much a generator starts later than the plan says: less than `most`.
    pub fn jitter(&self, generator: &str, most: TimeDelta) -> TimeDelta {
        let most = u64::try_from(most.as_nanos()).unwrap_or(0);
        let nanos = random(self.seed, generator).checked_rem(most).unwrap_or(0);
        TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(0))
    }
}
