//! Values that a chart of single values leaves out, and why.

use std::iter::Sum;

use tcpexp_table::Frame;

use crate::Error;
use crate::bounded::Bounded;
use crate::quantity::Shown;

/// Counts of rows that have only bounds of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeftOut {
    unknown: usize,
    /// Smallest of the lower bounds of the unknown values.
    least: Option<f64>,
    /// Rows whose value is infinite: never reached.
    never: usize,
}

impl LeftOut {
    /// Counts the rows of the column `y` that the chart leaves out. Rows without bounds have no value, and do not
    /// count.
    pub(crate) fn of(frame: &Frame, y: &str) -> Result<Self, Error> {
        let column = Bounded::of(frame, y)?;
        let mut all = Self::default();
        for bounds in (0..frame.rows()).filter_map(|row| column.number(row)) {
            match bounds.value() {
                Some(value) if value.is_finite() => {}
                Some(_) => all.never += 1,
                None => {
                    all.unknown += 1;
                    let least = all.least.unwrap_or(bounds.least);
                    all.least = Some(least.min(bounds.least));
                }
            }
        }
        Ok(all)
    }

    /// Part of the note below the figure: starts with a semicolon, or is empty.
    pub(crate) fn words(self, shown: &Shown) -> String {
        let least = self.least.map(|least| shown.text(least));
        let least = least.unwrap_or_default();
        let unknown = match self.unknown {
            0 => String::new(),
            1 => format!("; 1 value is unknown and left out: at least {least}"),
            count => format!("; {count} values are unknown and left out: each at least {least}"),
        };
        let never = match self.never {
            0 => String::new(),
            1 => "; 1 value is left out: never reached".to_owned(),
            count => format!("; {count} values are left out: never reached"),
        };
        unknown + &never
    }
}

impl Sum for LeftOut {
    fn sum<I: Iterator<Item = Self>>(panels: I) -> Self {
        panels.fold(Self::default(), |all, panel| Self {
            unknown: all.unknown + panel.unknown,
            least: match (all.least, panel.least) {
                (Some(all), Some(panel)) => Some(all.min(panel)),
                (all, panel) => all.or(panel),
            },
            never: all.never + panel.never,
        })
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_table::Series;

    use super::*;
    use crate::{
        FigureSize, GroupPanel, Levels, Quantity, Shape, Style, distribution_figure, ecdf_figure,
        scatter_figure,
    };

    const NEVER: f64 = f64::INFINITY;

    /// Runs with completion times of 2 and 3 s, at least 4 s, at least 5 s, and never.
    fn runs() -> Frame {
        let real = |values: [Option<f64>; 5]| Series::Real(values.to_vec());
        let none = [None, None];
        let bounds = |of_three: [f64; 3]| {
            let of_three = of_three.map(Some);
            real([none[0], none[1], of_three[0], of_three[1], of_three[2]])
        };
        Frame::of(vec![
            (
                "completion_median_s".into(),
                real([Some(2.0), Some(3.0), None, None, None]),
            ),
            (
                "completion_median_least_s".into(),
                bounds([5.0, 4.0, NEVER]),
            ),
            ("completion_median_most_s".into(), bounds([NEVER; 3])),
            ("goodput_bps".into(), real([Some(1e6); 5])),
        ])
    }

    #[test]
    fn charts_of_single_values_name_those_with_bounds_only() {
        let frame = runs();
        let all = Levels::of(&frame, &[]);
        let [time, rate] =
            ["completion_median_s", "goodput_bps"].map(|name| (name, Quantity::of_column(name)));
        let style = Style::from(FigureSize {
            width_mm: 170,
            height_mm: 60,
        });
        let y = (time.0, &time.1);
        let groups = (&all, &all, &all);
        let panels = GroupPanel::all(&frame, time.0, &all, &all).unwrap();
        let charts = [
            distribution_figure(&frame, y, groups, Shape::Box, &style),
            distribution_figure(&frame, y, groups, Shape::Violin, &style),
            ecdf_figure(&time.1, &panels, &style),
            scatter_figure(&frame, y, (rate.0, &rate.1), (&all, &all), &style),
        ];
        for chart in charts {
            let texts = chart.unwrap().texts().replace(" | ", " ");
            let note = "2 values are unknown and left out: each at least 4000 ms; 1 value is left out: never \
                        reached";
            assert!(texts.ends_with(note), "{texts}");
        }
    }
}
