//! The table `flows`: a row per flow and direction, with all measurements of the flow.

use std::sync::Arc;

use tcpexp_flow::{Direction, EcnMode, Protocol};
use tcpexp_measure::Vantage;
use tcpexp_measure::flows::{ConnectionSummary, DirectionSummary};
use tcpexp_measure::sender::CongestionFamily;
use tcpexp_pair::spp::{PathDirection, Point};
use tcpexp_units::Timestamp;

use super::flow::{DatasetFlow, flow_part, time_part};
use super::flow_parts::{Arrived, SenderTotals};
use super::flow_path::{DirectionPath, FlowPath};
use crate::columns::{Builder, Columns};
use crate::connections::{behind_their_place, of_tcp, rate_bps, round_trips, sizes};
use crate::path_flows::delay;

/// One direction of a flow.
#[derive(Clone, Debug)]
pub struct FlowRow {
    /// The flow.
    pub flow: Arc<DatasetFlow>,
    /// The direction of this row.
    pub direction: Direction,
    /// The capture that the direction's packets pass first; the row's counts come from it.
    pub capture: Point,
    /// Time of the first packet at this capture, on the source's clock.
    pub at: Timestamp,
    /// The connection, as this capture shows it.
    pub connection: Arc<ConnectionSummary>,
    /// The direction's name within the connection of this capture.
    pub local: Direction,
    /// The direction, as the other capture shows it.
    pub arrived: Option<Arrived>,
    /// The fate of the direction's packets on the path.
    pub path: Option<Arc<FlowPath>>,
    /// Totals of the reconstructed sender.
    pub sender: Option<SenderTotals>,
}

pub(super) fn columns(origin: Timestamp) -> Columns<FlowRow> {
    let columns = Columns::named("dataset_flows");
    let columns = flow_part(columns, |row: &FlowRow| &row.flow, |row| row.direction)
        .name("capture", "Capture that this direction passes first, where its packets are counted: src or dst; with one capture src.", |row| row.capture.name());
    let columns = time_part(
        columns,
        "Time of the flow's first packet in that capture, in either direction",
        origin,
        |row| row.at,
    )
    .span(
        "duration_ns",
        "Time from the flow's first to its last packet in either direction, in nanoseconds.",
        |row| row.connection.duration,
    );
    let columns = connection(columns);
    let columns = sizes(columns, FlowRow::summary, FlowRow::tcp, |row| {
        row.connection.duration
    });
    let columns = behind_their_place(columns, FlowRow::summary, FlowRow::tcp);
    let columns = path(arrived(columns));
    let columns = delay(
        columns,
        "rtt",
        "Round-trip times between the two points of pairs whose first packet has this direction",
        FlowRow::rtt,
    )
    .maybe_span("rtt_error_ns", "Maximum error of these round-trip times, and so of their quantiles, in nanoseconds: the largest rtt_error_ns of their samples in the table rtt. Null if there is none.", |row| row.path.as_ref()?.rtt_error(row.direction));
    let columns = delay(
        columns,
        "owd",
        "One-way delays, including the error of the clock offset",
        |row| row.path()?.one_way_delay,
    )
    .maybe_span("owd_error_ns", "Maximum error of these one-way delays, in nanoseconds. If at most 5 % of the packets are next to a possible clock step, mainly at the ends of the captures, their errors are left out. Null if no packet has an error, and if the clocks' offset has no bound: all packets of the run went one way, or the fastest packets contradict each other.", |row| row.path()?.one_way_delay_error);
    let columns = delay(columns, "queueing_delay", "One-way delays minus the smallest one of all packets in the same direction", |row| row.path()?.queueing_delay)
        .maybe_span("queueing_delay_error_ns", "Maximum error of these queueing delays, in nanoseconds. If at most 5 % of the packets are next to a possible clock step, mainly at the ends of the captures, their errors are left out. Null if no packet has an error, and if the clocks' offset has no bound: the movement of the clocks is then unknown.", |row| row.path()?.queueing_delay_error)
        .maybe_count("bottleneck_bps", "Rate of IP packets, headers included, at the narrowest link of the path, in bits per second. Null with one capture, if too few packets queued, if the rates disagree, if the error of the queueing delays hides which packets queued, or if part of the traffic is not recognised.", |row| row.path()?.bottleneck_bps);
    let columns = round_trips(columns, "ack_rtt", |row| row.summary().rtt.as_ref());
    sender(columns).done()
}

