//! Lines over time from a table, one per flow and direction or per queue.

use tcpexp_table::{Cell, Frame, Series, queue_rows};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::numbers::numbers;
use crate::{Error, Levels};

/// Columns that identify the flow and direction of a row.
pub const FLOW_COLUMNS: [&str; 5] = ["file", "flow_id", "initiator", "responder", "direction"];
/// The column with the name of a row's line, which replaces the flow's addresses.
pub const LINE_COLUMN: &str = "line";
/// Columns that identify a series of a test tool, in a table that is not about flows.
pub(crate) const SERIES_COLUMNS: [&str; 2] = ["file", "series"];
/// Columns that identify a queue, in a table that is not about flows.
const QUEUE_COLUMNS: [&str; 4] = ["file", "interface", "handle", "way"];
/// Columns with a row's time, in order of preference.
pub const TIMES: [&str; 3] = ["time", "start_time", "sent_time"];
/// Divisor of the busiest sender's number of ACKs; senders with fewer ACKs than the result are
/// omitted.
///
/// With [`LINE_COLUMN`], the same divisor applies to the points of the longest line.
pub(crate) const MIN_SHARE_DIVISOR: usize = 50;

/// Bins adjoin if the time between them is at most this part of their width: times in whole microseconds are
/// within it for bins of 100 µs and more.
const ADJOIN_DIVISOR: i64 = 100;

/// A quantity of one flow and direction over time.
pub(crate) struct FlowLine {
    pub(crate) name: String,
    /// Rows of the first and the last point; each identifies the flow.
    rows: [usize; 2],
    /// Points in order of time; a value that holds and a rate are NaN where they are unknown.
    pub(crate) points: Vec<(Timestamp, f64)>,
}

impl FlowLine {
    /// The rows of `other` with the same flow and direction; `frame` is the line's own table.
    pub(crate) fn rows_of(&self, frame: &Frame, other: &Frame) -> Frame {
        // The tables come from different files.
        let columns = FLOW_COLUMNS.into_iter().filter(|column| *column != "file");
        let both = columns.map(|column| frame.column(column).zip(other.column(column)));
        let both: Vec<_> = both.flatten().collect();
        let is_of = |row| {
            let is_same = |(its, of): &(&Series, &Series)| its.cell(self.rows[0]) == of.cell(row);
            both.iter().all(is_same)
        };
        other.filtered(&(0..other.rows()).map(is_of).collect::<Vec<_>>())
    }

    /// Sum of all known values.
    pub(crate) fn sum(&self) -> f64 {
        let values = self.points.iter().map(|point| point.1);
        values.filter(|value| !value.is_nan()).sum()
    }

    /// Makes a line of bins begin and end with the part of its first and its last bin that the capture
    /// covers. The rates refer to this part.
    pub(crate) fn end_bins(&mut self, frame: &Frame) {
        let nanos = |column: &str, row: usize| {
            let nanos = frame.column(column)?.whole(row)?;
            Some(TimeDelta::from_nanos(nanos))
        };
        let [first, last] = self.rows;
        // A table of another program may lack the widths, so the bins before the last show them.
        let pairs = self.points.iter().zip(self.points.iter().skip(1));
        let mut known = pairs.rev().filter(|(bin, _)| !bin.1.is_nan());
        let before = known
            .next()
            .map_or(TimeDelta::ZERO, |(bin, next)| next.0 - bin.0);
        let width = |row| nanos("width_ns", row).unwrap_or(before);
        let covered = |row| nanos("covered_ns", row).unwrap_or(width(row));
        if let [begin, _, ..] = &mut self.points[..] {
            begin.0 = begin.0 + (width(first) - covered(first));
        }
        let end = self.points.last().copied();
        self.points
            .extend(end.map(|(start, value)| (start + covered(last), value)));
    }
}

/// True if the values of a column hold until they change: a sender's window and threshold.
pub(crate) fn is_held(column: &str) -> bool {
    column.starts_with("cwnd") || column.starts_with("ssthresh")
}

/// True if the values of a column are rates, which are means over bins.
pub(crate) fn is_rate(column: &str) -> bool {
    column.ends_with("_bps")
}

