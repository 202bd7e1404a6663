//! Time series charts: quantities over time, one panel above the other.

mod band;

use std::collections::BTreeSet;

use tcpexp_units::{Timestamp, counted};

use crate::axis::{AxisSpec, range};
use crate::clip::Point;
use crate::cwnd::{
    ESTIMATE, FAST_RECOVERY, FLIGHT_SIZE, LOSS_RECOVERY, MEASURED, MEASURED_WIDTH, THRESHOLD,
};
use crate::layer::Layer;
use crate::legend::Key;
use crate::line_end::LineEnd;
use crate::lines::{Join, over_time};
use crate::logarithmic::Logarithmic;
use crate::plot::Plot;
use crate::quantity::Shown;
use crate::row::Row;
use crate::scene::Scene;
use crate::stroke::Stroke;
use crate::theme::Ink;
use crate::{Error, Quantity, Style, Svg};

/// Lines with fewer points are drawn as dots: a line would suggest values in between.
const MIN_JOINED: usize = 30;

/// One panel: a quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimePanel {
    /// Quantity on the vertical axis.
    pub quantity: Quantity,
    /// Lines of the panel.
    pub lines: Vec<TimeLine>,
    /// Lines without a colour of their own, drawn as one band.
    pub others: Vec<TimeLine>,
    /// Number of lines of rates that are left out because they would coincide with the axis.
    pub on_axis: usize,
    /// Number of the flow whose window the panel shows, if it shows a single sender.
    pub sender: Option<usize>,
    /// Shaded time spans.
    pub spans: Vec<TimeSpan>,
    /// Times of losses, shown as marks above the panel.
    pub lost: Vec<Timestamp>,
}

/// A line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLine {
    /// Name in the legend; a line without a name is not in the legend.
    pub label: Option<String>,
    /// Kind of the line, which determines its style.
    pub kind: LineKind,
    /// Points in order of time. NaN ends a value that holds until the next: it is unknown from there on.
    pub points: Vec<(Timestamp, f64)>,
}

/// Kind and style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Samples of the series with this number.
    Samples(usize),
    /// Values that hold until the next, of the series with this number.
    Steps(usize),
    /// Values of adjacent bins, of the series with this number; the last point ends the last bin.
    Bins(usize),
    /// An estimated congestion window.
    Estimate,
    /// A slow start threshold; values above all windows are not shown.
    Threshold,
    /// A flight size.
    FlightSize,
    /// A congestion window that the kernel logged.
    Measured,
}

/// A recovery of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// Start of the recovery.
    pub start: Timestamp,
    /// End of the recovery; `None` if it was not observed.
    pub end: Option<Timestamp>,
    /// True if a timeout started the recovery.
    pub is_timeout: bool,
}

