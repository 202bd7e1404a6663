//! Charts of distributions in slots: arguments and drawing of `box` and `violin`.

use tcpexp_chart::{Shape, distribution_figure};

use super::data::{DataArgs, levels, quantity, warn_of_others};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use super::slots::SlotArgs;

#[derive(clap::Args)]
pub(super) struct DistributionArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Column to draw
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "rtt",
        help_heading = "Rows and columns"
    )]
    y: String,

    #[command(flatten)]
    slots: SlotArgs,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl DistributionArgs {
    pub(super) fn draw(&self, shape: Shape) -> anyhow::Result<()> {
        let figure = self.figure.create(65)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let usual = ["rtt", "owd", "throughput", "sender"];
        let rows = data.grouped(&self.y, &self.slots.columns(), &usual, &[])?;
        warn_of_others(&data, &rows);
        let (slots, colours) = (
            levels(&rows.frame, &rows.groups[0])?,
            levels(&rows.frame, &rows.groups[1])?,
        );
        let quantity = quantity(&rows.column, self.slots.y_unit.as_deref())?;
        let y = (rows.column.as_str(), &quantity);
        let note = rows.sample_note();
        figure
            .noting(note)
            .finish(|style| distribution_figure(&rows.frame, y, (&slots, &colours), shape, style))
    }
}
