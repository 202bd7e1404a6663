//! The congestion window of senders over time.

use std::collections::BTreeMap;

use tcpexp_measure::sender::{RecoveryEpoch, RecoveryKind, SenderSample};
use tcpexp_units::Timestamp;

use crate::axis::AxisSpec;
use crate::clip::Point;
use crate::layer::Layer;
use crate::legend::Key;
use crate::lines::{Join, over_time};
use crate::plot::Plot;
use crate::row::Row;
use crate::scene::Scene;
use crate::stroke::Stroke;
use crate::theme::Ink;
use crate::{Error, Style, Svg, Thinned};

pub(crate) const ESTIMATE: Ink = Ink::Series(0);
pub(crate) const THRESHOLD: Ink = Ink::Series(2);
pub(crate) const FLIGHT_SIZE: Ink = Ink::Series(5);
pub(crate) const CAP: Ink = Ink::Series(1);
pub(crate) const MEASURED: Ink = Ink::Other(0);
pub(crate) const FAST_RECOVERY: Ink = Ink::Shade(0);
pub(crate) const LOSS_RECOVERY: Ink = Ink::Shade(1);
/// Width of the measured line. It is wider than the estimate above it, so that both are visible
/// where they coincide.
pub(crate) const MEASURED_WIDTH: u32 = 9;

/// Maximum number of bins in a drawn line, of up to four samples each: more than four per
/// millimetre.
const MAX_BINS: usize = 700;

/// The windows of one sender over time, in bounded memory except for the recoveries.
#[derive(Clone, Debug, Default)]
pub struct CwndSeries {
    /// Title above the panel.
    pub label: String,
    /// Number of the clock; series with the same number share a clock.
    pub clock: usize,
    cwnd: Thinned<u32>,
    ssthresh: Thinned<u32>,
    flight_size: Thinned<u32>,
    measured: Thinned<u32>,
    cap: Thinned<u32>,
    epochs: Vec<Epoch>,
    samples: u64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    kind: RecoveryKind,
    began: Timestamp,
    ended: Option<Timestamp>,
}

impl CwndSeries {
    /// Creates a series without samples.
    pub fn new(label: impl Into<String>, clock: usize) -> Self {
        Self {
            label: label.into(),
            clock,
            ..Self::default()
        }
    }

    /// Adds a reconstructed sender state.
    pub fn add(&mut self, sample: &SenderSample) {
        self.samples += 1;
        if let Some(cwnd) = sample.cwnd_segments {
            self.cwnd.add(sample.at, cwnd);
        }
        if let Some(ssthresh) = sample.ssthresh_segments {
            self.ssthresh.add(sample.at, ssthresh);
        }
        if let Some(cap) = sample.model.and_then(|model| model.inflight_cap_segments) {
            self.cap.add(sample.at, cap);
        }
        let smss = sample.smss_bytes.filter(|smss| *smss > 0);
        if let Some((bytes, smss)) = sample.flight_size_bytes.zip(smss) {
            // Linux counts a partial segment as a packet in flight (`tcp_packets_in_flight`).
            let segments = u32::try_from(bytes.div_ceil(smss.into())).unwrap_or(u32::MAX);
            self.flight_size.add(sample.at, segments);
        }
    }

    /// Adds a sender state that the kernel logged.
    pub fn add_measured(&mut self, sample: &SenderSample) {
        if let Some(cwnd) = sample.cwnd_segments {
            self.measured.add(sample.at, cwnd);
        }
    }

    /// Adds a recovery.
    pub fn add_recovery(&mut self, epoch: &RecoveryEpoch) {
        self.epochs.push(Epoch {
            kind: epoch.kind,
            began: epoch.began,
            ended: epoch.ended,
        });
    }

    /// Number of reconstructed states added so far.
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Times of the first and last reconstructed window or flight size; logged windows do not
    /// count.
    fn times(&self) -> Option<(Timestamp, Timestamp)> {
        let times = [&self.cwnd, &self.flight_size]
            .map(Thinned::times)
            .into_iter()
            .flatten();
        let (first, last) = (
            times.clone().map(|times| times.0).min()?,
            times.map(|times| times.1).max()?,
        );
        Some((first, last))
    }

