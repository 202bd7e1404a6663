//! The table of `tcpexp check`: a row per expectation and cell.

use std::sync::Arc;

use tcpexp_metrics::compare::{Expectation, Verdict};
use tcpexp_metrics::repetition::Estimate;

use super::columns::{CELL, finite, of_cell};
use super::{ALL_CLASSES, ComparedCell};
use crate::cells::{count, counted, four_digits, on_one_line, wrapped};
use crate::columns::Columns;
use crate::dataset::RunColumns;

/// An expectation of one cell, and what the cell measured.
#[derive(Clone, Debug)]
pub struct ExpectedRow {
    /// The cell.
    pub cell: Arc<ComparedCell>,
    /// The class of traffic; `None` for all classes together.
    pub class: Option<String>,
    /// The expectation.
    pub expectation: Expectation,
    /// The median over the cell's runs; `None` without a run that has the measure.
    pub estimate: Option<Estimate>,
    /// Why runs have no value, if that is known.
    pub gap: Option<&'static str>,
    /// The bound; `None` if the baseline has no value.
    pub bound: Option<f64>,
}

impl ExpectedRow {
    /// The median over the cell's runs; infinite for a goal that most runs did not reach, and if it is not
    /// known.
    fn value(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.median)
    }

    /// Whether the value is as expected.
    pub fn verdict(&self) -> Verdict {
        self.expectation
            .verdict_of(self.estimate.as_ref(), self.bound)
    }

    /// Whether the whole 95 % interval of the median has the same verdict; `None` for fewer than two
    /// runs.
    pub fn is_certain(&self) -> Option<bool> {
        self.expectation.is_certain(&self.estimate?, self.bound)
    }

    /// The name of the class in tables.
    pub fn class_name(&self) -> &str {
        self.class.as_deref().unwrap_or(ALL_CLASSES)
    }

    /// The cell's varied parameters: `cc=reno rate=10mbit`, or its hash if nothing varies.
    pub fn cell_name(&self) -> String {
        let columns = self.cell.parameters.columns();
        let varied = columns.iter().take(self.cell.varied).map(|column| {
            let value = column.value.text();
            let value = on_one_line(value.as_deref().unwrap_or("null"));
            format!("{}={value}", column.name)
        });
        let name = varied.collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            self.cell.hash.clone()
        } else {
            name
        }
    }

    /// The value in words, with its interval and its bound if that comes from a baseline.
    pub fn found(&self) -> String {
        self.unbroken().replace(NO_BREAK, " ")
    }

    /// The same, with [`NO_BREAK`] between the groups of a number's digits.
    fn unbroken(&self) -> String {
        let found = match self.estimate {
            None => {
                let left_out = self.cell.left_out.as_ref();
                let left_out = left_out.map(|why| format!("left out: {}", on_one_line(why)));
                let reasons = self.gap.map(str::to_owned).into_iter().chain(left_out);
                let all = std::iter::once("no value".to_owned()).chain(reasons);
                all.collect::<Vec<_>>().join("; ")
            }
            Some(estimate) => {
                let value = median(&estimate);
                match estimate.interval {
                    Some((low, high)) => format!("{value} ({} to {})", number(low), number(high)),
                    None => value,
                }
            }
        };
        let mut parts = vec![found];
        if self.expectation.needs_baseline() {
            let bound = self.bound.map_or_else(|| "unknown".to_owned(), number);
            parts.push(format!("bound {bound}"));
        }
        if self.is_certain() == Some(false) {
            parts.push("uncertain".to_owned());
        }
        parts.join(", ")
    }
}

/// A space inside a number, which ends no line.
const NO_BREAK: &str = "\u{a0}";

/// Values from here on are shown as whole numbers.
const WHOLE: f64 = 1e4;

/// The median in words, or what is known of it.
fn median(estimate: &Estimate) -> String {
    let [least, most] = [estimate.least, estimate.most].map(number);
    match estimate.known() {
        Some(known) => number(known),
        None if estimate.most.is_infinite() => format!("at least {least}"),
        None => format!("between {least} and {most}"),
    }
}

/// A value with four digits or to the unit; infinity stands for a goal that was not reached.
fn number(value: f64) -> String {
    if value.is_infinite() {
        return "never".to_owned();
    }
    if value < WHOLE {
        return four_digits(value);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least `WHOLE`; a value beyond 2^64 saturates"
    )]
    let whole = value.round() as u64;
    count(whole, usize::MAX).replace(' ', NO_BREAK)
}

