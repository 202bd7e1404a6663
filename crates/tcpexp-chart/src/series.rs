//! The samples behind one line of a chart.

use tcpexp_measure::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::Thinned;

/// Round-trip times of one flow, collected as they are measured, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct RttSeries {
    /// What the legend calls it.
    pub label: String,
    pub(crate) over_time: Thinned,
    pub(crate) distribution: Quantiles,
    pub(crate) samples: u64,
}

impl RttSeries {
    /// A series without samples.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// Adds one sample. All series of one figure tell time on one clock.
    pub fn add(&mut self, time: Timestamp, rtt: TimeDelta) {
        self.over_time.add(time, rtt);
        self.distribution.add(rtt);
        self.samples += 1;
    }

    /// Adds the samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.over_time.merge(&other.over_time);
        self.distribution.merge(&other.distribution);
        self.samples += other.samples;
    }

    /// How many samples were added.
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}
