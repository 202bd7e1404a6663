//! The table of `tcpexp flows`: a row per connection and direction.

use std::sync::Arc;

use tcpexp_flow::{Direction, EcnMode, Protocol, RetransmissionCause};
use tcpexp_measure::flows::{ConnectionSummary, DirectionSummary};
use tcpexp_metrics::RttSummary;
use tcpexp_units::{BitRate, ByteCount, TimeDelta};

use crate::columns::{Builder, Columns};
use crate::labels::PROTOCOL;

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionRow {
    capture: Option<Arc<str>>,
    connection: Arc<ConnectionSummary>,
    direction: Direction,
}

impl ConnectionRow {
    /// The rows of a connection: forward, then reverse. `capture` names its capture among several.
    pub fn of(capture: Option<&Arc<str>>, connection: ConnectionSummary) -> [Self; 2] {
        let connection = Arc::new(connection);
        Direction::BOTH.map(|direction| Self {
            capture: capture.cloned(),
            connection: Arc::clone(&connection),
            direction,
        })
    }

    fn tcp(&self) -> Option<&DirectionSummary> {
        of_tcp(&self.connection, self.summary())
    }

    fn summary(&self) -> &DirectionSummary {
        &self.connection.directions[self.direction.index()]
    }
}

/// The columns of `tcpexp flows`.
pub fn connection_columns() -> Columns<ConnectionRow> {
    let columns = Columns::named("flows")
        .maybe_text("capture", "The capture among several, as given on the command line. Null with one capture, so that its rows do not depend on the files it is divided into.", |row: &ConnectionRow| row.capture.clone())
        .id("flow_id", "The flow's number in this capture, counted from 0 in order of first appearance.", |row| row.connection.flow.0)
        .name("protocol", PROTOCOL, |row| row.connection.protocol.name())
        .text("initiator", "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443.", |row| row.connection.initiator.to_string())
        .text("responder", "Address and port of the responder.", |row| row.connection.responder.to_string())
        .name("initiator_known", "Evidence for the initiator: it sent the SYN (syn), received the SYN-ACK (syn_ack), or only sent the first captured packet (first_packet).", |row| row.connection.initiator_known.name())
        .time("first_time", "Capture time of the flow's first packet.", |row| row.connection.first_at)
        .span("duration_ns", "Time from the flow's first to its last packet in either direction, in nanoseconds.", |row| row.connection.duration)
        .maybe_text("ending", "How the connection ended: closed (FIN from both ends), half_closed_by_ or reset_by_ an end, unanswered, or open at the end of the capture. Null for other protocols than TCP.", |row| (row.connection.protocol == Protocol::Tcp).then(|| row.connection.ending.name()))
        .maybe_text("vantage", "Position of the capture: at the initiator, at the responder, or between; from the round trips to both ends in the handshake or by data and ACKs. At an end means within a tenth of the round trip; retransmitted_packets has a narrower limit. Null if one of the two is unknown.", |row| row.connection.vantage.map(tcpexp_measure::Vantage::name))
        .maybe_span("handshake_rtt_ns", "Time from the SYN to the ACK of the SYN-ACK, the whole round trip, in nanoseconds. Of QUIC from the last packet of the client's first flight to its first packet that answers the server's. Null if a part was not captured or was retransmitted, and if the segment after the SYN-ACK carries data: the ACK before it may be missing.", |row| row.connection.handshake_rtt)
        .maybe_span("clock_tick_ns", "Tick of the capture's clock in nanoseconds, found from its first packets, if it is longer than 1 µs. Each time of this row is too early by less than one tick, and each difference of times, such as a round-trip time, is off by less than one tick. Null for other clocks.", |row| row.connection.coarse_tick)
        .maybe_flag("sack", "Whether both SYNs permit selective acknowledgments (RFC 2018). Null without both SYNs.", |row| row.connection.sack)
        .maybe_flag("timestamps", "Whether both SYNs carry timestamps (RFC 7323). Null without both SYNs.", |row| row.connection.timestamps)
        .maybe_flag("window_scaling", "Whether both SYNs offer window scaling (RFC 7323). Null without both SYNs.", |row| row.connection.window_scaling)
        .maybe_text("ecn", "How the ends agreed to report congestion marks: none, classic (RFC 3168) or accurate (RFC 9768). Null without both SYNs, or if the SYN-ACK fits both modes and the SYNs asked for both.", |row| row.connection.ecn.map(EcnMode::name))
        .maybe_text("quic_version", "Version of QUIC: v1 (RFC 9000) or v2 (RFC 9369), by the long headers of the handshake. Null without one of these.", |row| Some(row.connection.quic?.version?.name()))
        .maybe_id("quic_first_flow_id", "Flow that first carried this QUIC connection: this flow, or an earlier one with other addresses or ports, if the first packet of this flow has a connection ID of that flow's handshake (migration, or a new binding of an address translator). Connection IDs that the ends agree on later are encrypted, and a migration to one of these is not visible. Null if the flow is not known to be QUIC.", |row| Some(row.connection.quic?.first_flow.0))
        .maybe_count("quic_connections", "Number of QUIC connections that these addresses and ports carry, as far as Initial packets show. Null if the flow is not known to be QUIC.", |row| row.connection.quic.map(|quic| quic.connections))
        .maybe_text("quic_spin", "Use of QUIC's spin bit (RFC 9000, section 17.4): spinning (its changes take turns, which a random bit does with a probability below 1/1000), constant, random (it changes out of turn), or undecided (too few packets, one direction only, or several connections). Null if the flow is not known to be QUIC.", |row| Some(row.connection.quic?.spin.name()))
        .name("direction", "Direction of all following columns: forward (initiator to responder) or reverse.", |row| row.direction.name());
    let columns = sizes(columns, ConnectionRow::summary, ConnectionRow::tcp, |row| {
        row.connection.duration
    });
    let columns = behind_their_place(columns, ConnectionRow::summary, ConnectionRow::tcp);
    let columns = round_trips(columns, "rtt", |row| row.summary().rtt.as_ref());
    spin_round_trips(columns, |row| row.summary().spin_rtt.as_deref()).done()
}