pub(crate) fn lines_of(frame: &Frame, column: &str) -> Result<Vec<FlowLine>, Error> {
    let values = numbers(frame, column)?;
    let times = time_column(frame).ok_or_else(|| Error::NoColumn {
        column: TIMES.join(" or "),
    })?;
    let columns = flow_columns(frame);
    let by = Levels::of(frame, &columns);
    let directions = frame.column("direction");
    let ids = frame.column("flow_id");
    let has_interfaces = frame.column("interface").is_some();
    let queues = has_interfaces.then(|| queue_rows(frame));
    let mut of_lines: Vec<Vec<(Timestamp, f64, usize)>> = vec![Vec::new(); by.len()];
    for row in 0..frame.rows() {
        // A row without a flow refers to all flows together.
        if ids.is_some_and(|ids| ids.cell(row) == Cell::Null) {
            continue;
        }
        if queues.as_ref().is_some_and(|queues| !queues[row]) {
            continue;
        }
        let unknown = (is_held(column) || is_rate(column)).then_some(f64::NAN);
        if let (Some(time), Some(value)) = (times.whole(row), values.number(row).or(unknown)) {
            of_lines[by.of_row(row)].push((Timestamp::from_nanos(time), value, row));
        }
    }
    let lines = of_lines.into_iter().filter_map(|mut points| {
        points.sort_by_key(|point| point.0);
        if is_rate(column) {
            points = with_gaps(frame, points);
            points.truncate(points.iter().rposition(|point| !point.1.is_nan())? + 1);
        }
        points.dedup_by(|next, before| next.1.is_nan() && before.1.is_nan());
        if points.first()?.1.is_nan() {
            points.remove(0);
        }
        let rows = [points.first()?.2, points.last()?.2];
        // Rows of packet pairs cover both directions, or only the direction of the payload.
        let is_reverse = directions.is_some_and(|directions| {
            let mut rows = points.iter().map(|point| point.2);
            rows.all(|row| directions.text(row) == Some("reverse"))
        });
        Some(FlowLine {
            name: flow_name(frame, rows[0], is_reverse),
            rows,
            points: points
                .into_iter()
                .map(|(time, value, _)| (time, value))
                .collect(),
        })
    });
    let mut lines: Vec<FlowLine> = lines.collect();
    // A line named after its group, such as `cubic`, may be a control connection with few points.
    if ids.is_some() && frame.column(LINE_COLUMN).is_some() {
        let most = lines.iter().map(|line| line.points.len()).max();
        lines.retain(|line| line.points.len() >= most.unwrap_or(0) / MIN_SHARE_DIVISOR);
    }
    Ok(lines)
}

/// True if the next bin starts where the bin from `start` to `end` ends, or within it.
pub(crate) fn adjoin((start, end): (i64, i64), next: i64) -> bool {
    let width = end.saturating_sub(start);
    next.saturating_sub(end) <= width / ADJOIN_DIVISOR
}

/// The bins of a line, with an unknown rate wherever a bin does not adjoin the next.
fn with_gaps(frame: &Frame, bins: Vec<(Timestamp, f64, usize)>) -> Vec<(Timestamp, f64, usize)> {
    let Some(widths) = frame.column("width_ns") else {
        return bins;
    };
    let mut all: Vec<(Timestamp, f64, usize)> = Vec::with_capacity(bins.len());
    for bin in bins {
        if let Some(&(start, _, row)) = all.last()
            && let Some(width) = widths.whole(row)
        {
            let end = start + TimeDelta::from_nanos(width);
            if !adjoin((start.as_nanos(), end.as_nanos()), bin.0.as_nanos()) {
                all.push((end, f64::NAN, row));
            }
        }
        all.push(bin);
    }
    all
}

pub(crate) fn time_column(frame: &Frame) -> Option<&Series> {
    TIMES.iter().find_map(|name| frame.column(name))
}

/// The columns that distinguish lines. With packet pairs, both directions of a flow measure the
/// same path, so the direction does not count.
pub(crate) fn flow_columns(frame: &Frame) -> Vec<String> {
    let is_paired = match frame.column("method") {
        Some(method) => (0..frame.rows()).all(|row| method.text(row) == Some("packet_pairs")),
        // The table of `tcpexp rtt SRC DST` has a column `reference`, but none for the method.
        None => frame.column("reference").is_some(),
    };
    let columns = if frame.column("flow_id").is_some() {
        FLOW_COLUMNS.to_vec()
    } else if frame.column(SERIES_COLUMNS[1]).is_some() {
        SERIES_COLUMNS.to_vec()
    } else {
        QUEUE_COLUMNS.to_vec()
    };
    // The rows of one flow may be in several groups.
    std::iter::once(LINE_COLUMN)
        .chain(columns)
        .filter(|column| !(is_paired && *column == "direction"))
        .filter(|column| frame.column(column).is_some())
        .map(str::to_owned)
        .collect()
}

fn flow_name(frame: &Frame, row: usize, is_reverse: bool) -> String {
    let text = |column: &str| match frame.column(column)?.cell(row) {
        Cell::Text(text) => Some(text.to_owned()),
        Cell::Whole(number) => Some(number.to_string()),
        _ => None,
    };
    let ends = text("initiator").zip(text("responder"));
    let name = text(LINE_COLUMN).or_else(|| ends.map(|(from, to)| format!("{from} > {to}")));
    let name = name.or_else(|| text("flow_id").map(|id| format!("flow {id}")));
    let queue: Vec<String> = QUEUE_COLUMNS[1..]
        .iter()
        .filter_map(|column| text(column))
        .collect();
    let name = name.or_else(|| (!queue.is_empty()).then(|| format!("queue {}", queue.join(" "))));
    let name = name.or_else(|| text(SERIES_COLUMNS[1]));
    let name = name.or_else(|| text("file")).unwrap_or_default();
    if is_reverse {
        name_of_reverse(&name)
    } else {
        name
    }
}

/// Name of the lines of a flow or group in reverse direction.
pub(crate) fn name_of_reverse(name: &str) -> String {
    format!("{name} (reverse)")
}

/// True if the table has lines of groups and no flows: its rows are the queues of the groups.
pub(crate) fn are_queues_of_groups(frame: &Frame) -> bool {
    let has = |column: &str| frame.column(column).is_some();
    has(LINE_COLUMN) && !has("flow_id") && !has(SERIES_COLUMNS[1])
}
