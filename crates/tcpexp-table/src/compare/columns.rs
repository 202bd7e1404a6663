//! Column definitions of the comparison tables.

use tcpexp_metrics::compare::{ClassRun, Measure};
use tcpexp_metrics::repetition::Estimate;

use super::{ALL_CLASSES, CompareRow, CompareRunRow, ComparedCell};
use crate::columns::{Builder, Columns};
use crate::dataset::{RunColumns, RunValue};

const CELL: &str = "Hash of the cell's parameters, in hex: the same for its repetitions.";
const CLASS: &str = "Class of traffic, as the plan names it; all for all classes together but those that only probe. Null if no run of the cell counts.";
const SENDERS: &str = "Generators of traffic of the class in one run.";
const TRANSFERS: &str =
    "Connections whose end the plan does not set, which is all that completion times are of.";

/// The columns of `tcpexp compare`, after the columns of the cells' `parameters`.
pub fn compare_columns(parameters: &RunColumns) -> Columns<CompareRow> {
    let columns =
        Columns::named("compare").text("cell", CELL, |row: &CompareRow| row.cell.hash.clone());
    let columns = of_cell(columns, parameters, |row| &row.cell)
        .maybe_text("class", CLASS, |row| Some(row.class.as_ref()?.class.as_deref().unwrap_or(ALL_CLASSES).to_owned()))
        .count("runs", "Runs of the cell that count: each number is a median over those that have it.", |row| row.cell.runs[0])
        .count("invalid_runs", "Runs whose path or capture was not what the plan says, or without a dataset. They are in no number.", |row| row.cell.runs[1])
        .count("failed_runs", "Runs that did not come to their end. They are in no number.", |row| row.cell.runs[2])
        .maybe_text("left_out", "Which runs of the cell do not count, and why. Null if all do.", |row| row.cell.left_out.clone())
        .maybe_text("baseline", "The cell that friendliness and harm are against. Null without one.", |row| row.cell.baseline.clone())
        .span("warmup_ns", "How much of the beginning of each run does not count, in nanoseconds from the start of traffic.", |row| row.cell.options.warmup)
        .span("window_ns", "The window of shares and rates over time, in nanoseconds.", |row| row.cell.options.window)
        .float("delta", "How far from an equal share a flow may be to share, and from the capacity a rate to follow it, as a part of it.", |row| row.cell.options.delta)
        .span("hold_ns", "For how long that must hold, in nanoseconds.", |row| row.cell.options.hold)
        .maybe_count("senders", &format!("{SENDERS} Null if it is not the same in all."), |row| row.class.as_ref()?.senders)
        .maybe_count("transfers", &format!("{TRANSFERS} Of all runs. Null where class is."), |row| Some(row.class.as_ref()?.transfers[0]))
        .maybe_count("completed_transfers", "Of these, those that ended before the capture did. Null where class is.", |row| Some(row.class.as_ref()?.transfers[1]));
    Measure::ALL.into_iter().fold(columns, estimates).done()
}

/// The columns of `tcpexp compare --runs`, after the columns of the cells' `parameters`.
pub fn compare_run_columns(parameters: &RunColumns) -> Columns<CompareRunRow> {
    let columns = Columns::named("compare_runs")
        .text(
            "run",
            "The run's name, which is its directory's.",
            |row: &CompareRunRow| row.run.clone(),
        )
        .text("cell", CELL, |row| row.cell.hash.clone())
        .id(
            "repetition",
            "Which repetition of the cell the run is, from 1.",
            |row| row.repetition,
        );
    let columns = of_cell(columns, parameters, |row| &row.cell)
        .text("status", "How it ended: complete, invalid or failed.", |row| row.status)
        .maybe_text("reason", "Why the run is in no number of a cell. Null if it is in them.", |row| row.reason.clone())
        .maybe_text("class", "Class of traffic, as the plan names it; all for all classes together but those that only probe. Null if the run does not count.", |row| Some(row.class.as_ref()?.class.as_deref().unwrap_or(ALL_CLASSES).to_owned()))
        .maybe_count("senders", &format!("{SENDERS} Null where class is."), |row| Some(row.class.as_ref()?.senders))
        .maybe_count("transfers", &format!("{TRANSFERS} Null where class is."), |row| Some(row.class.as_ref()?.transfers[0]))
        .maybe_count("completed_transfers", "Of these, those that ended before the capture did. Null where class is.", |row| Some(row.class.as_ref()?.transfers[1]));
    Measure::ALL.into_iter().fold(columns, value).done()
}

