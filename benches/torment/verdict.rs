//! The assessment of one measurement.

use std::collections::BTreeMap;
use std::fmt;

/// A violated guarantee of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Two records of different packets are matched.
    FalseMatch,
    /// A packet is reported as a duplicate of a different packet.
    FalseDuplicate,
    /// A packet in both captures is reported as lost.
    FalseLoss,
    /// More packets that only a capture missed are reported as lost than the bound allows.
    CaptureLossBeyondBound,
    /// A round-trip time combines packets that do not form a pair.
    FalseSample,
    /// A round-trip time combines the right packets but has a wrong value.
    WrongRtt,
    /// The true one-way delay is outside the reported bound.
    DelayOutsideBound,
    /// The true queueing delay is outside the reported bound.
    QueueingOutsideBound,
    /// The true clock offset is outside the reported bound.
    OffsetOutsideBound,
    /// A bound is negative.
    NegativeBound,
    /// A clock step is reported where no clock stepped.
    InventedStep,
    /// The bottleneck rate differs from the rate of the clean captures.
    WrongRate,
    /// Used and skipped records do not sum to all records.
    Unbalanced,
    /// The program panicked.
    Panic,
}

impl Fault {
    /// The name used in tables and in the list of expected failures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FalseMatch => "false match",
            Self::FalseDuplicate => "false duplicate",
            Self::FalseLoss => "false loss",
            Self::CaptureLossBeyondBound => "capture loss beyond bound",
            Self::FalseSample => "false sample",
            Self::WrongRtt => "wrong RTT",
            Self::DelayOutsideBound => "delay outside bound",
            Self::QueueingOutsideBound => "queueing outside bound",
            Self::OffsetOutsideBound => "offset outside bound",
            Self::NegativeBound => "negative bound",
            Self::InventedStep => "invented step",
            Self::WrongRate => "wrong rate",
            Self::Unbalanced => "unbalanced",
            Self::Panic => "panic",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Bottleneck rates in bits per second, forward and reverse; `None` if unknown.
pub(crate) type Rates = [Option<u64>; 2];

/// Assessment of one measurement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Faults, each with its count and the description of its first occurrence.
    pub(crate) faults: BTreeMap<Fault, (u64, String)>,
    /// Number of round-trip time samples.
    pub(crate) samples: u64,
    /// Number of packets found at both points.
    pub(crate) delivered: u64,
    /// Number of packets reported as lost.
    pub(crate) lost: u64,
    /// Of these, packets that only a capture missed.
    pub(crate) missed_called_lost: u64,
    /// Number of packets with unknown fate.
    pub(crate) unknown: u64,
    /// Reason why nothing was measured.
    pub(crate) refusal: Option<String>,
    /// Bottleneck rate of each direction.
    pub(crate) bottleneck_bps: Rates,
}

impl Verdict {
    /// Records a fault; `why` describes its first occurrence.
    pub(crate) fn blame(&mut self, fault: Fault, why: impl FnOnce() -> String) {
        self.faults.entry(fault).or_insert_with(|| (0, why())).0 += 1;
    }
}
