//! When flows begin and end.

use tcpexp_units::{TimeDelta, Timestamp};

use super::FlowTable;
use super::contest::{Contests, IN_FLIGHT};
use crate::flow::{Numbers, Stream};
use crate::key::hash;
use crate::recent::Recent;
use crate::slot::Slot;
use crate::{End, Flow, FlowId, FlowKey, InitiatorKnown};

/// A jump ahead by more than this between two packets marks the second timestamp as invalid, unless
/// the next packet confirms it. Captures are silent for minutes or hours; an overwritten header or
/// an unset clock is off by years.
const INCREDIBLE_SILENCE: TimeDelta = TimeDelta::from_seconds(86_400);

/// One in this many live flows is shed at a time, because a shed walks the whole table.
const SHED_PART: usize = 8;

impl FlowTable {
    /// True if flows have ended that [`drain_ended`](Self::drain_ended) has not passed on yet.
    #[inline]
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Passes each flow that ended since the last call to `each`; their slots may be reused
    /// afterwards.
    pub fn drain_ended(&mut self, each: impl FnMut(Slot, &Flow)) {
        self.drain_some(usize::MAX, each);
    }

    /// Passes at most `most` of the ended flows to `each`; returns true if more are left.
    pub fn drain_some(&mut self, most: usize, mut each: impl FnMut(Slot, &Flow)) -> bool {
        let some = most.min(self.ended.len());
        for slot in self.ended.drain(..some) {
            each(slot, &self.flows[slot.index()]);
            self.free.push(slot);
        }
        !self.ended.is_empty()
    }

    /// Ends all flows, for the end of the capture.
    pub fn end_all(&mut self) {
        // Ends flows in slot order, because hash-table order is arbitrary. With 100 000 flows, marking
        // them takes a fraction of the instructions of sorting them.
        let mut is_alive = vec![false; self.flows.len()];
        for slot in self.slots.drain() {
            is_alive[slot.index()] = true;
        }
        let slots = (0..).zip(is_alive).filter(|(_, is_alive)| *is_alive);
        self.ended.extend(slots.map(|(slot, _)| Slot(slot)));
        self.recent = Recent::default();
        self.contests = Contests::default();
    }

    #[inline]
    pub(super) fn is_over(
        &self,
        slot: Slot,
        now: Timestamp,
        sender: End,
        numbers: Option<Numbers>,
    ) -> bool {
        let flow = &self.flows[slot.index()];
        // Cheap checks first: nearly every packet is neither a SYN nor the first after a silence.
        (now - flow.last_seen > self.shortest_timeout && self.is_idle(flow, now))
            || numbers.is_some_and(|tcp| tcp.flags.syn() && flow.is_reused_by(sender, &tcp))
    }

    fn is_idle(&self, flow: &Flow, now: Timestamp) -> bool {
        now - flow.last_seen > self.timeouts.of(flow)
    }

    /// Opens a flow. Ends the live flow between the same endpoints, if there is one, unless it may go on.
    #[inline(never)]
    pub(super) fn open(
        &mut self,
        at: Timestamp,
        key: FlowKey,
        hash: u64,
        sender: End,
        numbers: Option<Numbers>,
    ) -> Slot {
        let established = self.end_before(at, &key, hash, sender, numbers.as_ref());
        if self.slots.len() >= self.most_flows {
            self.shed();
        }
        let established = established.filter(|established| self.is_alive(*established, hash));
        let (initiator, initiator_known) = match numbers {
            Some(tcp) if tcp.flags.syn() && tcp.flags.ack() => {
                (sender.opposite(), InitiatorKnown::SynAck)
            }
            Some(tcp) if tcp.flags.syn() => (sender, InitiatorKnown::Syn),
            _ => (sender, InitiatorKnown::FirstPacket),
        };
        let flow = Flow {
            id: self.next_id,
            key,
            initiator,
            initiator_known,
            first_seen: at,
            last_seen: at,
            continues: None,
            streams: [Stream::default(); 2],
            reset: None,
            shed: false,
            began_beside: established.is_some(),
        };
        self.next_id = FlowId(self.next_id.0.wrapping_add(1));
        let slot = if let Some(slot) = self.free.pop() {
            self.flows[slot.index()] = flow;
            slot
        } else {
            let places = u32::try_from(self.flows.len()).expect("memory ends before 2^32 flows");
            self.flows.push(flow);
            Slot(places)
        };
        let flows = &self.flows;
        self.slots.insert_unique(hash, slot, |slot| {
            crate::key::hash(&flows[slot.index()].key)
        });
        match established {
            Some(established) => self.contest(established, slot),
            None => self.recent.add(hash, slot),
        }
        slot
    }

