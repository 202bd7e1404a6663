//! Time-sequence graphs.

use tcpexp_measure::sequence::{SequenceMark, SequenceRow};
use tcpexp_units::Timestamp;

use crate::axis::AxisSpec;
use crate::clip::Point;
use crate::layer::Layer;
use crate::legend::Key;
use crate::lines::steps;
use crate::logarithmic::Logarithmic;
use crate::plot::Plot;
use crate::quantity::Shown;
use crate::scene::Scene;
use crate::stroke::{Marker, Stroke};
use crate::theme::Ink;
use crate::{AxisStyle, Error, Quantity, Style, Svg, Theme};

const DATA: Stroke = Stroke::solid(Ink::Series(0), 4);
const BEHIND: Stroke = Stroke::solid(Ink::Series(1), 7);
const SELECTED: Stroke = Stroke::solid(Ink::Series(3), 4);
const ACKNOWLEDGED: Stroke = Stroke::solid(Ink::Series(2), 3);
const WINDOW: Stroke = Stroke::dashed(Ink::Other(0), 3, &[16, 10]);

/// The same in grey: a light line, and a dark line of dots, as data is black.
const SELECTED_GREY: Stroke = Stroke::solid(Ink::Series(6), 4);
const ACKNOWLEDGED_GREY: Stroke = Stroke::dashed(Ink::Series(2), 3, &[5, 6]);
/// In grey, a cross marks retransmitted segments: their lines are short, and one more grey does not show.
const MARKER: Marker = Marker::Cross;
const RADIUS: u32 = 9;

/// Draws the sequence numbers of one direction's data over time, as Stevens does (TCP/IP
/// Illustrated, volume 1, section 20.8).
///
/// Each segment is an upright line from its first byte to its last; retransmitted segments have
/// another colour. The line below the segments shows the acknowledged data, the line above them the
/// receiver's window. The graph also shows selectively acknowledged data.
///
/// `rows` must be from one direction of one flow, in order of time. Time is in seconds since the
/// first row.
pub fn sequence_figure(rows: &[SequenceRow], style: &Style) -> Result<Svg, Error> {
    let first = rows.first().ok_or(Error::Nothing)?.at;
    let graph = Graph::of(rows, first);
    let seconds = rows
        .last()
        .map_or(1.0, |row| (row.at - first).as_seconds_f64());
    let sent = || graph.sent.iter().chain(&graph.behind);
    let times_on_log = Logarithmic::on(&style.x, sent().map(|((time, _), _)| *time));
    // All segments may be at the first time, which has no logarithm.
    let low = times_on_log.as_ref().and_then(|log| log.range().ok());
    let low = low.map_or(0.0, |(low, _)| low);
    let x = AxisSpec::values("time (s)", (low, seconds.max(1e-6)), &style.x);
    let (least, most) = sent()
        // With limits of time, the vertical axis fits the segments between them.
        .filter(|((time, _), _)| (x.low..=x.high).contains(time))
        .fold(None, |found: Option<(f64, f64)>, ((_, start), (_, end))| {
            let (least, most) = found.unwrap_or((*start, *end));
            Some((least.min(*start), most.max(*end)))
        })
        .ok_or(Error::Nothing)?;
    let quantity = Quantity::of_column("_bytes").named("sequence number");
    let shown = quantity.shown(least, most);
    // The first segment starts at zero, so an upright line counts by its end.
    let ends_on_log = Logarithmic::on(&style.y, sent().map(|(_, (_, end))| *end));
    let y_range = if let Some(log) = &ends_on_log {
        shown.ends(log.range()?)
    } else {
        let (low, high) = shown.ends((least, most));
        let air = (high - low) * 0.05;
        // Numbers below zero mean data before the first captured byte, so zero has no margin.
        (if low == 0.0 { low } else { low - air }, high + air)
    };
    let words = |log: Option<Logarithmic>, axis: &str, style: &AxisStyle| {
        log.map_or(String::new(), |log| log.words("value", axis, style))
    };
    let more =
        words(times_on_log, "horizontal", &style.x) + &words(ends_on_log, "vertical", &style.y);
    let mut plot = Plot::new(
        x,
        AxisSpec::values(quantity.on_axis(&shown), y_range, &style.y),
    );
    let behind = shown_segments(&graph.behind, &shown);
    let (acknowledged, selected) = lines_in(style.theme);
    plot.layers = vec![
        Layer::Line(shown_line(&steps(&graph.windows), &shown), WINDOW),
        Layer::Segments(shown_segments(&graph.sent, &shown), DATA),
        Layer::Line(shown_line(&steps(&graph.acks), &shown), acknowledged),
        Layer::Segments(shown_segments(&graph.selected, &shown), selected),
        if style.theme == Theme::Grey {
            let middles = behind
                .iter()
                .map(|(from, to)| (from.0, f64::midpoint(from.1, to.1)));
            Layer::Points(middles.collect(), MARKER, Ink::Black, RADIUS)
        } else {
            Layer::Segments(behind, BEHIND)
        },
    ];
    Scene {
        keys: graph.keys(style.theme),
        rows: vec![plot.into()],
    }
    .draw(&style.noting_also(&more))
}

/// The lines of acknowledged and of selectively acknowledged data.
fn lines_in(theme: Theme) -> (Stroke, Stroke) {
    match theme {
        Theme::Grey => (ACKNOWLEDGED_GREY, SELECTED_GREY),
        Theme::Paper | Theme::Dark => (ACKNOWLEDGED, SELECTED),
    }
}

