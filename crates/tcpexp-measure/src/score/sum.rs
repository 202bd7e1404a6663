//! All scores of one sender.

use tcpexp_units::TimeDelta;

use super::cwnd::{CwndScore, Pair};
use super::record::SenderRecord;
use super::same_state::{BySeq, wire};

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What to add to a time of the truth to get the reconstruction's: zero where one clock stamped
    /// both.
    pub clock_offset: TimeDelta,
    /// How far apart two rows of the same state may be: 50 ms unless said otherwise. A host may
    /// handle an ACK that late after it was captured.
    pub tolerance: TimeDelta,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock_offset: TimeDelta::ZERO,
            tolerance: TimeDelta::from_millis(50),
        }
    }
}

/// How far the reconstruction of one sender is from the truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Of the congestion window.
    pub cwnd: CwndScore,
}

impl Score {
    /// Compares what a reconstruction tells of a sender with what its kernel told.
    pub fn of(reconstructed: &SenderRecord, truth: &SenderRecord, options: Options) -> Self {
        let places = BySeq::of(&reconstructed.samples);
        let pairs: Vec<Pair<'_>> = truth
            .samples
            .iter()
            .filter(|truth| wire(truth).is_some())
            .map(|truth| Pair {
                truth,
                estimate: places.find(truth, truth.at + options.clock_offset, options.tolerance),
            })
            .collect();
        Self {
            cwnd: CwndScore::of(&pairs),
        }
    }
}
