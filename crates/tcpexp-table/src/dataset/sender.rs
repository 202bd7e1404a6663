//! The table `sender`: a row per ACK that a sender receives.

use std::sync::Arc;

use tcpexp_measure::sender::SenderSample;
use tcpexp_pair::spp::Point;
use tcpexp_units::Timestamp;

use super::flow::{DatasetFlow, flow_part, time_part};
use crate::columns::Columns;
use crate::sender::{control, cwnd_source, model, windows};

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct SenderStateRow {
    /// The capture that the state is reconstructed from.
    pub capture: Point,
    /// The flow of the sender.
    pub flow: Arc<DatasetFlow>,
    /// The state; its time is on the source's clock.
    pub sample: SenderSample,
}

pub(super) fn columns(origin: Timestamp) -> Columns<SenderStateRow> {
    let columns = Columns::named("dataset_sender").text(
        "capture",
        "Capture of the row: src or dst, whichever was taken at the sender, otherwise src.",
        |row: &SenderStateRow| row.capture.name(),
    );
    let columns = flow_part(columns, |row| &row.flow, |row| row.sample.direction);
    let columns = time_part(
        columns,
        "Time when an ACK reached the sender (the row shows the state before this ACK is processed)",
        origin,
        |row| row.sample.at,
    );
    let columns = windows(columns, |row| Some(&row.sample));
    let columns = cwnd_source(columns, |row| row.sample.cwnd_source);
    let columns = control(columns, |row| Some(&row.sample));
    model(columns, |row| row.sample.model.as_ref()).done()
}
