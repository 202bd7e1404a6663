//! The table `owd`: a row per packet that arrived.

use std::sync::Arc;

use tcpexp_pair::path::PathPacket;
use tcpexp_units::Timestamp;

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
    const NO_DELAY: &str = "Null if a clock was stepped while the packet was in flight.";
    let columns = flow_part(
        Columns::named("dataset_owd"),
        |row: &OwdRow| &row.flow,
        |row| row.packet.direction,
    )
    .text(
        "way",
        "Direction of the packet between the points: out (first capture to second) or back.",
        |row| row.packet.path_direction.name(),
    );
    let columns = time_part(
        columns,
        "Time when the packet passed the first point",
        origin,
        |row| row.at,
    )
    .maybe_time("received_time", "Time at the second point on the source's clock, converted from the destination's by the estimated offset and skew. Never null in this version.", |row| row.packet.received_at);
    let columns = columns
        .maybe_span_twice("owd", &format!("One-way delay: received_time minus time, in nanoseconds. Off by at most owd_error_ns, mostly the error of the clock offset, with opposite signs in the two directions. {NO_DELAY} If owd_error_ns is null for a packet with a delay, the offset is unknown: only differences between delays in the same direction have a meaning."), |row| row.packet.one_way_delay)
        .maybe_span_twice("queueing_delay", &format!("One-way delay minus the smallest one of all packets in the same direction, in nanoseconds, so the clock offset cancels: time in queues, and the extra serialisation time of large packets. If the path itself takes longer than for that packet, such as after a change of its route, this difference counts too. {NO_DELAY}"), |row| row.packet.queueing_delay)
        .maybe_span("owd_error_ns", &format!("Maximum error of owd_ns in nanoseconds: half the sum of the smallest delays of both directions, one tick of each clock, and what the clocks may have moved, beyond the detected skew and steps, since the packets with the smallest delays. {NO_DELAY} Also null if the clocks' offset has no bound: all packets of the run went one way, or the fastest packets contradict each other."), |row| row.packet.one_way_delay_error)
        .maybe_span("queueing_delay_error_ns", &format!("Maximum error of queueing_delay_ns in nanoseconds: one tick of each clock, and what the clocks may have moved since the packet with the smallest delay, beyond the detected skew and steps. {NO_DELAY} Also null if the clocks' offset has no bound: the movement of the clocks is then unknown."), |row| row.packet.queueing_delay_error);
    sizes(columns, |row| &row.packet)
        .maybe_count("received_record", "Record number in the capture at the second point, from 0. Never null in this version.", |row| row.packet.received_record)
        .maybe_flag("reordered", "Whether a later packet of its flow arrived earlier (RFC 4737, section 3). Null if its position is unknown.", |row| row.packet.reordered)
        .maybe_count("reordering_extent_packets", "Reordering extent in packets (RFC 4737, section 4.2): arrivals of the flow from the first later packet up to this one, or up to the last packet of a super-packet. Null if it is not reordered.", |row| row.packet.reordering_extent_packets)
        .done()
}

/// Adds the columns for the packet's sizes.
pub(super) fn sizes<R: 'static>(columns: Builder<R>, of: fn(&R) -> &PathPacket) -> Builder<R> {
    columns
        .maybe_count("number", "Position of the packet in the sending order of its flow and direction, from 0. Null if unknown.", move |row| of(row).number)
        .maybe_count("sent_record", "Record number in the capture at the first point, from 0. Null if unknown.", move |row| of(row).sent_record)
        .count("packets", "Packets on the path that the row stands for: more than one for a super-packet of segmentation offload (TSO, GRO). A super-packet of which nothing arrived is one packet: it may have been dropped whole.", move |row| of(row).packets)
        .count("payload_bytes", "Bytes of transport payload of all these packets.", move |row| of(row).payload_bytes)
        .count("ip_bytes", "Bytes of all these packets from the IP header on.", move |row| of(row).ip_bytes)
}
