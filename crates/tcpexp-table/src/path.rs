//! The table of `tcpexp path`: a row per packet.

use tcpexp_pair::path::PathPacket;

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, flow_columns};

/// The columns of `tcpexp path`.
pub fn path_columns() -> Columns<Labelled<PathPacket>> {
    let columns = flow_columns(
        Columns::named("path"),
        |row: &Labelled<PathPacket>| &row.flow,
    )
        .name("direction", "Direction of the packet within its flow: forward (initiator to responder) or reverse.", |row| row.row.direction.name())
        .name("way", "Direction of the packet between the points: out (first capture to second) or back.", |row| row.row.path_direction.name())
        .name("fate", "Fate of the packet: delivered (captured at both points), lost (sent and never captured at the other point while that capture was running), missed (acknowledged, so it arrived, but the capture there missed it), lost_or_missed (one of the two: that capture is known to miss packets, or one of several packets with the same bytes arrived uncaptured), ambiguous (equal to another packet in every identifying field), outside (the other capture may not have been running), copy (duplicate record at the sending point), duplicate (arrived a second time) or unseen (captured on arrival but not on departure).", |row| row.row.fate.name());
    let columns = delays(places(columns));
    reordering(columns)
        .count("packets", "Packets on the path that the row stands for: more than one for a super-packet of segmentation offload (TSO, GRO), and for indistinguishable packets.", |row| row.row.packets)
        .count("payload_bytes", "Bytes of transport payload of all these packets.", |row| row.row.payload_bytes)
        .count("ip_bytes", "Bytes of all these packets from the IP header on.", |row| row.row.ip_bytes)
        .done()
}

fn places(columns: Builder<Labelled<PathPacket>>) -> Builder<Labelled<PathPacket>> {
    const TIMELINE: &str = "on the source's clock without its steps, to which the destination's is brought by the estimate of offset and skew";
    columns
        .maybe_count("number", "Position of the packet in the sending order of its flow and direction, from 0. Null if unknown, and for copies.", |row| row.row.number)
        .maybe_count("sent_record", "Record number in the capture at the first point, from 0. Null if the packet was not captured there.", |row| row.row.sent_record)
        .maybe_count("received_record", "Record number in the capture at the second point, from 0. Null if the packet was not captured there.", |row| row.row.received_record)
        .maybe_time("sent_time", &format!("When it passed the first point, {TIMELINE}. Null if it was not seen there."), |row| row.row.sent_at)
        .maybe_time("received_time", &format!("When it passed the second point, {TIMELINE}. Null if it was not seen there."), |row| row.row.received_at)
}

fn delays(columns: Builder<Labelled<PathPacket>>) -> Builder<Labelled<PathPacket>> {
    columns
        .maybe_span_twice("one_way_delay", "received_time less sent_time, in nanoseconds. Off by the error of the clocks' offset: by as much for all packets of the run, with the other sign for those that go the other way, and by no more than half the sum of the smallest delays both ways; with packets one way only there is no bound. Null if the packet was not seen at both points, or a clock was set in between.", |row| row.row.one_way_delay)
        .maybe_span_twice("queueing_delay", "one_way_delay_ns less the smallest of all packets that go the same way between the points, in nanoseconds; an error of the clocks' offset cancels. In it are the queues, and what a large packet takes longer to send than the smallest. Null where one_way_delay_ns is.", |row| row.row.queueing_delay)
}

fn reordering(columns: Builder<Labelled<PathPacket>>) -> Builder<Labelled<PathPacket>> {
    columns
        .maybe_flag("reordered", "Whether a later packet of its flow arrived earlier (RFC 4737, section 3). Null if it did not arrive or arrived as a duplicate.", |row| row.row.reordered)
        .maybe_count("reordering_extent_packets", "Reordering extent in packets (RFC 4737, section 4.2): arrivals of the flow from the first later packet up to this one. Null if it is not reordered.", |row| row.row.reordering_extent_packets)
}
