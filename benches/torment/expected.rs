//! The cases of the small form, and the faults that they are known to have.

use crate::judge::Fault::{
    self, CaptureLossCalledLoss, FalseLoss, FalseMatch, InventedStep, NegativeBound, WrongRate,
    WrongRtt,
};

/// The cases that `cargo test` runs.
pub(crate) const SEEDS: std::ops::Range<u64> = 0..60;
/// Records of each capture that they keep.
pub(crate) const RECORDS: usize = 3_000;

/// Faults that are known and not mended yet. A fault that is not here fails the test; whoever mends
/// one takes it off the list, which only gets shorter.
pub(crate) const EXPECTED: &[(u64, &[Fault])] = &[
    (3, &[FalseLoss]),
    (6, &[CaptureLossCalledLoss]),
    (7, &[FalseLoss, CaptureLossCalledLoss, WrongRtt]),
    (8, &[WrongRtt]),
    (9, &[CaptureLossCalledLoss, WrongRtt]),
    (10, &[CaptureLossCalledLoss]),
    (12, &[WrongRtt]),
    (14, &[CaptureLossCalledLoss]),
    (15, &[CaptureLossCalledLoss]),
    (18, &[CaptureLossCalledLoss]),
    (20, &[WrongRtt]),
    (21, &[WrongRtt]),
    (24, &[WrongRtt]),
    (25, &[CaptureLossCalledLoss]),
    (26, &[FalseLoss, CaptureLossCalledLoss]),
    (27, &[WrongRtt]),
    (32, &[CaptureLossCalledLoss]),
    (35, &[CaptureLossCalledLoss]),
    (38, &[FalseMatch, CaptureLossCalledLoss]),
    (40, &[CaptureLossCalledLoss]),
    (45, &[WrongRtt]),
    (46, &[FalseLoss, NegativeBound, InventedStep]),
    (50, &[CaptureLossCalledLoss, WrongRtt]),
    (51, &[WrongRate]),
    (52, &[WrongRtt]),
    (53, &[CaptureLossCalledLoss]),
    (54, &[CaptureLossCalledLoss, WrongRtt]),
    (55, &[FalseLoss]),
    (57, &[FalseLoss, NegativeBound, InventedStep]),
    (58, &[CaptureLossCalledLoss]),
];
