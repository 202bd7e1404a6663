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
        .span("duration_ns", "Time from the flow's first to its last packet in either direction, in nanoseconds on the source point's clock.", |row| row.flow.summary.duration)
        .name("direction", "Direction of the row: forward (initiator to responder) or reverse.", |row| row.direction.name())
        .maybe_text("way", "Direction between the points: out (first capture to second) or back. Null if no packet passed both points.", |row| row.flow.path_direction(row.direction).map(PathDirection::name));
    let columns = delay(
        counts(columns),
        "one_way_delay",
        "One-way delays, including the error of the clock offset",
        |row| row.path().one_way_delay,
    );
    delay(columns, "queueing_delay", "One-way delays minus the smallest one of all packets in the same direction", |row| row.path().queueing_delay)
        .maybe_count("bottleneck_bps", "Rate of IP packets, headers included, at the narrowest link of the path, in bits per second; from the spacing of queued packets. Null if too few packets queued or the rates disagree.", |row| row.path().bottleneck_bps)
        .done()
}

fn counts(columns: Builder<PathFlowRow>) -> Builder<PathFlowRow> {
    columns
        .count("sent_packets", "Packets of this direction at the point they pass first, each counted once: the sum of delivered, lost, missed, lost_or_missed, ambiguous and outside.", |row| row.path().sent())
        .count("delivered_packets", "Of sent_packets, those captured at the other point as well.", |row| row.path().delivered())
        .count("lost_packets", "Of sent_packets, those never captured at the other point while that capture was running and is not known to have missed them: a lower bound of the loss on the path.", |row| row.path().lost())
        .count("missed_packets", "Of sent_packets, those that arrived, as their acknowledgments show, but that the capture there missed.", |row| row.path().missed())
        .count("lost_or_missed_packets", "Of sent_packets, those that the path lost or the capture at the other point missed: the path lost between lost_packets and the sum of both columns.", |row| row.path().lost_or_missed())
        .count("ambiguous_packets", "Of sent_packets, those equal to another packet in every identifying field, so their fate is unknown.", |row| row.path().counts.ambiguous)
        .count("outside_packets", "Of sent_packets, those that may have arrived while the other capture was not running.", |row| row.path().counts.outside)
        .count("duplicate_packets", "Packets that arrived a second time; all packets if the capture has two records of each.", |row| row.path().duplicated())
        .count("unseen_upstream_packets", "Packets captured on arrival but not on departure, although that capture was running.", |row| row.path().counts.unseen_upstream)
        .count("reordered_packets", "Of delivered_packets, those overtaken by a later packet of the flow (RFC 4737, section 3).", |row| row.path().reordered)
        .maybe_count("largest_extent_packets", "Largest reordering extent, in packets (RFC 4737, section 4.2). Null if no packet is reordered.", |row| row.path().largest_extent_packets)
        .count("loss_runs", "Runs of consecutively sent packets that were all lost; the missing part of a super-packet is a separate run.", |row| row.path().losses.runs)
        .maybe_count("longest_loss_run_packets", "Packets in the longest loss run. Null without losses.", |row| row.path().losses.longest)
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
