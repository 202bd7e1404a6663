//! Charts of delays over time, with their distribution.

use std::cmp::Reverse;

use tcpexp_units::{TimeDelta, Timestamp};

use crate::axis::{AxisSpec, range};
use crate::curve::{Curve, curves, nanos};
use crate::plot::Plot;
use crate::quantity::{Quantity, Shown};
use crate::row::Row;
use crate::scene::Scene;
use crate::{AxisStyle, DelaySeries, Error, Style, Svg};

/// Shares of the width for the time panel and the distribution.
const SHARES: (i32, i32) = (62, 38);

/// Draws round-trip times over time (left) and their empirical distribution (right).
///
/// Time is in seconds since the first packet of any series, so all series must be on one clock.
/// With more than seven series, the series with the most samples have colours, and the others are
/// pooled in grey.
///
/// A line joins samples close in time; sparse series and isolated samples are dots. The time panel
/// shows all samples. The distribution is cut at the right if the largest sample exceeds three
/// times the largest 99th percentile. Losses are marks above the time panel; a series of losses
/// alone is omitted.
pub fn rtt_figure(series: &[DelaySeries], style: impl Into<Style>) -> Result<Svg, Error> {
    figure(series, "RTT", "samples", &style.into())
}

/// Like [`rtt_figure`], for queueing delays; each delay is at its packet's departure time.
pub fn queueing_figure(series: &[DelaySeries], style: impl Into<Style>) -> Result<Svg, Error> {
    figure(series, "queueing delay", "packets", &style.into())
}

fn figure(
    series: &[DelaySeries],
    quantity: &str,
    samples: &'static str,
    style: &Style,
) -> Result<Svg, Error> {
    let quantity = Quantity::of_column("_ns").named(quantity);
    Figure::of(curves(series)?, quantity, samples)
        .scene(style)
        .draw(style)
}

/// A figure without a size.
struct Figure {
    curves: Vec<Curve>,
    /// Quantity of the delays.
    quantity: Quantity,
    /// Name of the samples, for the axis of the distribution.
    samples: &'static str,
    shown: Shown,
    start: Timestamp,
    seconds: f64,
    delay_range: (f64, f64),
    distribution_range: (f64, f64),
}

impl Figure {
    fn of(curves: Vec<Curve>, quantity: Quantity, samples: &'static str) -> Self {
        let earliest = curves.iter().map(|curve| curve.times.0).min();
        let latest = curves.iter().map(|curve| curve.times.1).max();
        let (start, end) = (earliest.unwrap_or_default(), latest.unwrap_or_default());
        let most_of = |delay: fn(&Curve) -> TimeDelta| {
            let delays = curves.iter().map(delay);
            delays.max().unwrap_or_default()
        };
        let least = curves.iter().map(|curve| curve.delay.min).min();
        let least = least.unwrap_or_default();
        let (most, p99) = (
            most_of(|curve| curve.delay.max),
            most_of(|curve| curve.delay.p99),
        );
        let shown = quantity.shown(nanos(least), nanos(most));
        let range_to = |most: TimeDelta| range(shown.value(nanos(least)), shown.value(nanos(most)));
        // Without a queue the 99th percentile may be zero, and twice zero is no end of an axis.
        let outlying = p99 > TimeDelta::ZERO && most > p99 + p99 + p99;
        let span = (end - start).as_seconds_f64();
        Self {
            delay_range: range_to(most),
            distribution_range: range_to(if outlying { p99 + p99 } else { most }),
            curves,
            quantity,
            samples,
            shown,
            start,
            // All values may be at one time, and an axis needs a length.
            seconds: if span > 0.0 { span } else { 1.0 },
        }
    }

