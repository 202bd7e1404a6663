//! Window reduction rules of congestion controls.

use std::ops::RangeInclusive;

use super::reduction::Factor;

/// Family of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CongestionFamily {
    /// Halves its window at a loss: Reno and others with the same factor.
    Reno,
    /// Reduces its window to 0.7 (RFC 9438).
    Cubic,
    /// Reduces or holds its window without losses: Vegas, CDG and similar.
    DelayBased,
    /// Paces by a model of the path: BBR.
    ModelBased,
}

impl CongestionFamily {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::DelayBased => "delay_based",
            Self::ModelBased => "model_based",
        }
    }

    /// The name in texts, with examples of the family.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Reno => "Reno",
            Self::Cubic => "CUBIC",
            Self::DelayBased => "delay-based (Vegas, CDG)",
            Self::ModelBased => "model-based (BBR)",
        }
    }
}

/// A congestion control's window reduction at a loss.
#[derive(Debug)]
pub(super) struct ReductionRule {
    pub(super) family: CongestionFamily,
    /// Exact factor in the specification or in Linux.
    pub(super) factor: Factor,
    /// Range of median observed factors, in percent, that hints at this rule. With windows of 8
    /// segments, the smallest that count, rounding changes a factor by up to one segment, 12
    /// percentage points. A range of half of this on either side keeps the factors apart.
    pub(super) percents: RangeInclusive<u32>,
}

/// The rules that differ in their factor.
pub(super) const REDUCTION_RULES: &[ReductionRule] = &[
    // RFC 5681, equation 4. Vegas and others reduce alike at a loss. Measured: 0.48 to 0.50.
    ReductionRule {
        family: CongestionFamily::Reno,
        factor: (1, 2),
        percents: 44..=56,
    },
    // RFC 9438, section 4.6; 717/1024 in Linux. Measured: 0.67 to 0.70, and 0.62 at 5 % loss.
    ReductionRule {
        family: CongestionFamily::Cubic,
        factor: (717, 1024),
        percents: 62..=78,
    },
];