impl FlowRow {
    fn tcp(&self) -> Option<&DirectionSummary> {
        of_tcp(&self.connection, self.summary())
    }

    fn summary(&self) -> &DirectionSummary {
        // A capture without the handshake may take the other end for the initiator.
        &self.connection.directions[self.local.index()]
    }

    fn path(&self) -> Option<&DirectionPath> {
        Some(self.path.as_ref()?.direction(self.direction))
    }

    fn path_direction(&self) -> Option<PathDirection> {
        self.path.as_ref()?.path_direction(self.direction)
    }

    fn rtt(&self) -> Option<tcpexp_metrics::RttSummary> {
        self.path.as_ref()?.rtt(self.direction)
    }

    fn is_tcp(&self) -> bool {
        self.connection.protocol == Protocol::Tcp
    }
}

fn connection(columns: Builder<FlowRow>) -> Builder<FlowRow> {
    columns
        .maybe_span("clock_tick_ns", "Tick of that capture's clock in nanoseconds, found from its first packets, if it is longer than 1 µs. Each difference of its times, such as handshake_rtt_ns or ack_rtt_median_ns, is off by less than one tick. Null for other clocks.", |row| row.connection.coarse_tick)
        .name("initiator_known", "Evidence for the initiator: it sent the SYN (syn), received the SYN-ACK (syn_ack), or only sent the first captured packet (first_packet).", |row| row.connection.initiator_known.name())
        .maybe_text("ending", "How the connection ended: closed (FIN from both ends), half_closed_by_ or reset_by_ an end, unanswered, or open at the end of the capture. Null for other protocols than TCP.", |row| row.is_tcp().then(|| row.connection.ending.name()))
        .maybe_text("vantage", "Position of that capture: at the initiator, at the responder, or between. Null if unknown.", |row| row.connection.vantage.map(Vantage::name))
        .maybe_span("handshake_rtt_ns", "Time from the SYN to the ACK of the SYN-ACK, the whole round trip, in nanoseconds. Null if a part was not captured or was retransmitted.", |row| row.connection.handshake_rtt)
        .maybe_flag("sack", "Whether both SYNs permit selective acknowledgments (RFC 2018). Null without both SYNs.", |row| row.connection.sack)
        .maybe_flag("timestamps", "Whether both SYNs carry timestamps (RFC 7323). Null without both SYNs.", |row| row.connection.timestamps)
        .maybe_flag("window_scaling", "Whether both SYNs offer window scaling (RFC 7323). Null without both SYNs.", |row| row.connection.window_scaling)
        .maybe_text("ecn", "How the ends agreed to report congestion marks: none, classic (RFC 3168) or accurate (RFC 9768). Null without both SYNs, or if the SYN-ACK fits both modes and the SYNs asked for both.", |row| row.connection.ecn.map(EcnMode::name))
}

/// Adds the columns from the other capture.
fn arrived(columns: Builder<FlowRow>) -> Builder<FlowRow> {
    const NULL: &str = "Null if the flow was not found in both captures.";
    let unique = |row: &FlowRow| Some(row.arrived?.unique_bytes);
    let span = |row: &FlowRow| row.arrived?.span;
    columns
        .maybe_count("arrived_packets", &format!("Packets of this direction at the point that it passes second. {NULL}"), |row| Some(row.arrived?.packets))
        .maybe_count("arrived_ip_bytes", &format!("Bytes of their IP datagrams. {NULL}"), |row| Some(row.arrived?.ip_bytes))
        .maybe_count("arrived_unique_bytes", &format!("Bytes of payload that arrived, each counted once; for other protocols than TCP all of them. {NULL}"), unique)
        .maybe_span("arrived_span_ns", &format!("Time from the first packet of this direction that arrived to the last, in nanoseconds. {NULL}"), span)
        .maybe_count("arrived_goodput_bps", "arrived_unique_bytes over arrived_span_ns, in bits per second, rounded down. Null unless arrived_span_ns is greater than 0.", move |row| rate_bps(unique(row)?, span(row)?))
}

