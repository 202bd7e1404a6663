//! `tcpexp plot box DATA…`.

use tcpexp_chart::Shape;

use super::ChartKind;
use super::distribution::DistributionArgs;

/// Box plots: quartiles, whiskers within 1.5 interquartile ranges, and outliers as dots
///
/// RTT over delay and buffer for each congestion control:
///     tcpexp plot box results --y rtt --x delay,buffer --colour cc --width page -o rtt.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct BoxArgs {
    #[command(flatten)]
    distribution: DistributionArgs,
}

impl ChartKind for BoxArgs {
    fn draw(&self) -> anyhow::Result<()> {
        self.distribution.draw(Shape::Box)
    }
}
