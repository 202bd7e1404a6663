//! Panels over time, built from tables.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tcpexp_table::{Cell, Frame, Series};
use tcpexp_units::Timestamp;

use crate::flow_line::{FlowLine, MIN_SHARE_DIVISOR, lines_of, time_column};
use crate::theme::SERIES;
use crate::{Error, LineKind, PanelKind, Quantity, TimeLine, TimePanel, TimeSpan};

/// Lines whose peak is below 1/50 of the panel's peak are omitted, as they coincide with the axis.
const MIN_SEEN: f64 = 50.0;

/// The drawn lines by name, with the same number in all panels.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    names: Vec<String>,
    /// Lines omitted because all colours are in use.
    left_out: BTreeSet<String>,
}

impl Flows {
    fn number(&mut self, name: &str) -> Option<usize> {
        let known = self.names.iter().position(|known| known == name);
        known.or_else(|| {
            if self.names.len() == SERIES {
                self.left_out.insert(name.to_owned());
                return None;
            }
            self.names.push(name.to_owned());
            Some(self.names.len() - 1)
        })
    }

    /// `7 of 12 lines` if colours are lacking for the others.
    pub fn counted(&self) -> Option<String> {
        let drawn = self.names.len();
        let all = drawn + self.left_out.len();
        (drawn < all).then(|| format!("{drawn} of {all} lines"))
    }

    /// True if there is at most one line, which needs no name in the legend.
    pub fn is_one(&self) -> bool {
        self.names.len() < 2
    }

