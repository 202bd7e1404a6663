//! Totals over the metered flows of a capture.

use tcpexp_flow::FlowTable;

/// Totals over all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metered {
    /// Number of flows.
    pub flows: u32,
    /// Number of flows that ended early because too many were alive.
    pub flows_shed: u32,
}

impl Metered {
    pub(crate) fn of(table: &FlowTable) -> Self {
        Self {
            flows: table.flows_seen(),
            flows_shed: table.flows_shed(),
        }
    }
}
