//! The table `owd`: a row per packet that arrived.

use std::sync::Arc;

use tcpexp_pair::path::PathPacket;
use tcpexp_units::{TimeDelta, Timestamp};

use super::flow::{DatasetFlow, flow_part, time_part};
use crate::columns::{Builder, Columns};

/// A packet seen at both points.
#[derive(Clone, Debug)]
pub struct OwdRow {
    /// The flow of the packet.
    pub flow: Arc<DatasetFlow>,
    /// Time at the first point.
    pub at: Timestamp,
    /// The packet and its fate.
    pub packet: PathPacket,
}

pub(super) fn columns(origin: Timestamp) -> Columns<OwdRow> {
    const NO_DELAY: &str = "Null if a clock was set while the packet was on its way.";
    let columns = flow_part(
        Columns::named("dataset_owd"),
        |row: &OwdRow| &row.flow,
        |row| row.packet.direction,
    )
    .text(
        "way",
        "Which way it went between the points: out (first capture to second) or back.",
        |row| row.packet.path_direction.name(),
    );
    let columns = time_part(
        columns,
        "When the packet passed the first point",
        origin,
        |row| row.at,
    )
    .maybe_signed("received_ns", "When it passed the second point: nanoseconds since 1970-01-01 UTC on the source's clock, to which the destination's is brought by the estimate of offset and skew. Null never in this version.", |row| row.packet.received_at.map(Timestamp::as_nanos));
    let columns = delay(
        columns,
        "owd",
        &format!(
            "One-way delay: received_ns less time_ns. Off by the error of the clocks' offset, which the manifest bounds: as much too long one way as too short the other. {NO_DELAY}"
        ),
        |row| row.packet.one_way_delay,
    );
    let columns = delay(
        columns,
        "queueing_delay",
        &format!(
            "The one-way delay less the smallest of all packets that go the same way between the points, in which an error of the clocks' offset cancels: time in queues, and what a large packet takes longer to send than the smallest. {NO_DELAY}"
        ),
        |row| row.packet.queueing_delay,
    );
    sizes(columns, |row| &row.packet)
        .maybe_count("received_record", "Its record in the capture of the point that it passed second, from 0. Null never in this version.", |row| row.packet.received_record)
        .maybe_flag("reordered", "Whether a packet of its flow that left later arrived earlier (RFC 4737, section 3). Null if its place is not known.", |row| row.packet.reordered)
        .maybe_count("reordering_extent_packets", "How many of the flow's packets arrived from the first one that left later on until this one (RFC 4737, section 4.2). Null if it is not reordered.", |row| row.packet.reordering_extent_packets)
        .done()
}

/// Adds a delay in milliseconds and, exactly, in nanoseconds.
fn delay(
    columns: Builder<OwdRow>,
    name: &str,
    what: &str,
    of: fn(&OwdRow) -> Option<TimeDelta>,
) -> Builder<OwdRow> {
    columns
        .maybe_float(
            &format!("{name}_ms"),
            &format!("{name}_ns / 1e6: milliseconds. Null where that is."),
            move |row| Some(of(row)?.as_nanos() as f64 / 1e6),
        )
        .maybe_span(&format!("{name}_ns"), &format!("{what} Nanoseconds."), of)
}

/// Adds the columns for the packet's sizes.
pub(super) fn sizes<R: 'static>(columns: Builder<R>, of: fn(&R) -> &PathPacket) -> Builder<R> {
    columns
        .maybe_count("number", "The packet's place in the order in which its flow's packets of this direction left, from 0. Null if that is not known.", move |row| of(row).number)
        .maybe_count("sent_record", "Its record in the capture of the point that it passed first, from 0. Null if that is not known.", move |row| of(row).sent_record)
        .count("packets", "How many packets of the path the row stands for: more than one for those that a host's segmentation offload (TSO, GRO) had in one piece.", move |row| of(row).packets)
        .count("payload_bytes", "Bytes of transport payload of all these packets.", move |row| of(row).payload_bytes)
        .count("ip_bytes", "Bytes of all these packets with their headers from IP on.", move |row| of(row).ip_bytes)
}
