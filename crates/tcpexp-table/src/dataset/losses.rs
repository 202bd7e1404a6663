//! The table `loss`: a row per lost packet.

use std::sync::Arc;

use tcpexp_pair::path::PathPacket;
use tcpexp_units::Timestamp;

use super::flow::{DatasetFlow, flow_part, time_part};
use super::owd::sizes;
use crate::columns::Columns;

/// A packet that was sent and lost.
#[derive(Clone, Debug)]
pub struct LossRow {
    /// The flow of the packet.
    pub flow: Arc<DatasetFlow>,
    /// Time of departure.
    pub at: Timestamp,
    /// The packet and its fate.
    pub packet: PathPacket,
}

pub(super) fn columns(origin: Timestamp) -> Columns<LossRow> {
    let columns = flow_part(
        Columns::named("dataset_loss"),
        |row: &LossRow| &row.flow,
        |row| row.packet.direction,
    )
    .text(
        "way",
        "Direction of the packet between the points: out (first capture to second) or back.",
        |row| row.packet.path_direction.name(),
    );
    let columns = time_part(
        columns,
        "Time when the packet passed the first point; it was never captured at the second, although that capture was running",
        origin,
        |row| row.at,
    );
    sizes(columns, |row| &row.packet).done()
}
