//! Flow summaries as rows: one per flow and direction.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow::record_batch::RecordBatch;
use tcpexp_measure::spp::{DirectionCounts, FlowSummary};
use tcpexp_metrics::RttSummary;
use tcpexp_units::TimeDelta;

use crate::writer::{Format, TableWriter};
use crate::{Error, rtt_flows_schema};

/// Flows per record batch: a summary is some hundred bytes.
const BATCH_FLOWS: usize = 4096;

/// The names of a [`FlowSummary`]'s two rows, by index.
pub(crate) const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// The summaries as a record batch of [`rtt_flows_schema`], two rows each: forward, then reverse.
pub fn flows_batch(summaries: &[FlowSummary]) -> Result<RecordBatch, Error> {
    let rows = Rows(summaries);
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(
            rows.each(|row| row.summary.flow.flow.0),
        )),
        rows.text(|row| Some(row.summary.flow.protocol.name().to_owned())),
        rows.text(|row| Some(row.summary.flow.initiator.to_string())),
        rows.text(|row| Some(row.summary.flow.responder.to_string())),
        rows.text(|row| {
            row.summary
                .flow
                .translated
                .map(|(initiator, _)| initiator.to_string())
        }),
        rows.text(|row| {
            row.summary
                .flow
                .translated
                .map(|(_, responder)| responder.to_string())
        }),
        rows.text(|row| Some(DIRECTIONS[row.direction].to_owned())),
        rows.count(|row| row.rtt().map_or(0, |rtt| rtt.samples)),
    ];
    let quantiles: [fn(&RttSummary) -> TimeDelta; 6] = [
        |rtt| rtt.min,
        |rtt| rtt.p5,
        |rtt| rtt.median,
        |rtt| rtt.p95,
        |rtt| rtt.p99,
        |rtt| rtt.max,
    ];
    columns.extend(quantiles.map(|quantile| rows.span(|row| row.rtt().map(quantile))));
    columns.push(rows.span(|row| Some(row.summary.duration)));
    let counts: [fn(&DirectionCounts) -> u64; 12] = [
        |n| n.seen,
        |n| n.matched,
        |n| n.ambiguous,
        |n| n.copies,
        |n| n.lost,
        |n| n.outside,
        |n| n.arrived,
        |n| n.arrivals_matched,
        |n| n.arrivals_ambiguous,
        |n| n.arrivals_copies,
        |n| n.unseen_upstream,
        |n| n.arrivals_outside,
    ];
    columns.extend(counts.map(|count| rows.count(|row| count(&row.summary.counts[row.direction]))));
    Ok(RecordBatch::try_new(rtt_flows_schema(), columns)?)
}

/// Writes summaries as a table of [`rtt_flows_schema`], in memory that does not grow with their number.
pub struct FlowsWriter<W: Write + Send> {
    table: TableWriter<W>,
    pending: Vec<FlowSummary>,
}

impl<W: Write + Send> FlowsWriter<W> {
    /// Starts a table in `out`.
    pub fn new(format: Format, out: W) -> Result<Self, Error> {
        let table = TableWriter::new(format, &rtt_flows_schema(), out)?;
        let pending = Vec::new();
        Ok(Self { table, pending })
    }

    /// Appends the two rows of one flow.
    pub fn write(&mut self, summary: &FlowSummary) -> Result<(), Error> {
        self.pending.push(summary.clone());
        if self.pending.len() == BATCH_FLOWS {
            self.write_pending()?;
        }
        Ok(())
    }

    /// Completes the table and gives back where it went.
    pub fn finish(mut self) -> Result<W, Error> {
        if !self.pending.is_empty() {
            self.write_pending()?;
        }
        self.table.finish()
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        let batch = flows_batch(&self.pending)?;
        self.pending.clear();
        self.table.write(&batch)
    }
}

/// The rows of a slice of summaries; each method makes one column of them.
struct Rows<'a>(&'a [FlowSummary]);

struct Row<'a> {
    summary: &'a FlowSummary,
    direction: usize,
}

impl Row<'_> {
    fn rtt(&self) -> Option<&RttSummary> {
        self.summary.rtt[self.direction].as_ref()
    }
}

impl<'a> Rows<'a> {
    fn each<T>(&self, value: impl Fn(Row<'a>) -> T) -> impl Iterator<Item = T> {
        let both = |summary| (0..DIRECTIONS.len()).map(move |direction| Row { summary, direction });
        self.0.iter().flat_map(both).map(value)
    }

    fn text(&self, value: impl Fn(Row<'a>) -> Option<String>) -> ArrayRef {
        Arc::new(self.each(value).collect::<StringArray>())
    }

    fn count(&self, value: impl Fn(Row<'a>) -> u64) -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(self.each(value)))
    }

    fn span(&self, value: impl Fn(Row<'a>) -> Option<TimeDelta>) -> ArrayRef {
        let nanos = |row: Row<'a>| value(row).map(TimeDelta::as_nanos);
        Arc::new(self.each(nanos).collect::<Int64Array>())
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_flow::Direction;

    use super::*;
    use crate::testdata::{address, bulk};

    fn written(format: Format, summary: &FlowSummary) -> Vec<u8> {
        let mut table = FlowsWriter::new(format, Vec::new()).unwrap();
        table.write(summary).unwrap();
        table.finish().unwrap()
    }

    #[test]
    fn rows_are_named_like_the_directions_they_are_about() {
        assert_eq!(DIRECTIONS, Direction::BOTH.map(Direction::name));
    }

    #[test]
    fn a_direction_without_samples_has_null_quantiles() {
        let json = written(Format::Json, &bulk(0));
        assert_snapshot!(String::from_utf8(json).unwrap());
    }

    #[test]
    fn translated_endpoints_have_their_columns() {
        let mut summary = bulk(7);
        summary.flow.translated =
            Some((address("203.0.113.7:62001"), address("[2001:db8::2]:443")));
        let csv = written(Format::Csv, &summary);
        assert_snapshot!(String::from_utf8(csv).unwrap());
    }

    #[test]
    fn no_flows_are_a_table_without_rows() {
        let batch = flows_batch(&[]).unwrap();
        assert_eq!((batch.num_rows(), batch.schema()), (0, rtt_flows_schema()));
    }
}