/// Adds the columns for the volume and rate of one direction; `tcp` is the direction if its protocol is TCP.
pub(crate) fn sizes<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> &DirectionSummary,
    tcp: fn(&R) -> Option<&DirectionSummary>,
    duration: fn(&R) -> TimeDelta,
) -> Builder<R> {
    columns
        .maybe_id("mss_bytes", "Maximum segment size that this direction's SYN announces to the other end, in bytes. Null if the option is absent.", move |row| of(row).offer.as_ref()?.mss.map(u32::from))
        .maybe_id("window_scale", "Window scale shift that this direction's SYN offers. Null if the option is absent.", move |row| of(row).offer.as_ref()?.window_scale.map(u32::from))
        .count("packets", "Packets of this direction.", move |row| of(row).packets)
        .count("data_packets", "Packets with payload.", move |row| of(row).data_packets)
        .count("wire_bytes", "Bytes on the wire, link headers included.", move |row| of(row).wire_bytes)
        .count("ip_bytes", "Bytes of the IP datagrams.", move |row| of(row).ip_bytes)
        .count("payload_bytes", "Bytes of transport payload.", move |row| of(row).payload_bytes)
        .maybe_count("missed_bytes", "Bytes of data that the other end acknowledged and the capture never shows: the capture missed at least these. Without the SYN, bytes that may have been sent before the capture began do not count. 0 does not prove that it missed nothing: it may have missed pure ACKs, and data that was sent again. Null for other protocols than TCP.", move |row| Some(tcp(row)?.missed.as_ref().map_or(0, |missed| missed.bytes())))
        .count("unique_bytes", "Bytes of payload, without those captured earlier, those outside the receive window and the text of a RST; for other protocols than TCP all bytes.", move |row| of(row).unique_bytes)
        .maybe_count("largest_payload_bytes", "Largest payload of one packet, in bytes; exceeds a segment if the host uses segmentation offload. Null without payload.", move |row| of(row).largest_payload_bytes.map(u64::from))
        .maybe_count("throughput_bps", "IP bytes over the flow's duration, in bits per second. Null if the duration is zero.", move |row| rate_bps(of(row).ip_bytes, duration(row)))
        .maybe_count("goodput_bps", "Unique payload over the flow's duration, in bits per second. Null if the duration is zero.", move |row| rate_bps(of(row).unique_bytes, duration(row)))
}

