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
    /// Length of the intervals with bytes. A log may lack intervals, so their span may be longer.
    measured: TimeDelta,
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
            measured: TimeDelta::ZERO,
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
        if row.bytes.is_some() {
            stream.measured += row.length;
        }
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
        let mean = self.bytes.and_then(|bytes| rate_bps(bytes, self.measured));
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

#[cfg(test)]
mod tests {
    use tcpexp_flow::Protocol;

    use super::*;

    #[test]
    fn the_mean_rate_is_over_the_intervals_of_the_log_and_not_over_its_gaps() {
        let label = Arc::new(SenderLabel {
            flow: FlowId(0),
            captured: FlowId(0),
            protocol: Protocol::Tcp,
            ends: None,
            capture: None,
        });
        let mut table = IntervalTable::default();
        // The third second is missing, and the fifth has no bytes.
        for (start, bytes) in [(0, Some(1)), (1, Some(2)), (3, Some(3)), (4, None)] {
            let bytes = bytes.map(|megabytes| megabytes * 1_000_000);
            table.add(
                &label,
                &IntervalSample {
                    start: Timestamp::from_nanos(start * 1_000_000_000),
                    length: TimeDelta::from_seconds(1),
                    flow: FlowId(0),
                    direction: Direction::Forward,
                    bytes,
                    goodput_bps: bytes.map(|bytes| bytes * 8),
                    retransmitted_segments: None,
                    cwnd_bytes: None,
                    srtt: None,
                    rttvar: None,
                    omitted: false,
                },
            );
        }
        let text = table.into_text(10, 80);
        let line = text.lines().last().unwrap_or_default();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert!(
            cells.ends_with(&["16.000", "8.000", "24.000", "-", "-"]),
            "{text}"
        );
    }
}
