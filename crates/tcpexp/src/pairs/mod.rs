//! Analysis of many pairs of captures, in tasks that may run on many machines.
//!
//! [`find_pairs`] lists which captures belong together. A [`PairTask`] analyses one pair once, to a
//! separate dataset. [`merge_pairs`] joins the datasets of all pairs to one. The results depend only
//! on the files, so an engine that starts tasks, such as Slurm, needs no other information.

mod find;
mod matching;
mod merge;
mod names;
mod parts;
mod passing;
mod record;
mod task;

pub use find::{find_pairs, find_pairs_with};
pub use merge::{MergedPair, PairsManifest, merge_pairs};
#[cfg(all(feature = "charts", feature = "runs"))]
pub(crate) use task::PAIR_COLUMN;
pub use task::{CapturePair, KnownPart, PairTask, TaskOutcome, pairs_of};
