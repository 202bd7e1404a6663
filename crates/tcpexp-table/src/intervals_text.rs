//! Summary of load generator intervals, as text for a terminal.

use std::collections::BTreeMap;
use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_logs::import::IntervalSample;
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::by_flow::{OfFlow, by_flow};
use crate::cells::{self, NO_VALUE, Unit, count, mega};
use crate::connections::rate_bps;
use crate::labels::SenderLabel;
use crate::top::Top;

/// Summarizes the intervals of each stream; intervals marked as omitted do not count.
#[derive(Clone, Debug, Default)]
pub struct IntervalTable {
    streams: BTreeMap<(FlowId, usize), Stream>,
}

#[derive(Clone, Debug)]
struct Stream {
    label: Arc<SenderLabel>,
    direction: Direction,
    intervals: u64,
    times: Option<(Timestamp, Timestamp)>,
    bytes: Option<u64>,
    slowest_bps: Option<u64>,
    fastest_bps: Option<u64>,
    retransmitted: Option<u64>,
    srtt: Quantiles,
}

impl IntervalTable {
    /// Adds an interval.
    pub fn add(&mut self, label: &Arc<SenderLabel>, row: &IntervalSample) {
        // The generator's own sums leave out its warm-up too.
        if row.omitted {
            return;
        }
        let key = (label.flow, row.direction.index());
        let stream = self.streams.entry(key).or_insert_with(|| Stream {
            label: Arc::clone(label),
            direction: row.direction,
            intervals: 0,
            times: None,
            bytes: None,
            slowest_bps: None,
            fastest_bps: None,
            retransmitted: None,
            srtt: Quantiles::default(),
        });
        stream.intervals += 1;
        let end = row.start + row.length;
        let (first, last) = stream.times.get_or_insert((row.start, end));
        *first = (*first).min(row.start);
        *last = (*last).max(end);
        // A log without such values has no sum, which differs from zero.
        let sum = |sum: Option<u64>, more: Option<u64>| match more {
            Some(more) => Some(sum.unwrap_or(0) + more),
            None => sum,
        };
        stream.bytes = sum(stream.bytes, row.bytes);
        stream.retransmitted = sum(stream.retransmitted, row.retransmitted_segments);
        stream.fastest_bps = stream.fastest_bps.max(row.goodput_bps);
        // `None` orders before every rate, so `min` would lose the slowest; `max` keeps the
        // fastest.
        stream.slowest_bps = match stream.slowest_bps.zip(row.goodput_bps) {
            Some((slowest, bps)) => Some(slowest.min(bps)),
            None => stream.slowest_bps.or(row.goodput_bps),
        };
        if let Some(srtt) = row.srtt {
            stream.srtt.add(srtt);
        }
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The `most` streams with the most bytes come first; one line sums up the rest.
    pub fn into_text(self, most: usize, width: usize) -> String {
        let mut top = Top::new(most, |stream: &Stream| {
            (stream.bytes.unwrap_or(0), stream.label.flow.0)
        });
        self.streams
            .into_values()
            .for_each(|stream| top.add(stream));
        let lines = |stream: &Stream, srtt, unit: &Unit| vec![stream.line(srtt, unit)];
        by_flow(top, header, lines, ["more stream", "byte"], width)
    }
}

impl OfFlow for Stream {
    fn label(&self) -> &SenderLabel {
        &self.label
    }

    fn srtts(&mut self) -> &mut Quantiles {
        &mut self.srtt
    }
}

impl Stream {
    fn line(&self, srtt: Option<TimeDelta>, unit: &Unit) -> String {
        let span = self.times.map(|(first, last)| last - first);
        let cell = |n: Option<u64>, width| n.map_or(NO_VALUE.to_owned(), |n| count(n, width));
        let rate = |bps: Option<u64>| bps.map_or(NO_VALUE.to_owned(), mega);
        let mean = self.bytes.zip(span);
        let mean = mean.and_then(|(bytes, span)| rate_bps(bytes, span));
        row(
            &format!("  {}", self.direction),
            [
                count(self.intervals, 9),
                span.map_or(NO_VALUE.to_owned(), |span| cells::span(span, 8)),
                cell(self.bytes, 13),
                rate(mean),
                rate(self.slowest_bps),
                rate(self.fastest_bps),
                cell(self.retransmitted, 7),
                srtt.map_or(NO_VALUE.to_owned(), |srtt| unit.show(srtt)),
            ],
        )
    }
}

fn header(unit: &Unit) -> String {
    let cells = [
        "intervals",
        "span",
        "bytes",
        "Mbit/s",
        "min",
        "max",
        "retr.",
        "SRTT",
    ];
    row(&format!("SRTT {}", unit.name), cells.map(str::to_owned))
}

/// One line of numbers, 80 columns wide.
fn row(name: &str, cells: [String; 8]) -> String {
    let [intervals, span, bytes, mean, min, max, retransmitted, srtt] = cells;
    format!(
        "{name:9} {intervals:>9} {span:>8} {bytes:>13} {mean:>8} {min:>7} {max:>7} {retransmitted:>6} {srtt:>6}"
    )
}
