//! Flow numbers and flow ends of the whole capture, as recorded in a part.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::FlowId;

/// What begins and ends at a packet of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMark {
    /// Record number of the packet.
    pub record: u64,
    /// The flow that it begins, and the flow that carried the connection before.
    pub begins: Option<(FlowId, Option<FlowId>)>,
    /// The flows that ended since the packet before, in the order of their ends.
    pub ended: Vec<FlowId>,
}

/// Marks on their way from the reader of a part to a flow table.
///
/// A part shows only some of the flows, so its own packets do not determine the numbers of its flows,
/// and do not always determine when the flows end. Its marks determine both.
#[derive(Clone, Debug, Default)]
pub struct FlowMarks(Arc<Mutex<VecDeque<FlowMark>>>);

impl FlowMarks {
    /// Adds the next mark, before its packet is shown.
    pub fn push(&self, mark: FlowMark) {
        self.marks().push_back(mark);
    }

    /// Takes the mark of a packet, if it has one.
    pub(crate) fn take(&self, record: u64) -> Option<FlowMark> {
        let mut marks = self.marks();
        let is_its = marks.front().is_some_and(|mark| mark.record == record);
        if is_its { marks.pop_front() } else { None }
    }

    fn marks(&self) -> std::sync::MutexGuard<'_, VecDeque<FlowMark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
