//! Panels over time, made of tables.

use std::cmp::Reverse;
use std::str::FromStr;

use tcpexp_table::{Cell, Frame, Series};
use tcpexp_units::Timestamp;

use crate::group::numbers;
use crate::theme::SERIES;
use crate::{Error, Levels, LineKind, Quantity, TimeLine, TimePanel, TimeSpan};

/// Columns that tell whose a row is.
pub const FLOW_COLUMNS: [&str; 5] = ["file", "flow_id", "initiator", "responder", "direction"];
/// The column that names the line of a row, where flows are not to be named by their addresses.
pub const LINE_COLUMN: &str = "line";
/// Columns that tell queues apart, in a table that is not about flows.
const QUEUE_COLUMNS: [&str; 4] = ["file", "interface", "handle", "way"];
/// Columns that hold a row's time, the first that is there.
const TIMES: [&str; 3] = ["time_ns", "start_ns", "sent_ns"];
/// A line whose largest value is a smaller part of the panel's largest than this lies on the axis.
const LEAST_SEEN: f64 = 50.0;
/// A sender that heard fewer ACKs than this part of those of the busiest one is left out. So is a
/// line with fewer points than this part of the longest one, if lines are named by groups.
const LEAST_HEARD: usize = 50;

/// What a panel of a time series shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelKind {
    /// Round-trip times.
    Rtt,
    /// One-way delays.
    Owd,
    /// The state of a queue, or the queueing delays of packets.
    Queue,
    /// Rates.
    Throughput,
    /// Congestion windows with slow start thresholds, flight sizes and recoveries.
    Cwnd,
    /// A column of any table.
    Column(String),
}

impl FromStr for PanelKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMED.into_iter().find(|kind| kind.name() == text);
        match named {
            Some(kind) => Ok(kind),
            None if text.is_empty() => Err("a panel is rtt, cwnd, … or a column".to_owned()),
            None => Ok(Self::Column(text.to_owned())),
        }
    }
}

impl PanelKind {
    /// Those with a name of their own, in the order in which they are drawn if none is asked for.
    pub const NAMED: [Self; 5] = [
        Self::Cwnd,
        Self::Rtt,
        Self::Throughput,
        Self::Queue,
        Self::Owd,
    ];

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Rtt => "rtt",
            Self::Owd => "owd",
            Self::Queue => "queue",
            Self::Throughput => "throughput",
            Self::Cwnd => "cwnd",
            Self::Column(column) => column,
        }
    }

    /// The tables that have it, and the column of each, in order of preference.
    pub fn sources(&self) -> Vec<(Option<&'static str>, String)> {
        let of = |sources: &[(&'static str, &str)]| {
            let owned = sources
                .iter()
                .map(|(table, column)| (Some(*table), (*column).to_owned()));
            owned.collect()
        };
        match self {
            Self::Rtt => of(&[("rtt", "rtt_ns")]),
            Self::Owd => of(&[("owd", "owd_ns"), ("owd", "one_way_delay_ns")]),
            Self::Queue => of(&[
                ("queue", "backlog_packets"),
                ("queue", "queueing_delay_max_ns"),
                ("owd", "queueing_delay_ns"),
            ]),
            Self::Throughput => of(&[("throughput", "goodput_bps")]),
            Self::Cwnd => of(&[("sender", "cwnd_segments"), ("logs", "cwnd_segments")]),
            Self::Column(column) => vec![(None, column.clone())],
        }
    }

    /// Columns that it looks at if they are there.
    pub fn optional_columns() -> Vec<String> {
        const MORE: [&str; 10] = [
            "interface",
            "handle",
            "way",
            "reference",
            "method",
            "ssthresh_segments",
            "flight_size_bytes",
            "smss_bytes",
            "cwnd_source",
            "source",
        ];
        let all = FLOW_COLUMNS.into_iter().chain(TIMES).chain(MORE);
        all.map(str::to_owned).collect()
    }
}

/// Whose lines are drawn, each with a number, the same in all panels.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    names: Vec<String>,
    /// How many lines had no colour left.
    pub left_out: usize,
}

