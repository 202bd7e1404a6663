//! Charts of rates over time.

use std::cmp::Reverse;

use tcpexp_units::{RateUnit, TimeDelta, Timestamp, counted};

use crate::axis::AxisSpec;
use crate::clip::Point;
use crate::layer::Layer;
use crate::legend::Key;
use crate::lines::steps;
use crate::on_axis::{Heights, MIN_SEEN, seen};
use crate::plot::Plot;
use crate::scene::Scene;
use crate::stroke::Stroke;
use crate::theme::{Ink, SERIES};
use crate::{Error, Style, Svg, Thinned};

/// Maximum number of coloured flows: the palette's black is reserved for the link.
const COLOURED: usize = SERIES - 1;
/// Maximum number of groups of bins in a drawn line, of up to four bins each: five per millimetre.
const MAX_BINS: usize = 800;
/// If a line has more corners than this, all lines are thin: five corners per millimetre.
const MANY_CORNERS: usize = 800;
/// Extra width of totals over the lines on them, so that both are visible where they coincide.
const WIDER: u32 = 4;

/// Width of lines with few corners.
const LINE: u32 = 4;

const LINK: Stroke = Stroke::dashed(Ink::Black, 3, &[12, 8]);

/// The rates of one flow or of several flows together, in bins of equal width.
#[derive(Clone, Debug, Default)]
pub struct RateSeries {
    /// Name in the legend.
    pub label: String,
    over_time: Thinned<u64>,
    /// End of the last bin.
    end: Option<Timestamp>,
    /// End of the part of the last bin that the capture covers.
    covered_until: Option<Timestamp>,
    highest_bps: u64,
    /// Sum of all rates; it orders the series of a figure by volume.
    sum_bps: u128,
}

impl RateSeries {
    /// Creates a series without bins.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// Adds a bin; bins must be in order of time, and the rate in a gap between them is zero.
    ///
    /// The rate is of the time `covered`: less than the width if the capture ends within the bin.
    pub fn add(&mut self, start: Timestamp, width: TimeDelta, covered: TimeDelta, rate_bps: u64) {
        // A line holds its value until the next point, so a gap needs a zero where it starts.
        if let Some(end) = self.end.filter(|end| *end < start) {
            self.over_time.add(end, 0);
        }
        self.over_time.add(start, rate_bps);
        self.end = Some(start + width);
        self.covered_until = Some(start + covered);
        self.highest_bps = self.highest_bps.max(rate_bps);
        self.sum_bps += u128::from(rate_bps);
    }

    /// Sum of all rates; with equal bin widths, it orders series by volume.
    pub const fn sum_bps(&self) -> u128 {
        self.sum_bps
    }

    /// Start of the first bin and end of the covered part of the last.
    fn span(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.over_time.times()?.0, self.covered_until?))
    }

    /// The corners of the stepped line, in seconds since `start`.
    fn steps(&self, start: Timestamp, unit: RateUnit) -> Vec<Point> {
        let seconds = |time: Timestamp| (time - start).as_seconds_f64();
        let points = self.over_time.points(MAX_BINS).into_iter();
        let mut points: Vec<Point> = points
            .map(|(time, rate_bps)| (seconds(time), unit.value(rate_bps)))
            .collect();
        // The line extends to the end of the last bin and not only to its start.
        let last = points.last().map(|(_, height)| *height);
        points.extend(self.covered_until.map(seconds).zip(last));
        steps(&points)
    }
}

/// Draws rates over time: a stepped line per flow, grey lines for `totals`, and a dashed line for
/// the link's rate.
///
/// Time is in seconds since the first bin of any series, so all series must be on one clock. With
/// more than six flows, the figure shows those with the most volume. It leaves out flows on the axis unless
/// together they carry a load. The totals include the others. A note says how many it shows of `all`, the
/// number of flow directions, and how many are on the axis. The greys distinguish only two totals.
pub fn rate_figure(
    (flows, all): (&[RateSeries], u64),
    totals: &[RateSeries],
    link_rate_bps: Option<u64>,
    style: impl Into<Style>,
) -> Result<Svg, Error> {
    let figure = Figure::of(flows, totals, link_rate_bps).ok_or(Error::NoRates)?;
    let mut style = style.into();
    style.note = shown_of((figure.flows.len(), figure.on_axis), all).or(style.note);
    figure.scene(&style).draw(&style)
}