fn path(columns: Builder<FlowRow>) -> Builder<FlowRow> {
    const NULL: &str = "Null if the flow was not found in both captures.";
    type Count = fn(&DirectionPath) -> u64;
    let counts: [(&str, &str, Count); 11] = [
        (
            "path_sent_packets",
            "Packets of this direction at the point they pass first, each counted once: the sum of delivered, lost, missed, lost_or_missed, ambiguous and outside",
            |path| path.sent,
        ),
        (
            "path_delivered_packets",
            "Packets of path_sent_packets also captured at the other point",
            |path| path.delivered,
        ),
        (
            "path_lost_packets",
            "Packets of path_sent_packets never captured at the other point, although that capture was running and is not known to miss packets",
            |path| path.rare().lost,
        ),
        (
            "path_lost_unproven_packets",
            "Packets of path_lost_packets without a proof of the loss, such as datagrams, acknowledgments, and data if the capture at the other point is not at the receiver: the capture at the other point may have missed some of them",
            |path| path.rare().lost_unproven,
        ),
        (
            "path_missed_packets",
            "Packets of path_sent_packets that arrived, as their acknowledgments show, but that the capture at the other point missed",
            |path| path.rare().missed,
        ),
        (
            "path_lost_or_missed_packets",
            "Packets of path_sent_packets that the path lost or that the capture at the other point missed: the path lost at most this many packets in addition to path_lost_packets",
            |path| path.rare().lost_or_missed,
        ),
        (
            "path_ambiguous_packets",
            "Packets of path_sent_packets equal to another packet, or to a retransmission that may have left uncaptured, in every identifying field, or captured around an unknown clock step, so their fate is unknown",
            |path| path.rare().ambiguous,
        ),
        (
            "path_outside_packets",
            "Packets of path_sent_packets that may have arrived while the other capture was not running",
            |path| path.rare().outside,
        ),
        (
            "path_duplicate_packets",
            "Further arrivals of packets that had arrived before: duplicates made on the path, and second records of the capture",
            |path| path.rare().duplicated,
        ),
        (
            "path_unseen_upstream_packets",
            "Packets captured on arrival but not on departure, although that capture was running",
            |path| path.rare().unseen_upstream,
        ),
        (
            "path_reordered_packets",
            "Packets of path_delivered_packets that arrived after a packet of the flow that left later (RFC 4737, section 3)",
            |path| path.rare().reordered,
        ),
    ];
    let columns = columns.maybe_text("way", "Direction between the points: out (first capture to second) or back. Null with one capture, and if no packet passed both points.", |row: &FlowRow| row.path_direction().map(PathDirection::name));
    let columns = counts
        .into_iter()
        .fold(columns, |columns, (name, what, of)| {
            columns.maybe_count(name, &format!("{what}. {NULL}"), move |row| {
                row.path().map(of)
            })
        });
    columns
        .maybe_count(
            "loss_runs",
            &format!("Runs of consecutively sent packets that were all lost. {NULL}"),
            |row| Some(row.path()?.rare().loss_runs),
        )
        .maybe_count(
            "rtt_samples",
            &format!("Round-trip times in the table rtt whose first packet went this way. {NULL}"),
            |row| {
                // Without a path the number is unknown; a path without samples has zero.
                row.path()?;
                Some(row.rtt().map_or(0, |rtt| rtt.samples))
            },
        )
}

fn sender(columns: Builder<FlowRow>) -> Builder<FlowRow> {
    const NULL: &str = "Null if the sender was not reconstructed.";
    let limited = |row: &FlowRow| Some(row.sender?.limited);
    columns
        .maybe_count("recoveries", &format!("Recoveries of this direction's sender, of any kind. {NULL}"), |row| Some(row.sender?.recoveries.into()))
        .maybe_count("timeouts", &format!("Recoveries that began with a retransmission timeout. {NULL}"), |row| Some(row.sender?.timeouts.into()))
        .maybe_span("busy_ns", &format!("Time with data outstanding, in nanoseconds. {NULL} Also null if its order of events was not seen."), move |row| limited(row)?.busy)
        .maybe_span("congestion_limited_ns", &format!("Of busy_ns, time with the congestion window filled or losses being repaired, in nanoseconds. {NULL} Also null if the sender is paced or its order of events was not seen."), move |row| limited(row)?.congestion_window)
        .maybe_span("receiver_limited_ns", &format!("Of busy_ns, time with no room for a segment in the receiver's window, in nanoseconds. {NULL} Also null if its order of events was not seen."), move |row| limited(row)?.receiver_window)
        .maybe_text("congestion_family", "Family of congestion controls that the sender's reductions, pacing and window growth suggest. Null if the sender was not reconstructed, or if the evidence fits no family.", |row| row.sender?.family.map(CongestionFamily::name))
}
