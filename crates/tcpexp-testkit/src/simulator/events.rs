//! The event queue of the simulator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A packet passes the point near its sender.
    Upstream(u32),
    /// A packet passes a middle point, the second number counted from 0 in its direction.
    Middle(u32, u32),
    /// A packet passes the point near its receiver.
    Downstream(u32),
    /// A flow wakes up. The second number is the slot's generation, to detect an event of an
    /// earlier flow.
    Wake(u32, u32),
}

/// Events in order of time; events at the same time in order of insertion.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, What)>>,
    scheduled: u64,
}

impl Events {
    pub(crate) fn at(&mut self, time: u64, what: What) {
        self.scheduled += 1;
        self.heap.push(Reverse((time, self.scheduled, what)));
    }

    pub(crate) fn next(&mut self) -> Option<(u64, What)> {
        self.heap.pop().map(|Reverse((time, _, what))| (time, what))
    }
}
