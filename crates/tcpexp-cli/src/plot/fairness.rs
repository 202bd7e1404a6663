//! `tcpexp plot fairness DATA…`.

use clap::ValueEnum;
use tcpexp::UsualGroups;
use tcpexp_chart::{Quantity, RUN_COLUMNS, Share, Statistic, trend_figure};

use super::ChartKind;
use super::data::{DataArgs, levels, quantity, warn_of_others};
use super::figure::FigureArgs;
use super::pool::PoolArgs;

/// How evenly the flows of a run share, against a parameter: medians over runs, with intervals
///
/// Jain's index of the goodputs of a run's flows against the delay:
///     tcpexp plot fairness results --x delay --colour cc -o fairness.svg
/// or any number that a table has already, as of `tcpexp compare`:
///     tcpexp plot fairness cells.parquet --measure value --y jain --x delay -o fairness.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct FairnessArgs {
    #[command(flatten)]
    data: DataArgs,

    /// What is made of a run's flows
    #[arg(
        long,
        value_name = "MEASURE",
        default_value = "jain",
        help_heading = "Rows and columns"
    )]
    measure: Measure,

    /// The column that the flows share
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "goodput_bps",
        help_heading = "Rows and columns"
    )]
    y: String,

    /// The parameter along the horizontal axis; it holds numbers
    #[arg(long, value_name = "COLUMN", help_heading = "Rows and columns")]
    x: String,

    /// One line for each value of these columns
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    colour: Vec<String>,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Jain's index: 1 if all have the same, 1/n if one has all
    Jain,
    /// The smallest over the largest
    Ratio,
    /// The median of the column as it is
    Value,
}

impl ChartKind for FairnessArgs {
    fn draw(&self) -> anyhow::Result<()> {
        let figure = self.figure.create(60)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let x = [self.x.clone()];
        let rows = data.grouped(
            &self.y,
            &[(&x, UsualGroups::No), (&self.colour, UsualGroups::No)],
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
        let (x, colours) = (
            levels(&rows.frame, &rows.groups[0])?,
            levels(&rows.frame, &rows.groups[1])?,
        );
        let y = (rows.column.as_str(), &quantity, share);
        figure
            .noting(rows.note)
            .finish(|style| trend_figure(&rows.frame, y, (&x, &colours), style))
    }
}