    /// Ends the live flows between the endpoints of a new flow. Returns the flow that stays alive beside it.
    fn end_before(
        &mut self,
        at: Timestamp,
        key: &FlowKey,
        hash: u64,
        sender: End,
        numbers: Option<&Numbers>,
    ) -> Option<Slot> {
        if let Some(contest) = self.contests.of(key) {
            self.end(contest.dispensable());
        }
        let over = self.find(key, hash, sender, numbers)?;
        let flow = &self.flows[over.index()];
        let may_go_on = flow.is_established() && !self.is_idle(flow, at)
            || flow.is_reset() && at - flow.last_seen <= IN_FLIGHT;
        if may_go_on && numbers.is_some_and(|tcp| tcp.flags.syn()) {
            return Some(over);
        }
        self.end(over);
        None
    }

    /// True if the flow in `slot` has not ended; `hash` is that of its key.
    fn is_alive(&self, slot: Slot, hash: u64) -> bool {
        self.slots.find(hash, |place| *place == slot).is_some()
    }

    /// Ends the least active flows: first flows where only one end has sent, then those that have
    /// been silent longest.
    #[cold]
    fn shed(&mut self) {
        let of = |slot: &Slot| {
            let flow = &self.flows[slot.index()];
            (!flow.is_opening(), flow.last_seen, flow.id, *slot)
        };
        let mut alive: Vec<_> = self.slots.iter().map(of).collect();
        let shed = alive.len().div_ceil(SHED_PART);
        // Selection takes linear time, and only the flows to shed are sorted.
        alive.select_nth_unstable(shed - 1);
        alive.truncate(shed);
        alive.sort_unstable();
        self.flows_shed += u32::try_from(shed).unwrap_or(u32::MAX);
        for (.., slot) in alive {
            self.flows[slot.index()].shed = true;
            self.end(slot);
        }
    }

    pub(super) fn end(&mut self, slot: Slot) {
        let hash = hash(&self.flows[slot.index()].key);
        if let Ok(place) = self.slots.find_entry(hash, |place| *place == slot) {
            place.remove();
        }
        self.recent.forget(hash, slot);
        self.contests.settle(&self.flows[slot.index()].key, slot);
        self.ended.push(slot);
    }

    /// Advances the table's time to a packet captured at `at`; returns the time by which the
    /// packet's own flow is checked for its timeout.
    #[inline]
    pub(super) fn pass(&mut self, at: Timestamp) -> Timestamp {
        let before = std::mem::replace(&mut self.previous, at);
        self.tracked_since_sweep += 1;
        // Fast path: most packets come shortly after the one before.
        if before <= at
            && at - before <= INCREDIBLE_SILENCE
            && self.swept <= before
            && before - self.swept <= self.sweep_interval
        {
            return at;
        }
        self.pass_far(before, at)
    }

    #[inline(never)]
    fn pass_far(&mut self, before: Timestamp, at: Timestamp) -> Timestamp {
        // Other flows are checked by the earlier of two successive timestamps, so that a single
        // wrong one ends none.
        let certain = at.min(before);
        self.swept = self.swept.min(certain);
        // A sweep walks the whole table, so there must be enough packets since the last sweep to
        // make up for its cost. Otherwise a file whose timestamps jump back and forth is swept at
        // almost every packet.
        let is_affordable = self.tracked_since_sweep > self.len() / 4;
        if is_affordable && certain - self.swept > self.sweep_interval {
            self.sweep(certain);
        }
        if at - before > INCREDIBLE_SILENCE {
            before
        } else {
            at
        }
    }

    #[cold]
    fn sweep(&mut self, now: Timestamp) {
        self.swept = now;
        self.tracked_since_sweep = 0;
        let mut over: Vec<Slot> = self
            .slots
            .iter()
            .copied()
            .filter(|slot| self.is_idle(&self.flows[slot.index()], now))
            .collect();
        over.sort_unstable();
        for slot in over {
            self.end(slot);
        }
    }
}
