//! The table of flows of `tcpexp path --flows`: a row per flow and direction.

use std::borrow::Borrow;
use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_pair::path::{DelaySummary, PathFlow, PathSegment, PathSummary};
use tcpexp_pair::spp::{PairedFlow, PathDirection};
use tcpexp_units::TimeDelta;

use crate::columns::{Builder, Columns};
use crate::labels::pair_columns;
use crate::path::segment_column;

/// One direction of a flow found at both points.
#[derive(Clone, Debug)]
pub struct PathFlowRow {
    flow: Arc<PathFlow>,
    direction: Direction,
}

impl PathFlowRow {
    /// The rows of a finished flow: forward, then reverse.
    pub fn of(flow: PathFlow) -> [Self; 2] {
        let flow = Arc::new(flow);
        Direction::BOTH.map(|direction| Self {
            flow: Arc::clone(&flow),
            direction,
        })
    }

    fn pair(&self) -> &PairedFlow {
        &self.flow.summary.flow
    }

    fn path(&self) -> &PathSummary {
        &self.flow.directions[self.direction.index()]
    }
}

/// One direction of a flow between two of several points.
#[derive(Clone, Debug)]
pub struct PointsFlowRow {
    segment: PathSegment,
    row: PathFlowRow,
}

impl PointsFlowRow {
    /// The rows of a finished flow: forward, then reverse.
    pub fn of(segment: PathSegment, flow: PathFlow) -> [Self; 2] {
        PathFlowRow::of(flow).map(|row| Self { segment, row })
    }
}

impl Borrow<PathFlowRow> for PointsFlowRow {
    fn borrow(&self) -> &PathFlowRow {
        &self.row
    }
}

/// The columns of `tcpexp path --flows` with two captures.
pub fn path_flow_columns() -> Columns<PathFlowRow> {
    flow_columns(Columns::named("path_flows")).done()
}

/// The columns of `tcpexp path --flows` with more captures.
pub fn points_flow_columns() -> Columns<PointsFlowRow> {
    let columns = segment_column(Columns::named("points_flows"), |row: &PointsFlowRow| {
        row.segment
    });
    flow_columns(columns).done()
}

/// The row of a flow.
fn of<R: Borrow<PathFlowRow>>(row: &R) -> &PathFlowRow {
    row.borrow()
}

fn flow_columns<R: Borrow<PathFlowRow> + 'static>(columns: Builder<R>) -> Builder<R> {
    let columns = pair_columns(columns, |row| of(row).pair())
        .span("duration_ns", "Time from the flow's first to its last packet in either direction, in nanoseconds on the source point's clock.", |row| of(row).flow.summary.duration)
        .name("direction", "Direction of the row: forward (initiator to responder) or reverse.", |row| of(row).direction.name())
        .maybe_text("way", "Direction between the points: out (first capture to second) or back. Null if no packet passed both points.", |row| of(row).flow.path_direction(of(row).direction).map(PathDirection::name));
    let columns = delay(
        counts(columns),
        "one_way_delay",
        "One-way delays, including the error of the clock offset",
        |row| of(row).path().one_way_delay,
    )
    .maybe_span("one_way_delay_error_ns", "Maximum error of these one-way delays, in nanoseconds. If at most 5 % of the packets are next to a possible clock step, mainly at the ends of the captures, their errors are left out. Null if no packet has an error, and if the clocks' offset has no bound: all packets of the run went one way, or the fastest packets contradict each other.", |row| of(row).path().one_way_delay_error);
    delay(columns, "queueing_delay", "One-way delays minus the smallest one of all packets in the same direction", |row| of(row).path().queueing_delay)
        .maybe_span("queueing_delay_error_ns", "Maximum error of these queueing delays, in nanoseconds. If at most 5 % of the packets are next to a possible clock step, mainly at the ends of the captures, their errors are left out. Null if no packet has an error, and if the clocks' offset has no bound: the movement of the clocks is then unknown.", |row| of(row).path().queueing_delay_error)
        .maybe_count("bottleneck_bps", "Rate of IP packets, headers included, at the narrowest link of the path, in bits per second; from the spacing of queued packets. Null if too few packets queued, if the rates disagree, if the error of the queueing delays hides which packets queued, or if part of the traffic is not recognised.", |row| of(row).path().bottleneck_bps)
}