    fn scene(&self, style: &Style) -> Scene {
        let delay = self.quantity.on_axis(&self.shown);
        let share = format!("fraction of {}", self.samples);
        let plain = AxisStyle::default();
        let mut over_time = Plot::new(
            AxisSpec::values("time (s)", (0.0, self.seconds), &style.x),
            AxisSpec::values(delay.clone(), self.delay_range, &style.y),
        );
        let mut distribution = Plot::new(
            AxisSpec::values(delay, self.distribution_range, &plain),
            AxisSpec::values(share, (0.0, 1.0), &plain),
        );
        let has_losses = self.curves.iter().any(|curve| curve.lost > 0);
        over_time.marks = has_losses.then(|| "lost".to_owned());
        // Drawn last, a series with few samples stays visible on a series with many.
        let mut many_first: Vec<&Curve> = self.curves.iter().collect();
        many_first.sort_by_key(|curve| Reverse(curve.delay.samples));
        for curve in many_first {
            let lines = curve.over_time(self.start, self.seconds, &self.shown);
            over_time.layers.extend(lines);
            over_time.layers.push(curve.losses(self.start));
            distribution.layers.push(curve.distribution(&self.shown));
        }
        Scene {
            keys: self
                .curves
                .iter()
                .map(|curve| curve.legend(&self.shown))
                .collect(),
            rows: vec![Row {
                plots: vec![(SHARES.0, over_time), (SHARES.1, distribution)],
                ..Row::default()
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use resvg::tiny_skia::Pixmap;

    use super::*;
    use crate::FigureSize;

    const SIZE: FigureSize = FigureSize {
        width_mm: 180,
        height_mm: 70,
    };

    /// A queue on top of `base_micros` that fills and drains every five seconds.
    fn sawtooth(label: &str, base_micros: i64, samples: i64) -> DelaySeries {
        let mut series = DelaySeries::new(label);
        for n in 0..samples {
            let time = Timestamp::from_nanos(1_767_225_609_778_130_000 + n * 10_000_000);
            series.add(time, TimeDelta::from_micros(base_micros + n % 500 * 150));
        }
        series
    }

    fn texts(figure: &Svg) -> String {
        figure.texts()
    }

    #[test]
    fn axes_name_quantity_and_unit_and_the_legend_names_medians() {
        let series = [
            sawtooth("cubic 5201", 40_000, 3000),
            sawtooth("bbr <5202>", 41_000, 1000),
        ];
        assert_snapshot!(texts(&rtt_figure(&series, SIZE).unwrap()), @r"cubic 5201: median 77.4 ms | bbr &lt;5202&gt;: median 78.4 ms | 0 | 5 | 10 | 15 | 20 | 25 | 0 | 20 | 40 | 60 | 80 | 100 | 120 | time (s) | RTT (ms) | 0 | 50 | 100 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | RTT (ms) | fraction of samples");
    }

    #[test]
    fn losses_are_marked_and_counted_in_the_legend() {
        let mut series = sawtooth("upload", 0, 1000);
        let start = Timestamp::from_nanos(1_767_225_609_778_130_000);
        for (second, packets) in [(2, 1), (3, 5), (11, 2)] {
            series.lose(start + TimeDelta::from_seconds(second), packets);
        }
        let figure = queueing_figure(&[series.clone()], SIZE).unwrap();
        assert_snapshot!(texts(&figure), @r"upload: median 37.4 ms, 8 lost | 0 | 2 | 4 | 6 | 8 | 10 | 0 | 20 | 40 | 60 | time (s) | queueing delay (ms) | lost | 0 | 20 | 40 | 60 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | queueing delay (ms) | fraction of packets");
        let without = queueing_figure(&[sawtooth("upload", 0, 1000)], SIZE).unwrap();
        let lines = |figure: &Svg| figure.as_str().matches("<polyline").count();
        assert!(lines(&figure) >= lines(&without) + 3);
        let mut pooled = DelaySeries::new("both");
        pooled.merge(&series);
        pooled.merge(&series);
        assert!(texts(&queueing_figure(&[pooled], SIZE).unwrap()).contains("16 lost"));
    }

    #[test]
    fn flows_beyond_the_colours_are_pooled() {
        let series: Vec<_> = (0..10)
            .map(|n| sawtooth(&format!("flow {n}"), 20_000, 100 + 10 * n))
            .collect();
        let figure = rtt_figure(&series, SIZE).unwrap();
        let texts = texts(&figure);
        let legend: Vec<_> = texts.split(" | ").take(8).collect();
        assert_snapshot!(legend.join("\n"), @r"
        flow 3: median 29.7 ms
        flow 4: median 30.4 ms
        flow 5: median 31.2 ms
        flow 6: median 31.9 ms
        flow 7: median 32.7 ms
        flow 8: median 33.4 ms
        flow 9: median 34.2 ms
        3 other flows: median 28.2 ms
        ");
    }

    #[test]
    fn a_long_label_is_cut_to_the_width_of_the_figure() {
        let figure = rtt_figure(&[sawtooth(&"long\u{1} ".repeat(100), 20_000, 10)], SIZE).unwrap();
        let (legend, _) = texts(&figure)
            .split_once(" | ")
            .map(|(a, b)| (a.len(), b.len()))
            .unwrap();
        assert!((100..300).contains(&legend), "{legend}");
        assert!(texts(&figure).contains("…"));
        figure.to_png(1.0).unwrap();
    }

    #[test]
    fn one_sample_is_a_dot() {
        let figure = rtt_figure(&[sawtooth("short", 40_000, 1)], SIZE).unwrap();
        assert_eq!(figure.as_str().matches("<circle").count(), 1);
        assert_snapshot!(texts(&figure), @r"short: median 40.0 ms | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | 0 | 10 | 20 | 30 | 40 | time (s) | RTT (ms) | 0 | 10 | 20 | 30 | 40 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | RTT (ms) | fraction of samples");
    }

    #[test]
    fn a_rare_outlier_leaves_the_distributions_readable() {
        let mut series = sawtooth("outlier", 40_000, 3000);
        series.add(
            Timestamp::from_nanos(1_767_225_639_778_130_000),
            TimeDelta::from_seconds(9),
        );
        assert_snapshot!(texts(&rtt_figure(&[series], SIZE).unwrap()), @r"outlier: median 77.5 ms | 0 | 5 | 10 | 15 | 20 | 25 | 30 | 0 | 2000 | 4000 | 6000 | 8000 | time (s) | RTT (ms) | 0 | 50 | 100 | 150 | 200 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | RTT (ms) | fraction of samples");
    }

    #[test]
    fn implausible_round_trip_times_are_drawn() {
        let mut series = DelaySeries::new("nonsense");
        for nanos in [i64::MIN, -1, 0, i64::MAX] {
            series.add(Timestamp::from_nanos(nanos), TimeDelta::from_nanos(nanos));
        }
        rtt_figure(&[series], SIZE).unwrap().to_png(1.0).unwrap();
    }

    #[test]
    fn missing_samples_are_a_named_error() {
        for series in [&[][..], &[DelaySeries::new("idle")]] {
            let error = rtt_figure(series, SIZE).unwrap_err();
            assert_eq!(error.to_string(), "there are no delays to draw");
        }
    }

    #[test]
    fn a_figure_without_room_is_an_error() {
        for (width_mm, height_mm) in [(0, 0), (40, 70), (180, 20), (u32::MAX, u32::MAX)] {
            let size = FigureSize {
                width_mm,
                height_mm,
            };
            let _ = rtt_figure(&[sawtooth("cubic", 40_000, 10)], size).map_err(|error| {
                assert!(matches!(error, Error::TooSmall { .. }), "{error}");
            });
        }
    }

    #[test]
    fn the_same_samples_yield_the_same_bytes() {
        let figure = || rtt_figure(&[sawtooth("cubic", 40_000, 5000)], SIZE).unwrap();
        assert_eq!(figure(), figure());
        assert!(figure().to_png(2.0).unwrap() == figure().to_png(2.0).unwrap());
    }

    #[test]
    fn a_png_has_the_pixels_of_its_scale_and_shows_the_curve() {
        let figure = rtt_figure(&[sawtooth("cubic", 40_000, 3000)], SIZE).unwrap();
        let png = Pixmap::decode_png(&figure.to_png(2.0).unwrap()).unwrap();
        // 180 mm by 70 mm at 192 pixels per inch.
        assert_eq!((png.width(), png.height()), (1361, 529));
        let blue = png
            .pixels()
            .iter()
            .filter(|p| (p.red(), p.green(), p.blue()) == (0, 0x72, 0xB2));
        assert!(blue.count() > 1000);
        for scale in [0.0, -1.0, f32::NAN, 1e9] {
            assert!(
                matches!(figure.to_png(scale), Err(Error::Pixels { .. })),
                "{scale}"
            );
        }
    }
}
