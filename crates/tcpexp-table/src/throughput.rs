//! The table of `tcpexp throughput`: a row per bin, flow and direction.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_measure::throughput::ThroughputBin;

use crate::columns::{Builder, Columns};
use crate::labels::FlowLabel;

/// A throughput bin with its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinRow {
    /// The flow; `None` for all flows together.
    pub flow: Option<Arc<FlowLabel>>,
    /// The bin.
    pub bin: ThroughputBin,
}

/// The columns of `tcpexp throughput`.
pub fn throughput_columns() -> Columns<BinRow> {
    let columns = Columns::named("throughput")
        .maybe_id("flow_id", "The flow's number in this capture, counted from 0 in order of first appearance. Null for all flows of the capture together.", |row: &BinRow| Some(row.flow.as_ref()?.flow.0))
        .maybe_text("protocol", "Transport protocol: tcp or udp. Null for all flows together.", |row| Some(row.flow.as_ref()?.protocol.name()))
        .maybe_text("initiator", "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443. Null for all flows together.", |row| Some(row.flow.as_ref()?.initiator.clone()))
        .maybe_text("responder", "Address and port of the responder. Null for all flows together.", |row| Some(row.flow.as_ref()?.responder.clone()))
        .maybe_text("direction", "Which way the packets went: forward (from initiator to responder, of all flows: from their initiators) or reverse. Null for both ways together, which only all flows have.", |row| row.bin.direction.map(Direction::name))
        .time("start_ns", "When the bin starts: nanoseconds since 1970-01-01 UTC on the capture's clock. A packet is in the bin of its capture time, whole.", |row| row.bin.start);
    rates(columns, |row| &row.bin).done()
}

/// Adds the columns for the volume and rates of a bin.
pub(crate) fn rates<R: 'static>(columns: Builder<R>, of: fn(&R) -> &ThroughputBin) -> Builder<R> {
    const ROUNDED: &str = "in bits per second, rounded down";
    columns
        .span("width_ns", "How long the bin is, in nanoseconds. A flow has bins from its first packet's to its last one's, which traffic seldom fills for their whole width.", move |row| of(row).width)
        .count("packets", "Packets in the bin.", move |row| of(row).volume.packets)
        .count("wire_bytes", "Bytes on the wire, link headers included; without preamble, checksum and gap between frames, which no capture shows.", move |row| of(row).volume.wire_bytes)
        .count("ip_bytes", "Bytes of the IP packets, headers included.", move |row| of(row).volume.ip_bytes)
        .count("goodput_bytes", "Bytes of TCP or UDP payload; of TCP only those that no packet captured earlier carried in the same direction.", move |row| of(row).volume.goodput_bytes)
        .count("wire_rate_bps", &format!("wire_bytes over the bin's width, {ROUNDED}."), move |row| of(row).wire_rate_bps())
        .count("throughput_bps", &format!("ip_bytes over the bin's width, {ROUNDED}."), move |row| of(row).throughput_bps())
        .count("goodput_bps", &format!("goodput_bytes over the bin's width, {ROUNDED}."), move |row| of(row).goodput_bps())
        .maybe_count("utilisation_ppm", "Share of the link that wire_bytes take, in parts per million, rounded down; above a million where packets came faster than the link is said to be. Null if no link rate was given.", move |row| of(row).utilisation_ppm)
}
