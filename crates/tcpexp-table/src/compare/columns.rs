//! Column definitions of the comparison tables.

use tcpexp_metrics::Bounds;
use tcpexp_metrics::compare::{ClassRun, Measure};
use tcpexp_metrics::repetition::Estimate;

use super::{ALL_CLASSES, CompareRow, CompareRunRow, ComparedCell, MAIN};
use crate::columns::{Builder, Columns};
use crate::dataset::{RunColumns, RunValue};

pub(super) const CELL: &str =
    "Hash of the cell's parameters, in hex: the same for its repetitions.";
const CLASS: &str = "Class of traffic in the plan, or all for all classes except probes. Null if the cell has no valid run.";
const SENDERS: &str = "Generators of traffic of the class in one run.";
const TRANSFERS: &str =
    "Connections whose end the plan does not set; completion times cover only these.";

/// The columns of `tcpexp compare`, after the columns of the cells' `parameters`.
pub fn compare_columns(parameters: &RunColumns) -> Columns<CompareRow> {
    let columns =
        Columns::named("compare").text("cell", CELL, |row: &CompareRow| row.cell.hash.clone());
    let columns = of_cell(columns, parameters, |row| &row.cell)
        .maybe_text("class", CLASS, |row| Some(row.class.as_ref()?.class.as_deref().unwrap_or(ALL_CLASSES).to_owned()))
        .count("runs", "Valid runs of the cell that have the class. Each number is a median over those of these runs that have a value.", CompareRow::runs)
        .count("invalid_runs", "Runs whose path or capture differed from the plan, or whose dataset is missing or damaged; excluded from all numbers.", |row| row.cell.runs[1])
        .count("failed_runs", "Runs that ended early; excluded from all numbers.", |row| row.cell.runs[2])
        .maybe_text("left_out", "Excluded runs of the cell with the reasons. Null if none is excluded.", |row| row.cell.left_out.clone())
        .maybe_text("baseline", "Baseline cell of friendliness and harm. Null without a baseline.", |row| row.cell.baseline.clone())
        .span("warmup_ns", "Excluded start of each run, in nanoseconds from the start of traffic.", |row| row.cell.options.warmup)
        .span("window_ns", "Width of the window for shares and rates over time, in nanoseconds.", |row| row.cell.options.window)
        .float("delta", "Tolerance as a fraction: of a flow's rate around the equal share, and of the total rate around the capacity.", |row| row.cell.options.delta)
        .span("hold_ns", "Minimum time within the tolerance, in nanoseconds.", |row| row.cell.options.hold)
        .maybe_count("senders", &format!("{SENDERS} Null if the runs differ."), |row| row.class.as_ref()?.senders)
        .maybe_count("transfers", &format!("{TRANSFERS} Of all runs. Null if class is null."), |row| Some(row.class.as_ref()?.transfers[0]))
        .maybe_count("completed_transfers", "Of transfers, those captured from their start to their end. Null if class is null.", |row| Some(row.class.as_ref()?.transfers[1]));
    Measure::ALL.into_iter().fold(columns, estimates).done()
}

/// The columns of `tcpexp compare --runs`, after the columns of the cells' `parameters`.
pub fn compare_run_columns(parameters: &RunColumns) -> Columns<CompareRunRow> {
    let columns = Columns::named("compare_runs")
        .text(
            "run",
            "Name of the run and of its directory.",
            |row: &CompareRunRow| row.run.clone(),
        )
        .text("cell", CELL, |row| row.cell.hash.clone())
        .id(
            "repetition",
            "Number of the repetition within the cell, from 1.",
            |row| row.repetition,
        );
    let columns = of_cell(columns, parameters, |row| &row.cell)
        .text("status", "How the run ended: complete, invalid or failed.", |row| row.status)
        .maybe_text("reason", "Why the run is excluded from the cell's numbers. Null if it is included.", |row| row.reason.clone())
        .maybe_text("class", "Class of traffic in the plan, or all for all classes except probes. Null if the run is excluded.", |row| Some(row.class.as_ref()?.class.as_deref().unwrap_or(ALL_CLASSES).to_owned()))
        .maybe_count("senders", &format!("{SENDERS} Null if class is null."), |row| Some(row.class.as_ref()?.senders))
        .maybe_count("transfers", &format!("{TRANSFERS} Null if class is null."), |row| Some(row.class.as_ref()?.transfers[0]))
        .maybe_count("completed_transfers", "Of transfers, those captured from their start to their end. Null if class is null.", |row| Some(row.class.as_ref()?.transfers[1]));
    Measure::ALL.into_iter().fold(columns, value).done()
}

/// True if a comparison has a column of this name; a parameter cannot use the name then.
pub fn is_compare_column(name: &str) -> bool {
    // Without parameters, the schemas have only the columns of a comparison.
    let none = RunColumns::default();
    [
        compare_columns(&none).schema(),
        compare_run_columns(&none).schema(),
    ]
    .iter()
    .any(|schema| schema.column_with_name(name).is_some())
}

