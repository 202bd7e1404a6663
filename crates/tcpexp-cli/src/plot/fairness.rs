//! `tcpexp plot fairness DATA…`.

use anyhow::Context;
use tcpexp::UsualGroups;
use tcpexp_chart::trend_figure;

use super::ChartKind;
use super::data::{DataArgs, grouped};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::of_runs::OfRunsArgs;
use super::pool::PoolArgs;
use crate::known_names;
use crate::shared_args::wrong_usage;

/// A number of `tcpexp compare`, by default the fairness, over a parameter: the median over runs, with its interval
///
/// Jain's index of the flows' goodputs over the delay:
///     tcpexp plot fairness results --x delay --colour cc -o fairness.svg
/// One minus the ratio of the smallest to the largest goodput of a flow:
///     tcpexp plot fairness results --y epsilon --x delay -o epsilon.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct FairnessArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Number to draw
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "jain",
        help_heading = "Rows and columns"
    )]
    y: String,

    #[command(flatten)]
    of_runs: OfRunsArgs,

    /// Parameter along the horizontal axis; a column of numbers
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    x: String,

    /// Draw one line per value of these columns
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    colour: Vec<String>,

    #[command(flatten)]
    facet: FacetArgs,

    /// Write the names of lines beside their ends, in place of a legend
    #[arg(long, help_heading = "Appearance")]
    labels: bool,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl ChartKind for FairnessArgs {
    fn draw(&self) -> anyhow::Result<()> {
        let mut figure = self.figure.create(60, self.data.quiet)?;
        figure.style.labels = self.labels;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let x = [self.x.clone()];
        let mut of_runs = self.of_runs.read(
            (&self.data, &data),
            (&self.y, None),
            &[
                (&x, UsualGroups::No),
                (&self.colour, UsualGroups::No),
                self.facet.columns(),
            ],
            &["flows", "throughput", "rtt", "owd", "sender"],
        )?;
        let rows = &mut of_runs.rows;
        self.data.warn_of_others(&data, rows);
        if let [x] = rows.groups[0].as_slice()
            && rows
                .frame
                .column(x)
                .is_some_and(|column| !column.is_number())
        {
            return Err(wrong_usage(&format!("--x needs numbers: {x} holds text")))
                .context("wrong column");
        }
        divide(&rows.frame, &mut rows.groups, 1, Room::Lines);
        let [x, colours, facets] = grouped(rows)?;
        let y = (rows.column.as_str(), &of_runs.quantity, of_runs.statistic);
        figure
            .noting(rows.pool_note())
            .finish(|style| trend_figure(&rows.frame, y, (&x, &colours, &facets), style))
    }
}
