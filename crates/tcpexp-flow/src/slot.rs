//! Where a flow table keeps its flows.

use crate::{Direction, FlowId, StreamOffset};

/// Where a flow is kept in its [`FlowTable`](crate::FlowTable); used again once the flow has been drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// For arrays with one place per slot.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet's place in a flow table.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// The packet's flow.
    pub flow: FlowId,
    /// Where the table keeps it.
    pub slot: Slot,
    /// Which way the packet goes.
    pub direction: Direction,
    /// Whether it is the flow's first.
    pub is_first: bool,
    /// Offset of its first sequence number; `None` for UDP.
    pub start: Option<StreamOffset>,
}
