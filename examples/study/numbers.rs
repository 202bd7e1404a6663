//! Numbers of cells: from `tcpexp compare`, and computed from samples.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Map, Value};

use crate::definition::Cell;
use crate::samples;

/// Traffic class of all traffic together.
const ALL: &str = "all";

/// All numbers of a sweep.
pub struct Numbers {
    rows: Vec<Map<String, Value>>,
    results: PathBuf,
}

/// The number of one cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// The grid does not contain the cell.
    NoCell,
    /// The cell has no valid run; holds the reason.
    Invalid(String),
    /// The median over runs; the interval is present if there are several runs.
    Known {
        /// The median.
        value: f64,
        /// 95 % bootstrap interval of the median.
        interval: Option<(f64, f64)>,
    },
}

impl Numbers {
    /// Reads a comparison, one JSON object per line; samples come from the datasets below
    /// `results`.
    pub fn new(compared: &str, results: &Path) -> anyhow::Result<Self> {
        let rows: Result<_, _> = compared.lines().map(serde_json::from_str).collect();
        Ok(Self {
            rows: rows.context("cannot read the comparison")?,
            results: results.to_owned(),
        })
    }

    /// Returns the number of the only cell with these values.
    pub fn of(&self, measure: &str, cell: &Cell) -> anyhow::Result<Number> {
        let class = cell.get("class").and_then(toml::Value::as_str);
        let fits = |row: &&Map<String, Value>| {
            let mut parameters = cell.iter().filter(|(name, _)| *name != "class");
            parameters.all(|(name, value)| is_value(row.get(name), value))
        };
        let of_cell: Vec<_> = self.rows.iter().filter(fits).collect();
        let Some(first) = of_cell.first() else {
            return Ok(Number::NoCell);
        };
        if of_cell.iter().any(|row| row["cell"] != first["cell"]) {
            bail!("several cells have {cell:?}");
        }
        if first["class"].is_null() {
            let why = first["left_out"].as_str().unwrap_or("no run");
            return Ok(Number::Invalid(why.to_owned()));
        }
        if let Some(sample) = samples::Sample::named(measure) {
            let values = samples::of_runs(&self.results, sample, cell)?;
            return match samples::median(values) {
                Some(value) => Ok(Number::Known {
                    value,
                    interval: None,
                }),
                None => bail!("{cell:?} has no samples for {measure}"),
            };
        }
        let class = class.unwrap_or(ALL);
        let row = of_cell.iter().find(|row| row["class"] == *class);
        let row = row.with_context(|| format!("{cell:?} has no class {class}"))?;
        let number = |name: &str| row.get(name).and_then(Value::as_f64);
        let Some(value) = number(measure) else {
            bail!("{cell:?} has no {measure}");
        };
        let (stem, unit) = measure.rsplit_once('_').unwrap_or((measure, ""));
        let end = |infix: &str| {
            number(&format!("{stem}_{infix}_{unit}"))
                .or_else(|| number(&format!("{measure}_{infix}")))
        };
        Ok(Number::Known {
            value,
            interval: end("low").zip(end("high")),
        })
    }

    /// Describes the number of runs, and the runs that do not count.
    pub fn summary(&self) -> String {
        let mut cells: Vec<&Map<String, Value>> = self.rows.iter().collect();
        cells.dedup_by_key(|row| &row["cell"]);
        let sum =
            |name: &str| -> u64 { cells.iter().filter_map(|row| row.get(name)?.as_u64()).sum() };
        let [valid, invalid, failed] = ["runs", "invalid_runs", "failed_runs"].map(sum);
        let cells_count = cells.len();
        let first = format!(
            "{cells_count} cells, {valid} runs that count, {invalid} invalid, {failed} failed.\n"
        );
        let left_out = cells.iter().filter_map(|row| row.get("left_out")?.as_str());
        let left_out = left_out.map(|runs| format!("Left out: {runs}.\n"));
        std::iter::once(first).chain(left_out).collect()
    }
}

/// True if the values are equal; an integer `10` equals 10.0.
fn is_value(found: Option<&Value>, wanted: &toml::Value) -> bool {
    let Some(found) = found else { return false };
    match wanted {
        toml::Value::String(text) => found == text,
        toml::Value::Boolean(flag) => found == flag,
        toml::Value::Integer(number) => found.as_f64() == Some(*number as f64),
        toml::Value::Float(number) => found.as_f64() == Some(*number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPARED: &str = r#"{"cell":"a","cc":"reno","rate_mbps":2.0,"class":"all","runs":2,"invalid_runs":0,"failed_runs":0,"goodput_bps":5.0,"goodput_low_bps":4.0,"goodput_high_bps":6.0}
{"cell":"b","cc":"cubic","rate_mbps":2.0,"class":null,"runs":0,"invalid_runs":1,"failed_runs":0,"left_out":"0002 invalid (slow)"}"#;

    fn number(cell: &str) -> anyhow::Result<Number> {
        let numbers = Numbers::new(COMPARED, Path::new("/nowhere")).unwrap();
        numbers.of("goodput_bps", &toml::from_str(cell).unwrap())
    }

    #[test]
    fn a_number_comes_from_the_only_cell_with_all_values() {
        let known = Number::Known {
            value: 5.0,
            interval: Some((4.0, 6.0)),
        };
        assert_eq!(number("cc = 'reno'\nrate_mbps = 2").unwrap(), known);
        assert_eq!(number("cc = 'vegas'").unwrap(), Number::NoCell);
        assert!(number("rate_mbps = 2.0").is_err());
    }

    #[test]
    fn a_cell_without_valid_runs_has_a_reason_and_no_number() {
        let why = "0002 invalid (slow)".to_owned();
        assert_eq!(number("cc = 'cubic'").unwrap(), Number::Invalid(why));
    }
}