fn counts<R: Borrow<PathFlowRow> + 'static>(columns: Builder<R>) -> Builder<R> {
    columns
        .count("sent_packets", "Packets of this direction at the point they pass first, each counted once: the sum of delivered, lost, missed, lost_or_missed, ambiguous and outside.", |row| of(row).path().sent())
        .count("delivered_packets", "Of sent_packets, those captured at the other point as well.", |row| of(row).path().delivered())
        .count("lost_packets", "Of sent_packets, those never captured at the other point while that capture was running and is not known to miss packets.", |row| of(row).path().lost())
        .count("lost_unproven_packets", "Of lost_packets, those without a proof of the loss, such as datagrams, acknowledgments, and data if the capture at the other point is not at the receiver: the capture at the other point may have missed some of them. Zero if that capture is known to miss packets, which are then lost_or_missed_packets.", |row| of(row).path().lost_unproven())
        .count("missed_packets", "Of sent_packets, those that arrived, as their acknowledgments show, but that the capture there missed.", |row| of(row).path().missed())
        .count("lost_or_missed_packets", "Of sent_packets, those that the path lost or the capture at the other point missed: the path lost between lost_packets and the sum of both columns.", |row| of(row).path().lost_or_missed())
        .count("ambiguous_packets", "Of sent_packets, those equal to another packet, or to a retransmission that may have left uncaptured, in every identifying field, or captured around an unknown clock step, so their fate is unknown.", |row| of(row).path().counts.ambiguous)
        .count("outside_packets", "Of sent_packets, those that may have arrived while the other capture was not running.", |row| of(row).path().counts.outside)
        .count("duplicate_packets", "Packets that arrived a second time; all packets if the capture has two records of each.", |row| of(row).path().duplicated())
        .count("unseen_upstream_packets", "Packets captured on arrival but not on departure, although that capture was running.", |row| of(row).path().counts.unseen_upstream)
        .count("reordered_packets", "Of delivered_packets, those overtaken by a later packet of the flow (RFC 4737, section 3).", |row| of(row).path().reordered)
        .maybe_count("largest_extent_packets", "Largest reordering extent, in packets (RFC 4737, section 4.2). Null if no packet is reordered.", |row| of(row).path().largest_extent_packets)
        .count("ce_marked_packets", "Of delivered_packets, those that left without the ECN codepoint CE and arrived with it: a queue between the points marked them (RFC 3168, section 5).", |row| of(row).path().ce_marked)
        .maybe_text("marking", "Kind of the queue that marked: l4s (most packets above a threshold of their own delay are marked, and the flow sends ECT(1), RFC 9331), step (the same with ECT(0), as for DCTCP) or classic (few of the packets that waited as long are marked, RFC 3168). Null without marks, and if they fit none with certainty: fewer than 5 marks or 20 of a step, a share between 0.2 and 0.5, short delays with a small share, or a flow that is not ECN-capable.", |row| Some(of(row).path().marking?.law?.name()))
        .maybe_span("marked_queueing_delay_min_ns", "Smallest queueing delay of ce_marked_packets, in nanoseconds. Null without marks.", |row| Some(of(row).path().marking?.min_delay))
        .maybe_span("marked_queueing_delay_median_ns", "Median queueing delay of ce_marked_packets, in nanoseconds. Null without marks.", |row| Some(of(row).path().marking?.median_delay))
        .maybe_float("marked_share", "Share of marked packets among those with a queueing delay of at least marked_queueing_delay_median_ns: near 1 for a step. Null without marks.", |row| Some(of(row).path().marking?.share_above))
        .count("loss_runs", "Runs of consecutively sent packets that were all lost; the missing part of a super-packet is a separate run.", |row| of(row).path().losses.runs)
        .maybe_count("longest_loss_run_packets", "Packets in the longest loss run. Null without losses.", |row| of(row).path().losses.longest)
}

/// Adds the quantile columns of a delay.
pub(crate) fn delay<R: 'static>(
    columns: Builder<R>,
    name: &str,
    what: &str,
    of: fn(&R) -> Option<DelaySummary>,
) -> Builder<R> {
    const NULL: &str = "Null if there is none.";
    const RANK: &str = "nanoseconds; interpolated between packets (SQL: quantile_cont), exact up to 16384 packets and within 0.1 % beyond";
    type Value = fn(&DelaySummary) -> TimeDelta;
    let quantiles: [(&str, String, Value); 6] = [
        (
            "min",
            format!("the smallest, nanoseconds. {NULL}"),
            |delay| delay.min,
        ),
        ("p5", format!("5th percentile, {RANK}. {NULL}"), |delay| {
            delay.p5
        }),
        ("median", format!("median, {RANK}. {NULL}"), |delay| {
            delay.median
        }),
        ("p95", format!("95th percentile, {RANK}. {NULL}"), |delay| {
            delay.p95
        }),
        ("p99", format!("99th percentile, {RANK}. {NULL}"), |delay| {
            delay.p99
        }),
        (
            "max",
            format!("the largest, nanoseconds. {NULL}"),
            |delay| delay.max,
        ),
    ];
    quantiles
        .into_iter()
        .fold(columns, |columns, (quantile, which, value)| {
            columns.maybe_span(
                &format!("{name}_{quantile}_ns"),
                &format!("{what}: {which}"),
                move |row| of(row).as_ref().map(value),
            )
        })
}