/// Adds one column per parameter of a row's cell.
pub(super) fn of_cell<R: 'static>(
    columns: Builder<R>,
    parameters: &RunColumns,
    cell: fn(&R) -> &ComparedCell,
) -> Builder<R> {
    let numbered = parameters.columns().iter().enumerate();
    numbered.fold(columns, |columns, (place, column)| {
        let value = move |row: &R| -> Option<RunValue> {
            let columns = cell(row).parameters.columns();
            // All cells have the same columns (`RunColumns::unify`), so the position identifies
            // one.
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
type OfBounds = fn(Bounds) -> f64;

/// Adds the smallest and the largest possible value of a number that is null because it is not known, or because it
/// is infinite. Without these columns, such a row looks like a row without a value.
fn bounds<R: 'static>(
    columns: Builder<R>,
    measure: Measure,
    of: impl Fn(&R) -> Option<Bounds> + Copy + Send + Sync + 'static,
) -> Builder<R> {
    if !measure.has_bounds() {
        return columns;
    }
    let name = measure.name();
    let is_finite = matches!(
        measure,
        Measure::LossRatio | Measure::CompletionHarm | Measure::Mos
    );
    let never = if measure.is_time_to_reach() {
        "the goal was never reached"
    } else {
        "failed transfers determine it"
    };
    let infinite = [never, "it has no upper limit"].map(|when| {
        if is_finite {
            String::new()
        } else {
            format!("; infinite (null in JSON) if {when}")
        }
    });
    let ends: [(&str, &str, OfBounds); 2] = [
        ("_least", "Smallest", |bounds| bounds.least),
        ("_most", "Largest", |bounds| bounds.most),
    ];
    ends.into_iter().zip(infinite).fold(columns, |columns, ((infix, which, end), infinite)| {
        let about = format!("{which} possible value of {name} in a row where {name} is null because it is not known{infinite}. Null otherwise.");
        columns.maybe_float(&measure.name_with(infix), &about, move |row| {
            let bounds = of(row)?;
            let is_in_column = bounds.value().is_some_and(f64::is_finite);
            (!is_in_column).then(|| end(bounds))
        })
    })
}

/// Adds the median over runs, its bounds and the ends of its interval.
fn estimates(columns: Builder<CompareRow>, measure: Measure) -> Builder<CompareRow> {
    let name = measure.name();
    let estimate = move |row: &CompareRow| row.class.as_ref()?.estimate(measure);
    let ends: [(&str, &str, End); 2] = [
        ("_low", "Lower", |estimate| Some(estimate.interval?.0)),
        ("_high", "Upper", |estimate| Some(estimate.interval?.1)),
    ];
    let null = if measure.is_time_to_reach() {
        " Runs that ended earlier count as longer than all others. Null if such a run determines the median, and if no run has a value."
    } else {
        " Null if no run has a value."
    };
    let about = format!("Median over runs. {}{null}", measure.definition());
    let columns = columns.maybe_float(&name, &about, move |row| finite(estimate(row)?.median));
    let columns = bounds(columns, measure, move |row| {
        let Estimate { least, most, .. } = estimate(row)?;
        Some(Bounds { least, most })
    });
    let columns = ends.into_iter().fold(columns, |columns, (infix, which, end)| {
        let about = format!("{which} end of the 95 % interval of {name}, by bootstrap over runs. Null for fewer than two runs, and if the value was not reached.");
        columns.maybe_float(&measure.name_with(infix), &about, move |row| {
            end(estimate(row)?).and_then(finite)
        })
    });
    if !measure.is_time_to_reach() {
        return columns;
    }
    let about = format!("Runs that reached the state whose time is {name}. Null if class is null.");
    columns.maybe_count(
        &format!("{}_reached_runs", measure.stem()),
        &about,
        move |row| Some(row.class.as_ref()?.reached_runs(measure)),
    )
}

/// Adds the value of a single run and its bounds.
fn value(columns: Builder<CompareRunRow>, measure: Measure) -> Builder<CompareRunRow> {
    let null = if measure.is_time_to_reach() {
        " Null if the run ended earlier or has no value."
    } else {
        " Null if the run has no value."
    };
    let about = format!("{}{null}", measure.definition());
    let value = move |class: &ClassRun| class.values.value(measure).and_then(finite);
    let columns = columns.maybe_float(&measure.name(), &about, move |row| {
        value(row.class.as_ref()?)
    });
    bounds(columns, measure, move |row: &CompareRunRow| {
        row.class.as_ref()?.values.bounds(measure)
    })
}

/// The columns that a reader looks at first: class, number of runs, and the measures of the text
/// table with their lower bounds.
pub fn main_compare_columns() -> Vec<String> {
    let with_least = |measure: Measure| {
        let least = measure.has_bounds().then(|| measure.name_with("_least"));
        std::iter::once(measure.name()).chain(least)
    };
    let measures = MAIN.into_iter().flat_map(with_least);
    let first = ["class", "runs"].map(str::to_owned);
    first.into_iter().chain(measures).collect()
}

/// `None` for an infinite value: the flows did not reach the target.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_last_word_of_a_column() {
        assert_eq!(Measure::Goodput.name_with("_low"), "goodput_low_bps");
        assert_eq!(Measure::Jain.name_with("_high"), "jain_high");
        assert!(is_compare_column("rtt_median_low_ms") && is_compare_column("repetition"));
        assert!(!is_compare_column("delay_ms"));
    }
}
