//! Arguments for the flows and directions that a chart pools.

use tcpexp_metrics::pooling::{PooledDirection, PooledFlows, Pooling};

/// What counts in a chart that makes one figure of many rows.
#[derive(Clone, clap::Args)]
pub(crate) struct PoolArgs {
    /// The flows that count: `load` (the bulk class of a plan, else all its classes but control;
    /// without a plan those with at least 1 % of the payload), `all`, a share such as `5%`, or a
    /// traffic class
    #[arg(long, value_name = "FLOWS", default_value = "load")]
    #[arg(help_heading = "What is pooled")]
    flows: PooledFlows,

    /// The direction of each flow that counts
    #[arg(long, value_name = "DIRECTION", default_value = "payload")]
    #[arg(help_heading = "What is pooled")]
    direction: DirectionArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DirectionArg {
    /// The one with more payload
    Payload,
    /// Both, as rows of their own
    Both,
}

impl PoolArgs {
    pub(super) fn pooling(&self) -> Pooling {
        Pooling {
            flows: self.flows.clone(),
            direction: match self.direction {
                DirectionArg::Payload => PooledDirection::Payload,
                DirectionArg::Both => PooledDirection::Both,
            },
        }
    }
}
