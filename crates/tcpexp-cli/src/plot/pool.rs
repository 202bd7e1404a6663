//! Arguments for the flows and directions that a chart pools.

use tcpexp_metrics::pooling::{PooledDirection, PooledFlows, Pooling};

/// What counts in a chart that makes one figure of many rows.
#[derive(Clone, clap::Args)]
pub(crate) struct PoolArgs {
    /// Flows to include: `load` (the plan's bulk class, else all its classes except control; without
    /// a plan, the flows with at least 1 % of the payload), `all`, the flows with at least a share
    /// of the payload such as `5%`, or a traffic class [default: load, or the flows of a filter]
    #[arg(long, value_name = "FLOWS", help_heading = "Pooling")]
    flows: Option<PooledFlows>,

    /// Direction of each flow to include
    #[arg(long, value_name = "DIRECTION", default_value = "payload")]
    #[arg(help_heading = "Pooling")]
    direction: DirectionArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DirectionArg {
    /// The direction with more payload
    Payload,
    /// Both directions, as separate rows
    Both,
}

impl PoolArgs {
    pub(super) fn pooling(&self) -> Pooling {
        Pooling {
            flows: self.flows.clone().unwrap_or_default(),
            are_flows_requested: self.flows.is_some(),
            direction: match self.direction {
                DirectionArg::Payload => PooledDirection::Payload,
                DirectionArg::Both => PooledDirection::Both,
            },
        }
    }
}
