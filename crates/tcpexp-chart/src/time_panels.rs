//! Panels over time, built from tables.

use std::cmp::Reverse;

use tcpexp_table::{Frame, Series};
use tcpexp_units::{Timestamp, counted};

use crate::flow_line::{
    FlowLine, MIN_SHARE_DIVISOR, are_queues_of_groups, is_held, lines_of, time_column,
};
use crate::on_axis::{Heights, MIN_SEEN, seen};
use crate::theme::SERIES;
use crate::{Error, Flows, LineKind, PanelKind, Quantity, TimeLine, TimePanel, TimeSpan};

impl TimePanel {
    fn of(column: &str) -> Self {
        Self {
            quantity: Quantity::of_column(column),
            lines: Vec::new(),
            others: Vec::new(),
            on_axis: 0,
            sender: None,
            spans: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// True if it has no line, neither in a colour nor among the others.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.others.is_empty()
    }

    /// States how many lines are left out: `without 2 lines of goodput with a peak below 1/50 of the highest`.
    pub fn left_out(&self) -> Option<String> {
        let lines = counted(self.on_axis, "line");
        let name = &self.quantity.name;
        (self.on_axis > 0).then(|| {
            format!("without {lines} of {name} with a peak below 1/{MIN_SEEN} of the highest")
        })
    }

    /// Adds a line in its colour, or to the others if all colours are in use.
    fn add(&mut self, line: FlowLine, flows: &mut Flows, kind: impl Fn(usize) -> LineKind) {
        let number = flows.number(&line.name);
        let list = match number {
            Some(_) => &mut self.lines,
            None => &mut self.others,
        };
        list.push(TimeLine {
            label: Some(line.name),
            kind: kind(number.unwrap_or(SERIES)),
            points: line.points,
        });
    }
}

/// The panel of a column: a line for each flow, those with the highest sum of rates or the most values
/// first.
pub fn column_panel(frame: &Frame, column: &str, flows: &mut Flows) -> Result<TimePanel, Error> {
    let is_rate = PanelKind::Column(column.to_owned()).is_rate();
    let mut lines = lines_of(frame, column)?;
    if are_queues_of_groups(frame) {
        for line in &mut lines {
            line.name = flows.name_of_queue(&line.name);
        }
    }
    let mut panel = TimePanel::of(column);
    // Colours go to the first lines.
    if is_rate {
        lines.sort_by(|a, b| b.sum().total_cmp(&a.sum()));
        // With more lines than colours, the unseen ones count among the others.
        if lines.len() <= SERIES {
            panel.on_axis = leave_out_unseen(&mut lines);
        }
        for line in &mut lines {
            line.end_bins(frame);
        }
    } else {
        lines.sort_by_key(|line| Reverse(line.points.len()));
    }
    // A window or threshold holds until the sender changes it; other samples hold at one time.
    for line in lines {
        panel.add(line, flows, |number| {
            if is_rate {
                LineKind::Bins(number)
            } else if is_held(column) {
                LineKind::Steps(number)
            } else {
                LineKind::Samples(number)
            }
        });
    }
    Ok(panel)
}

/// Removes lines of rates that would coincide with the axis, unless together they carry a load. Returns
/// the number of those with a rate above zero: a direction without payload has no goodput to show.
fn leave_out_unseen(lines: &mut Vec<FlowLine>) -> usize {
    let heights = lines.iter().map(|line| Heights {
        peak: line.points.iter().map(|point| point.1).fold(0.0, f64::max),
        sum: line.sum(),
    });
    let heights: Vec<Heights> = heights.collect();
    let are_seen = seen(&heights);
    let unseen = heights
        .iter()
        .zip(&are_seen)
        .filter(|(_, is_seen)| !**is_seen);
    let left_out = unseen.filter(|(line, _)| line.peak > 0.0).count();
    let mut are_seen = are_seen.into_iter();
    lines.retain(|_| are_seen.next() != Some(false));
    left_out
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
    let mut panel = TimePanel::of("cwnd_segments");
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
        panel.sender = flows.number(&only.name);
        panel.lines.extend(lines_of_sender(sender, only)?);
        // The table of events has the recoveries of all senders.
        let events = events.map(|events| only.rows_of(sender, events));
        panel.spans = events.as_ref().map_or(Vec::new(), recoveries);
        return Ok(panel);
    }
    for window in windows {
        panel.add(window, flows, LineKind::Steps);
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
    let time = |column: &str, row| {
        let nanos = events.column(column)?.whole(row)?;
        Some(Timestamp::from_nanos(nanos))
    };
    let rows = (0..events.rows()).filter(|&row| events.text("event", row) == Some("recovery"));
    let spans = rows.filter_map(|row| {
        Some(TimeSpan {
            start: time("time", row)?,
            end: time("end_time", row),
            is_timeout: events.text("kind", row) == Some("timeout"),
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
    sender.text("cwnd_source", row) == Some("measured")
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
    fn the_queue_of_a_group_has_the_name_of_its_flows() {
        let texts = |texts: &[&'static str]| Series::texts(texts.iter().copied().map(Some));
        let queues = Frame::of(vec![
            (LINE_COLUMN.into(), texts(&["bbr", "reno"])),
            ("way".into(), texts(&["back", "out"])),
            ("time".into(), whole(&[0, 0])),
            ("queueing_delay_max_ns".into(), whole(&[5, 6])),
        ]);
        let name = |lines: &[&'static str], directions: &[&'static str]| {
            let count = i64::try_from(lines.len()).unwrap();
            // The last line is the smallest.
            let bytes: Vec<i64> = (0..count).map(|line| 100 - line).collect();
            let sizes = Frame::of(vec![
                (LINE_COLUMN.into(), texts(lines)),
                ("flow_id".into(), whole(&(0..count).collect::<Vec<_>>())),
                ("direction".into(), texts(directions)),
                ("start_time".into(), whole(&vec![0; lines.len()])),
                ("unique_bytes".into(), whole(&bytes)),
            ]);
            let mut flows = Flows::by_size(&sizes, "unique_bytes").unwrap();
            let panel = column_panel(&queues, "queueing_delay_max_ns", &mut flows).unwrap();
            let lines = panel.lines.into_iter().chain(panel.others);
            let names = lines.filter_map(|line| line.label);
            names.collect::<Vec<_>>().join(", ")
        };
        let one_way = name(&["bbr", "reno"], &["reverse", "forward"]);
        assert_eq!(one_way, "bbr (reverse), reno");
        let both_ways = name(&["bbr", "bbr", "reno"], &["reverse", "forward", "reverse"]);
        assert_eq!(both_ways, "bbr (queue), reno (reverse)");
        // The smaller direction of a group counts too if all colours are in use.
        let groups = ["a", "b", "c", "d", "e", "f", "bbr", "bbr"];
        let mut directions = ["forward"; 8];
        directions[7] = "reverse";
        assert_eq!(name(&groups, &directions), "bbr (queue), reno");
    }

    #[test]
    fn each_interface_has_the_line_of_its_queue_only() {
        let texts = |texts: [Option<&'static str>; 5]| Series::texts(texts);
        let frame = Frame::of(vec![
            (
                "interface".into(),
                texts(["left", "left", "right", "right", "right"].map(Some)),
            ),
            (
                "kind".into(),
                texts(["cake", "clsact", "htb", "pfifo", "clsact"].map(Some)),
            ),
            (
                "handle".into(),
                texts(["1:", "ffff:", "2:", "3:", "ffff:"].map(Some)),
            ),
            (
                "parent".into(),
                texts([
                    None,
                    Some("ffff:fff1"),
                    None,
                    Some("2:10"),
                    Some("ffff:fff1"),
                ]),
            ),
            ("time".into(), whole(&[0, 0, 0, 0, 0])),
            ("backlog_packets".into(), whole(&[4, 0, 7, 7, 0])),
        ]);
        let expected = ["queue left 1: 1", "queue right 3: 1"];
        assert_eq!(names(&frame, "backlog_packets"), expected);
    }

    #[test]
    fn each_series_of_a_test_tool_is_a_line_however_few_values_it_has() {
        let names_of: Vec<&str> = std::iter::once("HTTP latency")
            .chain(std::iter::repeat_n("Ping (ms)", 60))
            .collect();
        let times: Vec<i64> = (0..61).collect();
        let mut frame = Frame::of(vec![
            (
                "series".into(),
                Series::texts(names_of.iter().copied().map(Some)),
            ),
            ("time".into(), whole(&times)),
            ("value".into(), whole(&times)),
        ]);
        let expected = ["Ping (ms) 60", "HTTP latency 1"];
        assert_eq!(names(&frame, "value"), expected);
        let lines = names_of.iter().map(|name| format!("bbr, {name}"));
        let lines: Vec<String> = lines.collect();
        let lines = lines.iter().map(|name| Some(name.as_str()));
        frame.add(LINE_COLUMN, Series::texts(lines));
        let expected = ["bbr, Ping (ms) 60", "bbr, HTTP latency 1"];
        assert_eq!(names(&frame, "value"), expected);
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

    /// Rates of flows in two bins.
    fn rates(mbps: &[i64]) -> Frame {
        let twice = |of: fn(i64, i64) -> i64| {
            let bins = (0..).zip(mbps);
            let all: Vec<i64> = bins.flat_map(|(flow, rate)| [of(flow, *rate); 2]).collect();
            whole(&all)
        };
        let times: Vec<i64> = mbps.iter().flat_map(|_| [0, 10]).collect();
        Frame::of(vec![
            ("flow_id".into(), twice(|flow, _| flow)),
            ("start_time".into(), whole(&times)),
            ("goodput_bps".into(), twice(|_, rate| rate * 1_000_000)),
        ])
    }

    #[test]
    fn the_largest_flows_have_colours_and_all_others_are_counted() {
        let frame = rates(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let mut flows = Flows::default();
        let panel = column_panel(&frame, "goodput_bps", &mut flows).unwrap();
        let names = |lines: &[TimeLine]| {
            let names = lines.iter().filter_map(|line| line.label.clone());
            names.collect::<Vec<_>>().join(" ")
        };
        let largest = "flow 8 flow 7 flow 6 flow 5 flow 4 flow 3 flow 2";
        assert_eq!(names(&panel.lines), largest);
        assert_eq!(names(&panel.others), "flow 1 flow 0");
    }

    #[test]
    fn flows_on_the_axis_are_left_out_unless_they_carry_a_load_together() {
        let lines = |small: usize| {
            let mbps = [&[1000][..], &vec![1; small]].concat();
            names(&rates(&mbps), "goodput_bps").len()
        };
        assert_eq!(lines(5), 1);
        assert_eq!(lines(20), SERIES);
    }

    #[test]
    fn a_panel_counts_the_lines_of_rates_that_it_leaves_out() {
        let left_out = |small: &[i64]| {
            let mbps = [&[1000][..], small].concat();
            let panel = column_panel(&rates(&mbps), "goodput_bps", &mut Flows::default());
            panel.unwrap().left_out()
        };
        let two = "without 2 lines of goodput with a peak below 1/50 of the highest";
        assert_eq!(left_out(&[1, 1, 0]).as_deref(), Some(two));
        assert_eq!(left_out(&[1; 20]), None);
        assert_eq!(left_out(&[0, 0]), None);
    }

    #[test]
    fn a_flow_and_its_window_have_one_name_and_colour_in_all_panels() {
        let times: Vec<i64> = (0..100).collect();
        let sender = Frame::of(vec![
            ("flow_id".into(), whole(&[0; 100])),
            ("time".into(), whole(&times)),
            ("cwnd_segments".into(), whole(&times)),
            ("ssthresh_segments".into(), whole(&times)),
        ]);
        let of_flows = |flows: i64| {
            let rtts = Frame::of(vec![
                ("flow_id".into(), whole(&(0..flows).collect::<Vec<_>>())),
                (
                    "time".into(),
                    whole(&(0..flows).map(|_| 0).collect::<Vec<_>>()),
                ),
                (
                    "rtt_ns".into(),
                    whole(&(0..flows).map(|_| 5).collect::<Vec<_>>()),
                ),
            ]);
            let mut flows = Flows::default();
            let mut panels = [
                window_panel(Some(&sender), None, None, &mut flows).unwrap(),
                column_panel(&rtts, "rtt_ns", &mut flows).unwrap(),
            ];
            flows.name_lines(&mut panels);
            let lines = panels.into_iter().flat_map(|panel| panel.lines);
            lines
                .map(|line| (line.label, line.kind))
                .collect::<Vec<_>>()
        };
        let named = |name: &str, kind| (Some(name.to_owned()), kind);
        assert_eq!(
            of_flows(1),
            [
                named("cwnd, estimated", LineKind::Estimate),
                named("ssthresh", LineKind::Threshold),
                (None, LineKind::Samples(0)),
            ]
        );
        assert_eq!(
            of_flows(3),
            [
                named("flow 0", LineKind::Steps(0)),
                named("ssthresh", LineKind::Threshold),
                named("flow 0", LineKind::Samples(0)),
                named("flow 1", LineKind::Samples(1)),
                named("flow 2", LineKind::Samples(3)),
            ]
        );
    }

    #[test]
    fn bins_begin_and_end_with_the_part_that_the_capture_covers() {
        let mut frame = rates(&[1]);
        frame.add("width_ns", whole(&[10, 10]));
        let times = |frame: &Frame| {
            let panel = column_panel(frame, "goodput_bps", &mut Flows::default()).unwrap();
            let points = panel.lines[0].points.iter();
            points.map(|point| point.0.as_nanos()).collect::<Vec<_>>()
        };
        assert_eq!(times(&frame), [0, 10, 20]);
        frame.add("covered_ns", whole(&[6, 7]));
        assert_eq!(times(&frame), [4, 10, 17]);
        // Without widths, the last bin is as wide as the bin before it.
        assert_eq!(times(&rates(&[1])), [0, 10, 20]);
    }

    #[test]
    fn an_unknown_rate_and_a_missing_bin_are_gaps() {
        let points = |times: &[i64], rates: &[Option<i64>], has_width: bool| {
            let mut frame = Frame::of(vec![
                ("start_time".into(), whole(times)),
                ("goodput_bps".into(), Series::Whole(rates.to_vec())),
            ]);
            if has_width {
                frame.add("width_ns", whole(&vec![10; times.len()]));
            }
            let panel = column_panel(&frame, "goodput_bps", &mut Flows::default()).unwrap();
            let points = panel.lines[0].points.iter();
            let texts = points.map(|(time, rate)| format!("{}:{rate}", time.as_nanos()));
            texts.collect::<Vec<_>>().join(" ")
        };
        let rates = [None, Some(1), None, None, Some(3), None];
        for has_width in [false, true] {
            let points = points(&[0, 10, 20, 30, 40, 50], &rates, has_width);
            assert_eq!(points, "10:1 20:NaN 40:3 50:3");
        }
        let missing = points(&[0, 10, 40], &[Some(1), Some(2), Some(3)], true);
        assert_eq!(missing, "0:1 10:2 20:NaN 40:3 50:3");
    }

    #[test]
    fn rows_without_a_flow_are_totals_and_not_a_line() {
        let frame = Frame::of(vec![
            ("flow_id".into(), Series::Whole(vec![None, Some(1)])),
            ("start_time".into(), whole(&[0, 0])),
            ("goodput_bps".into(), whole(&[9, 4])),
        ]);
        assert_eq!(names(&frame, "goodput_bps"), ["flow 1 2"]);
    }
}