    /// Upper end of the panel; it ignores the threshold, which may be above all windows.
    fn high(&self) -> f64 {
        let most = [&self.cwnd, &self.flight_size, &self.measured, &self.cap]
            .into_iter()
            .filter_map(|line| Some(line.extremes()?.1))
            .max();
        f64::from(most.unwrap_or(0).max(1)) * 1.05
    }
}

/// Draws a panel for each series: estimated and measured window, threshold and flight size in
/// segments over time, with recoveries shaded.
///
/// Time is in seconds since the first sample of all series on the same clock. Lines are steps, as a
/// value holds until the next ACK. A line has a gap where the value is unknown for a while.
pub fn cwnd_figure(series: &[CwndSeries], style: impl Into<Style>) -> Result<Svg, Error> {
    let style = style.into();
    let figure = Figure::of(series).ok_or_else(|| Error::NoWindows {
        note: style.note.clone(),
    })?;
    figure.scene(&style).draw(&style)
}

/// A figure without a size.
struct Figure<'a> {
    series: Vec<&'a CwndSeries>,
    /// Time zero of each clock.
    starts: BTreeMap<usize, Timestamp>,
    seconds: f64,
}

impl<'a> Figure<'a> {
    /// `None` if there is nothing to draw.
    fn of(series: &'a [CwndSeries]) -> Option<Self> {
        let series: Vec<_> = series
            .iter()
            .filter(|series| series.times().is_some())
            .collect();
        let mut starts = BTreeMap::new();
        for (clock, (first, _)) in series
            .iter()
            .filter_map(|series| Some((series.clock, series.times()?)))
        {
            let start = starts.entry(clock).or_insert(first);
            *start = first.min(*start);
        }
        let seconds = series
            .iter()
            .filter_map(|series| Some((series.times()?.1 - starts[&series.clock]).as_seconds_f64()))
            .reduce(f64::max)?;
        Some(Self {
            series,
            starts,
            // All values may be at one time, and an axis needs a length.
            seconds: if seconds > 0.0 { seconds } else { 1.0 },
        })
    }

    fn keys(&self) -> Vec<Key> {
        let any = |has: fn(&CwndSeries) -> bool| self.series.iter().any(|series| has(series));
        let has_kind = |is_timeout: bool| {
            let mut epochs = self.series.iter().flat_map(|series| &series.epochs);
            epochs.any(|epoch| (epoch.kind == RecoveryKind::Timeout) == is_timeout)
        };
        let line = |text, ink| Key::line(text, Stroke::over_time(ink, 3));
        [
            (
                any(|series| series.measured.times().is_some()),
                line("cwnd, measured", MEASURED),
            ),
            (
                any(|series| series.cwnd.times().is_some()),
                line("cwnd, estimated", ESTIMATE),
            ),
            (
                any(|series| series.ssthresh.times().is_some()),
                line("ssthresh", THRESHOLD),
            ),
            (
                any(|series| series.cap.times().is_some()),
                line("BBR's window, replayed", CAP),
            ),
            (true, line("flight size", FLIGHT_SIZE)),
            (has_kind(false), Key::area("fast recovery", FAST_RECOVERY)),
            (
                has_kind(true),
                Key::area("recovery after a timeout", LOSS_RECOVERY),
            ),
        ]
        .into_iter()
        .filter_map(|(is_there, key)| is_there.then_some(key))
        .collect()
    }

    fn scene(&self, style: &Style) -> Scene {
        let rows = self.series.iter().map(|series| {
            let x = AxisSpec::values("time (s)", (0.0, self.seconds), &style.x);
            let y = AxisSpec::values("segments", (0.0, series.high()), &style.y);
            let plot = Plot {
                layers: self.layers(series),
                ..Plot::new(x, y)
            };
            Row {
                title: Some(series.label.clone()),
                plots: vec![(1, plot)],
                ..Row::default()
            }
        });
        Scene {
            keys: self.keys(),
            rows: rows.collect(),
        }
    }