/// States how many flow directions a figure shows: `the 6 largest of 40 flow directions`. `None` if
/// it shows all. `on_axis` are left out because their lines would coincide with the axis.
fn shown_of((shown, on_axis): (usize, usize), all: u64) -> Option<String> {
    let considered = u64::try_from(shown + on_axis).ok()?;
    let largest = match shown {
        0 => return None,
        _ if considered >= all => None,
        1 => Some("the largest".to_owned()),
        shown => Some(format!("the {shown} largest")),
    };
    let largest = largest.map(|largest| format!("{largest} of {all} flow directions"));
    let without = (on_axis > 0).then(|| {
        let flows = counted(on_axis, "flow direction");
        format!("without {flows} with a peak below 1/{MIN_SEEN} of the highest")
    });
    [largest, without]
        .into_iter()
        .flatten()
        .reduce(|largest, without| format!("{largest}, {without}"))
}

/// A figure without a size.
struct Figure<'a> {
    flows: Vec<(&'a RateSeries, Ink)>,
    /// Number of flows that are left out because their lines would coincide with the axis.
    on_axis: usize,
    totals: Vec<(&'a RateSeries, Ink)>,
    link_rate_bps: Option<u64>,
    unit: RateUnit,
    highest: f64,
    start: Timestamp,
    end: Timestamp,
}

impl<'a> Figure<'a> {
    /// `None` if there is nothing to draw.
    fn of(
        flows: &'a [RateSeries],
        totals: &'a [RateSeries],
        link_rate_bps: Option<u64>,
    ) -> Option<Self> {
        let heights = flows.iter().map(|series| Heights {
            peak: series.highest_bps as f64,
            sum: series.sum_bps as f64,
        });
        let are_seen = seen(&heights.collect::<Vec<_>>());
        let mut most: Vec<usize> = (0..flows.len()).filter(|&index| are_seen[index]).collect();
        let on_axis = flows.len() - most.len();
        most.sort_by_key(|&index| Reverse(flows[index].sum_bps));
        most.truncate(COLOURED);
        // Restores the given order.
        most.sort_unstable();
        let flows: Vec<_> = most
            .iter()
            .map(|&index| &flows[index])
            .zip((0..COLOURED).map(Ink::Series))
            .collect();
        let totals: Vec<_> = totals
            .iter()
            .zip([0, 1].map(Ink::Other).into_iter().cycle())
            .collect();
        let all = flows.iter().chain(&totals).map(|(series, _)| *series);
        let spans = all.clone().filter_map(RateSeries::span);
        let highest_bps = all
            .map(|series| series.highest_bps)
            .chain(link_rate_bps)
            .max()?;
        let unit = RateUnit::of(highest_bps);
        Some(Self {
            link_rate_bps,
            unit,
            // All rates may be zero, and an axis needs a length.
            highest: unit.value(highest_bps.max(1)),
            start: spans.clone().map(|(start, _)| start).min()?,
            end: spans.map(|(_, end)| end).max()?,
            flows,
            on_axis,
            totals,
        })
    }

    fn keys(&self) -> Vec<Key> {
        let link = self.link_rate_bps.map(|bps| {
            let text = format!("link: {} {}", self.unit.value(bps), self.unit.name());
            Key::stroke(text, LINK)
        });
        let series = self.flows.iter().chain(&self.totals);
        series
            .map(|(series, ink)| Key::line(&*series.label, Stroke::over_time(*ink, LINE)))
            .chain(link)
            .collect()
    }

    fn scene(&self, style: &Style) -> Scene {
        let span = self.end - self.start;
        let seconds = if span > TimeDelta::ZERO {
            span.as_seconds_f64()
        } else {
            1.0
        };
        let name = format!("wire rate ({})", self.unit.name());
        let mut plot = Plot::new(
            AxisSpec::values("time (s)", (0.0, seconds), &style.x),
            AxisSpec::values(name, (0.0, self.highest * 1.05), &style.y),
        );
        let lines = |series: &[(&RateSeries, Ink)]| -> Vec<_> {
            let line =
                |(series, ink): &(&RateSeries, Ink)| (series.steps(self.start, self.unit), *ink);
            series.iter().map(line).collect()
        };
        // Drawn last, series with a small volume stay visible on those with a large volume.
        let mut most_first = self.flows.clone();
        most_first.sort_by_key(|(series, _)| Reverse(series.sum_bps));
        let (flows, totals) = (lines(&most_first), lines(&self.totals));
        let corners = flows.iter().chain(&totals).map(|(steps, _)| steps.len());
        let is_crowded = corners.max() > Some(MANY_CORNERS);
        let width = if is_crowded { 2 } else { LINE };
        let line = |width: u32| {
            move |(steps, ink): (Vec<Point>, Ink)| Layer::Line(steps, Stroke::over_time(ink, width))
        };
        plot.layers
            .extend(totals.into_iter().map(line(width + WIDER)));
        let link_rate = self.link_rate_bps.map(|bps| self.unit.value(bps));
        plot.layers
            .extend(link_rate.map(|rate| Layer::Level(rate, LINK)));
        plot.layers.extend(flows.into_iter().map(line(width)));
        Scene {
            keys: self.keys(),
            rows: vec![plot.into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::FigureSize;

    const SIZE: FigureSize = FigureSize {
        width_mm: 180,
        height_mm: 70,
    };
    const WIDTH: TimeDelta = TimeDelta::from_millis(500);

    /// Bins of half a second, starting at second `start`.
    fn series(label: &str, start: i64, rates_bps: &[u64]) -> RateSeries {
        let mut series = RateSeries::new(label);
        for (place, rate_bps) in (0..).zip(rates_bps) {
            let start = Timestamp::from_nanos((start * 2 + place) * WIDTH.as_nanos());
            series.add(start, WIDTH, WIDTH, *rate_bps);
        }
        series
    }

    fn legend(flows: &[RateSeries]) -> String {
        let texts = rate_figure((flows, 0), &[], None, SIZE).unwrap().texts();
        let labels: Vec<_> = texts
            .split(" | ")
            .take_while(|text| *text != "0.0")
            .collect();
        labels.join(", ")
    }

    #[test]
    fn axes_name_quantity_and_unit_and_all_lines_are_named() {
        let flows = [
            series("cubic 5201", 0, &[9_800_000; 40]),
            series("bbr <5202>", 5, &[2_500_000; 20]),
        ];
        let total = [series("all 3 flows", 0, &[10_100_000; 40])];
        let figure = rate_figure((&flows, 2), &total, Some(12_500_000), SIZE).unwrap();
        assert_snapshot!(figure.texts(), @r"cubic 5201 | bbr &lt;5202&gt; | all 3 flows | link: 12.5 Mbit/s | 0 | 2 | 4 | 6 | 8 | 10 | 12 | 14 | 16 | 18 | 20 | 0 | 2 | 4 | 6 | 8 | 10 | 12 | time (s) | wire rate (Mbit/s)");
    }

    #[test]
    fn each_bin_is_a_step_gaps_are_zero_and_the_last_step_has_the_covered_length() {
        let mut flow = series("on and off", 0, &[1_000_000, 3_000_000]);
        flow.add(
            Timestamp::from_nanos(2_000_000_000),
            WIDTH,
            TimeDelta::from_millis(100),
            2_000_000,
        );
        let steps = flow.steps(Timestamp::from_nanos(0), RateUnit::of(3_000_000));
        let steps: Vec<String> = steps.iter().map(|(x, y)| format!("{x}:{y}")).collect();
        assert_snapshot!(steps.join(" "), @"0:1 0.5:1 0.5:3 1:3 1:0 2:0 2:2 2.1:2");
    }

    #[test]
    fn flows_beyond_the_colours_are_in_the_total_only() {
        let flows: Vec<_> = (1..=8)
            .map(|n| series(&format!("flow {n}"), 0, &[n * 100_000; 4]))
            .collect();
        assert_snapshot!(legend(&flows), @"flow 3, flow 4, flow 5, flow 6, flow 7, flow 8");
    }

    #[test]
    fn the_note_states_how_many_of_all_flow_directions_are_drawn() {
        let flows: Vec<_> = (1..=8)
            .map(|n| series(&format!("flow {n}"), 0, &[n * 100_000; 4]))
            .collect();
        let note = |flows: &[RateSeries], all: u64| {
            let texts = rate_figure((flows, all), &[], None, SIZE).unwrap().texts();
            texts.rsplit(" | ").next().unwrap().to_owned()
        };
        assert_eq!(note(&flows, 300), "the 6 largest of 300 flow directions");
        assert_eq!(note(&flows[..1], 2), "the largest of 2 flow directions");
        assert_eq!(note(&flows[..2], 2), "wire rate (kbit/s)");
    }

    #[test]
    fn a_flow_with_a_negligible_rate_is_not_drawn_and_the_note_counts_it() {
        let flows = [
            series("ACKs", 0, &[199_999, 0, 0, 0]),
            series("control", 0, &[200_000; 4]),
            series("data", 0, &[10_000_000; 4]),
        ];
        assert_snapshot!(legend(&flows).split(", 0").next().unwrap(), @"control, data");
        let texts = rate_figure((&flows, 3), &[], None, SIZE).unwrap().texts();
        let without = "without 1 flow direction with a peak below 1/50 of the highest";
        assert!(texts.ends_with(without), "{texts}");
    }

    #[test]
    fn a_long_slow_flow_with_more_volume_than_a_burst_is_drawn() {
        let flows = [
            series("burst", 0, &[96_000_000]),
            series("slow", 0, &[960_000; 200]),
        ];
        assert_snapshot!(legend(&flows).split(", 0").next().unwrap(), @"burst, slow");
    }

    #[test]
    fn zero_rates_have_a_figure_and_missing_bins_have_none() {
        rate_figure((&[series("idle", 0, &[0])], 1), &[], None, SIZE).unwrap();
        let error = rate_figure((&[], 0), &[], Some(1_000), SIZE).unwrap_err();
        assert_eq!(error.to_string(), "there are no rates to draw");
    }

    #[test]
    fn implausible_times_are_drawn() {
        let mut flow = RateSeries::new("nonsense");
        for nanos in [i64::MIN, -1, i64::MAX] {
            flow.add(Timestamp::from_nanos(nanos), WIDTH, WIDTH, u64::MAX);
        }
        let figure = rate_figure((&[flow], 1), &[], None, SIZE).unwrap();
        figure.to_png(1.0).unwrap();
        let lonely = series("late", i64::MAX / 2 / WIDTH.as_nanos(), &[1]);
        rate_figure((&[lonely], 1), &[], None, SIZE).unwrap();
    }

    #[test]
    fn a_figure_without_room_is_an_error() {
        let size = FigureSize {
            width_mm: 40,
            height_mm: 20,
        };
        let error = rate_figure((&[series("flow", 0, &[1])], 1), &[], None, size).unwrap_err();
        assert!(matches!(error, Error::TooSmall { .. }), "{error}");
    }

    #[test]
    fn long_captures_in_short_bins_are_thinned() {
        let rates: Vec<u64> = (0..100_000).map(|n| n * 7919 % 1_000_003).collect();
        let flow = series("noise", 0, &rates);
        let steps = flow.steps(Timestamp::from_nanos(0), RateUnit::of(1_000_003));
        assert!(steps.len() < 8 * MAX_BINS);
        let highest = steps.iter().map(|(_, y)| *y).fold(0.0, f64::max);
        let most = rates.iter().max().copied().unwrap();
        assert!((highest - RateUnit::of(1_000_003).value(most)).abs() < 1e-9);
    }
}
