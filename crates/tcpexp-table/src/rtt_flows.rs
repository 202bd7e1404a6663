//! Summaries of flows found at two points as rows: one per flow and direction.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_metrics::RttSummary;
use tcpexp_pair::spp::{DirectionCounts, FlowSummary};
use tcpexp_units::TimeDelta;

use crate::columns::{Builder, Columns};
use crate::labels::pair_columns;

/// One direction of a flow found at both points.
#[derive(Clone, Debug)]
pub struct RttFlowRow {
    summary: Arc<FlowSummary>,
    direction: Direction,
}

impl RttFlowRow {
    /// The rows of a finished flow: forward, then reverse.
    pub fn of(summary: FlowSummary) -> [Self; 2] {
        let summary = Arc::new(summary);
        Direction::BOTH.map(|direction| Self {
            summary: Arc::clone(&summary),
            direction,
        })
    }

    fn counts(&self) -> &DirectionCounts {
        &self.summary.counts[self.direction.index()]
    }

    fn rtt(&self, of: impl Fn(&RttSummary) -> TimeDelta) -> Option<TimeDelta> {
        self.summary.rtt[self.direction.index()].as_ref().map(of)
    }
}

/// The columns of `tcpexp rtt SRC DST --flows`: a row per flow and direction.
pub fn rtt_flow_columns() -> Columns<RttFlowRow> {
    const QUANTILE: &str = "nanoseconds; interpolated between samples (SQL: quantile_cont), exact up to 16384 samples and within 0.1 % beyond. Null when there is no sample.";
    let columns = pair_columns(Columns::named("rtt_flows"), |row: &RttFlowRow| &row.summary.flow)
        .name("direction", "Direction of the row: forward (initiator to responder) or reverse.", |row| row.direction.name())
        .count("samples", "Round-trip time samples whose first packet has this direction.", |row| {
            row.summary.rtt[row.direction.index()].as_ref().map_or(0, |rtt| rtt.samples)
        })
        .maybe_span("rtt_min_ns", "Smallest round-trip time, in nanoseconds. Null without samples.", |row| row.rtt(|rtt| rtt.min))
        .maybe_span("rtt_p5_ns", &format!("5th percentile of the round-trip times, {QUANTILE}"), |row| row.rtt(|rtt| rtt.p5))
        .maybe_span("rtt_median_ns", &format!("Median of the round-trip times, {QUANTILE}"), |row| row.rtt(|rtt| rtt.median))
        .maybe_span("rtt_p95_ns", &format!("95th percentile of the round-trip times, {QUANTILE}"), |row| row.rtt(|rtt| rtt.p95))
        .maybe_span("rtt_p99_ns", &format!("99th percentile of the round-trip times, {QUANTILE}"), |row| row.rtt(|rtt| rtt.p99))
        .maybe_span("rtt_max_ns", "Largest round-trip time, in nanoseconds. Null without samples.", |row| row.rtt(|rtt| rtt.max))
        .maybe_span("rtt_error_ns", "Maximum error of these round-trip times, and so of their quantiles, in nanoseconds: the largest rtt_error_ns of their samples. Null without samples.", |row| row.summary.rtt_error[row.direction.index()])
        .span("duration_ns", "Time from the flow's first to its last packet in either direction, in nanoseconds on the source point's clock.", |row| row.summary.duration);
    counts(columns).done()
}

fn counts(columns: Builder<RttFlowRow>) -> Builder<RttFlowRow> {
    columns
        .count("seen_packets", "Packets of this direction at the point it passes first (upstream): the sum of matched, ambiguous, duplicate, absent and outside.", |row| row.counts().seen)
        .count("matched_packets", "Packets of seen_packets that were matched at the other point (downstream).", |row| row.counts().matched)
        .count("ambiguous_packets", "Packets of seen_packets equal to another packet, or to a retransmission that may have left uncaptured, in every identifying field, or captured around an unknown clock step, so not used.", |row| row.counts().ambiguous)
        .count("duplicate_packets", "Packets of seen_packets that are duplicate records in the capture.", |row| row.counts().copies)
        .count("absent_packets", "Packets of seen_packets never found downstream while that capture was running: lost on the path, missed by that capture, fragmented on the path, or in a damaged record. The table of `tcpexp path` has these cases apart.", |row| row.counts().not_found())
        .count("outside_packets", "Packets of seen_packets sent while the downstream capture was not running.", |row| row.counts().outside)
        .count("arrived_packets", "Packets of this direction downstream: the sum of arrivals_matched, arrivals_ambiguous, arrivals_duplicate, unseen_upstream and arrivals_outside.", |row| row.counts().arrived)
        .count("arrivals_matched_packets", "Packets of arrived_packets that were matched upstream.", |row| row.counts().arrivals_matched)
        .count("arrivals_ambiguous_packets", "Packets of arrived_packets equal to another packet, or to a retransmission that may have left uncaptured, in every identifying field, or in a flow that one point ended earlier than the other (a silence, or --max-flows), or captured around an unknown clock step, or first fragments of packets that may have left whole, so not used.", |row| row.counts().arrivals_ambiguous)
        .count("arrivals_duplicate_packets", "Packets of arrived_packets that are duplicate records in the capture or duplicates made on the path.", |row| row.counts().arrivals_copies)
        .count("unseen_upstream_packets", "Packets of arrived_packets not found upstream while that capture was running.", |row| row.counts().unseen_upstream)
        .count("arrivals_outside_packets", "Packets of arrived_packets sent while the upstream capture was not running.", |row| row.counts().arrivals_outside)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::testdata::{address, bulk};
    use crate::{Format, RowsWriter};

    fn written(format: Format, summary: &FlowSummary) -> Vec<u8> {
        let mut table = RowsWriter::new(format, rtt_flow_columns(), Vec::new()).unwrap();
        table.write(RttFlowRow::of(summary.clone())).unwrap();
        table.finish().unwrap()
    }

    #[test]
    fn a_direction_without_samples_has_null_quantiles() {
        let json = written(Format::Json, &bulk(0));
        assert_snapshot!(String::from_utf8(json).unwrap());
    }

    #[test]
    fn translated_endpoints_have_their_columns() {
        let mut summary = bulk(7);
        summary.flow.translated = Some(Box::new((
            address("203.0.113.7:62001"),
            address("[2001:db8::2]:443"),
        )));
        let csv = written(Format::Csv, &summary);
        assert_snapshot!(String::from_utf8(csv).unwrap());
    }

    #[test]
    fn a_capture_without_flows_gives_a_table_without_rows() {
        let batch = rtt_flow_columns().batch(&[]).unwrap();
        assert_eq!(batch.num_rows(), 0);
    }
}