/// Draws panels with a common time axis.
///
/// Time is in seconds since `origin`. Without one, or if a value precedes it, time counts from the
/// first value of all lines except logged ones, which may start earlier. All times must be on one
/// clock. A line joins values close in time; isolated values are dots.
pub fn timeseries_figure(
    panels: &[TimePanel],
    origin: Option<Timestamp>,
    style: &Style,
) -> Result<Svg, Error> {
    let is_own = |line: &&TimeLine| line.kind != LineKind::Measured && !line.points.is_empty();
    let lines = || {
        panels
            .iter()
            .flat_map(|panel| panel.lines.iter().chain(&panel.others))
    };
    let some = if lines().any(|line| is_own(&line)) {
        lines().filter(is_own).collect::<Vec<_>>()
    } else {
        // A figure of logs alone takes its times from them.
        lines().collect()
    };
    let times = || {
        some.iter()
            .flat_map(|line| &line.points)
            .map(|point| point.0)
    };
    let (first, end) = (times().min().ok_or(Error::Nothing)?, times().max());
    let start = origin.filter(|origin| *origin <= first).unwrap_or(first);
    let seconds = end.map_or(0.0, |end| (end - start).as_seconds_f64());
    let mut axis = TimeAxis {
        start,
        low: 0.0,
        // All values may be at one time, and an axis needs a length.
        seconds: if seconds > 0.0 { seconds } else { 1.0 },
    };
    let mut more = String::new();
    if let Some(log) = Logarithmic::on(&style.x, times().map(|time| axis.at(time))) {
        // A figure of one time has no time after it.
        axis.low = log.range().map_or(0.0, |(low, _)| low);
        more += &log.words("value", "horizontal", &style.x);
    }
    let values = panels.iter().flat_map(|panel| panel.values(&axis, style));
    if let Some(log) = Logarithmic::on(&style.y, values) {
        // A panel without a value above zero is empty if another panel has one.
        log.range()?;
        let of_panels = panels.iter().map(|panel| panel.on_log(&axis, style));
        let words = of_panels.flatten().zip(panels);
        let words = words.map(|(log, panel)| log.words("value", &panel.quantity.name, &style.y));
        more.extend(words);
    }
    let mut keys: Vec<Key> = Vec::new();
    for key in panels.iter().flat_map(|panel| panel.keys(style)) {
        // A flow has the same name and colour in all panels, and one key is enough.
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.extend(key_of_others(panels));
    let rows = panels
        .iter()
        .map(|panel| Row::from(panel.plot(&axis, style)));
    Scene {
        rows: rows.collect(),
        keys,
    }
    .draw(&style.noting_also(&more))
}

/// The legend entry of the lines without a colour, with their number in all panels together.
fn key_of_others(panels: &[TimePanel]) -> Option<Key> {
    let others = panels.iter().flat_map(|panel| &panel.others);
    let names: BTreeSet<_> = others.map(|line| &line.label).collect();
    let text = format!("{}, 5 % to 95 %", counted(names.len(), "other"));
    (!names.is_empty()).then(|| Key::area(text, band::COLOUR))
}

/// Time zero and duration of the axis.
struct TimeAxis {
    start: Timestamp,
    /// Lower end of the axis: zero, or the first time that has a logarithm.
    low: f64,
    seconds: f64,
}

impl TimeAxis {
    fn spec(&self, style: &Style) -> AxisSpec {
        AxisSpec::values("time (s)", (self.low, self.seconds), &style.x)
    }

    fn at(&self, time: Timestamp) -> f64 {
        (time - self.start).as_seconds_f64()
    }
}

impl TimePanel {
    /// Legend entries; without lines if their names are beside their ends.
    fn keys(&self, style: &Style) -> Vec<Key> {
        let lines = self.lines.iter();
        let lines = lines.filter(|line| !line.points.is_empty() && !style.labels);
        let keys =
            lines.filter_map(|line| Some(Key::line(line.label.as_deref()?, line.kind.stroke())));
        let mut keys: Vec<Key> = keys.collect();
        let has = |is_timeout| self.spans.iter().any(|span| span.is_timeout == is_timeout);
        if has(false) {
            keys.push(Key::area("fast recovery", FAST_RECOVERY));
        }
        if has(true) {
            keys.push(Key::area("recovery after a timeout", LOSS_RECOVERY));
        }
        keys
    }

    /// Time of the last point of any line.
    fn last_at(&self) -> Option<Timestamp> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        points.map(|(time, _)| *time).max()
    }

    /// The values to which the vertical axis fits: those within the visible time range.
    fn values(&self, axis: &TimeAxis, style: &Style) -> impl Iterator<Item = f64> {
        let x = axis.spec(style);
        self.lines
            .iter()
            .chain(&self.others)
            // A threshold far above all windows would flatten them.
            .filter(|line| line.kind != LineKind::Threshold)
            .flat_map(|line| &line.points)
            .filter(move |(time, _)| (x.low..=x.high).contains(&axis.at(*time)))
            .map(|(_, value)| *value)
            .filter(|value| value.is_finite())
    }

    fn on_log(&self, axis: &TimeAxis, style: &Style) -> Option<Logarithmic> {
        Logarithmic::on(&style.y, self.values(axis, style))
    }

    fn plot(&self, axis: &TimeAxis, style: &Style) -> Plot {
        let x = axis.spec(style);
        let is_within = |time: &Timestamp| (x.low..=x.high).contains(&axis.at(*time));
        let values = self.values(axis, style);
        let extremes = values.fold(None, |found: Option<(f64, f64)>, value| {
            let (least, most) = found.unwrap_or((value, value));
            Some((value.min(least), value.max(most)))
        });
        let (least, most) = extremes.unwrap_or((0.0, 1.0));
        let shown = self.quantity.shown(least, most);
        let on_log = self.on_log(axis, style).and_then(|log| log.range().ok());
        let (least, most) = shown.ends(on_log.unwrap_or((least, most)));
        let (low, high) = self.y_range(least, most);
        let low = if on_log.is_some() { least } else { low };
        let y = AxisSpec::values(self.quantity.on_axis(&shown), (low, high), &style.y);
        let mut plot = Plot::new(x.clone(), y);
        for span in &self.spans {
            // A recovery without an observed end lasts until its flow's last point, not to the end
            // of the axis.
            let end = span
                .end
                .or_else(|| self.last_at())
                .map_or(axis.seconds, |end| axis.at(end));
            let ink = if span.is_timeout {
                LOSS_RECOVERY
            } else {
                FAST_RECOVERY
            };
            plot.layers
                .push(Layer::Shade((axis.at(span.start), end), ink));
        }
        plot.layers.extend(band::areas(&self.others, axis, &shown));
        let mut lines: Vec<&TimeLine> = self.lines.iter().collect();
        lines.sort_by_key(|line| line.kind.depth());
        for line in lines {
            plot.layers.extend(line.layers(axis, &shown));
            let mut points = line.points.iter();
            let end = points.rfind(|(time, value)| is_within(time) && value.is_finite());
            if let (true, Some(name), Some((time, value))) = (style.labels, &line.label, end) {
                plot.ends.push(LineEnd {
                    at: (axis.at(*time), shown.value(*value)),
                    name: name.clone(),
                    stroke: line.kind.stroke(),
                });
            }
        }
        if !self.lost.is_empty() {
            plot.marks = Some("lost".to_owned());
            let times = self.lost.iter().map(|time| axis.at(*time));
            plot.layers.push(Layer::Marks(times.collect(), Ink::Black));
        }
        plot
    }

    /// The vertical range; rates and windows compare by height, so their axis starts at zero.
    fn y_range(&self, least: f64, most: f64) -> (f64, f64) {
        let is_height = |line: &TimeLine| !matches!(line.kind, LineKind::Samples(_));
        if least >= 0.0 && self.lines.iter().any(is_height) {
            (0.0, if most > 0.0 { most * 1.05 } else { 1.0 })
        } else {
            range(least, most)
        }
    }
}

