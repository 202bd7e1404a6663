//! Which flow of one point holds back a packet with a given mark.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;
use tcpexp_flow::Slot;

use super::mark::Mark;

/// The flows of one point that hold back packets, by the marks of these packets.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<Mark, Holder, FixedState>);

#[derive(Debug)]
struct Holder {
    /// `None` once several flows hold back a packet with the mark, until all have given it up.
    slot: Option<Slot>,
    /// Number of packets held back.
    packets: u32,
}

impl Holders {
    /// Adds a packet that the flow in `slot` holds back. Returns `true` if no other flow holds back
    /// one with this mark.
    pub(super) fn hold(&mut self, mark: Mark, slot: Slot) -> bool {
        let holder = self.0.entry(mark).or_insert(Holder {
            slot: Some(slot),
            packets: 0,
        });
        holder.packets += 1;
        if holder.slot != Some(slot) {
            holder.slot = None;
        }
        holder.slot.is_some()
    }

    /// Removes one of the packets with this mark.
    pub(super) fn release(&mut self, mark: &Mark) {
        if let Entry::Occupied(mut place) = self.0.entry(*mark) {
            place.get_mut().packets -= 1;
            if place.get().packets == 0 {
                place.remove();
            }
        }
    }

    /// The only flow that holds back packets with this mark.
    pub(super) fn only(&self, mark: &Mark) -> Option<Slot> {
        self.0.get(mark)?.slot
    }
}
