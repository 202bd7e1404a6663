//! `tcpexp plot bar DATA…`.

use tcpexp_chart::bar_figure;

use super::ChartKind;
use super::data::{DataArgs, grouped};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::of_runs::OfRunsArgs;
use super::pool::PoolArgs;
use super::slots::SlotArgs;
use crate::known_names;

/// One number per run as bars: the median over runs, with its 95 % bootstrap interval
///
/// If `tcpexp compare` has a number of this name, such as goodput, the chart shows that number.
///
/// Goodput for each congestion control and delay:
///     tcpexp plot bar results --y goodput --x delay --colour cc -o goodput.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct BarArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Column to draw
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "goodput_bps",
        help_heading = "Rows and columns"
    )]
    y: String,

    #[command(flatten)]
    of_runs: OfRunsArgs,

    #[command(flatten)]
    slots: SlotArgs,

    #[command(flatten)]
    facet: FacetArgs,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl ChartKind for BarArgs {
    fn draw(&self) -> anyhow::Result<()> {
        // Creates the file first, to report an error before the tables are read.
        self.figure.has_categories_on_x()?;
        let figure = self.figure.create(60, self.data.quiet)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let [slots, colours] = self.slots.columns();
        let mut of_runs = self.of_runs.read(
            (&self.data, &data),
            (&self.y, self.slots.y_unit.as_deref()),
            &[slots, colours, self.facet.columns()],
            &["flows", "throughput", "rtt", "owd", "sender"],
        )?;
        let rows = &mut of_runs.rows;
        self.data.warn_of_others(&data, rows);
        let room = Room::Places(figure.style.size.width_mm);
        divide(&rows.frame, &mut rows.groups, 0, room);
        let [slots, colours, facets] = grouped(rows)?;
        let y = (rows.column.as_str(), &of_runs.quantity, of_runs.statistic);
        figure
            .noting(rows.pool_note())
            .finish(|style| bar_figure(&rows.frame, y, (&slots, &colours, &facets), style))
    }
}
