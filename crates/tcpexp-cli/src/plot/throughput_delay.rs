//! `tcpexp plot throughput-delay DATA…`.

use anyhow::Context;
use clap::ValueEnum;
use tcpexp::{FLOW_COLUMN, Grouped, Selection, UsualGroups};
use tcpexp_chart::{BIN_DELAY, Quantity, RUN_COLUMNS, delays_of_bins, scatter_figure};

use super::ChartKind;
use super::data::{DataArgs, grouped, quantity};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use crate::known_names;
use crate::shared_args::wrong_usage;

/// Column of delays of flows.
const USUAL_DELAY: &str = "rtt_median";

/// Throughput over delay: points, their mean, and the ellipse of one standard deviation
///
/// In a sweep, a point is a flow of a run; in a dataset, a point is a time bin:
///     tcpexp plot throughput-delay results --group cc -o scatter.svg
///     tcpexp plot throughput-delay run1 -o scatter.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ThroughputDelayArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Draw one point per flow or per bin [default: flow for sweeps and with --x, else bin]
    #[arg(long, value_name = "WHAT", help_heading = "Rows and columns")]
    per: Option<Per>,

    /// Column of delays of flows [default: `rtt_median`]
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    x: Option<String>,

    /// Column of rates
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "goodput_bps",
        help_heading = "Rows and columns"
    )]
    y: String,

    /// Draw one colour per value of these columns [default: the parameters that distinguish the
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

    #[command(flatten)]
    facet: FacetArgs,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Per {
    /// A flow of a run: a row of the table of flows
    Flow,
    /// A time bin of the table of rates, with the median of the RTTs in it
    Bin,
}

impl ChartKind for ThroughputDelayArgs {
    fn draw(&self) -> anyhow::Result<()> {
        if self.x.is_some() && self.per == Some(Per::Bin) {
            return Err(wrong_usage(
                "--x applies to --per flow only: the delay of a bin is the median of the RTTs in it",
            ))
            .context("wrong option");
        }
        let figure = self.figure.create(65, self.data.quiet)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let has_throughput = data
            .tables()
            .names()
            .iter()
            .any(|(name, _)| *name == "throughput");
        let per = self.per.unwrap_or(
            if self.x.is_none() && data.tables().varied.is_empty() && has_throughput {
                Per::Bin
            } else {
                Per::Flow
            },
        );
        let (x, mut rows) = match per {
            Per::Flow => of_flows(self, &data)?,
            Per::Bin => of_bins(self, &data)?,
        };
        divide(&rows.frame, &mut rows.groups, 0, Room::Lines);
        let [groups, facets] = grouped(&rows)?;
        let (x_quantity, y_quantity) = (Quantity::of_column(&x), quantity(&rows, None)?);
        let (x, y) = (
            (x.as_str(), &x_quantity),
            (rows.column.as_str(), &y_quantity),
        );
        let what = match per {
            Per::Flow => "one point per flow and run",
            Per::Bin => "one point per bin",
        };
        let what = format!("{what}; large marks are means, ellipses one standard deviation");
        let note = rows
            .pool_note()
            .iter()
            .fold(what, |what, pool| format!("{what}; {pool}"));
        figure
            .noting(Some(note))
            .finish(|style| scatter_figure(&rows.frame, x, y, (&groups, &facets), style))
    }
}

fn of_flows(args: &ThroughputDelayArgs, data: &Selection) -> anyhow::Result<(String, Grouped)> {
    let x = [args.x.clone().unwrap_or_else(|| USUAL_DELAY.to_owned())];
    let groups = [
        (&x[..], UsualGroups::OfPoints),
        (&args.group, UsualGroups::Yes),
        args.facet.columns(),
    ];
    let mut rows = data.grouped(&args.y, &groups, &["flows"], &RUN_COLUMNS)?;
    let x = rows.groups.remove(0).swap_remove(0);
    Ok((x, rows))
}

fn of_bins(args: &ThroughputDelayArgs, data: &Selection) -> anyhow::Result<(String, Grouped)> {
    const OF_BINS: [&str; 5] = [FLOW_COLUMN, "start_time", "time", "width_ns", "direction"];
    let groups = [(&args.group[..], UsualGroups::Yes), args.facet.columns()];
    let mut rows = data.grouped(&args.y, &groups, &["throughput"], &OF_BINS)?;
    // Without a table of flows, the bins show which direction carries more.
    let bins = if rows.is_pooled {
        rows.frame.clone()
    } else {
        rows.note = Some("of each flow the direction with the larger sum".to_owned());
        rows.data_direction()
    };
    let delays = data.grouped(
        BIN_DELAY,
        &[],
        &["rtt"],
        &["time", FLOW_COLUMN, "direction"],
    )?;
    rows.frame = delays_of_bins(&bins, &delays.frame)?;
    rows.errors = delays.errors;
    Ok((BIN_DELAY.to_owned(), rows))
}