impl Flows {
    fn number(&mut self, name: &str) -> Option<usize> {
        let known = self.names.iter().position(|known| known == name);
        known.or_else(|| {
            if self.names.len() == SERIES {
                self.left_out += 1;
                return None;
            }
            self.names.push(name.to_owned());
            Some(self.names.len() - 1)
        })
    }

    /// Whether there is only one, which no legend needs to name.
    pub fn is_one(&self) -> bool {
        self.names.len() < 2
    }

    /// Takes the names away where there is only one.
    pub fn name_lines(&self, panels: &mut [TimePanel]) {
        if self.is_one() {
            for line in panels.iter_mut().flat_map(|panel| &mut panel.lines) {
                if matches!(
                    line.kind,
                    LineKind::Samples(_) | LineKind::Steps(_) | LineKind::Bins(_)
                ) {
                    line.label = None;
                }
            }
        }
    }
}

/// The panel of a column: a line for each flow, those with most values first.
pub fn column_panel(frame: &Frame, column: &str, flows: &mut Flows) -> Result<TimePanel, Error> {
    let is_rate = column.ends_with("_bps");
    let mut lines = lines_of(frame, column)?;
    if is_rate {
        // It would lie on the axis.
        let highest =
            |points: &[(Timestamp, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
        let most = lines.iter().map(|line| highest(&line.points));
        let most = most.fold(0.0, f64::max);
        lines.retain(|line| highest(&line.points) >= most / LEAST_SEEN);
    }
    let mut panel = TimePanel {
        quantity: Quantity::of_column(column),
        lines: Vec::new(),
        spans: Vec::new(),
        lost: Vec::new(),
    };
    lines.sort_by_key(|line| Reverse(line.points.len()));
    for line in lines {
        let Some(number) = flows.number(&line.name) else {
            continue;
        };
        let is_step = column.starts_with("cwnd") || column.starts_with("ssthresh");
        panel.lines.push(TimeLine {
            label: Some(line.name),
            kind: if is_rate {
                LineKind::Bins(number)
            } else if is_step {
                LineKind::Steps(number)
            } else {
                LineKind::Samples(number)
            },
            points: line.points,
        });
    }
    Ok(panel)
}

/// The panel of congestion windows: of one sender with threshold and flight size, of several the
/// windows only; and what a kernel logged.
pub fn window_panel(
    sender: Option<&Frame>,
    logs: Option<&Frame>,
    flows: &mut Flows,
) -> Result<TimePanel, Error> {
    let mut panel = TimePanel {
        quantity: Quantity::of_column("cwnd_segments"),
        lines: Vec::new(),
        spans: Vec::new(),
        lost: Vec::new(),
    };
    let line = |label: &str, kind, points| TimeLine {
        label: Some(label.to_owned()),
        kind,
        points,
    };
    let mut measured = match logs {
        Some(logs) => lines_of(logs, "cwnd_segments")?,
        None => Vec::new(),
    };
    let mut windows = Vec::new();
    let mut estimates = None;
    if let Some(sender) = sender {
        // `tcpexp import` writes a log into the same columns.
        let is_log: Vec<bool> = (0..sender.rows())
            .map(|row| is_measured(sender, row))
            .collect();
        measured.extend(lines_of(&sender.filtered(&is_log), "cwnd_segments")?);
        let is_estimate: Vec<bool> = is_log.iter().map(|is_log| !is_log).collect();
        let sender = sender.filtered(&is_estimate);
        windows = lines_of(&sender, "cwnd_segments")?;
        estimates = Some(sender);
    }
    windows.sort_by_key(|line| Reverse(line.points.len()));
    let most = windows.first().map_or(0, |line| line.points.len());
    windows.retain(|line| line.points.len() >= most / LEAST_HEARD);
    if !windows.is_empty() {
        // Where hosts share a kernel, it logs receivers too.
        measured.retain(|line| windows.iter().any(|window| window.name == line.name));
    }
    for logged in measured {
        panel
            .lines
            .push(line("cwnd, measured", LineKind::Measured, logged.points));
    }
    let Some(sender) = &estimates else {
        return Ok(panel);
    };
    if let [only] = windows.as_slice() {
        flows.number(&only.name);
        panel.lines.extend(lines_of_sender(sender, only)?);
        return Ok(panel);
    }
    for window in windows {
        if let Some(number) = flows.number(&window.name) {
            panel
                .lines
                .push(line(&window.name, LineKind::Steps(number), window.points));
        }
    }
    Ok(panel)
}

/// The window of an only sender, with threshold and flight size where they are known.
fn lines_of_sender(sender: &Frame, window: &FlowLine) -> Result<Vec<TimeLine>, Error> {
    let line = |label: &str, kind, points: &[(Timestamp, f64)]| TimeLine {
        label: Some(label.to_owned()),
        kind,
        points: points.to_vec(),
    };
    let is_it = |line: &FlowLine| line.name == window.name;
    let mut lines = vec![line("cwnd, estimated", LineKind::Estimate, &window.points)];
    if sender.column("ssthresh_segments").is_some() {
        let thresholds = lines_of(sender, "ssthresh_segments")?;
        let its = thresholds.iter().filter(|line| is_it(line));
        lines.extend(its.map(|its| line("ssthresh", LineKind::Threshold, &its.points)));
    }
    if let Some(segments) = flight_segments(sender) {
        let mut sender = sender.clone();
        sender.add("flight_size_segments", segments);
        let sizes = lines_of(&sender, "flight_size_segments")?;
        let its = sizes.iter().filter(|line| is_it(line));
        lines.extend(its.map(|its| line("flight size", LineKind::FlightSize, &its.points)));
    }
    Ok(lines)
}

/// Recoveries in a table of events.
pub fn recoveries(events: &Frame) -> Vec<TimeSpan> {
    let cell = |column: &str, row| events.column(column).map_or(Cell::Null, |of| of.cell(row));
    let nanos = |column, row| match cell(column, row) {
        Cell::Whole(nanos) => Some(Timestamp::from_nanos(nanos)),
        _ => None,
    };
    let rows = (0..events.rows()).filter(|&row| cell("event", row) == Cell::Text("recovery"));
    let spans = rows.filter_map(|row| {
        Some(TimeSpan {
            start: nanos("time_ns", row)?,
            end: nanos("ended_ns", row),
            is_timeout: cell("kind", row) == Cell::Text("timeout"),
        })
    });
    spans.collect()
}

/// The times of a table of lost packets.
pub fn losses(lost: &Frame) -> Vec<Timestamp> {
    let Some(times) = time_column(lost) else {
        return Vec::new();
    };
    let times = (0..lost.rows()).filter_map(|row| times.whole(row));
    times.map(Timestamp::from_nanos).collect()
}

/// A quantity of one flow and way over time.
struct FlowLine {
    name: String,
    points: Vec<(Timestamp, f64)>,
}

fn lines_of(frame: &Frame, column: &str) -> Result<Vec<FlowLine>, Error> {
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

fn time_column(frame: &Frame) -> Option<&Series> {
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

fn is_measured(sender: &Frame, row: usize) -> bool {
    let source = sender.column("cwnd_source");
    source.is_some_and(|source| source.cell(row) == Cell::Text("measured"))
}

/// Flight sizes in the sender's segments, as windows are told.
fn flight_segments(sender: &Frame) -> Option<Series> {
    let (sizes, segments) = (
        sender.column("flight_size_bytes")?,
        sender.column("smss_bytes")?,
    );
    let size = |row| {
        let segment = segments.number(row).filter(|segment| *segment > 0.0)?;
        Some((sizes.number(row)? / segment).ceil())
    };
    Some(Series::Real((0..sender.rows()).map(size).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(cells: &[i64]) -> Series {
        Series::Whole(cells.iter().copied().map(Some).collect())
    }

    fn names(frame: &Frame, column: &str) -> Vec<String> {
        let panel = column_panel(frame, column, &mut Flows::default()).unwrap();
        let lines = panel.lines.into_iter();
        lines
            .filter_map(|line| Some(format!("{} {}", line.label?, line.points.len())))
            .collect()
    }

    #[test]
    fn each_way_of_a_queue_is_a_line() {
        let frame = Frame::of(vec![
            (
                "way".into(),
                Series::texts(["out", "back", "out"].map(Some)),
            ),
            ("time_ns".into(), whole(&[0, 0, 10])),
            ("queueing_delay_max_ns".into(), whole(&[5, 6, 7])),
        ]);
        let expected = ["queue out 2", "queue back 1"];
        assert_eq!(names(&frame, "queueing_delay_max_ns"), expected);
    }

    #[test]
    fn both_directions_of_packet_pairs_are_one_path_and_those_of_answers_are_two() {
        let rtts = |method: &str| {
            let texts = |text: [&str; 2]| Series::texts(text.map(Some));
            Frame::of(vec![
                ("flow_id".into(), whole(&[3, 3])),
                ("direction".into(), texts(["forward", "reverse"])),
                ("method".into(), texts([method; 2])),
                ("time_ns".into(), whole(&[0, 10])),
                ("rtt_ns".into(), whole(&[5, 6])),
            ])
        };
        assert_eq!(names(&rtts("packet_pairs"), "rtt_ns"), ["flow 3 2"]);
        let both = ["flow 3 1", "flow 3 (reverse) 1"];
        assert_eq!(names(&rtts("timestamps"), "rtt_ns"), both);
    }

    #[test]
    fn what_a_kernel_logged_of_receivers_is_not_drawn_beside_senders() {
        let ways = |ways: [&str; 2]| Series::texts(ways.map(Some));
        let table = |of: [&str; 2]| {
            Frame::of(vec![
                ("flow_id".into(), whole(&[1, 1])),
                ("direction".into(), ways(of)),
                ("time_ns".into(), whole(&[0, 10])),
                ("cwnd_segments".into(), whole(&[10, 20])),
            ])
        };
        let logs = table(["forward", "reverse"]);
        let sender = table(["forward", "forward"]);
        let lines = |sender| {
            let panel = window_panel(sender, Some(&logs), &mut Flows::default()).unwrap();
            panel.lines.len()
        };
        // The estimate, and the log of it.
        assert_eq!(lines(Some(&sender)), 2);
        assert_eq!(lines(None), 2);
    }

    #[test]
    fn lines_are_named_by_groups_and_a_connection_that_only_controls_is_none() {
        let rows = 100;
        let flows: Vec<i64> = (0..rows).map(|row| i64::from(row > 0)).collect();
        let mut frame = Frame::of(vec![
            ("flow_id".into(), whole(&flows)),
            ("time_ns".into(), whole(&flows)),
            ("rtt_ns".into(), whole(&flows)),
        ]);
        assert_eq!(names(&frame, "rtt_ns"), ["flow 1 99", "flow 0 1"]);
        frame.add(
            LINE_COLUMN,
            Series::texts(flows.iter().map(|_| Some("cubic"))),
        );
        assert_eq!(names(&frame, "rtt_ns"), ["cubic 99", "cubic 1"]);
        let flows = [&flows[..], &[1; 10]].concat();
        let mut frame = Frame::of(vec![
            ("flow_id".into(), whole(&flows)),
            ("time_ns".into(), whole(&flows)),
            ("rtt_ns".into(), whole(&flows)),
        ]);
        frame.add(
            LINE_COLUMN,
            Series::texts(flows.iter().map(|_| Some("cubic"))),
        );
        assert_eq!(names(&frame, "rtt_ns"), ["cubic 109"]);
    }

    #[test]
    fn rows_without_a_flow_are_about_all_and_not_a_line() {
        let frame = Frame::of(vec![
            ("flow_id".into(), Series::Whole(vec![None, Some(1)])),
            ("start_ns".into(), whole(&[0, 0])),
            ("goodput_bps".into(), whole(&[9, 4])),
        ]);
        assert_eq!(names(&frame, "goodput_bps"), ["flow 1 1"]);
    }
}
