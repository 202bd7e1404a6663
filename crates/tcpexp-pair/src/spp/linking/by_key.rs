//! The live flows of one capture by their endpoints.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_flow::{Flow, FlowKey, Slot};

/// The latest flow between each two endpoints, and the flows that began beside it.
#[derive(Debug, Default)]
pub(super) struct ByKey {
    flows: HashMap<FlowKey, Slot, FixedState>,
    /// Flows that began beside another one ([`Flow::began_beside_another`]), in order. There are few: the
    /// flow table keeps at most one alive between two endpoints.
    beside: HashMap<FlowKey, Vec<Slot>, FixedState>,
}

impl ByKey {
    /// Adds a flow that begins; returns the flow in whose place it begins.
    pub(super) fn begin(&mut self, flow: &Flow, slot: Slot) -> Option<Slot> {
        if flow.began_beside_another() && self.flows.contains_key(&flow.key) {
            self.beside.entry(flow.key).or_default().push(slot);
            return None;
        }
        self.beside.remove(&flow.key);
        self.flows.insert(flow.key, slot)
    }

    /// Removes the flow in `slot`, unless a later flow has replaced it.
    pub(super) fn end(&mut self, key: FlowKey, slot: Slot) {
        if let Some(beside) = self.beside.get_mut(&key) {
            beside.retain(|other| *other != slot);
        }
        if self.flows.get(&key) == Some(&slot) {
            self.flows.remove(&key);
            if let Some(next) = self.beside.get_mut(&key).and_then(Vec::pop) {
                self.flows.insert(key, next);
            }
        }
        if self.beside.get(&key).is_some_and(Vec::is_empty) {
            self.beside.remove(&key);
        }
    }

    /// Returns the flows between these endpoints.
    pub(super) fn of(&self, key: &FlowKey) -> impl Iterator<Item = Slot> {
        let beside = (!self.beside.is_empty()).then(|| self.beside.get(key));
        let beside = beside.flatten().into_iter().flatten();
        self.flows.get(key).into_iter().chain(beside).copied()
    }
}
