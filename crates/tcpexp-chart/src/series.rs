//! The samples of one curve in a delay chart.

use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::Thinned;

/// Round-trip or one-way delays and losses of one flow, collected in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct DelaySeries {
    /// Name in the legend.
    pub label: String,
    pub(crate) over_time: Thinned,
    pub(crate) distribution: Quantiles,
    pub(crate) samples: u64,
    pub(crate) lost_at: Thinned<()>,
    pub(crate) lost: u64,
}

impl DelaySeries {
    /// Creates a series without samples.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// Adds one sample. All series of a figure must be on one clock.
    pub fn add(&mut self, time: Timestamp, delay: TimeDelta) {
        self.over_time.add(time, delay);
        self.distribution.add(delay);
        self.samples += 1;
    }

    /// Adds `packets` lost packets that were sent at `time`.
    pub fn lose(&mut self, time: Timestamp, packets: u64) {
        self.lost_at.add(time, ());
        self.lost += packets;
    }

    /// Adds the samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.over_time.merge(&other.over_time);
        self.distribution.merge(&other.distribution);
        self.samples += other.samples;
        self.lost_at.merge(&other.lost_at);
        self.lost += other.lost;
    }

    /// Number of samples added so far.
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}
