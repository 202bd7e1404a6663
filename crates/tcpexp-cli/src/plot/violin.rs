//! `tcpexp plot violin DATA…`.

use tcpexp_chart::Shape;

use super::ChartKind;
use super::distribution::DistributionArgs;

/// Violin plots: the density of the values as a width, with median and quartiles
///
/// RTT of each congestion control:
///     tcpexp plot violin results --y rtt --x cc -o rtt.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ViolinArgs {
    #[command(flatten)]
    distribution: DistributionArgs,
}

impl ChartKind for ViolinArgs {
    fn draw(&self) -> anyhow::Result<()> {
        self.distribution.draw(Shape::Violin)
    }
}
