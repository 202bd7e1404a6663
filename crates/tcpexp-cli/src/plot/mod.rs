//! `tcpexp plot KIND DATA…`.

mod bar;
mod data;
mod distribution;
mod ecdf;
mod fairness;
mod figure;
mod heatmap;
mod pool;
mod sequence;
mod slots;
mod throughput_delay;
mod timeseries;

use clap::Subcommand;
use tcpexp_chart::Shape;

/// Charts of tables and captures: time series, distributions, comparisons
///
/// DATA are sweeps, datasets of `tcpexp analyze`, or tables as the other commands write them with
/// -o (Parquet, Arrow, CSV, JSON). Of a sweep only complete runs are drawn. A column may be named
/// without its unit: rtt is `rtt_ns`.
#[derive(clap::Args)]
pub(crate) struct PlotArgs {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    Timeseries(timeseries::TimeseriesArgs),
    Ecdf(ecdf::EcdfArgs),
    /// Box plots: quartiles, whiskers to the last value within 1.5 of their range, all beyond as dots
    ///
    /// RTT over delay and buffer for each congestion control:
    ///     tcpexp plot box results --y rtt --x delay,buffer --colour cc --width page -o rtt.svg
    #[command(verbatim_doc_comment)]
    Box(distribution::DistributionArgs),
    /// Violins: the density of the values as a width, with median and quartiles
    Violin(distribution::DistributionArgs),
    Heatmap(heatmap::HeatmapArgs),
    Bar(bar::BarArgs),
    Fairness(fairness::FairnessArgs),
    Sequence(sequence::SequenceArgs),
    ThroughputDelay(throughput_delay::ThroughputDelayArgs),
}

pub(crate) fn run(args: &PlotArgs) -> anyhow::Result<()> {
    match &args.kind {
        Kind::Timeseries(args) => timeseries::run(args),
        Kind::Ecdf(args) => ecdf::run(args),
        Kind::Box(args) => distribution::run(args, Shape::Box),
        Kind::Violin(args) => distribution::run(args, Shape::Violin),
        Kind::Heatmap(args) => heatmap::run(args),
        Kind::Bar(args) => bar::run(args),
        Kind::Fairness(args) => fairness::run(args),
        Kind::Sequence(args) => sequence::run(args),
        Kind::ThroughputDelay(args) => throughput_delay::run(args),
    }
}
