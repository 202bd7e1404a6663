//! The number of empty bins, which have no bound if the bins are too short for the capture.

use super::ThroughputRow;

/// Number of empty rows (about 500 MB of CSV) above which a nearly empty capture is rejected.
pub const MAX_EMPTY_ROWS: u64 = 5_000_000;
/// A capture is nearly empty if it has more than this many empty rows per row with packets.
const MAX_EMPTY_PER_ROW: u64 = 100;

/// Number of rows of bins.
///
/// The rows of empty bins grow with the length of the capture over the width of a bin: a few packets, one
/// per day, give more rows than a disk holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowCounts {
    /// With packets.
    pub filled: u64,
    /// Without packets.
    pub empty: u64,
}

impl RowCounts {
    /// Counts a row of a bin.
    pub fn add(&mut self, row: &ThroughputRow) {
        match row {
            ThroughputRow::Bin(bin) if bin.volume.packets == 0 => self.empty += 1,
            ThroughputRow::Bin(_) => self.filled += 1,
            ThroughputRow::Began(_) | ThroughputRow::Ended(_) => {}
        }
    }

    /// True if more than `most` rows are empty, and nearly all.
    pub fn are_nearly_empty(&self, most: u64) -> bool {
        self.empty > most && self.empty / MAX_EMPTY_PER_ROW > self.filled
    }
}
