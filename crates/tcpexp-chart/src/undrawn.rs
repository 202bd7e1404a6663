//! Medians over runs that no chart can draw, and why.

use tcpexp_metrics::repetition::Estimate;

use crate::quantity::Shown;
use crate::{Error, Quantity};

/// A median over runs, as far as it is known.
pub(crate) enum Median {
    /// A finite median.
    Known(Estimate),
    /// A median of at least this value: some runs are known only within bounds.
    AtLeast(f64),
    /// At least half of the runs never reached the state.
    Never,
}

impl Median {
    /// The same distinctions as in the text table of `tcpexp compare`.
    pub(crate) fn of(estimate: Estimate) -> Self {
        match estimate.known() {
            Some(median) if median.is_finite() => Self::Known(estimate),
            Some(_) => Self::Never,
            None => Self::AtLeast(estimate.least),
        }
    }

    /// The estimate of a finite median.
    pub(crate) fn known(self) -> Option<Estimate> {
        match self {
            Self::Known(estimate) => Some(estimate),
            Self::AtLeast(_) | Self::Never => None,
        }
    }
}

/// Numbers of the medians that a chart does not draw, and of the intervals that it draws in part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undrawn {
    unknown: usize,
    /// Smallest of the lower bounds of the unknown medians.
    least: Option<f64>,
    never: usize,
    open: usize,
}

impl Undrawn {
    pub(crate) fn of(medians: impl Iterator<Item = Median>) -> Self {
        let mut all = Self::default();
        for median in medians {
            match median {
                Median::Known(estimate) => {
                    let is_open = estimate
                        .interval
                        .is_some_and(|(_, high)| high.is_infinite());
                    all.open += usize::from(is_open);
                }
                Median::AtLeast(least) => {
                    all.unknown += 1;
                    all.least = Some(all.least.map_or(least, |known| known.min(least)));
                }
                Median::Never => all.never += 1,
            }
        }
        all
    }

    /// Part of the note below the figure.
    pub(crate) fn words(self, shown: &Shown) -> String {
        let least = self.least.map(|least| shown.text(least));
        let least = least.unwrap_or_default();
        let unknown = match self.unknown {
            0 => String::new(),
            1 => format!("; 1 median is unknown: at least {least}"),
            count => format!("; {count} medians are unknown: each at least {least}"),
        };
        let never = match self.never {
            0 => String::new(),
            1 => {
                "; 1 group has no median: at least half of its runs never reached the state".into()
            }
            count => format!(
                "; {count} groups have no median: at least half of their runs never reached the state"
            ),
        };
        let open = match self.open {
            0 => String::new(),
            1 => "; 1 interval has no upper end".to_owned(),
            count => format!("; {count} intervals have no upper end"),
        };
        unknown + &never + &open
    }

    /// The error of a figure that has runs with bounds and no median to draw; `None` without such runs.
    pub(crate) fn error(self, column: &str, quantity: &Quantity) -> Option<Error> {
        let least = self.least.unwrap_or(0.0);
        (self.unknown + self.never > 0).then(|| Error::NoMedians {
            column: column.to_owned(),
            reason: self.words(&quantity.shown(least, least)),
        })
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::Bounds;
    use tcpexp_table::{Frame, Series};

    use super::*;
    use crate::{
        AxisStyle, FigureSize, Levels, Statistic, Style, Svg, bar_figure, heatmap_figure,
        trend_figure,
    };

    const NEVER: f64 = f64::INFINITY;

    /// Runs, each with a delay and the bounds of its completion time in seconds. If the bounds are equal, the
    /// time is known.
    fn runs(runs: &[(i64, [f64; 2])]) -> Frame {
        let real = |of: fn(&[f64; 2]) -> Option<f64>| {
            Series::Real(runs.iter().map(|(_, bounds)| of(bounds)).collect())
        };
        let known = real(|bounds| {
            let [least, most] = *bounds;
            let known = Bounds { least, most }.value();
            known.filter(|known| known.is_finite())
        });
        let delays = runs.iter().map(|(delay, _)| Some(*delay)).collect();
        let numbers = (0..runs.len()).map(|run| Some(format!("r{run}")));
        Frame::of(vec![
            ("run".into(), Series::texts(numbers)),
            ("delay_ms".into(), Series::Whole(delays)),
            ("completion_median_s".into(), known),
            (
                "completion_median_least_s".into(),
                real(|bounds| Some(bounds[0])),
            ),
            (
                "completion_median_most_s".into(),
                real(|bounds| Some(bounds[1])),
            ),
        ])
    }

    /// The three charts of one number per run, over the delay.
    fn charts(frame: &Frame) -> [Result<Svg, Error>; 3] {
        let quantity = Quantity::of_column("completion_median_s");
        let y = ("completion_median_s", &quantity, Statistic::Median);
        let [x, all] = [vec!["delay_ms".to_owned()], vec![]].map(|names| Levels::of(frame, &names));
        let style = Style::from(FigureSize {
            width_mm: 170,
            height_mm: 60,
        });
        [
            bar_figure(frame, y, (&x, &all, &all), &style),
            trend_figure(frame, y, (&x, &all, &all), &style),
            heatmap_figure(frame, y, (&x, &all), (&AxisStyle::default(), &style)),
        ]
    }

    #[test]
    fn a_median_that_is_not_known_is_not_drawn_but_its_bound_is_in_the_note() {
        let frame = runs(&[
            (10, [2.0, 2.0]),
            (10, [2.0, 2.0]),
            // The known run is the shortest, so one of the two others determines the median.
            (20, [3.8, 3.8]),
            (20, [4.1, NEVER]),
            (20, [4.2, NEVER]),
            (40, [NEVER, NEVER]),
        ]);
        let [bars, line, heat] = charts(&frame).map(|chart| chart.unwrap().texts());
        for texts in [&bars, &line, &heat] {
            let note = "median over 1 to 3 runs; 1 median is unknown: at least 4100 ms; 1 group has no median: at least \
                        half of its runs never reached the state";
            assert!(texts.replace(" | ", " ").ends_with(note), "{texts}");
        }
        assert!(heat.contains("| 2000 | &gt;4100 | never |"), "{heat}");
    }

    #[test]
    fn runs_above_a_known_median_leave_its_interval_without_an_upper_end() {
        let frame = runs(&[(10, [2.0, 2.0]), (10, [3.0, 3.0]), (10, [4.0, NEVER])]);
        for chart in charts(&frame) {
            let texts = chart.unwrap().texts();
            let note = "median over 3 runs; 1 interval has no upper end";
            assert!(texts.ends_with(note), "{texts}");
        }
    }

    #[test]
    fn a_line_stops_at_a_median_that_is_not_known() {
        let lines = |unknown: [f64; 2]| {
            let frame = runs(&[
                (10, [2.0, 2.0]),
                (20, [2.1, 2.1]),
                (30, unknown),
                (40, [2.3, 2.3]),
                (50, [2.4, 2.4]),
            ]);
            let [_, line, _] = charts(&frame);
            let line = line.unwrap();
            line.as_str().matches(r##"stroke="#0072B2""##).count()
        };
        assert_eq!(lines([2.2, NEVER]), lines([2.2, 2.2]) + 1);
    }

    #[test]
    fn the_error_without_a_known_median_names_its_bound() {
        let frame = runs(&[(10, [0.5, NEVER]), (20, [NEVER, NEVER])]);
        for chart in charts(&frame) {
            assert_eq!(
                chart.unwrap_err().to_string(),
                "no median of completion_median_s is known; 1 median is unknown: at least 500 ms; 1 group has no \
                 median: at least half of its runs never reached the state"
            );
        }
    }
}