/// The columns of `tcpexp check`, after the columns of the cells' `parameters`.
pub fn expected_columns(parameters: &RunColumns) -> Columns<ExpectedRow> {
    let columns = Columns::named("check").text(
        "expectation",
        "The expectation: a measure of tcpexp compare, a relation and a bound.",
        |row: &ExpectedRow| row.expectation.to_string(),
    );
    let columns = columns.text("cell", CELL, |row| row.cell.hash.clone());
    of_cell(columns, parameters, |row| &row.cell)
        .text("class", "Class of traffic in the plan, or all for all classes except probes.", |row| row.class_name().to_owned())
        .name("verdict", "met, not met, or unknown (the cell has no value, its baseline has none, or the possible values of completion times that the capture cuts off differ in their verdict).", |row| row.verdict().name())
        .maybe_flag("certain", "True if the whole 95 % interval of the median has the same verdict. Null for fewer than two runs, and if the verdict is unknown.", ExpectedRow::is_certain)
        .maybe_float("value", "Median over runs of the measure, in its unit. Null if no run has a value, if most runs did not reach the goal, and if the median is not known.", |row| finite(row.value()?))
        .maybe_float("low", "Lower end of the 95 % interval of value. Null for fewer than two runs, and if the goal was not reached.", |row| finite(row.estimate?.interval?.0))
        .maybe_float("high", "Upper end of the 95 % interval of value. Null for fewer than two runs, and if the goal was not reached.", |row| finite(row.estimate?.interval?.1))
        .maybe_float("bound", "The bound, in the unit of the measure. Null if it comes from a baseline that has no value.", |row| row.bound)
        .done()
}

/// Formats the verdicts, grouped by expectation in order of appearance.
pub fn expected_text(rows: &[ExpectedRow], width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let is_same =
            |other: &ExpectedRow| other.expectation == row.expectation && other.class == row.class;
        if place == 0 || !is_same(&rows[place - 1]) {
            let alike = rows[place..].iter().take_while(|other| is_same(other));
            let (mut met, mut all) = (0, 0);
            for other in alike {
                met += u64::from(other.verdict() == Verdict::Met);
                all += 1;
            }
            let (what, class) = (&row.expectation, row.class_name());
            lines.push(format!(
                "{what} ({class}): met in {met} of {}",
                counted(all, "cell")
            ));
        }
        let first = format!("  {:<7}", row.verdict().name());
        let rest = format!("{}: {}", row.cell_name(), row.unbroken());
        let parts = std::iter::once(first).chain(rest.split(' ').map(str::to_owned));
        lines.extend(wrapped(&parts.collect::<Vec<_>>(), width));
    }
    (lines.join("\n") + "\n").replace(NO_BREAK, " ")
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::compare::Options;
    use tcpexp_metrics::repetition::Bootstrap;

    use super::*;
    use crate::dataset::{RunColumn, RunValue};

    #[test]
    fn a_median_that_is_not_known_shows_both_of_its_bounds() {
        let shown = |least, most| {
            median(&Estimate {
                runs: 3,
                median: f64::INFINITY,
                least,
                most,
                interval: None,
            })
        };
        assert_eq!(shown(4.17, 24.62), "between 4.170 and 24.62");
        assert_eq!(shown(4.17, f64::INFINITY), "at least 4.170");
        assert_eq!(shown(f64::INFINITY, f64::INFINITY), "never");
    }

    #[test]
    fn no_line_ends_inside_a_number() {
        let cell = ComparedCell {
            hash: "ab".to_owned(),
            parameters: RunColumns::default(),
            varied: 0,
            baseline: None,
            runs: [1, 0, 0],
            left_out: None,
            options: Options::default(),
        };
        let row = ExpectedRow {
            cell: Arc::new(cell),
            class: None,
            expectation: "goodput_bps >= 0.95*baseline".parse().unwrap(),
            estimate: Bootstrap::default().estimate(&[9_400_000.0]),
            gap: None,
            bound: Some(9_500_000.0),
        };
        assert_eq!(row.found(), "9 400 000, bound 9 500 000");
        for width in 20..60 {
            let text = expected_text(std::slice::from_ref(&row), width);
            let has = |number| text.lines().any(|line| line.contains(number));
            assert!(has("9 400 000") && has("9 500 000"), "{text}");
        }
    }

    #[test]
    fn a_parameter_with_a_line_break_stays_on_its_line() {
        let column = RunColumn {
            name: "link".to_owned(),
            description: String::new(),
            value: RunValue::Text(Some("slow\nfast".to_owned())),
        };
        let cell = ComparedCell {
            hash: "ab".to_owned(),
            parameters: RunColumns::new(vec![column], |_| false),
            varied: 1,
            baseline: None,
            runs: [0, 1, 0],
            left_out: Some("0001 (no\nqueue)".to_owned()),
            options: Options::default(),
        };
        let row = ExpectedRow {
            cell: Arc::new(cell),
            class: None,
            expectation: "goodput_bps >= 5".parse().unwrap(),
            estimate: None,
            gap: None,
            bound: Some(5.0),
        };
        assert_eq!(row.cell_name(), "link=slow\\nfast");
        let text = expected_text(&[row], 80);
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