    fn layers(&self, series: &CwndSeries) -> Vec<Layer> {
        let start = self.starts[&series.clock];
        let seconds = |at: Timestamp| (at - start).as_seconds_f64();
        let mut layers = Vec::new();
        // A recovery without an end lasts as long as its sender was observed, which may be less than
        // the axis that all senders share.
        let last = series
            .times()
            .map_or(self.seconds, |(_, last)| seconds(last));
        for epoch in &series.epochs {
            let ended = epoch.ended.map_or(last, seconds);
            let ink = match epoch.kind {
                RecoveryKind::Timeout => LOSS_RECOVERY,
                RecoveryKind::Fast | RecoveryKind::CongestionEcho => FAST_RECOVERY,
            };
            layers.push(Layer::Shade((seconds(epoch.began), ended), ink));
        }
        // The wide measured line comes first, so that the estimate on it stays visible.
        for (line, ink, width) in [
            (&series.measured, MEASURED, MEASURED_WIDTH),
            (&series.flight_size, FLIGHT_SIZE, 2),
            (&series.ssthresh, THRESHOLD, 3),
            (&series.cap, CAP, 3),
            (&series.cwnd, ESTIMATE, 3),
        ] {
            let points: Vec<Point> = line
                .points(MAX_BINS)
                .into_iter()
                .map(|(at, segments)| (seconds(at), f64::from(segments)))
                // A log may start before the capture, and a threshold may be above all windows.
                .filter(|(x, y)| (0.0..=self.seconds).contains(x) && *y <= series.high())
                .collect();
            let stroke = Stroke::over_time(ink, width);
            layers.extend(over_time(&points, self.seconds, Join::Steps, stroke));
        }
        layers
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_flow::{Direction, FlowId, SeqNum, StreamOffset};
    use tcpexp_measure::sender::CwndSource;
    use tcpexp_units::TimeDelta;

    use super::*;
    use crate::FigureSize;

    const SIZE: FigureSize = FigureSize {
        width_mm: 180,
        height_mm: 75,
    };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(1_767_225_609_778_130_000) + TimeDelta::from_millis(millis)
    }

    fn sample(millis: i64, cwnd: Option<u32>, flight_size: u64) -> SenderSample {
        SenderSample {
            smss_bytes: Some(1448),
            flight_size_bytes: Some(flight_size * 1448),
            cwnd_segments: cwnd,
            cwnd_source: CwndSource::Filled,
            ssthresh_segments: cwnd.map(|_| 20),
            ..SenderSample::unknown(at(millis), FlowId(0), Direction::Forward)
        }
    }

    fn recovery(began: i64, ended: Option<i64>, kind: RecoveryKind) -> RecoveryEpoch {
        RecoveryEpoch {
            flow: FlowId(0),
            direction: Direction::Forward,
            epoch: 0,
            kind,
            began: at(began),
            ended: ended.map(at),
            high: StreamOffset::first(SeqNum(9)),
            cwnd_before_segments: None,
            ssthresh_segments: None,
            seen_ssthresh_segments: None,
            was_undone: false,
            lost: None,
        }
    }

    /// A window that grows for ten seconds and is reduced twice.
    fn sawtooth(label: &str, clock: usize) -> CwndSeries {
        let mut series = CwndSeries::new(label, clock);
        for step in 0..1000 {
            let cwnd = 20 + u32::try_from(step % 400).unwrap() / 20;
            series.add(&sample(step * 10, Some(cwnd), cwnd.into()));
        }
        series.add_recovery(&recovery(4_000, Some(4_100), RecoveryKind::Fast));
        series.add_recovery(&recovery(8_000, None, RecoveryKind::Timeout));
        series
    }

    /// All texts of a figure, in drawing order.
    fn texts(figure: &Svg) -> String {
        let texts = figure.as_str().split("</text>");
        let last_line = |text: &str| text.rsplit('>').next().map(|text| text.trim().to_owned());
        let mut texts: Vec<String> = texts.filter_map(last_line).collect();
        texts.pop();
        texts.join(" | ")
    }

