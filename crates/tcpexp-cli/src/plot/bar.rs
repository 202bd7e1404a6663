//! `tcpexp plot bar DATA…`.

use tcpexp_chart::{RUN_COLUMNS, Statistic, bar_figure};

use super::ChartKind;
use super::data::{DataArgs, grouped, quantity, warn_of_others};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use super::slots::SlotArgs;
use crate::known_names;

/// One number per run as bars: the median over runs, with its 95 % bootstrap interval
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

    /// Statistic that reduces a run to one number: median, mean, min, max, sum, p95
    #[arg(
        long,
        value_name = "STATISTIC",
        default_value = "median",
        help_heading = "Rows and columns"
    )]
    statistic: Statistic,

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
        let figure = self.figure.create(60)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let [slots, colours] = self.slots.columns();
        let mut rows = data.grouped(
            &self.y,
            &[slots, colours, self.facet.columns()],
            &["flows", "throughput", "rtt"],
            // Each run becomes one number, so rows keep the columns that identify their run.
            &RUN_COLUMNS,
        )?;
        warn_of_others(&data, &rows);
        let room = Room::Places(figure.style.size.width_mm);
        divide(&rows.frame, &mut rows.groups, 0, room);
        let [slots, colours, facets] = grouped(&rows)?;
        let quantity = quantity(&rows.column, self.slots.y_unit.as_deref())?;
        let y = (rows.column.as_str(), &quantity, self.statistic);
        figure
            .noting(rows.note)
            .finish(|style| bar_figure(&rows.frame, y, (&slots, &colours, &facets), style))
    }
}
