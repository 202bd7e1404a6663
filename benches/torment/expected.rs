//! The cases of the small form, and the faults that they are known to have.

use crate::judge::Fault::{self, CaptureLossCalledLoss, FalseLoss, FalseMatch, WrongRtt};

/// The cases that `cargo test` runs.
pub(crate) const SEEDS: std::ops::Range<u64> = 0..60;
/// Records of each capture that they keep.
pub(crate) const RECORDS: usize = 3_000;

/// Faults that are known and not mended yet. A fault that is not here fails the test; whoever mends
/// one takes it off the list, which only gets shorter.
pub(crate) const EXPECTED: &[(u64, &[Fault])] = &[
    (3, &[FalseLoss]),
    (7, &[WrongRtt]),
    (8, &[WrongRtt]),
    (9, &[WrongRtt]),
    (12, &[WrongRtt]),
    (20, &[WrongRtt]),
    (21, &[WrongRtt]),
    (24, &[WrongRtt]),
    (26, &[FalseLoss]),
    (27, &[WrongRtt]),
    (32, &[CaptureLossCalledLoss]),
    (38, &[FalseMatch]),
    (45, &[WrongRtt]),
    (50, &[WrongRtt]),
    (52, &[WrongRtt]),
    (54, &[WrongRtt]),
    (55, &[FalseLoss]),
    (58, &[CaptureLossCalledLoss]),
];
