//! The table of `tcpexp path`: a row per packet.

use std::borrow::Borrow;

use tcpexp_pair::path::{PathPacket, PathSegment};

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, label_at_source_columns};

/// A packet on its way between two of several points.
#[derive(Clone, Debug)]
pub struct PointsRow {
    /// The two points.
    pub segment: PathSegment,
    /// The packet between them.
    pub packet: Labelled<PathPacket>,
}

impl Borrow<Labelled<PathPacket>> for PointsRow {
    fn borrow(&self) -> &Labelled<PathPacket> {
        &self.packet
    }
}

/// The columns of `tcpexp path` with two captures.
pub fn path_columns() -> Columns<Labelled<PathPacket>> {
    packet_columns(Columns::named("path")).done()
}

/// The columns of `tcpexp path` with more captures.
pub fn points_columns() -> Columns<PointsRow> {
    let columns = segment_column(Columns::named("points"), |row: &PointsRow| row.segment);
    packet_columns(columns).done()
}

/// Adds the column of the two points of a row.
pub(crate) fn segment_column<R: 'static>(
    columns: Builder<R>,
    segment: fn(&R) -> PathSegment,
) -> Builder<R> {
    columns.text(
        "segment",
        "The two points of the row, by their places on the command line from 1: 1>2 is the segment between the first and the second point, and 1>3 is the whole path if there are three. The same for packets in both directions. In the other columns, the source is the first point of the path, and the destination the second point of the segment.",
        move |row| segment(row).to_string(),
    )
}

/// The packet of a row.
fn of<R: Borrow<Labelled<PathPacket>>>(row: &R) -> &PathPacket {
    &row.borrow().row
}

fn packet_columns<R: Borrow<Labelled<PathPacket>> + 'static>(columns: Builder<R>) -> Builder<R> {
    let columns = label_at_source_columns(columns, |row| &row.borrow().flow)
        .name("direction", "Direction of the packet within its flow: forward (initiator to responder) or reverse.", |row| of(row).direction.name())
        .name("way", "Direction of the packet between the points: out (first capture to second) or back.", |row| of(row).path_direction.name())
        .name("fate", "Fate of the packet: delivered (captured at both points), lost (sent and never captured at the other point while that capture was running), missed (acknowledged, so it arrived, but the capture there missed it), lost_or_missed (one of the two: a capture is known to miss packets, one of several packets with the same bytes arrived uncaptured, or an arrival that matches no departure, such as a first fragment, may be this packet), ambiguous (equal to another packet, or to a retransmission that may have left uncaptured, in every identifying field; the first fragment of a packet that may have left whole; or captured around an unknown clock step), outside (the other capture may not have been running), copy (duplicate record at the sending point), duplicate (arrived a second time) or unseen (captured on arrival but not on departure).", |row| of(row).fate.name());
    let columns = delays(places(columns));
    reordering(columns)
        .count("packets", "Packets on the path that the row stands for: more than one for a super-packet of segmentation offload (TSO, GRO), and for indistinguishable packets. A super-packet of which nothing arrived is one packet: it may have been dropped whole.", |row| of(row).packets)
        .count("payload_bytes", "Bytes of transport payload of all these packets.", |row| of(row).payload_bytes)
        .count("ip_bytes", "Bytes of all these packets from the IP header on.", |row| of(row).ip_bytes)
}

fn places<R: Borrow<Labelled<PathPacket>> + 'static>(columns: Builder<R>) -> Builder<R> {
    const TIMELINE: &str = "on the source's clock without its steps; times of the destination are converted by the estimated offset and skew";
    columns
        .maybe_count("number", "Position of the packet in the sending order of its flow and direction, from 0. Null if unknown, and for copies.", |row| of(row).number)
        .maybe_count("sent_record", "Record number in the capture at the first point, from 0. Null if the packet was not captured there.", |row| of(row).sent_record)
        .maybe_count("received_record", "Record number in the capture at the second point, from 0. Null if the packet was not captured there.", |row| of(row).received_record)
        .maybe_time("sent_time", &format!("Time when the packet passed the first point, {TIMELINE}. Null if the packet was not captured there."), |row| of(row).sent_at)
        .maybe_time("received_time", &format!("Time when the packet passed the second point, {TIMELINE}. Null if the packet was not captured there."), |row| of(row).received_at)
}

fn delays<R: Borrow<Labelled<PathPacket>> + 'static>(columns: Builder<R>) -> Builder<R> {
    columns
        .maybe_span_twice("one_way_delay", "received_time minus sent_time, in nanoseconds. Off by at most one_way_delay_error_ns, mostly the error of the clocks' offset: the same for all packets of the run that go the same way, with the opposite sign for the others. Null if the packet was not seen at both points, or a clock was set in between. If one_way_delay_error_ns is null for a packet with a delay, the offset is unknown: only differences between delays in the same direction have a meaning.", |row| of(row).one_way_delay)
        .maybe_span_twice("queueing_delay", "one_way_delay_ns minus the smallest one of all packets that go the same way between the points, in nanoseconds; an error of the clocks' offset cancels. It contains the time in queues and the extra serialisation time of large packets. If the path itself takes longer than for that packet, such as after a change of its route, this difference counts too. Null where one_way_delay_ns is null.", |row| of(row).queueing_delay)
        .maybe_span("one_way_delay_error_ns", "Maximum error of one_way_delay_ns in nanoseconds: half the sum of the smallest delays of both directions, one tick of each clock, and what the clocks may have moved, beyond the detected skew and steps, since the packets with the smallest delays. Null without a delay, and if the clocks' offset has no bound: all packets of the run went one way, or the fastest packets contradict each other.", |row| of(row).one_way_delay_error)
        .maybe_span("queueing_delay_error_ns", "Maximum error of queueing_delay_ns in nanoseconds: one tick of each clock, and what the clocks may have moved since the packet with the smallest delay, beyond the detected skew and steps. Null without a delay, and if the clocks' offset has no bound: the movement of the clocks is then unknown.", |row| of(row).queueing_delay_error)
        .maybe_flag("ce_marked", "True if the packet left without the ECN codepoint CE and arrived with it: a queue between the points marked it (RFC 3168, section 5). Null if the packet was not captured at both points.", |row| of(row).ce_marked)
}

fn reordering<R: Borrow<Labelled<PathPacket>> + 'static>(columns: Builder<R>) -> Builder<R> {
    columns
        .maybe_flag("reordered", "Whether a later packet of its flow arrived earlier (RFC 4737, section 3). Null if it did not arrive or arrived as a duplicate.", |row| of(row).reordered)
        .maybe_count("reordering_extent_packets", "Reordering extent in packets (RFC 4737, section 4.2): arrivals of the flow from the first later packet up to this one, or up to the last packet of a super-packet. Null if it is not reordered.", |row| of(row).reordering_extent_packets)
}