    /// Removes the labels if there is only one line.
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

/// The panel of a column: a line for each flow, those with the most values first.
pub fn column_panel(frame: &Frame, column: &str, flows: &mut Flows) -> Result<TimePanel, Error> {
    let is_rate = PanelKind::Column(column.to_owned()).is_rate();
    let mut lines = lines_of(frame, column)?;
    if is_rate {
        // The line would coincide with the axis.
        let highest =
            |points: &[(Timestamp, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
        let most = lines.iter().map(|line| highest(&line.points));
        let most = most.fold(0.0, f64::max);
        lines.retain(|line| highest(&line.points) >= most / MIN_SEEN);
    }
    let mut panel = TimePanel {
        quantity: Quantity::of_column(column),
        lines: Vec::new(),
        spans: Vec::new(),
        lost: Vec::new(),
    };
    // Colours go to the first lines, so those with the most values come first.
    lines.sort_by_key(|line| Reverse(line.points.len()));
    for line in lines {
        let Some(number) = flows.number(&line.name) else {
            continue;
        };
        // A window or threshold holds until the sender changes it; other samples hold at one time.
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

/// The panel of congestion windows, estimated and logged.
///
/// For a single sender it also shows threshold, flight size and recoveries.
pub fn window_panel(
    sender: Option<&Frame>,
    logs: Option<&Frame>,
    events: Option<&Frame>,
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
        // `tcpexp import` writes a log with the same columns.
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
    windows.retain(|line| line.points.len() >= most / MIN_SHARE_DIVISOR);
    if !windows.is_empty() {
        // Hosts that share a kernel log their receivers too.
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
        // The table of events has the recoveries of all senders.
        let events = events.map(|events| only.rows_of(sender, events));
        panel.spans = events.as_ref().map_or(Vec::new(), recoveries);
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

/// The window of a single sender, with threshold and flight size where known.
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

/// The recoveries in a table of events.
fn recoveries(events: &Frame) -> Vec<TimeSpan> {
    let cell = |column: &str, row| events.column(column).map_or(Cell::Null, |of| of.cell(row));
    let nanos = |column, row| match cell(column, row) {
        Cell::Whole(nanos) => Some(Timestamp::from_nanos(nanos)),
        _ => None,
    };
    let rows = (0..events.rows()).filter(|&row| cell("event", row) == Cell::Text("recovery"));
    let spans = rows.filter_map(|row| {
        Some(TimeSpan {
            start: nanos("time", row)?,
            end: nanos("end_time", row),
            is_timeout: cell("kind", row) == Cell::Text("timeout"),
        })
    });
    spans.collect()
}

/// The times in a table of lost packets.
pub fn losses(lost: &Frame) -> Vec<Timestamp> {
    let Some(times) = time_column(lost) else {
        return Vec::new();
    };
    let times = (0..lost.rows()).filter_map(|row| times.whole(row));
    times.map(Timestamp::from_nanos).collect()
}

fn is_measured(sender: &Frame, row: usize) -> bool {
    let source = sender.column("cwnd_source");
    source.is_some_and(|source| source.cell(row) == Cell::Text("measured"))
}

/// Flight sizes in the sender's segments, the unit of the windows.
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
    use crate::flow_line::LINE_COLUMN;

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
    fn each_direction_of_a_queue_is_a_line() {
        let frame = Frame::of(vec![
            (
                "way".into(),
                Series::texts(["out", "back", "out"].map(Some)),
            ),
            ("time".into(), whole(&[0, 0, 10])),
            ("queueing_delay_max_ns".into(), whole(&[5, 6, 7])),
        ]);
        let expected = ["queue out 2", "queue back 1"];
        assert_eq!(names(&frame, "queueing_delay_max_ns"), expected);
    }

    #[test]
    fn packet_pairs_share_one_line_and_single_point_samples_have_two() {
        let rtts = |method: &str| {
            let texts = |text: [&str; 2]| Series::texts(text.map(Some));
            Frame::of(vec![
                ("flow_id".into(), whole(&[3, 3])),
                ("direction".into(), texts(["forward", "reverse"])),
                ("method".into(), texts([method; 2])),
                ("time".into(), whole(&[0, 10])),
                ("rtt_ns".into(), whole(&[5, 6])),
            ])
        };
        assert_eq!(names(&rtts("packet_pairs"), "rtt_ns"), ["flow 3 2"]);
        let both = ["flow 3 1", "flow 3 (reverse) 1"];
        assert_eq!(names(&rtts("timestamps"), "rtt_ns"), both);
    }

    #[test]
    fn logged_windows_of_receivers_are_not_drawn() {
        let directions = |directions: [&str; 2]| Series::texts(directions.map(Some));
        let table = |of: [&str; 2]| {
            Frame::of(vec![
                ("flow_id".into(), whole(&[1, 1])),
                ("direction".into(), directions(of)),
                ("time".into(), whole(&[0, 10])),
                ("cwnd_segments".into(), whole(&[10, 20])),
            ])
        };
        let logs = table(["forward", "reverse"]);
        let sender = table(["forward", "forward"]);
        let lines = |sender| {
            let panel = window_panel(sender, Some(&logs), None, &mut Flows::default()).unwrap();
            panel.lines.len()
        };
        // The estimate, and the log of the same sender.
        assert_eq!(lines(Some(&sender)), 2);
        assert_eq!(lines(None), 2);
    }

    #[test]
    fn only_recoveries_of_the_drawn_sender_are_shown() {
        let busy_for = 2 * i64::try_from(MIN_SHARE_DIVISOR).unwrap();
        let times: Vec<i64> = (0..=busy_for).collect();
        // The last sender receives hardly any ACKs.
        let flows: Vec<i64> = times.iter().map(|time| time / busy_for).collect();
        let sender = Frame::of(vec![
            ("flow_id".into(), whole(&flows)),
            ("time".into(), whole(&times)),
            ("cwnd_segments".into(), whole(&times)),
        ]);
        let events = Frame::of(vec![
            ("flow_id".into(), whole(&[1, 0, 0])),
            ("time".into(), whole(&[5, 6, 7])),
            (
                "end_time".into(),
                Series::Whole(vec![Some(9), Some(8), None]),
            ),
            (
                "event".into(),
                Series::texts(["recovery", "recovery", "retransmission"].map(Some)),
            ),
            (
                "kind".into(),
                Series::texts(["timeout", "fast", "fast"].map(Some)),
            ),
        ]);
        let panel =
            window_panel(Some(&sender), None, Some(&events), &mut Flows::default()).unwrap();
        let expected = TimeSpan {
            start: Timestamp::from_nanos(6),
            end: Some(Timestamp::from_nanos(8)),
            is_timeout: false,
        };
        assert_eq!(panel.spans, [expected]);
    }

    #[test]
    fn lines_are_named_by_group_and_control_connections_are_omitted() {
        let rows = 100;
        let flows: Vec<i64> = (0..rows).map(|row| i64::from(row > 0)).collect();
        let mut frame = Frame::of(vec![
            ("flow_id".into(), whole(&flows)),
            ("time".into(), whole(&flows)),
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
            ("time".into(), whole(&flows)),
            ("rtt_ns".into(), whole(&flows)),
        ]);
        frame.add(
            LINE_COLUMN,
            Series::texts(flows.iter().map(|_| Some("cubic"))),
        );
        assert_eq!(names(&frame, "rtt_ns"), ["cubic 109"]);
    }

    #[test]
    fn rows_without_a_flow_are_totals_and_not_a_line() {
        let frame = Frame::of(vec![
            ("flow_id".into(), Series::Whole(vec![None, Some(1)])),
            ("start_time".into(), whole(&[0, 0])),
            ("goodput_bps".into(), whole(&[9, 4])),
        ]);
        assert_eq!(names(&frame, "goodput_bps"), ["flow 1 1"]);
    }
}
