//! `tcpexp plot box DATA…` and `tcpexp plot violin DATA…`.

use tcpexp::chart::{Shape, distribution_figure};

use super::data::{DataArgs, UsualGroups, levels, quantity};
use super::figure::FigureArgs;

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

    /// Slots along the horizontal axis: one for each value of one column, or of two, the first in
    /// bands [default: what a sweep varies, else files, else flows]
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    x: Vec<String>,

    /// Side by side in each slot: one colour for each value of these columns
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    colour: Vec<String>,

    /// The unit of the vertical axis [default: what fits the values]
    #[arg(long, value_name = "UNIT", help_heading = "Axes")]
    y_unit: Option<String>,

    #[command(flatten)]
    figure: FigureArgs,
}

pub(crate) fn run(args: &DistributionArgs, shape: Shape) -> anyhow::Result<()> {
    let figure = args.figure.create(65)?;
    let data = args.data.open()?;
    let usual = ["rtt", "owd", "throughput", "sender"];
    let rows = data.grouped(
        &args.y,
        &[(&args.x, UsualGroups::Yes), (&args.colour, UsualGroups::No)],
        &usual,
        &[],
    )?;
    data.warn_of_others(&rows);
    let (slots, colours) = (
        levels(&rows.frame, &rows.groups[0])?,
        levels(&rows.frame, &rows.groups[1])?,
    );
    let quantity = quantity(&rows.column, args.y_unit.as_deref())?;
    let y = (rows.column.as_str(), &quantity);
    figure.finish(|style| distribution_figure(&rows.frame, y, (&slots, &colours), shape, style))
}
