//! One number per run: that of `tcpexp compare` if it has one, else a statistic of the run's rows.

use std::collections::BTreeSet;

use anyhow::Context;
use tcpexp::{FLOW_COLUMN, Grouped, Selection, UsualGroups};
use tcpexp_chart::{Levels, PARTS_OF_A_RUN, Quantity, RUN_COLUMNS, SENDERS, Statistic};
use tcpexp_metrics::compare::{Measure, Options};
use tcpexp_units::TimeDelta;

use super::data::{DataArgs, quantity};
use crate::measure_args::parse_warmup;
use crate::shared_args::wrong_usage;

/// Columns that divide the flows of a run.
const OF_FLOWS: [&str; 4] = [FLOW_COLUMN, "flow_id", "initiator", "responder"];

#[derive(clap::Args)]
pub(super) struct OfRunsArgs {
    /// Statistic that reduces a run to one number: median, mean, min, max, sum, p95 [default: the number of
    /// `tcpexp compare`, or the median]
    #[arg(long, value_name = "STATISTIC", help_heading = "Rows and columns")]
    statistic: Option<Statistic>,

    /// Ignore this time after the start of the traffic of each run, as `tcpexp compare` does
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_warmup)]
    #[arg(help_heading = "Pooling")]
    warmup: TimeDelta,
}

/// Rows with the column that holds a run's number or values.
pub(super) struct OfRuns {
    pub(super) rows: Grouped,
    pub(super) quantity: Quantity,
    /// What reduces the rows of a run to one number.
    pub(super) statistic: Statistic,
}

impl OfRunsArgs {
    /// Reads `column` with its groups. Tries the tables in `usual` first if `tcpexp compare` has no such
    /// number.
    pub(super) fn read(
        &self,
        (args, data): (&DataArgs, &Selection),
        (column, unit): (&str, Option<&str>),
        groups: &[(&[String], UsualGroups)],
        usual: &[&str],
    ) -> anyhow::Result<OfRuns> {
        if let Some(found) = self.compared((args, data), (column, unit), groups)? {
            return Ok(found);
        }
        if self.warmup != TimeDelta::ZERO {
            return Err(wrong_usage(&format!(
                "--warmup applies to the numbers of tcpexp compare only, and it has no {column} for these rows"
            )))
            .context("wrong option");
        }
        // Each run becomes one number, so rows keep the columns that identify their run.
        let optional = [&RUN_COLUMNS[..], &PARTS_OF_A_RUN].concat();
        let mut rows = data.grouped(column, groups, usual, &optional)?;
        let mut quantity = quantity(&rows, unit)?;
        let divides_flows = |column: &String| OF_FLOWS.contains(&column.as_str());
        let is_divided = rows.groups.iter().flatten().any(divides_flows);
        let parts = rows.parts();
        if (parts.is_some() && !is_divided) || has_several_rows(&rows) {
            // `tcpexp compare` has a number of this name for all flows together.
            if let Some(parts) = parts.filter(|_| Measure::named(&rows.column).is_some()) {
                let name = format!("{} of {parts}", quantity.name);
                quantity = quantity.named(name);
            }
            let what = parts.unwrap_or("values");
            // The name of the sum is `sum of`.
            let statistic = self.statistic.unwrap_or_default().name();
            let statistic = statistic.trim_end_matches(" of");
            let note = rows.note.take().map(|note| format!(", {note}"));
            rows.note = Some(format!(
                "{statistic} over {what}{}",
                note.unwrap_or_default()
            ));
        }
        Ok(OfRuns {
            rows,
            quantity,
            statistic: self.statistic.unwrap_or_default(),
        })
    }

    /// The numbers of `tcpexp compare`; `None` if it has no number of this name for these rows.
    fn compared(
        &self,
        (args, data): (&DataArgs, &Selection),
        (column, unit): (&str, Option<&str>),
        groups: &[(&[String], UsualGroups)],
    ) -> anyhow::Result<Option<OfRuns>> {
        let columns: Vec<String> = groups
            .iter()
            .flat_map(|(columns, _)| *columns)
            .cloned()
            .collect();
        // Without columns to compare by, the bars of a single run are its flows.
        if columns.is_empty() && data.tables().are_of_one_run() {
            return Ok(None);
        }
        // `rtt` and the statistic `p95` make `rtt_p95`.
        let statistic = match self.statistic.unwrap_or_default() {
            Statistic::Min => "min".to_owned(),
            other => other.name(),
        };
        let reduced = format!("{}_{statistic}", Quantity::stem(column));
        let own = self.statistic.is_none().then(|| Measure::named(column));
        let Some(measure) = own.flatten().or_else(|| Measure::named(&reduced)) else {
            return Ok(None);
        };
        let options = Options {
            warmup: self.warmup,
            ..Options::default()
        };
        let Some(numbers) = data.run_numbers(&columns, measure, options)? else {
            return Ok(None);
        };
        let optional: Vec<&str> = RUN_COLUMNS.into_iter().chain([SENDERS]).collect();
        // The rows of a run lack the columns of its flows, by which a filter or a group may ask.
        let Ok(mut rows) = numbers
            .rows
            .grouped(&measure.name(), groups, &[], &optional)
        else {
            return Ok(None);
        };
        let known = &data.tables().left_out;
        let others = numbers.left_out.iter().filter(|one| !known.contains(one));
        args.warn_of_runs(&others.collect::<Vec<_>>());
        rows.note = Some(numbers.note);
        rows.errors = numbers.errors;
        Ok(Some(OfRuns {
            quantity: quantity(&rows, unit)?,
            rows,
            statistic: Statistic::Median,
        }))
    }
}

/// True if a group has several values of a run, so that the statistic reduces them to one number.
fn has_several_rows(rows: &Grouped) -> bool {
    // In a table without these columns each row is a number.
    let of_run = ["run", "flow_id"].iter().chain(&PARTS_OF_A_RUN);
    if !of_run
        .into_iter()
        .any(|name| rows.frame.column(name).is_some())
    {
        return false;
    }
    let columns = RUN_COLUMNS.iter().map(|name| (*name).to_owned());
    let columns: Vec<String> = columns
        .chain(rows.groups.iter().flatten().cloned())
        .collect();
    let parts = Levels::of(&rows.frame, &columns);
    let values = rows.frame.column(&rows.column);
    let mut with_value = (0..rows.frame.rows())
        .filter(|row| values.is_some_and(|values| values.number(*row).is_some()))
        .map(|row| parts.of_row(row));
    let mut found = BTreeSet::new();
    with_value.any(|part| !found.insert(part))
}
