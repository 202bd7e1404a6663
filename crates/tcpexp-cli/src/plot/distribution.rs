//! `tcpexp plot box DATA…` and `tcpexp plot violin DATA…`.

use tcpexp_chart::{Shape, distribution_figure};

use super::data::{DataArgs, levels, quantity, sample_note};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use super::slots::SlotArgs;

#[derive(clap::Args)]
pub(crate) struct DistributionArgs {
    #[command(flatten)]
    data: DataArgs,

    /// The column that is distributed
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

pub(crate) fn run(args: &DistributionArgs, shape: Shape) -> anyhow::Result<()> {
    let figure = args.figure.create(65)?;
    let data = args.data.open()?.pooled(&args.pool);
    let usual = ["rtt", "owd", "throughput", "sender"];
    let rows = data.grouped(&args.y, &args.slots.columns(), &usual, &[])?;
    data.warn_of_others(&rows);
    let (slots, colours) = (
        levels(&rows.frame, &rows.groups[0])?,
        levels(&rows.frame, &rows.groups[1])?,
    );
    let quantity = quantity(&rows.column, args.slots.y_unit.as_deref())?;
    let y = (rows.column.as_str(), &quantity);
    let note = sample_note(&rows);
    figure
        .noting(note)
        .finish(|style| distribution_figure(&rows.frame, y, (&slots, &colours), shape, style))
}
