//! The table of series that a test tool reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use tcpexp_logs::import::SeriesSample;
use tcpexp_metrics::quantile::percentiles;

use crate::cells::{NO_VALUE, columns, count, four_digits};
use crate::columns::{Builder, Columns};
use crate::run_columns::RunColumns;

/// The columns of `tcpexp import flent`.
pub fn series_columns() -> Columns<SeriesSample> {
    series_columns_of(&RunColumns::default())
}

/// The columns of the series of a run.
pub fn run_series_columns(run: &RunColumns) -> Columns<SeriesSample> {
    series_columns_of(run).of_run(run)
}

fn series_columns_of(run: &RunColumns) -> Columns<SeriesSample> {
    columns_named(
        "series",
        "The value, as the tool reports it: interpolated by the tool to common times of all series.",
        run,
    )
    .done()
}

/// True if the series of a run have a column of this name, which no parameter of the run may have.
pub(crate) fn is_series_column(name: &str) -> bool {
    name != TEST && series_columns().schema().column_with_name(name).is_some()
}

/// The columns of the samples that a run's series interpolate.
pub fn run_sample_columns(run: &RunColumns) -> Columns<SeriesSample> {
    columns_named(
        "samples",
        "The value, as the program that measures it printed it.",
        run,
    )
    .maybe_span("duration_ns", "Length of the interval that ends at time, over which the value is a mean, in nanoseconds. Null if the file states none.", |row| row.duration)
    .done()
    .of_run(run)
}

/// Column of the name of the test, which is also a parameter of a run.
const TEST: &str = "test";

fn columns_named(table: &'static str, value: &str, run: &RunColumns) -> Builder<SeriesSample> {
    let columns = Columns::named(table);
    let columns = if run.columns().iter().any(|column| column.name == TEST) {
        columns
    } else {
        columns.name(TEST, "Name of the test.", |row: &SeriesSample| &row.test)
    };
    columns
        .name("title", "Title that the user gave to the test; may be empty.", |row| &row.title)
        .name("series", "Name of the series.", |row| &row.series)
        .time("time", "Time of the value. If the file states no start, or states one without a time zone and the samples do not show the zone, the test starts at the time of its earliest sample, or at 1970-01-01 without samples.", |row| row.at)
        .span("elapsed_ns", "Time since the start of the test, in nanoseconds.", |row| row.elapsed)
        .float("value", value, |row| row.value)
        .maybe_name("unit", "Unit of the value, as the file states it. Null if it does not.", |row| row.unit.as_deref())
        .maybe_float("tool_mean", "Mean over the whole test, as the program that measures the series reports it. Null if it does not.", |row| row.tool_mean)
}

/// Summarises each series: the samples of its tool, or its values if it has none. The mean is the tool's
/// own, if it reports one. A series with such a mean and no samples is computed from other series over the whole test, so the
/// quantiles of its interpolated values do not belong to the mean and are left out. Flent's summary has the
/// same figures.
#[derive(Clone, Debug, Default)]
pub struct SeriesTable {
    series: BTreeMap<Arc<str>, Values>,
}

#[derive(Clone, Debug, Default)]
struct Values {
    unit: Option<Arc<str>>,
    interpolated: Vec<f64>,
    samples: Vec<f64>,
    tool_mean: Option<f64>,
}

/// Headings, after the name of the series.
const HEADS: [&str; 7] = ["values", "mean", "min", "median", "p95", "p99", "max"];
/// Width of a number, with the space before it.
const NUMBER: usize = 7;

impl SeriesTable {
    /// Adds a value.
    pub fn add(&mut self, row: &SeriesSample) {
        let values = self.series.entry(Arc::clone(&row.series)).or_default();
        values.unit.clone_from(&row.unit);
        values.tool_mean = row.tool_mean;
        values.interpolated.push(row.value);
    }

    /// Adds a sample of the program that measures a series.
    pub fn add_sample(&mut self, row: &SeriesSample) {
        let values = self.series.entry(Arc::clone(&row.series)).or_default();
        values.unit.clone_from(&row.unit);
        values.tool_mean = row.tool_mean;
        values.samples.push(row.value);
    }

    /// Formats the table for a terminal of `width` columns, at least 80. At most `most` series are
    /// shown, in the order of their names.
    pub fn into_text(self, most: usize, width: usize) -> String {
        let room = width.max(80) - HEADS.len() * NUMBER;
        let all = self.series.len();
        let shown: Vec<(String, Values)> = self
            .series
            .into_iter()
            .take(most)
            .map(|(name, values)| match &values.unit {
                Some(unit) => (format!("{name} [{unit}]"), values),
                None => (name.to_string(), values),
            })
            .collect();
        let widest = shown.iter().map(|(name, _)| columns(name)).max();
        let label = widest.unwrap_or(0).max(6).min(room);
        let mut lines = vec![line("series", label, HEADS.map(str::to_owned))];
        let rest = all - shown.len();
        for (name, values) in shown {
            let cells = values.cells();
            if columns(&name) > label {
                // A long name has a line of its own.
                lines.push(name);
                lines.push(line("", label, cells));
            } else {
                lines.push(line(&name, label, cells));
            }
        }
        if rest > 0 {
            lines.push(format!("and {rest} more series"));
        }
        lines.join("\n") + "\n"
    }
}

impl Values {
    fn cells(self) -> [String; 7] {
        let is_computed = self.tool_mean.is_some() && self.samples.is_empty();
        let mut values = if self.samples.is_empty() {
            self.interpolated
        } else {
            self.samples
        };
        let number = values.len();
        #[expect(clippy::cast_precision_loss, reason = "a count below 2^52")]
        let mean = values.iter().sum::<f64>() / number as f64;
        let mean = self.tool_mean.unwrap_or(mean);
        let quantiles = percentiles(&mut values, [0.0, 0.5, 0.95, 0.99, 1.0]);
        let quantiles = quantiles.filter(|_| !is_computed);
        let [min, median, p95, p99, max] = match quantiles {
            Some(quantiles) => quantiles.map(value),
            None => [(); 5].map(|()| NO_VALUE.to_owned()),
        };
        let number = count(number as u64, NUMBER - 1);
        [number, value(mean), min, median, p95, p99, max]
    }
}

/// A value in at most six characters. Only zero shows as 0.000.
fn value(value: f64) -> String {
    // From here on, three decimals show a digit that is not zero.
    const LEAST: f64 = 0.0005;
    match value {
        0.0 => four_digits(0.0),
        0.0..LEAST => "<0.001".to_owned(),
        // `>-0.001` has seven characters, one too many.
        _ if (-LEAST..0.0).contains(&value) => format!("{value:.0e}"),
        _ => four_digits(value),
    }
}

fn line(name: &str, label: usize, cells: [String; 7]) -> String {
    let numbers: String = cells.map(|cell| format!("{cell:>NUMBER$}")).concat();
    format!("{name:label$}{numbers}")
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn only_zero_shows_as_zero() {
        let shown = [0.0, -0.0, 0.000_4, -0.000_4, 0.000_6, -0.5, 4.0].map(value);
        let expected = [
            "0.000", "0.000", "<0.001", "-4e-4", "0.001", "-0.500", "4.000",
        ];
        assert_eq!(shown, expected);
    }
}
