//! The list of the dataset's tables, and their layout.

use arrow::datatypes::SchemaRef;
use tcpexp_units::Timestamp;

use super::{
    EventRow, FlowRow, LogRow, LossRow, OwdRow, QueueRow, ReadingRow, RttRow, RunColumns,
    SenderStateRow, ThroughputBinRow, events, flows, logs, losses, owd, queue, readings, rtt,
    sender, throughput,
};
use crate::Columns;
use crate::series::is_series_column;

/// The tables of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatasetTable {
    /// A row per flow and direction.
    Flows,
    /// A row per round-trip time sample.
    Rtt,
    /// A row per packet that arrived.
    Owd,
    /// A row per lost packet.
    Loss,
    /// A row per bin, flow and direction.
    Throughput,
    /// A row per ACK that a sender receives.
    Sender,
    /// A row per event.
    Events,
    /// A row per state of the bottleneck's queue.
    Queue,
    /// A row per line of a log.
    Logs,
    /// A row per value of a log of the plan's own commands.
    Readings,
}

impl DatasetTable {
    /// All tables.
    pub const ALL: [Self; 10] = [
        Self::Flows,
        Self::Rtt,
        Self::Owd,
        Self::Loss,
        Self::Throughput,
        Self::Sender,
        Self::Events,
        Self::Queue,
        Self::Logs,
        Self::Readings,
    ];

    /// Name of the table, which is its file's name without the extension.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Rtt => "rtt",
            Self::Owd => "owd",
            Self::Loss => "loss",
            Self::Throughput => "throughput",
            Self::Sender => "sender",
            Self::Events => "events",
            Self::Queue => "queue",
            Self::Logs => "logs",
            Self::Readings => "readings",
        }
    }

    /// Meaning of a row.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Flows => "a row per flow and direction: sizes, rates, losses",
            Self::Rtt => "a row per round-trip time",
            Self::Owd => "a row per packet seen at both points: its delays",
            Self::Loss => "a row per packet that was lost between the points",
            Self::Throughput => "a row per bin, flow and direction, at either point",
            Self::Sender => "a row per ACK that reaches a sender: window and phase",
            Self::Events => "a row per recovery, retransmission or change of the path",
            Self::Queue => "a row per state of the bottleneck's queue",
            Self::Logs => "a row per line of a kernel's or a tool's log",
            Self::Readings => "a row per value that a command of the plan printed",
        }
    }

    /// True if the rows of the first capture precede those of the second, and rows of neither capture
    /// follow.
    pub const fn is_by_capture(self) -> bool {
        matches!(self, Self::Throughput | Self::Sender | Self::Events)
    }

    /// Columns of the table in a run without parameters.
    pub fn schema(self) -> SchemaRef {
        let layout = Layout::default();
        match self {
            Self::Flows => layout.flows().schema(),
            Self::Rtt => layout.rtt().schema(),
            Self::Owd => layout.owd().schema(),
            Self::Loss => layout.loss().schema(),
            Self::Throughput => layout.throughput().schema(),
            Self::Sender => layout.sender().schema(),
            Self::Events => layout.events().schema(),
            Self::Queue => layout.queue().schema(),
            Self::Logs => layout.logs().schema(),
            Self::Readings => layout.readings().schema(),
        }
    }

    /// True if any table of a run has a column of this name.
    pub fn has_column(name: &str) -> bool {
        let has = |table: &Self| table.schema().column_with_name(name).is_some();
        Self::ALL.iter().any(has) || is_series_column(name)
    }
}

/// The run-specific part of the tables' columns.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Time zero of the column `time_s`.
    pub origin: Timestamp,
    /// The first columns of each table.
    pub run: RunColumns,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            origin: Timestamp::from_nanos(0),
            run: RunColumns::default(),
        }
    }
}

impl Layout {
    /// The columns of the table `flows`.
    pub fn flows(&self) -> Columns<FlowRow> {
        flows::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `rtt`.
    pub fn rtt(&self) -> Columns<RttRow> {
        rtt::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `owd`.
    pub fn owd(&self) -> Columns<OwdRow> {
        owd::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `loss`.
    pub fn loss(&self) -> Columns<LossRow> {
        losses::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `throughput`.
    pub fn throughput(&self) -> Columns<ThroughputBinRow> {
        throughput::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `sender`.
    pub fn sender(&self) -> Columns<SenderStateRow> {
        sender::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `events`.
    pub fn events(&self) -> Columns<EventRow> {
        events::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `queue`.
    pub fn queue(&self) -> Columns<QueueRow> {
        queue::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `logs`.
    pub fn logs(&self) -> Columns<LogRow> {
        logs::columns(self.origin).of_run(&self.run)
    }

    /// The columns of the table `readings`.
    pub fn readings(&self) -> Columns<ReadingRow> {
        readings::columns(self.origin).of_run(&self.run)
    }
}
