//! Reduction of runs to one number each, and the confidence interval of their median.

use std::str::FromStr;

use tcpexp_metrics::Bounds;
use tcpexp_metrics::quantile::quantile;
use tcpexp_metrics::repetition::{Bootstrap, Estimate};
use tcpexp_table::Frame;

use crate::bounded::Bounded;
use crate::facet::Facet;
use crate::logarithmic::Logarithmic;
use crate::quantile::{Sorted, joined};
use crate::quantity::Shown;
use crate::undrawn::{Median, Undrawn};
use crate::{Error, Levels, Quantity};

/// The statistic that reduces the values of a run to one number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Statistic {
    /// The median.
    #[default]
    Median,
    /// The mean.
    Mean,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The sum.
    Sum,
    /// The quantile at a share from 0 to 1.
    Quantile(f64),
}

impl Statistic {
    /// Computes the statistic; `None` without values.
    pub fn of(self, values: &[f64]) -> Option<f64> {
        self.of_sorted(Sorted::of(values).values())
    }

    /// Computes the smallest and the largest possible statistic: it never falls if a value rises.
    fn of_bounds(self, values: &[Bounds]) -> Option<Bounds> {
        let of = |bound: fn(&Bounds) -> f64| {
            let mut sorted: Vec<f64> = values.iter().map(bound).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            self.of_sorted(&sorted)
        };
        Some(Bounds {
            least: of(|value| value.least)?,
            most: of(|value| value.most)?,
        })
    }

    fn of_sorted(self, values: &[f64]) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let sum = || values.iter().sum::<f64>();
        match self {
            Self::Median => quantile(values, 0.5),
            Self::Quantile(share) => quantile(values, share),
            Self::Mean => Some(sum() / values.len() as f64),
            Self::Sum => Some(sum()),
            Self::Min => values.first().copied(),
            Self::Max => values.last().copied(),
        }
    }

    /// Name of an axis of this statistic of a quantity. The median has the name of the quantity alone.
    pub(crate) fn on_axis(self, quantity: &Quantity, shown: &Shown) -> String {
        let name = quantity.on_axis(shown);
        match self {
            Self::Median => name,
            other => format!("{} {name}", other.name()),
        }
    }

    /// Name of the statistic on an axis: `median`, `p95`.
    pub fn name(self) -> String {
        match self {
            Self::Median => "median".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Min => "smallest".to_owned(),
            Self::Max => "largest".to_owned(),
            Self::Sum => "sum of".to_owned(),
            Self::Quantile(share) => format!("p{:.0}", share * 100.0),
        }
    }
}

impl FromStr for Statistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text
            .strip_prefix('p')
            .and_then(|digits| digits.parse::<u8>().ok());
        match (text, percent) {
            ("median", _) => Ok(Self::Median),
            ("mean", _) => Ok(Self::Mean),
            ("min", _) => Ok(Self::Min),
            ("max", _) => Ok(Self::Max),
            ("sum", _) => Ok(Self::Sum),
            (_, Some(percent)) if percent <= 100 => Ok(Self::Quantile(f64::from(percent) / 100.0)),
            _ => Err(format!(
                "\"{text}\" is none of median, mean, min, max, sum, p5, p95 and so on"
            )),
        }
    }
}

/// One number per run, grouped two ways.
pub struct Runs {
    /// Numbers by level of the first grouping, then of the second, each known or within bounds.
    pub numbers: Vec<Vec<Vec<Bounds>>>,
    /// True if each number is that of a run; false if each is that of a row.
    of_runs: bool,
}

/// The values of each run in one group.
type Cell = Vec<(usize, Vec<Bounds>)>;

impl Runs {
    /// Reduces the column `y` of each run in each group to one number by `statistic`.
    ///
    /// In a table without runs each row is a number.
    pub fn of(
        frame: &Frame,
        y: &str,
        (first, second): (&Levels, &Levels),
        statistic: Statistic,
    ) -> Result<Self, Error> {
        let column = Bounded::of(frame, y)?;
        let runs = run_levels(frame);
        let empty = || vec![Vec::new(); second.len()];
        let mut of_runs: Vec<Vec<Cell>> = (0..first.len()).map(|_| empty()).collect();
        for row in 0..frame.rows() {
            let Some(number) = column.number(row) else {
                continue;
            };
            let run = runs.as_ref().map_or(row, |runs| runs.of_row(row));
            let cell = &mut of_runs[first.of_row(row)][second.of_row(row)];
            // Rows of one run are usually adjacent, so a search from the end finds their run at
            // once.
            match cell.iter_mut().rev().find(|(known, _)| *known == run) {
                Some((_, values)) => values.push(number),
                None => cell.push((run, vec![number])),
            }
        }
        let one = |runs: Cell| -> Vec<Bounds> {
            runs.iter()
                .filter_map(|(_, values)| statistic.of_bounds(values))
                .collect()
        };
        let all = |cells: Vec<Cell>| cells.into_iter().map(one).collect();
        Ok(Self {
            of_runs: runs.is_some(),
            numbers: of_runs.into_iter().map(all).collect(),
        })
    }

