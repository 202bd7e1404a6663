//! `tcpexp plot heatmap DATA…`.

use tcpexp::UsualGroups;
use tcpexp_chart::{AxisStyle, heatmap_figure};

use super::ChartKind;
use super::data::{DataArgs, levels};
use super::figure::{FigureArgs, Limits, parse_limits};
use super::of_runs::OfRunsArgs;
use super::pool::PoolArgs;
use crate::known_names;

/// One number per run as a colour over two parameters: the median over runs
///
/// If `tcpexp compare` has a number of this name, such as the median RTT, the chart shows that number.
///
/// RTT over rate and delay:
///     tcpexp plot heatmap results --value rtt --x rate --y delay -o rtt.svg
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    // clap does not wrap a usage.
    override_usage = "tcpexp plot heatmap [OPTIONS] --x <COLUMN> --y <COLUMN>
                           --output <FILE> <DATA>..."
)]
pub(super) struct HeatmapArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Column to draw as a colour
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "rtt",
        help_heading = "Rows and columns"
    )]
    value: String,

    #[command(flatten)]
    of_runs: OfRunsArgs,

    /// Column along the horizontal axis
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    x: String,

    /// Column along the vertical axis
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    y: String,

    /// Range of the colour scale, in its unit
    #[arg(long, value_name = "LOW:HIGH", value_parser = parse_limits, help_heading = "Axes")]
    #[arg(allow_hyphen_values = true)]
    value_limits: Option<Limits>,

    /// Unit of the colour scale [default: chosen by the values]
    #[arg(long, value_name = "UNIT", help_heading = "Axes")]
    value_unit: Option<String>,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl ChartKind for HeatmapArgs {
    fn draw(&self) -> anyhow::Result<()> {
        self.figure.has_categories_on_x()?;
        self.figure.has_categories_on_y()?;
        let figure = self.figure.create(65, self.data.quiet)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let axes = [&self.x, &self.y].map(|column| vec![column.clone()]);
        let of_runs = self.of_runs.read(
            (&self.data, &data),
            (&self.value, self.value_unit.as_deref()),
            &[(&axes[0], UsualGroups::No), (&axes[1], UsualGroups::No)],
            &["rtt", "flows", "throughput", "owd", "sender"],
        )?;
        let rows = of_runs.rows;
        self.data.warn_of_others(&data, &rows);
        let (x, y) = (
            levels(&rows.frame, &rows.groups[0])?,
            levels(&rows.frame, &rows.groups[1])?,
        );
        let limits = AxisStyle {
            low: self.value_limits.and_then(|limits| limits.low),
            high: self.value_limits.and_then(|limits| limits.high),
            ..AxisStyle::default()
        };
        let value = (rows.column.as_str(), &of_runs.quantity, of_runs.statistic);
        figure
            .noting(rows.pool_note())
            .finish(|style| heatmap_figure(&rows.frame, value, (&x, &y), (&limits, style)))
    }
}
