//! The table of `tcpexp throughput`: a row per bin, flow and direction.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_measure::throughput::ThroughputBin;

use crate::columns::{Builder, Columns};
use crate::labels::{FlowLabel, PROTOCOL};

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
        .maybe_id("flow_id", "The flow's number in this capture, counted from 0 in order of first appearance. Null for the total of all flows.", |row: &BinRow| Some(row.flow.as_ref()?.flow.0))
        .maybe_text("protocol", &format!("{PROTOCOL} Null for the total of all flows."), |row| Some(row.flow.as_ref()?.protocol.name()))
        .maybe_text("initiator", "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443. Null for the total of all flows.", |row| Some(row.flow.as_ref()?.initiator.clone()))
        .maybe_text("responder", "Address and port of the responder. Null for the total of all flows.", |row| Some(row.flow.as_ref()?.responder.clone()))
        .maybe_text("direction", "Direction of the packets: forward (from the initiator) or reverse. Null for both directions together, which exists only for the total of all flows.", |row| row.bin.direction.map(Direction::name))
        .time("start_time", "Start of the bin, on the capture's clock. A packet counts entirely in the bin of its capture time.", |row| row.bin.start);
    rates(columns, |row| &row.bin).done()
}

/// Adds the columns for the volume and rates of a bin.
pub(crate) fn rates<R: 'static>(columns: Builder<R>, of: fn(&R) -> &ThroughputBin) -> Builder<R> {
    const ROUNDED: &str = "in bits per second, rounded down";
    const NULL: &str = "Null if covered_ns is less than half of width_ns.";
    columns
        .span("width_ns", "Width of the bin, in nanoseconds.", move |row| of(row).width)
        .span("covered_ns", "The part of the bin between the first and the last packet of the capture, in nanoseconds: the time to which the rates refer. Less than width_ns in the first and the last bin of the capture. A flow that begins or ends within a bin was silent for the rest of it.", move |row| of(row).covered)
        .count("packets", "Packets in the bin.", move |row| of(row).volume.packets)
        .count("wire_bytes", "Bytes on the wire, link headers included; without preamble, frame check sequence and inter-frame gap, which are not captured.", move |row| of(row).volume.wire_bytes)
        .count("ip_bytes", "Bytes of the IP packets, headers included.", move |row| of(row).volume.ip_bytes)
        .count("goodput_bytes", "Bytes of transport payload; for TCP only bytes not captured earlier in the same direction.", move |row| of(row).volume.goodput_bytes)
        .count("ce_packets", "Packets in the bin with the ECN codepoint CE, which a queue before the capture point marked (RFC 3168, section 5).", move |row| of(row).volume.ce_packets)
        .maybe_count("wire_rate_bps", &format!("wire_bytes over covered_ns, {ROUNDED}. {NULL}"), move |row| of(row).wire_rate_bps())
        .maybe_count("throughput_bps", &format!("ip_bytes over covered_ns, {ROUNDED}. {NULL}"), move |row| of(row).throughput_bps())
        .maybe_count("goodput_bps", &format!("goodput_bytes over covered_ns, {ROUNDED}. {NULL}"), move |row| of(row).goodput_bps())
        .maybe_float("utilisation_share", "Share of the link that wire_bytes take, rounded down to a millionth: 1 is a full link, and packets may exceed the given link rate. Null if no link rate was given, or if covered_ns is less than half of width_ns.", move |row| of(row).utilisation_ppm.map(|ppm| ppm as f64 / 1e6))
}
