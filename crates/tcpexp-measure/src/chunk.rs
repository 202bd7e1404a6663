//! Some thousand packets of a capture, each in its flow.

use tcpexp_flow::{Arrival, Flow, FlowPacket, FlowTable, Slot, prefetch};

use crate::Packets;

/// Flows are spread over so many shards, whatever the number of threads.
pub(crate) const SHARDS: usize = 16;
/// Packets read at a time.
const CHUNK: usize = 4_096;
/// A capture may end with a million flows: so many are told of at a time, and what is known of them
/// fits into a processor's cache.
const ENDED_TOGETHER: usize = 512;
/// So many flows' states fit into a processor's cache.
const MANY_FLOWS: usize = 1_024;
/// Of more, a flow's state is asked for so many packets before it is needed.
const AHEAD: usize = 16;
/// No packet.
const END: u32 = u32::MAX;

/// Packets in the order of the capture, and each flow's as a chain: measured flow by flow, a chunk
/// brings each flow's state into the cache once.
///
/// Used again and again, so that memory is asked for only once.
#[derive(Default)]
pub(crate) struct Chunk {
    packets: Vec<Arrival>,
    /// By packet, the next one of its flow, or [`END`].
    next: Vec<u32>,
    parts: [Part; SHARDS],
    /// Whether the capture ends with it.
    is_last: bool,
}

/// One shard's part of a chunk.
#[derive(Default)]
pub(crate) struct Part {
    /// Flows that begin.
    pub(crate) began: Vec<(Slot, Flow)>,
    /// Flows that have packets, each with its first one.
    pub(crate) chains: Vec<(Slot, u32)>,
    /// Flows that are over; their slots are used again in the next chunk at the earliest.
    pub(crate) ended: Vec<(Slot, Flow)>,
}

impl Chunk {
    /// The parts of all shards.
    pub(crate) fn parts(&self) -> &[Part; SHARDS] {
        &self.parts
    }

    /// A flow's packets from `first` on.
    pub(crate) fn chain(&self, first: u32) -> impl Iterator<Item = &FlowPacket> {
        let mut index = first;
        std::iter::from_fn(move || {
            let packet = self.packets.get(index as usize)?;
            index = self.next[index as usize];
            self.expect(index);
            Some(packet.packet())
        })
    }

    /// Asks for a packet: the next one of a flow is where no processor would look for it.
    #[inline]
    pub(crate) fn expect(&self, index: u32) {
        if let Some(packet) = self.packets.get(index as usize) {
            prefetch(packet.packet());
        }
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.next.clear();
        for part in &mut self.parts {
            part.began.clear();
            part.chains.clear();
            part.ended.clear();
        }
    }
}

/// One capture on its way into chunks of packets that have no flow yet.
pub(crate) struct Arrivals<'a, P> {
    packets: &'a mut P,
    is_at_end: bool,
}

impl<'a, P: Packets> Arrivals<'a, P> {
    pub(crate) fn of(packets: &'a mut P) -> Self {
        let is_at_end = false;
        Self { packets, is_at_end }
    }

    /// Fills `chunk` with what comes next; with nothing once the capture is at its end.
    pub(crate) fn read(&mut self, chunk: &mut Chunk) {
        chunk.clear();
        if !self.is_at_end {
            let shown = self
                .packets
                .show(CHUNK, |sighted| sighted.arrive(&mut chunk.packets));
            self.is_at_end = shown < CHUNK;
        }
        chunk.is_last = self.is_at_end;
    }
}

/// The flows of the capture that a chunk's packets get their places in.
#[derive(Default)]
pub(crate) struct Places {
    table: FlowTable,
    /// By slot, the flow's latest packet in the chunk, or [`END`].
    latest: Vec<u32>,
    state: State,
}

/// How far a capture's flows have been told of.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Alive,
    /// The capture is at its end, but not all flows have been told to be over.
    Ending,
    Over,
}

impl Places {
    /// How many flows there have been.
    pub(crate) fn flows_seen(&self) -> u32 {
        self.table.flows_seen()
    }

    /// Gives the packets of `chunk` their places; tells whether there was anything to tell.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk) -> bool {
        if self.state == State::Over {
            return false;
        }
        for index in 0..chunk.packets.len() {
            if self.table.len() > MANY_FLOWS
                && let Some(arrival) = chunk.packets.get(index + AHEAD)
                && let Some(slot) = self.table.expect(arrival)
                && let Some(latest) = self.latest.get(slot.index())
            {
                prefetch(latest);
            }
            self.place(chunk, index);
        }
        for (slot, _) in chunk.parts.iter().flat_map(|part| &part.chains) {
            self.latest[slot.index()] = END;
        }
        if chunk.is_last && self.state == State::Alive {
            self.state = State::Ending;
            self.table.end_all();
        }
        // While it goes on, no more can end than have begun: one for each packet.
        let most = match self.state {
            State::Alive => CHUNK,
            State::Ending | State::Over => ENDED_TOGETHER,
        };
        let has_more = self.table.drain_some(most, |slot, flow| {
            chunk.parts[slot.index() % SHARDS].ended.push((slot, *flow));
        });
        if self.state == State::Ending && !has_more {
            self.state = State::Over;
        }
        true
    }

    #[inline]
    fn place(&mut self, chunk: &mut Chunk, index: usize) {
        let tracked = self.table.place(&mut chunk.packets[index]);
        let slot = tracked.slot;
        let part = &mut chunk.parts[slot.index() % SHARDS];
        if tracked.is_first {
            part.began.push((slot, *self.table.flow(slot)));
        }
        if self.latest.len() <= slot.index() {
            self.latest.resize(slot.index() + 1, END);
        }
        let index = u32::try_from(index).expect("a chunk is some thousand packets");
        let before = std::mem::replace(&mut self.latest[slot.index()], index);
        match chunk.next.get_mut(before as usize) {
            Some(next) => *next = index,
            None => part.chains.push((slot, index)),
        }
        chunk.next.push(END);
    }
}

/// Asks for what a flow's state is kept in.
#[inline]
pub(crate) fn expect<T>(states: &[T], slot: Slot) {
    if states.len() > MANY_FLOWS / SHARDS
        && let Some(state) = states.get(slot.index() / SHARDS)
    {
        prefetch(state);
    }
}