/// Adds the columns for out-of-order packets, retransmissions and other anomalies, all of TCP but for the marks.
pub(crate) fn behind_their_place<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> &DirectionSummary,
    tcp: fn(&R) -> Option<&DirectionSummary>,
) -> Builder<R> {
    let by_cause = move |row: &R, causes: &[RetransmissionCause]| {
        let of = tcp(row)?;
        let packets = |cause: &RetransmissionCause| of.rare().retransmitted[cause.index()].packets;
        Some(causes.iter().map(packets).sum())
    };
    columns
        .maybe_count("retransmitted_packets", "Retransmitted packets. In a capture at the sender (which answers within 0.3 ms, or within a hundredth of the round trip), all out-of-sequence packets except reordered_packets and undecided_packets; elsewhere, those that the IPv4 Identification, the TSval or, without these, the time identify as retransmitted. Null for other protocols than TCP.", move |row| Some(tcp(row)?.retransmissions().packets))
        .maybe_count("retransmitted_bytes", "Retransmitted bytes of payload. Null for other protocols than TCP.", move |row| Some(tcp(row)?.retransmissions().bytes))
        .maybe_count("fast_retransmitted_packets", "Of retransmitted_packets, those triggered by duplicate or selective ACKs (RFC 5681, RFC 6675, RFC 8985). Null for other protocols than TCP.", move |row| by_cause(row, &[RetransmissionCause::FastRetransmit, RetransmissionCause::ReorderingTimer]))
        .maybe_count("timeout_retransmitted_packets", "Of retransmitted_packets, those sent on a timeout or in the recovery after it (RFC 6298). Null for other protocols than TCP.", move |row| by_cause(row, &[RetransmissionCause::Timeout, RetransmissionCause::AfterTimeout]))
        .maybe_count("tail_loss_probe_packets", "Of retransmitted_packets, probes for a lost tail (RFC 8985). Null for other protocols than TCP.", move |row| by_cause(row, &[RetransmissionCause::TailLossProbe]))
        .maybe_count("spurious_packets", "Packets of retransmitted_packets whose bytes had all been acknowledged. In a capture at the sender (as for retransmitted_packets), they count under no other cause. Elsewhere, they also count under a cause, because the ACK may not have reached the sender. Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().spurious_packets))
        .maybe_count("reordered_packets", "Packets overtaken by later ones, on the path or in the interface of the sender. Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().reordered_packets))
        .maybe_count("undecided_packets", "Out-of-sequence packets that may be reordered, retransmitted or duplicated. Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().undecided_packets))
        .maybe_count("duplicate_packets", "Duplicate records of a packet in the capture, and duplicates made on the path. Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().duplicate_packets))
        .maybe_count("keep_alive_packets", "Keep-alive probes (RFC 9293, section 3.8.4). Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().keep_alive_packets))
        .maybe_count("window_probe_packets", "Probes of a closed window (RFC 9293, section 3.8.6.1). Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().window_probe_packets))
        .maybe_count("duplicate_ack_packets", "Duplicate ACKs that this direction carries (RFC 5681, section 2). Null if the capture cuts off TCP options of this direction, which may hold SACK blocks, unless the SYNs rule out SACK, and for other protocols than TCP.", move |row| tcp(row)?.rare().duplicate_ack_packets)
        .maybe_count("zero_window_packets", "Packets of this direction that announce a receive window of zero. Null for other protocols than TCP.", move |row| Some(tcp(row)?.rare().zero_window_packets))
        .maybe_count("duplicate_sack_packets", "Packets of this direction that report duplicate data by D-SACK (RFC 2883). Null if the capture cuts off TCP options of this direction, which may hold SACK blocks, unless the SYNs rule out SACK, and for other protocols than TCP.", move |row| tcp(row)?.rare().duplicate_sack_packets)
        .count("ce_packets", "Packets captured with the Congestion Experienced mark (RFC 3168).", move |row| of(row).rare().ce_packets)
        .count("ce_bytes", "Bytes of the IP datagrams of ce_packets.", move |row| of(row).rare().ce_bytes)
        .maybe_count("ce_reported_packets", "Packets of this direction that its receiver reports as marked: by the ACE counter and the AccECN option (RFC 9768), with RFC 3168 the number of times ECE was set, a lower bound, or with DCTCP (RFC 8257), whose receiver ends ECE without CWR, the packets covered by ACKs with ECE. Null if ecn is null, if so many packets, pure ACKs included, arrive before an ACK that the counter may have wrapped, or if the counter and the bytes of the option disagree.", move |row| of(row).ce_reported_packets)
        .maybe_float("ce_alpha", "DCTCP's estimate α of the share of marked packets at the end of the flow (RFC 8257, section 3.3): the moving average, with a weight of 1/16 and from 1, of the reported share in each window of data, that is about per round trip. A sender with TCP Prague computes the same average. Null unless the capture is at the sender, and without feedback that identifies the marked packets: with RFC 3168, without the handshake, or if the counter may have wrapped.", move |row| of(row).rare().alpha)
}

/// The direction `of` a TCP connection; `None` for other protocols, whose packets have no sequence numbers that
/// are followed: counts that depend on these are unknown, and not 0.
pub(crate) fn of_tcp<'a>(
    connection: &ConnectionSummary,
    of: &'a DirectionSummary,
) -> Option<&'a DirectionSummary> {
    (connection.protocol == Protocol::Tcp).then_some(of)
}

/// Adds the columns for round-trip times from ACKs.
pub(crate) fn round_trips<R: 'static>(
    columns: Builder<R>,
    name: &str,
    of: fn(&R) -> Option<&RttSummary>,
) -> Builder<R> {
    let named = |what: &str| format!("{name}_{what}");
    columns
        .count(&named("samples"), "Round-trip times from the capture to this direction's receiver and back: from the oldest segment that an ACK newly acknowledges to this ACK, so they contain the delay of a delayed ACK (RFC 7323, section 4.3). Without segments sent more than once, and without those during a recovery (Karn's rule, RFC 6298, section 3).", move |row| of(row).map_or(0, |rtt| rtt.samples))
        .maybe_span(&named("min_ns"), "Smallest of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.min))
        .maybe_span(&named("median_ns"), "Median of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.median))
        .maybe_span(&named("p95_ns"), "95th percentile of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.p95))
        .maybe_span(&named("max_ns"), "Largest of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.max))
}

/// Adds the columns for round-trip times by the spin bit.
fn spin_round_trips<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> Option<&RttSummary>,
) -> Builder<R> {
    columns
        .count("spin_rtt_samples", "Round-trip times of QUIC from the capture to this direction's receiver and back, by the spin bit: from a change of the bit in this direction to the same change in the other. Those of both directions add up to the whole path. Without samples that may exceed the round trip over the path by more than a quarter, because an end had nothing to send, and without those before the spin bit is known to spin. Measurements of public servers find a third of connections accurate without this filter.", move |row| of(row).map_or(0, |rtt| rtt.samples))
        .maybe_span("spin_rtt_min_ns", "Smallest of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.min))
        .maybe_span("spin_rtt_median_ns", "Median of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.median))
        .maybe_span("spin_rtt_p95_ns", "95th percentile of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.p95))
        .maybe_span("spin_rtt_max_ns", "Largest of these round-trip times, in nanoseconds. Null if there are none.", move |row| Some(of(row)?.max))
}

/// Bits per second, rounded down.
pub(crate) fn rate_bps(bytes: u64, span: TimeDelta) -> Option<u64> {
    // A flow of one packet has no duration, and so no rate.
    ByteCount::new(bytes).rate_over(span).map(BitRate::as_bps)
}
