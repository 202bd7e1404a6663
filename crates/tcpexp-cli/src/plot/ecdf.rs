//! `tcpexp plot ecdf DATA…`.

use tcpexp::UsualGroups;
use tcpexp_chart::{GroupPanel, ecdf_figure};

use super::ChartKind;
use super::data::{DataArgs, grouped, quantity};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use crate::known_names;

/// Cumulative distribution of a column: one line per group, medians in the legend
///
/// RTT for each congestion control of a sweep:
///     tcpexp plot ecdf results --x rtt --group cc -o rtt.svg
/// RTT in two tables:
///     tcpexp plot ecdf cubic.parquet reno.parquet --x rtt -o rtt.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct EcdfArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Column to draw
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "rtt",
        help_heading = "Rows and columns"
    )]
    x: String,

    /// Draw one line per value of these columns [default: the parameters that distinguish the
    /// runs of a sweep, else files, else flows]
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    group: Vec<String>,

    /// Unit of the horizontal axis [default: chosen by the values]
    #[arg(long, value_name = "UNIT", help_heading = "Axes")]
    x_unit: Option<String>,

    #[command(flatten)]
    facet: FacetArgs,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl ChartKind for EcdfArgs {
    fn draw(&self) -> anyhow::Result<()> {
        self.figure.has_shares_on_y()?;
        // Creates the file first, to report an error before the tables are read.
        let figure = self.figure.create(60, self.data.quiet)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let usual = ["rtt", "owd", "throughput", "sender"];
        let groups = [(&self.group[..], UsualGroups::Yes), self.facet.columns()];
        let mut rows = data.grouped(&self.x, &groups, &usual, &[])?;
        self.data.warn_of_others(&data, &rows);
        divide(&rows.frame, &mut rows.groups, 0, Room::Lines);
        let [groups, facets] = grouped(&rows)?;
        let panels = GroupPanel::all(&rows.frame, &rows.column, &groups, &facets)?;
        let quantity = quantity(&rows, self.x_unit.as_deref())?;
        let note = rows.sample_note();
        figure
            .noting(note)
            .finish(|style| ecdf_figure(&quantity, &panels, style))
    }
}
