//! `tcpexp plot KIND DATA…`.

mod bar;
mod box_plot;
mod data;
mod distribution;
mod ecdf;
mod facet;
mod fairness;
mod figure;
mod heatmap;
mod no_values;
mod of_runs;
mod pool;
mod run_time;
mod sequence;
mod slots;
mod throughput_delay;
mod timeseries;
mod violin;

/// Draw charts of tables and captures: time series, distributions, comparisons
///
/// DATA is any number of sweeps, of datasets that `tcpexp analyze` writes or folders of them, and of tables that the
/// other commands write with -o (Parquet, Arrow, CSV, JSON). A chart of a sweep includes complete
/// runs only. A column's name may omit the unit: rtt is `rtt_ns`.
#[derive(clap::Args)]
pub(crate) struct PlotArgs {
    #[command(subcommand)]
    kind: Kind,
}

/// A chart kind: its arguments, and what it draws from them.
trait ChartKind: clap::Args {
    fn draw(&self) -> anyhow::Result<()>;
}

/// Makes a subcommand of each chart kind.
macro_rules! chart_kinds {
    ($($name:ident($args:ty),)*) => {
        #[derive(clap::Subcommand)]
        enum Kind {
            $($name($args),)*
        }

        impl Kind {
            fn draw(&self) -> anyhow::Result<()> {
                match self {
                    $(Self::$name(args) => args.draw(),)*
                }
            }
        }
    };
}

// The chart kinds, in the order of the help. The name of the subcommand is the name here in kebab
// case; its help is the comment on the arguments.
chart_kinds! {
    Timeseries(timeseries::TimeseriesArgs),
    Ecdf(ecdf::EcdfArgs),
    Box(box_plot::BoxArgs),
    Violin(violin::ViolinArgs),
    Heatmap(heatmap::HeatmapArgs),
    Bar(bar::BarArgs),
    Fairness(fairness::FairnessArgs),
    Sequence(sequence::SequenceArgs),
    ThroughputDelay(throughput_delay::ThroughputDelayArgs),
}

pub(crate) fn run(args: &PlotArgs) -> anyhow::Result<()> {
    args.kind.draw()
}
