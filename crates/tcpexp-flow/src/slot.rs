//! Slots of a flow table.

use crate::{Direction, FlowId, StreamOffset};

/// Index of a flow in its [`FlowTable`](crate::FlowTable); reused after the flow has been drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Index into arrays with one element per slot.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet's place in a flow table.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// The packet's flow.
    pub flow: FlowId,
    /// Slot of the flow in the table.
    pub slot: Slot,
    /// Direction of the packet.
    pub direction: Direction,
    /// True for the flow's first packet.
    pub is_first: bool,
    /// Offset of the packet's first sequence number; `None` for other protocols than TCP.
    pub start: Option<StreamOffset>,
}
