//! The cases of the short test, and their expected faults.

use crate::verdict::Fault::{self, WrongRtt};

/// Seeds of the cases in `cargo test`.
pub(crate) const SEEDS: std::ops::Range<u64> = 0..60;
/// Number of records kept of each capture.
pub(crate) const RECORDS: usize = 3_000;

/// Known faults without a fix. A fault outside this list fails the test. Whoever fixes a fault
/// removes it from the list; the list must only shrink.
pub(crate) const EXPECTED: &[(u64, &[Fault])] = &[(8, &[WrongRtt])];

/// Cases with a flipped bit in an address, a port, or a field that hides the packet, which once made
/// packets lost that arrived.
pub(crate) const FLIPPED: [u64; 8] = [
    931_011, 931_206, 931_243, 931_991, 932_455, 933_162, 933_257, 933_482,
];
