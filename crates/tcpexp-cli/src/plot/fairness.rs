//! `tcpexp plot fairness DATA…`.

use clap::ValueEnum;
use tcpexp::UsualGroups;
use tcpexp_chart::{Quantity, RUN_COLUMNS, Share, Statistic, trend_figure};

use super::ChartKind;
use super::data::{DataArgs, grouped, quantity, warn_of_others};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use crate::known_names;

/// Fairness among the flows of a run over a parameter: the median over runs, with its interval
///
/// Jain's index of the flows' goodputs over the delay:
///     tcpexp plot fairness results --x delay --colour cc -o fairness.svg
/// A number that the table of `tcpexp compare` has for each cell:
///     tcpexp plot fairness cells.parquet --measure value --y jain --x delay -o fairness.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct FairnessArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Measure of a run's flows
    #[arg(
        long,
        value_name = "MEASURE",
        default_value = "jain",
        help_heading = "Rows and columns"
    )]
    measure: Measure,

    /// Column whose values are compared
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "goodput_bps",
        help_heading = "Rows and columns"
    )]
    y: String,

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Jain's index: 1 if all n flows have the same value, 1/n if one flow has everything
    Jain,
    /// The smallest value over the largest
    Ratio,
    /// The median of the column
    Value,
}

impl ChartKind for FairnessArgs {
    fn draw(&self) -> anyhow::Result<()> {
        let mut figure = self.figure.create(60)?;
        figure.style.labels = self.labels;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let x = [self.x.clone()];
        let mut rows = data.grouped(
            &self.y,
            &[
                (&x, UsualGroups::No),
                (&self.colour, UsualGroups::No),
                self.facet.columns(),
            ],
            &["flows", "throughput"],
            &RUN_COLUMNS,
        )?;
        warn_of_others(&data, &rows);
        let (share, quantity) = match self.measure {
            Measure::Jain => (Share::Jain, Quantity::plain("Jain's index")),
            Measure::Ratio => {
                let whole = Quantity::of_column(&rows.column).name;
                let name = format!("smallest / largest {whole}");
                (Share::Ratio, Quantity::plain(name))
            }
            Measure::Value => (Share::Of(Statistic::Median), quantity(&rows.column, None)?),
        };
        divide(&rows.frame, &mut rows.groups, 1, Room::Lines);
        let [x, colours, facets] = grouped(&rows)?;
        let y = (rows.column.as_str(), &quantity, share);
        figure
            .noting(rows.note)
            .finish(|style| trend_figure(&rows.frame, y, (&x, &colours, &facets), style))
    }
}