impl TimeLine {
    fn layers(&self, axis: &TimeAxis, shown: &Shown) -> Vec<Layer> {
        let points = self.points.iter();
        let points: Vec<Point> = points
            .map(|(time, value)| (axis.at(*time), shown.value(*value)))
            .collect();
        let join = match self.kind {
            LineKind::Samples(_) if points.len() < MIN_JOINED => Join::Never,
            LineKind::Samples(_) => Join::Straight,
            LineKind::FlightSize | LineKind::Measured => Join::Steps,
            _ => Join::Held,
        };
        over_time(&points, axis.seconds, join, self.kind.stroke())
    }
}

impl LineKind {
    const fn stroke(self) -> Stroke {
        match self {
            Self::Samples(number) => Stroke::over_time(Ink::Series(number), 2),
            Self::Steps(number) | Self::Bins(number) => Stroke::over_time(Ink::Series(number), 3),
            Self::Estimate => Stroke::over_time(ESTIMATE, 3),
            Self::Threshold => Stroke::over_time(THRESHOLD, 3),
            Self::FlightSize => Stroke::over_time(FLIGHT_SIZE, 2),
            Self::Measured => Stroke::over_time(MEASURED, MEASURED_WIDTH),
        }
    }

    /// Drawing order: lines of lower depth are drawn first, below the others.
    const fn depth(self) -> u8 {
        match self {
            Self::Measured => 0,
            Self::FlightSize => 1,
            Self::Threshold => 2,
            Self::Estimate | Self::Samples(_) | Self::Steps(_) | Self::Bins(_) => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::FigureSize;

    const SIZE: FigureSize = FigureSize {
        width_mm: 85,
        height_mm: 80,
    };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(1_767_225_609_778_130_000 + millis * 1_000_000)
    }

    fn panel(column: &str, lines: Vec<TimeLine>) -> TimePanel {
        TimePanel {
            quantity: Quantity::of_column(column),
            lines,
            others: Vec::new(),
            on_axis: 0,
            sender: None,
            spans: Vec::new(),
            lost: Vec::new(),
        }
    }

    fn line(label: &str, kind: LineKind, points: impl IntoIterator<Item = (i64, f64)>) -> TimeLine {
        let points = points.into_iter();
        TimeLine {
            label: Some(label.to_owned()),
            kind,
            points: points.map(|(millis, value)| (at(millis), value)).collect(),
        }
    }

    fn two_panels() -> [TimePanel; 2] {
        let sawtooth = || (0..1000).map(|n| (10 * n, 40e6 + (n % 400) as f64 * 1e5));
        let mut rtt = panel(
            "rtt_ns",
            vec![line("RTT", LineKind::Samples(0), sawtooth())],
        );
        rtt.lost = vec![at(4000), at(8000)];
        let windows = || (0..1000).map(|n| (10 * n, 20.0 + (n % 400) as f64 / 20.0));
        let mut cwnd = panel(
            "cwnd_segments",
            vec![
                line("cwnd, estimated", LineKind::Estimate, windows()),
                line("ssthresh", LineKind::Threshold, [(0, 1e9), (4000, 20.0)]),
            ],
        );
        cwnd.spans = vec![TimeSpan {
            start: at(4000),
            end: Some(at(4100)),
            is_timeout: false,
        }];
        [rtt, cwnd]
    }

    #[test]
    fn panels_share_one_time_axis_and_one_legend() {
        let figure = timeseries_figure(&two_panels(), None, &SIZE.into()).unwrap();
        assert_snapshot!(figure.texts(), @r"RTT | cwnd, estimated | ssthresh | fast recovery | 0 | 50 | RTT (ms) | lost | 0 | 2 | 4 | 6 | 8 | 0 | 20 | 40 | time (s) | cwnd (segments)");
    }

    #[test]
    fn the_time_axis_starts_at_the_given_origin() {
        let figure = timeseries_figure(&two_panels(), Some(at(-10_000)), &SIZE.into()).unwrap();
        assert!(figure.texts().contains("| 20 |"), "{}", figure.texts());
    }

    #[test]
    fn a_log_that_begins_before_the_capture_does_not_stretch_the_axis() {
        let mut panels = two_panels();
        let logged = line(
            "cwnd, measured",
            LineKind::Measured,
            [(-60_000, 10.0), (500, 20.0)],
        );
        panels[1].lines.push(logged);
        let figure = timeseries_figure(&panels, None, &SIZE.into()).unwrap();
        assert!(!figure.texts().contains("60"), "{}", figure.texts());
    }

    #[test]
    fn a_million_samples_keep_their_extremes() {
        let noise = (0..1_000_000).map(|n| (n, (n * 7919 % 1009) as f64 * 1e5));
        let spike = noise.chain([(1_000_000, 4e8)]);
        let rtt = panel("rtt_ns", vec![line("RTT", LineKind::Samples(0), spike)]);
        let figure = timeseries_figure(&[rtt], None, &SIZE.into()).unwrap();
        assert!(figure.as_str().len() < 200_000, "{}", figure.as_str().len());
        assert!(figure.texts().contains("| 400 |"), "{}", figure.texts());
    }

    #[test]
    fn lines_without_a_colour_are_one_band_between_two_quantiles() {
        // Twenty bins of a second, of 21 flows with 0, 1, … 20 Mbit/s.
        let bins = |flow: i64| (0..=20).map(move |n| (1000 * n, flow as f64 * 1e6));
        let others = (0..=20).map(|flow| line(&format!("{flow}"), LineKind::Bins(7), bins(flow)));
        let mut rates = panel(
            "goodput_bps",
            vec![line("most", LineKind::Bins(0), bins(40))],
        );
        rates.others = others.collect();
        let axis = TimeAxis {
            start: at(0),
            low: 0.0,
            seconds: 20.0,
        };
        let shown = rates.quantity.shown(0.0, 40e6);
        let band = band::areas(&rates.others, &axis, &shown);
        let [Layer::Area(corners, ink, Some(_))] = &band[..] else {
            panic!("{band:?}");
        };
        assert_eq!(*ink, band::COLOUR);
        let heights = corners.iter().map(|corner| format!("{:.1}", corner.1));
        let heights: BTreeSet<String> = heights.collect();
        assert_eq!(heights.into_iter().collect::<Vec<_>>(), ["1.0", "19.0"]);
        let figure = timeseries_figure(&[rates], None, &SIZE.into()).unwrap();
        let texts = figure.texts();
        assert!(
            texts.starts_with("most | 21 others, 5 % to 95 % |"),
            "{texts}"
        );
    }

    /// A line of its own colour and one without, which starts at zero.
    fn one_other() -> TimePanel {
        let bins = |rise: f64| (0..=20_i64).map(move |n| (1000 * n, n as f64 * rise));
        let of_most = bins(0.0).map(|(time, _)| (time, 4e6));
        let mut rates = panel(
            "goodput_bps",
            vec![line("most", LineKind::Bins(0), of_most)],
        );
        rates.others = vec![line("other", LineKind::Bins(7), bins(1e6))];
        rates
    }

    #[test]
    fn one_line_without_a_colour_has_a_name_in_the_singular() {
        let figure = timeseries_figure(&[one_other()], None, &SIZE.into()).unwrap();
        let texts = figure.texts();
        assert!(
            texts.starts_with("most | 1 other, 5 % to 95 % |"),
            "{texts}"
        );
    }

    #[test]
    fn a_note_counts_values_that_have_no_place_on_a_logarithmic_axis() {
        let mut style = Style::from(SIZE);
        style.y.log = true;
        let drawn = |panels: &[TimePanel]| timeseries_figure(panels, None, &style);
        let texts = drawn(&[one_other()]).unwrap().texts().replace(" | ", " ");
        let note = "1 of 42 values is not above zero: the goodput axis does not show it";
        assert!(texts.contains(note), "{texts}");
        let zeros = (0..=20).map(|n| (1000 * n, 0.0));
        let idle = panel("rtt_ns", vec![line("RTT", LineKind::Samples(0), zeros)]);
        assert!(drawn(&[one_other(), idle.clone()]).is_ok());
        assert!(matches!(drawn(&[idle]), Err(Error::NoPositive)));
    }

    #[test]
    fn a_single_line_without_a_colour_is_one_other() {
        let samples = || (0..=4).map(|n| (1000 * n, n as f64 * 1e6));
        let mut rtt = panel("rtt_ns", vec![line("RTT", LineKind::Samples(0), samples())]);
        rtt.others = vec![line("other", LineKind::Samples(7), samples())];
        let texts = timeseries_figure(&[rtt], None, &SIZE.into())
            .unwrap()
            .texts();
        assert!(texts.contains("1 other, 5 % to 95 %"), "{texts}");
    }

    #[test]
    fn the_time_axis_covers_the_lines_without_a_colour() {
        let samples = |seconds: i64| (0..=seconds).map(|n| (1000 * n, n as f64 * 1e6));
        let mut rtt = panel(
            "rtt_ns",
            vec![line("RTT", LineKind::Samples(0), samples(4))],
        );
        rtt.others = vec![line("other", LineKind::Samples(7), samples(30))];
        let figure = timeseries_figure(&[rtt.clone()], None, &SIZE.into()).unwrap();
        assert!(
            figure.texts().contains("| 25 | 30 | 0 |"),
            "{}",
            figure.texts()
        );
        // On a shorter axis, the later values are in no step.
        let axis = TimeAxis {
            start: at(0),
            low: 0.0,
            seconds: 4.0,
        };
        let shown = rtt.quantity.shown(0.0, 30e6);
        let highest = band::areas(&rtt.others, &axis, &shown)
            .into_iter()
            .flat_map(|area| {
                let Layer::Area(corners, ..) = area else {
                    panic!("{area:?}");
                };
                corners.into_iter().map(|corner| corner.1)
            });
        assert!((highest.fold(0.0, f64::max) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn other_lines_of_bins_without_a_width_are_drawn() {
        let bin = |flow: i64| line(&format!("{flow}"), LineKind::Bins(7), [(0, 1e6), (0, 1e6)]);
        let mut rates = panel(
            "goodput_bps",
            vec![line("most", LineKind::Bins(0), [(0, 2e6), (0, 2e6)])],
        );
        rates.others = (0..9).map(bin).collect();
        let figure = timeseries_figure(&[rates], None, &SIZE.into()).unwrap();
        let texts = figure.texts();
        assert!(texts.contains("9 others"), "{texts}");
    }

    #[test]
    fn missing_data_is_a_named_error() {
        let error = timeseries_figure(&[panel("rtt_ns", Vec::new())], None, &SIZE.into());
        assert_eq!(error.unwrap_err().to_string(), "there is nothing to draw");
    }
}
