//! The total order of the rows of a table.
//!
//! The rows of a table are in order of their capture (in the tables
//! [by capture](DatasetTable::is_by_capture)), then of their time, then of their flow's number. Rows
//! that agree in all three are in order of their measurement, which does not depend on other flows.
//! So the tables of a divided analysis merge to the bytes of the undivided ones.

use std::cmp::Ordering;

use tcpexp_pair::spp::Point;
use tcpexp_units::Timestamp;

use super::{
    DatasetFlow, DatasetTable, EventRow, FlowRow, LogRow, LossRow, OwdRow, QueueRow, ReadingRow,
    RttRow, SenderStateRow, ThroughputBinRow,
};

/// A row of a dataset's table.
pub trait DatasetRow: Sync {
    /// The table.
    const TABLE: DatasetTable;

    /// Time of the row, on the source's clock.
    fn at(&self) -> Timestamp;

    /// The flow of the row, if it has one.
    fn flow(&self) -> Option<&DatasetFlow>;

    /// The capture of the row, in a table by capture.
    fn capture(&self) -> Option<Point> {
        None
    }
}

/// Position of a row in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    pub(super) section: u8,
    pub(super) time: i64,
    pub(super) flow: u32,
}

impl RowKey {
    pub(super) fn of<R: DatasetRow>(row: &R) -> Self {
        Self {
            section: section_of(row),
            time: row.at().as_nanos(),
            flow: flow_of(row),
        }
    }
}

/// Compares two rows as their [`RowKey`]s, without a look at the flows of rows at different times.
pub(super) fn compare<R: DatasetRow>(a: &R, b: &R) -> Ordering {
    start_of(a)
        .cmp(&start_of(b))
        .then_with(|| compare_flows(a, b))
}

/// Compares the end of two rows' [`RowKey`]s.
pub(super) fn compare_flows<R: DatasetRow>(a: &R, b: &R) -> Ordering {
    flow_of(a).cmp(&flow_of(b))
}

/// The start of a row's [`RowKey`], which needs no look at its flow.
pub(super) fn start_of<R: DatasetRow>(row: &R) -> (u8, Timestamp) {
    (section_of(row), row.at())
}

/// The rows of the source's capture come first, then those of the destination's, then those of
/// neither. All rows of a table that is not by capture are in one section.
pub(super) const fn section(capture: Option<Point>) -> u8 {
    match capture {
        Some(Point::Src) => 0,
        Some(Point::Dst) => 1,
        None => 2,
    }
}

/// A row without a flow, such as a total over all flows, comes after the flows.
pub(super) const NO_FLOW: u32 = u32::MAX;

fn section_of<R: DatasetRow>(row: &R) -> u8 {
    if R::TABLE.is_by_capture() {
        section(row.capture())
    } else {
        0
    }
}

fn flow_of<R: DatasetRow>(row: &R) -> u32 {
    row.flow().map_or(NO_FLOW, |flow| flow.flow.0)
}

impl DatasetRow for FlowRow {
    const TABLE: DatasetTable = DatasetTable::Flows;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        Some(&self.flow)
    }
}

impl DatasetRow for RttRow {
    const TABLE: DatasetTable = DatasetTable::Rtt;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        Some(&self.flow)
    }
}

impl DatasetRow for OwdRow {
    const TABLE: DatasetTable = DatasetTable::Owd;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        Some(&self.flow)
    }
}

impl DatasetRow for LossRow {
    const TABLE: DatasetTable = DatasetTable::Loss;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        Some(&self.flow)
    }
}

impl DatasetRow for ThroughputBinRow {
    const TABLE: DatasetTable = DatasetTable::Throughput;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        self.flow.as_deref()
    }

    fn capture(&self) -> Option<Point> {
        Some(self.capture)
    }
}

impl DatasetRow for SenderStateRow {
    const TABLE: DatasetTable = DatasetTable::Sender;

    fn at(&self) -> Timestamp {
        self.sample.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        Some(&self.flow)
    }

    fn capture(&self) -> Option<Point> {
        Some(self.capture)
    }
}

impl DatasetRow for EventRow {
    const TABLE: DatasetTable = DatasetTable::Events;

    fn at(&self) -> Timestamp {
        self.at()
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        self.flow.as_deref()
    }

    fn capture(&self) -> Option<Point> {
        self.capture
    }
}

impl DatasetRow for QueueRow {
    const TABLE: DatasetTable = DatasetTable::Queue;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        None
    }
}

impl DatasetRow for ReadingRow {
    const TABLE: DatasetTable = DatasetTable::Readings;

    fn at(&self) -> Timestamp {
        self.at
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        None
    }
}

impl DatasetRow for LogRow {
    const TABLE: DatasetTable = DatasetTable::Logs;

    fn at(&self) -> Timestamp {
        self.at()
    }

    fn flow(&self) -> Option<&DatasetFlow> {
        self.flow.as_deref()
    }
}
