//! The table `throughput`: a row per bin, flow and direction.

use std::sync::Arc;

use tcpexp_measure::throughput::ThroughputBin;
use tcpexp_pair::spp::Point;
use tcpexp_units::Timestamp;

use super::flow::{DatasetFlow, maybe_flow_part, time_part};
use crate::columns::Columns;
use crate::throughput::rates;

/// A throughput bin of one capture.
#[derive(Clone, Debug)]
pub struct ThroughputBinRow {
    /// The capture that the bin is measured at.
    pub capture: Point,
    /// The flow; `None` for all flows together.
    pub flow: Option<Arc<DatasetFlow>>,
    /// Start of the bin, on the source's clock.
    pub at: Timestamp,
    /// Volume of the bin.
    pub bin: ThroughputBin,
}

pub(super) fn columns(origin: Timestamp) -> Columns<ThroughputBinRow> {
    let columns = Columns::named("dataset_throughput").text(
        "capture",
        "Capture point of the count: src or dst. Sent packets are counted near the sender, arrivals near the receiver; both points count the same packets.",
        |row: &ThroughputBinRow| row.capture.name(),
    );
    let columns = maybe_flow_part(
        columns,
        "in the rows of all flows together, where direction is null for both ways together",
        |row| row.flow.as_deref(),
        |row| row.bin.direction,
    );
    let columns = time_part(
        columns,
        "When the bin starts; the destination's bins are cut on its own clock, moved by the clocks' offset",
        origin,
        |row| row.at,
    );
    rates(columns, |row| &row.bin).done()
}
