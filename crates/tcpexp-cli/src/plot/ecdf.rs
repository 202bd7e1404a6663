//! `tcpexp plot ecdf DATA…`.

use tcpexp::UsualGroups;
use tcpexp_chart::{Group, ecdf_figure};

use super::ChartKind;
use super::data::{DataArgs, levels, quantity, warn_of_others};
use super::figure::FigureArgs;
use super::pool::PoolArgs;

/// Distributions of a column, one line for each group, medians in the legend
///
/// RTTs of each congestion control of a sweep:
///     tcpexp plot ecdf results --x rtt --group cc -o rtt.svg
/// and of two single tables:
///     tcpexp plot ecdf cubic.parquet reno.parquet --x rtt -o rtt.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct EcdfArgs {
    #[command(flatten)]
    data: DataArgs,

    /// The column
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "rtt",
        help_heading = "Rows and columns"
    )]
    x: String,

    /// One line for each value of these columns [default: what a sweep varies, else files, else
    /// flows]
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    group: Vec<String>,

    /// The unit of the horizontal axis [default: what fits the values]
    #[arg(long, value_name = "UNIT", help_heading = "Axes")]
    x_unit: Option<String>,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl ChartKind for EcdfArgs {
    fn draw(&self) -> anyhow::Result<()> {
        let figure = self.figure.create(60)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let usual = ["rtt", "owd", "throughput", "sender"];
        let rows = data.grouped(&self.x, &[(&self.group, UsualGroups::Yes)], &usual, &[])?;
        warn_of_others(&data, &rows);
        let groups = Group::of(
            &rows.frame,
            &rows.column,
            &levels(&rows.frame, &rows.groups[0])?,
        )?;
        let quantity = quantity(&rows.column, self.x_unit.as_deref())?;
        let note = rows.sample_note();
        figure
            .noting(note)
            .finish(|style| ecdf_figure(&quantity, &groups, style))
    }
}
