//! Chunks of a capture: some thousand packets, grouped by flow.

use tcpexp_flow::{Arrival, Flow, FlowPacket, FlowTable, Slot};
use tcpexp_units::prefetch;

use crate::crew::run_ring;
use crate::metered::Metered;
use crate::ring::{Stage, UntilError};
use tcpexp_flow::Packets;

/// Number of shards that flows are spread over, independent of the number of threads.
pub(crate) const SHARDS: usize = 16;
/// Number of packets per chunk.
const CHUNK: usize = 4_096;
/// Number of flow ends reported per chunk at the end of a capture, which may have a million live
/// flows: the state of this many flows fits into a core's cache.
const ENDED_TOGETHER: usize = 512;
/// Number of flows whose state fits into a core's cache.
pub(crate) const MANY_FLOWS: usize = 1_024;
/// Prefetch distance in packets once flow state outgrows the cache.
pub(crate) const AHEAD: usize = 16;
/// Index of no packet.
const END: u32 = u32::MAX;

/// Packets in capture order, linked into one chain per flow: processed flow by flow, a chunk loads
/// each flow's state into the cache once.
///
/// Reused, so it allocates only once.
#[derive(Default)]
pub(crate) struct Chunk {
    packets: Vec<Arrival>,
    /// Index of the next packet of the same flow, or [`END`], by packet.
    next: Vec<u32>,
    parts: [Part; SHARDS],
    /// True for the last chunk of the capture, and the chunks after it with the ends of flows.
    is_last: bool,
}

/// The part of a chunk that belongs to one shard.
#[derive(Default)]
pub(crate) struct Part {
    /// Flows that begin.
    pub(crate) began: Vec<(Slot, Flow)>,
    /// Flows with packets in the chunk, each with the index of its first packet.
    pub(crate) chains: Vec<(Slot, u32)>,
    /// Flows that have ended; their slots are reused in the next chunk at the earliest.
    pub(crate) ended: Vec<(Slot, Flow)>,
}

impl Chunk {
    /// All packets.
    pub(crate) fn arrivals(&mut self) -> &mut [Arrival] {
        &mut self.packets
    }

    /// True if no flow begins in a later chunk.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

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
            // The next packet arrives in the cache while the meter processes this packet.
            self.prefetch(index);
            Some(packet.packet())
        })
    }

    /// Prefetches a packet: a chain follows no pattern that a hardware prefetcher recognises.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
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

/// Reads a capture into chunks; the packets have no flow yet.
pub(crate) struct Arrivals<'a, P> {
    packets: &'a mut P,
    is_at_end: bool,
}

impl<'a, P: Packets> Arrivals<'a, P> {
    pub(crate) fn of(packets: &'a mut P) -> Self {
        let is_at_end = false;
        Self { packets, is_at_end }
    }

    /// Fills `chunk` with the next packets; leaves it empty at the end of the capture.
    pub(crate) fn read(&mut self, chunk: &mut Chunk) {
        chunk.clear();
        if !self.is_at_end {
            let arrived = self.packets.arrive(CHUNK, &mut chunk.packets);
            self.is_at_end = arrived < CHUNK;
        }
        chunk.is_last = self.is_at_end;
    }
}

/// Passes the packets of a capture to `take`, a chunk at a time. One thread reads while another works
/// on the chunk before.
pub(crate) fn each_chunk<E: Send>(
    packets: &mut impl Packets,
    take: impl FnMut(&mut [Arrival]) -> Result<(), E> + Send,
) -> Result<(), E> {
    // Each of the two stages keeps one thread busy.
    let threads = rayon::current_num_threads().min(2);
    let ring = |threads| {
        let arrivals = Stage::ring(threads, Arrivals::of(packets));
        arrivals.zip(Stage::ring(threads, UntilError::new(take)))
    };
    // `None` if the other thread failed.
    let run = |(arrivals, work): (Stage<Arrivals<'_, _>>, Stage<UntilError<_>>)| {
        let mut chunk = Chunk::default();
        loop {
            arrivals.turn(|arrivals| arrivals.read(&mut chunk))?;
            let taken = work.turn(|take| take.call(chunk.arrivals()))??;
            if taken.is_err() || chunk.is_last {
                return Some(taken);
            }
        }
    };
    run_ring(threads, ring, run).into_iter().flatten().collect()
}

/// Assigns the packets of chunks to flows.
#[derive(Default)]
pub(crate) struct Places {
    table: FlowTable,
    /// Index of the flow's latest packet in the chunk, or [`END`], by slot.
    latest: Vec<u32>,
    state: State,
}

/// Progress of reporting the flows of a capture.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Alive,
    /// The capture has ended, and some flow ends are not reported yet.
    Ending,
    Over,
}

impl Places {
    /// Assigns packets to the flows of `table`.
    pub(crate) fn new(table: FlowTable) -> Self {
        Self {
            table,
            ..Self::default()
        }
    }

    /// The number of flows so far.
    pub(crate) fn metered(&self) -> Metered {
        Metered::of(&self.table)
    }

    /// Assigns the packets of `chunk` to flows; returns false once everything has been reported.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk) -> bool {
        if self.state == State::Over {
            return false;
        }
        for index in 0..chunk.packets.len() {
            // With few flows, their state stays in the cache and a prefetch only costs time.
            if self.table.len() > MANY_FLOWS
                && let Some(arrival) = chunk.packets.get(index + AHEAD)
                && let Some(slot) = self.table.prefetch(arrival)
                && let Some(latest) = self.latest.get(slot.index())
            {
                prefetch(latest);
            }
            self.place(chunk, index);
        }
        // Only flows of this chunk have entries, so nothing else needs to be cleared.
        for (slot, _) in chunk.parts.iter().flat_map(|part| &part.chains) {
            self.latest[slot.index()] = END;
        }
        if chunk.is_last && self.state == State::Alive {
            self.state = State::Ending;
            self.table.end_all();
        }
        // On average, no more flows end than begin, at most one per packet. The ends of flows that
        // are shed together are spread over several chunks.
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
        // `END` is no index, so the first packet of a flow in the chunk starts its chain.
        match chunk.next.get_mut(before as usize) {
            Some(next) => *next = index,
            None => part.chains.push((slot, index)),
        }
        chunk.next.push(END);
    }
}
