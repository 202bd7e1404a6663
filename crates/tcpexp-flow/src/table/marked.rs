//! Flows of a part of a capture, which begin and end at the marks of the part.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::FlowTable;
use crate::slot::{Slot, Tracked};
use crate::{Arrival, FlowId, FlowMarks, FlowPacket, Seen};

/// Where the flows of a part begin and end.
#[derive(Debug)]
pub(super) struct Marked {
    marks: FlowMarks,
    /// Slots of the live flows, which the marks name by number.
    slots: HashMap<FlowId, Slot, FixedState>,
}

impl FlowTable {
    /// Lets flows begin and end by `marks` alone, for a part of a capture. Only
    /// [`place`](Self::place) reads the marks.
    #[must_use]
    pub fn with_marks(mut self, marks: FlowMarks) -> Self {
        // No flow is shed that the whole capture keeps.
        self.most_flows = usize::MAX;
        self.marked = Some(Box::new(Marked {
            marks,
            slots: HashMap::default(),
        }));
        self
    }

    /// Like [`place`](Self::place), for a part of a capture.
    #[cold]
    pub(super) fn place_marked(&mut self, arrival: &mut Arrival) -> Tracked {
        let Arrival {
            key,
            hash,
            sender,
            packet,
        } = arrival;
        let Seen { record, at, .. } = *packet.seen();
        let mark = self.marked.as_ref().and_then(|it| it.marks.take(record));
        let ended = mark.iter().flat_map(|mark| &mark.ended);
        for flow in ended {
            let marked = self.marked.as_mut();
            if let Some(slot) = marked.and_then(|marked| marked.slots.remove(flow)) {
                self.end(slot);
            }
        }
        let numbers = match packet {
            FlowPacket::Tcp(segment) => Some(segment.numbers()),
            FlowPacket::Datagram(_) => None,
        };
        let found = self.find(key, *hash, *sender, numbers.as_ref());
        let begins = mark.and_then(|mark| mark.begins);
        let (slot, is_first) = match (found, begins) {
            (Some(slot), None) => (slot, false),
            (_, begins) => {
                self.next_id = begins.map_or(self.next_id, |(flow, _)| flow);
                let slot = self.open(at, *key, *hash, *sender, numbers);
                let flow = &mut self.flows[slot.index()];
                flow.continues = begins.and_then(|(_, before)| before);
                if let Some(marked) = &mut self.marked {
                    marked.slots.insert(flow.id, slot);
                }
                (slot, true)
            }
        };
        let tracked = self.advance(slot, is_first, at, *sender, numbers);
        match packet {
            FlowPacket::Tcp(segment) => {
                let acked = &self.flows[slot.index()].streams[sender.opposite() as usize];
                segment.place(&tracked, |ack| acked.place(ack));
            }
            FlowPacket::Datagram(datagram) => datagram.seen.direction = tracked.direction,
        }
        tracked
    }
}