    /// The same for the rows of each panel.
    pub(crate) fn of_facets(
        facets: &[Facet<2>],
        y: &str,
        statistic: Statistic,
    ) -> Result<Vec<Self>, Error> {
        let of_one = |facet: &Facet<2>| {
            let [first, second] = &facet.groups;
            Self::of(&facet.rows, y, (first, second), statistic)
        };
        facets.iter().map(of_one).collect()
    }

    /// A note on the numbers of a figure's panels: `median over 5 runs, bulk flows, direction with
    /// more payload`, or `median over 5 rows`. `pool` names the pooled values.
    pub fn note(panels: &[Self], pool: Option<&str>) -> String {
        let counts = panels.iter().flat_map(|panel| &panel.numbers);
        let counts = counts.flatten().map(Vec::len);
        let counts = counts.filter(|count| *count > 0);
        let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        let what = if panels.iter().all(|panel| panel.of_runs) {
            "run"
        } else {
            "row"
        };
        let runs = match (least, most) {
            (1, 1) => format!("one {what} each"),
            (least, most) if least == most => format!("median over {most} {what}s"),
            (least, most) => format!("median over {least} to {most} {what}s"),
        };
        let pool = pool.map(|pool| format!(", {pool}"));
        runs + &pool.unwrap_or_default()
    }

    /// The median over the runs of one cell, with a 95 % bootstrap interval whose upper end may be infinite.
    pub(crate) fn median(&self, first: usize, second: usize) -> Option<Median> {
        let estimate = Bootstrap::default().estimate_bounded(&self.numbers[first][second])?;
        Some(Median::of(estimate))
    }

    /// The finite median over the runs of one cell; `None` also if it is not known.
    pub(crate) fn estimate(&self, first: usize, second: usize) -> Option<Estimate> {
        self.median(first, second)?.known()
    }

    /// The smallest and the largest number to draw: medians with the finite ends of their intervals.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        joined(self.estimates().map(|estimate| {
            let only = (estimate.median, estimate.median);
            let (low, high) = estimate.interval.unwrap_or(only);
            let high = if high.is_finite() {
                high
            } else {
                estimate.median
            };
            Some((low, high))
        }))
    }

    /// The medians of all panels that are not drawn.
    pub(crate) fn undrawn(panels: &[Self]) -> Undrawn {
        Undrawn::of(panels.iter().flat_map(Self::all))
    }

    /// The numbers that must be above zero on a logarithmic axis.
    pub(crate) fn medians(&self) -> impl Iterator<Item = f64> {
        self.estimates().map(|estimate| estimate.median)
    }

    /// The range of the medians on a logarithmic axis, extended by the intervals around them.
    pub(crate) fn range_on(log: &Logarithmic, panels: &[Self]) -> Result<(f64, f64), Error> {
        let (low, high) = log.range()?;
        let intervals = panels.iter().flat_map(Self::estimates);
        let intervals = intervals.filter_map(|estimate| estimate.interval);
        Ok(intervals.fold((low, high), |(least, most), (low, high)| {
            // An interval that reaches zero ends at the edge of the panel.
            let low = if low > 0.0 { low } else { least };
            let high = if high.is_finite() { high } else { most };
            (least.min(low), most.max(high))
        }))
    }

    fn estimates(&self) -> impl Iterator<Item = Estimate> {
        self.all().filter_map(Median::known)
    }

    fn all(&self) -> impl Iterator<Item = Median> {
        let cells = self.numbers.iter().enumerate();
        let cells =
            cells.flat_map(|(first, cells)| (0..cells.len()).map(move |cell| (first, cell)));
        cells.filter_map(|(first, second)| self.median(first, second))
    }
}

/// Columns that identify the run: the source of a row (file, dataset or run folder), and the run
/// that the row names.
pub const RUN_COLUMNS: [&str; 2] = ["file", "run"];

/// Columns by which a table of a run without flows has several rows.
pub const PARTS_OF_A_RUN: [&str; 2] = ["log", "series"];

/// Further columns of tables with several rows per run.
const ROWS_OF_A_RUN: [&str; 3] = ["run", "flow_id", "time"];

/// The run of each row; `None` for a table in which each row is a run or a cell, such as a
/// comparison.
pub(crate) fn run_levels(frame: &Frame) -> Option<Levels> {
    let is_there = |column: &&str| frame.column(column).is_some();
    ROWS_OF_A_RUN
        .iter()
        .chain(&PARTS_OF_A_RUN)
        .find(|column| is_there(column))?;
    let columns: Vec<String> = RUN_COLUMNS.map(str::to_owned).to_vec();
    Some(Levels::of(frame, &columns))
}