/// True if a comparison has a column of this name; a parameter cannot use the name then.
pub fn is_compare_column(name: &str) -> bool {
    let none = RunColumns::default();
    [
        compare_columns(&none).schema(),
        compare_run_columns(&none).schema(),
    ]
    .iter()
    .any(|schema| schema.column_with_name(name).is_some())
}

/// Adds one column per parameter of a row's cell.
fn of_cell<R: 'static>(
    columns: Builder<R>,
    parameters: &RunColumns,
    cell: fn(&R) -> &ComparedCell,
) -> Builder<R> {
    let numbered = parameters.columns().iter().enumerate();
    numbered.fold(columns, |columns, (place, column)| {
        let value = move |row: &R| -> Option<RunValue> {
            let columns = cell(row).parameters.columns();
            Some(columns.get(place)?.value.clone())
        };
        let (name, about) = (&column.name, &column.description);
        match column.value {
            RunValue::Text(_) => columns.maybe_text(name, about, move |row| value(row)?.text()),
            RunValue::Count(_) => columns.maybe_signed(name, about, move |row| match value(row) {
                Some(RunValue::Count(count)) => count,
                _ => None,
            }),
            RunValue::Number(_) => columns.maybe_float(name, about, move |row| match value(row) {
                Some(RunValue::Number(number)) => number,
                _ => None,
            }),
            RunValue::Flag(_) => columns.maybe_flag(name, about, move |row| match value(row) {
                Some(RunValue::Flag(flag)) => flag,
                _ => None,
            }),
        }
    })
}

type End = fn(Estimate) -> Option<f64>;

/// Adds the median over runs and the bounds of its interval.
fn estimates(columns: Builder<CompareRow>, measure: Measure) -> Builder<CompareRow> {
    let name = column_name(measure, "");
    let estimate = move |row: &CompareRow| row.class.as_ref()?.estimate(measure);
    let ends: [(&str, &str, End); 2] = [
        ("_low", "Lower", |estimate| Some(estimate.interval?.0)),
        ("_high", "Upper", |estimate| Some(estimate.interval?.1)),
    ];
    let null = if measure.is_time_to_reach() {
        " Runs that ended before count as longer than all others; null if that makes the median, or no run has it."
    } else {
        " Null if no run has it."
    };
    let about = format!("Median over runs. {}{null}", measure.definition());
    let columns = columns.maybe_float(&name, &about, move |row| finite(estimate(row)?.median));
    let columns = ends.into_iter().fold(columns, |columns, (infix, which, end)| {
        let about = format!("{which} end of the 95 % interval of {name}, by bootstrap over runs. Null for fewer than two runs, and where it was not reached.");
        columns.maybe_float(&column_name(measure, infix), &about, move |row| {
            end(estimate(row)?).and_then(finite)
        })
    });
    if !measure.is_time_to_reach() {
        return columns;
    }
    let about = format!("Runs that reached what {name} is the time to. Null where class is.");
    columns.maybe_count(
        &format!("{}_reached_runs", measure.stem()),
        &about,
        move |row| Some(row.class.as_ref()?.reached_runs(measure)),
    )
}

/// Adds the value of a single run.
fn value(columns: Builder<CompareRunRow>, measure: Measure) -> Builder<CompareRunRow> {
    let null = if measure.is_time_to_reach() {
        " Null if the run ended before, or does not have it."
    } else {
        " Null if the run does not have it."
    };
    let about = format!("{}{null}", measure.definition());
    let value = move |class: &ClassRun| class.values.value(measure).and_then(finite);
    columns.maybe_float(&column_name(measure, ""), &about, move |row| {
        value(row.class.as_ref()?)
    })
}

/// Name of a measure's column: `goodput_low_bps` for the infix `_low`.
fn column_name(measure: Measure, infix: &str) -> String {
    match measure.unit() {
        Some(unit) => format!("{}{infix}_{unit}", measure.stem()),
        None => format!("{}{infix}", measure.stem()),
    }
}

/// `None` for an infinite value: the flows did not reach the target.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_last_word_of_a_column() {
        assert_eq!(column_name(Measure::Goodput, "_low"), "goodput_low_bps");
        assert_eq!(column_name(Measure::Jain, "_high"), "jain_high");
        assert!(is_compare_column("rtt_median_low_ms") && is_compare_column("repetition"));
        assert!(!is_compare_column("delay_ms"));
    }
}
