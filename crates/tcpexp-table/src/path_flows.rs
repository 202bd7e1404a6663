//! The table of flows of `tcpexp path --flows`: a row per flow and direction.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_pair::path::{DelaySummary, PathFlow, PathSummary};
use tcpexp_pair::spp::{PairedFlow, PathDirection};
use tcpexp_units::TimeDelta;

use crate::columns::{Builder, Columns};
use crate::labels::pair_columns;

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

/// The columns of `tcpexp path --flows`.
pub fn path_flow_columns() -> Columns<PathFlowRow> {
    let columns = pair_columns(Columns::named("path_flows"), PathFlowRow::pair)
        .span("duration_ns", "Time from the flow's first packet to its last, either direction, in nanoseconds on the source point's clock.", |row| row.flow.summary.duration)
        .text("direction", "The direction that this row is about: forward (initiator to responder) or reverse.", |row| row.direction.name())
        .maybe_text("way", "Which way that goes between the points: out (first capture to second) or back. Null if no packet showed it.", |row| row.flow.path_direction(row.direction).map(PathDirection::name));
    let columns = delay(
        counts(columns),
        "one_way_delay",
        "One-way delays, off by the error of the clocks' offset",
        |row| row.path().one_way_delay,
    );
    delay(columns, "queueing_delay", "One-way delays less the smallest of all packets that go the same way between the points", |row| row.path().queueing_delay)
        .maybe_count("bottleneck_bps", "The rate at which the narrowest link of the path passes on IP packets, headers from IP on included, in bits per second: from how far packets that queued arrived behind each other. Null if too few queued, or at too many rates.", |row| row.path().bottleneck_bps)
        .done()
}

fn counts(columns: Builder<PathFlowRow>) -> Builder<PathFlowRow> {
    columns
        .count("sent_packets", "Packets that left the point that this direction passes first, each counted once: the sum of delivered, lost, missed, lost_or_missed, ambiguous and outside.", |row| row.path().sent())
        .count("delivered_packets", "Of sent, those seen at the other point as well.", |row| row.path().delivered())
        .count("lost_packets", "Of sent, those never seen at the other point though that capture was running and is not known to have missed them: the least that the path lost.", |row| row.path().lost())
        .count("missed_packets", "Of sent, those that arrived, as their acknowledgments show, and that the capture there missed.", |row| row.path().missed())
        .count("lost_or_missed_packets", "Of sent, those that the path lost or that the capture at the other point missed: the path lost between lost_packets and the sum of both.", |row| row.path().lost_or_missed())
        .count("ambiguous_packets", "Of sent, those like another packet in every field that identifies one, so that their fate is not known.", |row| row.path().counts.ambiguous)
        .count("outside_packets", "Of sent, those that may have arrived while the other capture was not running.", |row| row.path().counts.outside)
        .count("duplicate_packets", "Packets that arrived once more; all of those in a capture with two records of each packet.", |row| row.path().duplicated())
        .count("unseen_upstream_packets", "Packets that arrived and were not seen leaving though that capture was running.", |row| row.path().counts.unseen_upstream)
        .count("reordered_packets", "Of delivered, those that a packet of the flow that left later had overtaken (RFC 4737, section 3).", |row| row.path().reordered)
        .maybe_count("largest_extent_packets", "The largest reordering extent, in packets (RFC 4737, section 4.2). Null if none is reordered.", |row| row.path().largest_extent_packets)
        .count("loss_runs", "Runs of packets that left one after another and were all lost; what is missing of a piece that arrived in part is a run of its own.", |row| row.path().losses.runs)
        .maybe_count("longest_loss_run_packets", "Packets in the longest of these runs. Null without losses.", |row| row.path().losses.longest)
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