/// The elements of the graph, in seconds and bytes.
#[derive(Default)]
struct Graph {
    sent: Vec<(Point, Point)>,
    behind: Vec<(Point, Point)>,
    selected: Vec<(Point, Point)>,
    acks: Vec<Point>,
    windows: Vec<Point>,
}

impl Graph {
    fn of(rows: &[SequenceRow], first: Timestamp) -> Self {
        let mut graph = Self::default();
        for row in rows {
            let x = (row.at - first).as_seconds_f64();
            match row.mark {
                SequenceMark::Sent {
                    start,
                    end,
                    is_behind,
                } => {
                    let line = ((x, start as f64), (x, end as f64));
                    if is_behind {
                        graph.behind.push(line);
                    } else {
                        graph.sent.push(line);
                    }
                }
                SequenceMark::Acknowledged { ack, window_end } => {
                    graph.acks.push((x, ack as f64));
                    graph.windows.extend(window_end.map(|end| (x, end as f64)));
                }
                SequenceMark::Selected { start, end } => {
                    let line = ((x, start as f64), (x, end as f64));
                    graph.selected.push(line);
                }
            }
        }
        graph
    }

    fn keys(&self, theme: Theme) -> Vec<Key> {
        const RETRANSMITTED: &str = "retransmitted or reordered";
        let (acknowledged, selected) = lines_in(theme);
        let behind = match theme {
            Theme::Grey => Key::marker(RETRANSMITTED, None, MARKER, Ink::Black),
            Theme::Paper | Theme::Dark => Key::stroke(RETRANSMITTED, BEHIND),
        };
        let keys = [
            (!self.sent.is_empty(), Key::stroke("data", DATA)),
            (!self.behind.is_empty(), behind),
            (
                !self.acks.is_empty(),
                Key::stroke("acknowledged", acknowledged),
            ),
            (!self.selected.is_empty(), Key::stroke("SACK", selected)),
            (
                !self.windows.is_empty(),
                Key::stroke("receiver's window", WINDOW),
            ),
        ];
        let keys = keys.into_iter().filter(|(is_there, _)| *is_there);
        keys.map(|(_, key)| key).collect()
    }
}

fn shown_line(line: &[Point], shown: &Shown) -> Vec<Point> {
    line.iter()
        .map(|(x, bytes)| (*x, shown.value(*bytes)))
        .collect()
}

fn shown_segments(segments: &[(Point, Point)], shown: &Shown) -> Vec<(Point, Point)> {
    let point = |(x, bytes): Point| (x, shown.value(bytes));
    let segments = segments.iter();
    segments
        .map(|(from, to)| (point(*from), point(*to)))
        .collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_flow::{Direction, FlowId};

    use super::*;
    use crate::FigureSize;

    fn rows(marks: &[(i64, SequenceMark)]) -> Vec<SequenceRow> {
        let row = |(millis, mark): &(i64, SequenceMark)| SequenceRow {
            flow: FlowId(0),
            initiator: "10.0.0.1:40000".parse().unwrap(),
            responder: "10.0.0.2:80".parse().unwrap(),
            direction: Direction::Forward,
            at: Timestamp::from_nanos(1_767_225_600_000_000_000 + millis * 1_000_000),
            mark: *mark,
        };
        marks.iter().map(row).collect()
    }

    fn sent(start: i64, is_behind: bool) -> SequenceMark {
        SequenceMark::Sent {
            start,
            end: start + 1460,
            is_behind,
        }
    }

    fn figure(marks: &[(i64, SequenceMark)]) -> Result<Svg, Error> {
        let size = FigureSize {
            width_mm: 60,
            height_mm: 45,
        };
        sequence_figure(&rows(marks), &size.into())
    }

    #[test]
    fn the_legend_names_each_kind_of_line() {
        let drawn = figure(&[
            (0, sent(0, false)),
            (1, sent(1460, false)),
            (
                40,
                SequenceMark::Acknowledged {
                    ack: 1460,
                    window_end: Some(5000),
                },
            ),
            (
                41,
                SequenceMark::Selected {
                    start: 2920,
                    end: 4380,
                },
            ),
            (50, sent(1460, true)),
        ]);
        assert_snapshot!(drawn.unwrap().texts(), @r"data | retransmitted or reordered | acknowledged | SACK | receiver&apos;s window | 0.00 | 0.01 | 0.02 | 0.03 | 0.04 | 0.05 | 0 | 1 | 2 | 3 | time (s) | sequence number (kB)");
        assert_snapshot!(figure(&[(0, sent(0, false)), (9, sent(1460, false))]).unwrap().texts(), @r"data | 0.000 | 0.002 | 0.004 | 0.006 | 0.008 | 0 | 1 | 2 | 3 | time (s) | sequence number (kB)");
    }

    #[test]
    fn retransmissions_have_a_mark_of_their_own_in_grey() {
        let marks = [
            (0, sent(0, false)),
            (9, sent(1460, false)),
            (20, sent(0, true)),
        ];
        let lines = |theme| {
            let style = Style {
                theme,
                ..FigureSize::default().into()
            };
            let drawn = sequence_figure(&rows(&marks), &style).unwrap();
            drawn.as_str().matches("<line").count() + drawn.as_str().matches("<polyline").count()
        };
        // A cross has two lines, in the graph and in the legend.
        let more = lines(Theme::Grey) - lines(Theme::Paper);
        assert_eq!(more, 2);
    }

    #[test]
    fn acknowledgments_alone_are_not_drawn() {
        let ack = SequenceMark::Acknowledged {
            ack: 0,
            window_end: None,
        };
        let error = figure(&[(0, ack)]).unwrap_err();
        assert_eq!(error.to_string(), "there is nothing to draw");
        assert!(figure(&[]).is_err());
    }
}