    #[test]
    fn the_legend_names_lines_and_shades() {
        let mut series = sawtooth("10.0.0.1:4 > 10.0.0.2:5", 0);
        series.add_measured(&sample(5_000, Some(25), 0));
        assert_snapshot!(texts(&cwnd_figure(&[series], SIZE).unwrap()), @"cwnd, measured | cwnd, estimated | ssthresh | flight size | fast recovery | recovery after a timeout | 10.0.0.1:4 &gt; 10.0.0.2:5 | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 0 | 10 | 20 | 30 | 40 | time (s) | segments");
        let mut paced = CwndSeries::new("paced", 0);
        paced.add(&sample(0, None, 10));
        paced.add(&sample(100, None, 12));
        assert_snapshot!(texts(&cwnd_figure(&[paced], SIZE).unwrap()), @r"flight size | paced | 0.00 | 0.01 | 0.02 | 0.03 | 0.04 | 0.05 | 0.06 | 0.07 | 0.08 | 0.09 | 0.10 | 0 | 2 | 4 | 6 | 8 | 10 | 12 | time (s) | segments");
    }

    #[test]
    fn panels_of_several_senders_have_one_time_axis() {
        let mut wide = sawtooth("wide", 0);
        wide.add(&sample(20_000, Some(12_345), 12_345));
        let size = FigureSize {
            height_mm: 150,
            ..SIZE
        };
        let figure = cwnd_figure(&[wide, sawtooth("narrow", 0)], size).unwrap();
        // The vertical axes are the start of the two longest black lines, at the same position.
        let lefts: Vec<&str> = figure
            .as_str()
            .split("<polyline")
            .filter(|line| line.contains("stroke=\"#222222\""))
            .filter_map(|line| {
                let points = line.split("points=\"").nth(1)?.split('"').next()?;
                let corners: Vec<&str> = points.split_whitespace().collect();
                (corners.len() == 3).then(|| corners[0].split(',').next())?
            })
            .collect();
        assert_eq!(lefts.len(), 2);
        assert_eq!(lefts[0], lefts[1]);
    }

    #[test]
    fn values_outside_the_capture_are_not_drawn() {
        let mut series = sawtooth("10.0.0.1:4 > 10.0.0.2:5", 0);
        let plain = cwnd_figure(&[series.clone()], SIZE).unwrap();
        series.add_recovery(&recovery(-5_000, Some(-4_000), RecoveryKind::Fast));
        assert_eq!(cwnd_figure(&[series], SIZE).unwrap(), plain);
    }

    #[test]
    fn unfinished_recovery_ends_with_its_sender() {
        let mut long = sawtooth("long", 0);
        long.add(&sample(20_000, Some(20), 20));
        let size = FigureSize {
            height_mm: 150,
            ..SIZE
        };
        let [unfinished, finished] = [None, Some(9_990)].map(|ended| {
            let mut short = sawtooth("short", 0);
            short.add_recovery(&recovery(9_000, ended, RecoveryKind::Fast));
            cwnd_figure(&[long.clone(), short], size).unwrap()
        });
        assert_eq!(unfinished, finished);
    }

    #[test]
    fn each_clock_begins_at_zero() {
        let mut late = CwndSeries::new("late", 1);
        for step in 0..1000 {
            late.add(&sample(3_600_000 + step * 10, Some(10), 10));
        }
        let size = FigureSize {
            height_mm: 150,
            ..SIZE
        };
        let figure = cwnd_figure(&[sawtooth("soon", 0), late], size).unwrap();
        assert!(!texts(&figure).contains("3600"));
    }

    #[test]
    fn missing_values_and_missing_room_are_named_errors() {
        let nothing = [CwndSeries::new("idle", 0)];
        let error = cwnd_figure(&nothing, SIZE).unwrap_err();
        assert_eq!(error.to_string(), "there are no congestion windows to draw");
        let many: Vec<_> = (0..9).map(|_| sawtooth("one of many", 0)).collect();
        assert!(matches!(
            cwnd_figure(&many, SIZE),
            Err(Error::TooSmall { .. })
        ));
    }

    #[test]
    fn any_times_and_windows_can_be_drawn() {
        let mut series = CwndSeries::new("nonsense \u{1}", 0);
        for nanos in [i64::MIN, -1, 0, i64::MAX] {
            let mut odd = sample(0, Some(u32::MAX), u64::MAX / 2000);
            odd.at = Timestamp::from_nanos(nanos);
            odd.smss_bytes = Some(0);
            series.add(&odd);
        }
        cwnd_figure(&[series], SIZE).unwrap().to_png(1.0).unwrap();
    }
}
