//! Lines over time in a table, one for each flow and way or queue.

use tcpexp_table::{Cell, Frame, Series};
use tcpexp_units::Timestamp;

use crate::group::numbers;
use crate::{Error, Levels};

/// Columns that tell whose a row is.
pub const FLOW_COLUMNS: [&str; 5] = ["file", "flow_id", "initiator", "responder", "direction"];
/// The column that names the line of a row, where flows are not to be named by their addresses.
pub const LINE_COLUMN: &str = "line";
/// Columns that tell queues apart, in a table that is not about flows.
const QUEUE_COLUMNS: [&str; 4] = ["file", "interface", "handle", "way"];
/// Columns that hold a row's time, the first that is there.
pub(crate) const TIMES: [&str; 3] = ["time_ns", "start_ns", "sent_ns"];
/// A sender that heard fewer ACKs than this part of those of the busiest one is left out. So is a
/// line with fewer points than this part of the longest one, if lines are named by groups.
pub(crate) const LEAST_HEARD: usize = 50;

/// A quantity of one flow and way over time.
pub(crate) struct FlowLine {
    pub(crate) name: String,
    /// A row that it is made of.
    row: usize,
    pub(crate) points: Vec<(Timestamp, f64)>,
}

impl FlowLine {
    /// The rows of another table that are about its flow and way; `frame` is the table it is of.
    pub(crate) fn rows_of(&self, frame: &Frame, other: &Frame) -> Frame {
        // Each table has a file of its own.
        let columns = FLOW_COLUMNS.into_iter().filter(|column| *column != "file");
        let both = columns.map(|column| frame.column(column).zip(other.column(column)));
        let both: Vec<_> = both.flatten().collect();
        let is_of = |row| {
            let is_same = |(its, of): &(&Series, &Series)| its.cell(self.row) == of.cell(row);
            both.iter().all(is_same)
        };
        other.filtered(&(0..other.rows()).map(is_of).collect::<Vec<_>>())
    }
}

pub(crate) fn lines_of(frame: &Frame, column: &str) -> Result<Vec<FlowLine>, Error> {
    let values = numbers(frame, column)?;
    let times = time_column(frame).ok_or_else(|| Error::NoColumn {
        column: TIMES.join(" or "),
    })?;
    let columns = flow_columns(frame);
    let by = Levels::of(frame, &columns);
    let has_ways = columns.iter().any(|column| column == "direction");
    let ids = frame.column("flow_id");
    let mut lines: Vec<FlowLine> = (0..by.len())
        .map(|_| FlowLine {
            name: String::new(),
            row: 0,
            points: Vec::new(),
        })
        .collect();
    for row in 0..frame.rows() {
        // A row without a flow is about all of them.
        if ids.is_some_and(|ids| ids.cell(row) == Cell::Null) {
            continue;
        }
        let line = &mut lines[by.of_row(row)];
        if let (Some(time), Some(value)) = (times.whole(row), values.number(row)) {
            if line.points.is_empty() {
                line.name = flow_name(frame, row, has_ways);
                line.row = row;
            }
            line.points.push((Timestamp::from_nanos(time), value));
        }
    }
    lines.retain(|line| !line.points.is_empty());
    if frame.column(LINE_COLUMN).is_some() {
        let most = lines.iter().map(|line| line.points.len()).max();
        lines.retain(|line| line.points.len() >= most.unwrap_or(0) / LEAST_HEARD);
    }
    for line in &mut lines {
        line.points.sort_by_key(|point| point.0);
    }
    Ok(lines)
}

pub(crate) fn time_column(frame: &Frame) -> Option<&Series> {
    TIMES.iter().find_map(|name| frame.column(name))
}

/// What tells lines apart. Both directions of a flow measure one path if packets are paired.
fn flow_columns(frame: &Frame) -> Vec<String> {
    let is_paired = match frame.column("method") {
        Some(method) => (0..frame.rows()).all(|row| method.cell(row) == Cell::Text("packet_pairs")),
        None => frame.column("reference").is_some(),
    };
    let columns = if frame.column("flow_id").is_some() {
        FLOW_COLUMNS.to_vec()
    } else {
        QUEUE_COLUMNS.to_vec()
    };
    columns
        .into_iter()
        .filter(|column| !(is_paired && *column == "direction"))
        .filter(|column| frame.column(column).is_some())
        .map(str::to_owned)
        .collect()
}

fn flow_name(frame: &Frame, row: usize, has_ways: bool) -> String {
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
    let name = name.or_else(|| text("file")).unwrap_or_default();
    match text("direction") {
        Some(way) if way == "reverse" && has_ways => format!("{name} (reverse)"),
        _ => name,
    }
}
