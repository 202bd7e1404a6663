//! The table of `tcpexp explain`: a row per packet.

use tcpexp_measure::packets::ExplainedPacket;
use tcpexp_measure::sender::{Limit, Phase};

use crate::columns::Columns;
use crate::explained_text::{inferred, sack_text};
use crate::sender::wire;

/// The columns of `tcpexp explain`.
pub fn explained_columns() -> Columns<ExplainedPacket> {
    Columns::named("explained")
        .id("flow_id", "The flow's number in the capture, counted from 0 in order of first appearance.", |row: &ExplainedPacket| row.packet.flow.0)
        .count("packet", "Number of the packet in the capture, counted from 1 as in Wireshark.", |row| row.packet.record + 1)
        .time("time", "Capture time.", |row| row.packet.at)
        .name("direction", "Direction of the packet: forward (initiator to responder) or reverse.", |row| row.packet.direction.name())
        .count("payload_bytes", "Bytes of transport payload.", |row| row.packet.payload_bytes.into())
        .maybe_id("start_seq", "First sequence number, as on the wire. Null for other protocols than TCP.", |row| Some(wire(row.packet.tcp?.start)))
        .maybe_id("ack_seq", "Acknowledgment number, as on the wire. Null without one.", |row| row.packet.tcp?.ack.map(wire))
        .maybe_count("window_bytes", "Receive window in bytes. Null for other protocols than TCP, and if its scale was not captured.", |row| row.packet.tcp?.window_bytes)
        .maybe_text("class", "Class of the data: empty, new, after_gap, retransmitted, reordered, behind (retransmitted, reordered or duplicated on the path), copy (a duplicate record), keep_alive or window_probe. Null for other protocols than TCP.", |row| Some(row.packet.tcp?.class.name()))
        .maybe_flag("is_duplicate_ack", "Whether the packet is a duplicate ACK (RFC 5681, section 2). Null for other protocols than TCP.", |row| Some(row.packet.tcp?.is_duplicate_ack))
        .maybe_text("sack", "SACK blocks as first sequence number and the one after the last, relative to the first captured one: 1449:2897 4345:5793. Null without any.", |row| row.packet.tcp.as_ref().and_then(sack_text))
        .maybe_span_twice("rtt", "Round-trip time from the capture to the other end and back that the packet gives, in nanoseconds; an upper bound if the answered packet required no answer. Null without one.", |row| Some(row.packet.tcp?.rtt?.rtt))
        .maybe_text("event_id", "Name of the event that the packet is or begins, for `tcpexp explain --event`. Null without one.", event)
        .maybe_text("cause", "Cause of a retransmission: fast_retransmit, reordering_timer, timeout, after_timeout, tail_loss_probe, path_mtu, refused_syn_data (Fast Open) or spurious. Null for other packets, and if unknown.", |row| Some(row.retransmission?.cause.name()))
        .maybe_count("flight_size_bytes", "Bytes sent and not acknowledged when this ACK arrives at the sender. Null for other packets.", |row| row.sender?.flight_size_bytes)
        .maybe_id("cwnd_segments", "Congestion window of the sender that this ACK reaches, in segments, before the ACK counts. Null for other packets and if unknown.", |row| row.sender?.cwnd_segments)
        .maybe_text("cwnd_source", "Source of cwnd_segments, as in the table of cwnd. Null for other packets.", |row| Some(row.sender?.cwnd_source.name()))
        .maybe_text("phase", "Phase of the congestion control. Null for other packets and if unknown.", |row| row.sender?.phase.map(Phase::name))
        .maybe_span("srtt_ns", "Smoothed round-trip time of the sender. Null for other packets and if unknown.", |row| row.sender?.srtt)
        .maybe_text("limit", "Limit of the sender: congestion_window, receiver_window or application. Null for other packets and if unknown.", |row| row.sender?.limit.map(Limit::name))
        .text("inferred", "What was inferred from the packet, in words.", inferred)
        .done()
}

fn event(row: &ExplainedPacket) -> Option<String> {
    let recovery = row.recovery.map(|epoch| epoch.event_id());
    let again = row.retransmission.map(|again| again.event_id());
    recovery.or(again).map(|id| id.to_string())
}
