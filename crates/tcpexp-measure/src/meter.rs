//! One measurement per flow of a capture, all flows side by side.

use std::collections::VecDeque;

use rayon::prelude::*;
use tcpexp_flow::{Arrival, Datagram, Flow, FlowPacket, FlowTable, Segment, Slot, prefetch};

use crate::Packets;

/// Packets read at a time.
const CHUNK: usize = 8_192;
/// Flows are spread over so many shards, whatever the number of threads.
const SHARDS: usize = 16;

/// So many flows' states fit into a processor's cache.
const MANY_FLOWS: usize = 1_024;
/// Of more, a flow's state is asked for so many packets before it is needed.
const AHEAD: usize = 8;

/// What is measured of one flow, packet by packet.
pub trait Meter: Send {
    /// What it yields.
    type Row: Send;

    /// Takes in a TCP segment.
    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Self::Row>);

    /// Takes in a UDP datagram.
    fn datagram(&mut self, _datagram: &Datagram, _rows: &mut impl Extend<Self::Row>) {}

    /// The flow is over; `flow` is what the table knew of it in the end.
    fn end(self, flow: &Flow, rows: &mut impl Extend<Self::Row>);
}

/// What is known when all flows have been measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metered {
    /// How many flows there were.
    pub flows: u32,
}

/// Measures each flow with a meter of its own and hands the rows to `sink` as they come.
///
/// The rows come in the order of the packets that they are due to; those of a flow's end come some
/// thousand packets after it. They are the same whatever the number of threads. Reading and measuring
/// go on at the same time; memory follows the flows alive.
pub fn meter<M: Meter, E: Send>(
    packets: &mut impl Packets,
    begin: impl Fn(&Flow) -> M + Sync,
    mut sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    let mut reader = Reader {
        packets,
        table: FlowTable::default(),
        ahead: VecDeque::with_capacity(AHEAD + 1),
        is_at_end: false,
    };
    let mut shards: Vec<Shard<M>> = Vec::new();
    shards.resize_with(SHARDS, Shard::default);
    let [mut queues, mut next] = [(); 2].map(|()| new_queues());
    let mut has_next = reader.read(&mut next);
    while has_next {
        std::mem::swap(&mut queues, &mut next);
        let (is_read, rows) = rayon::join(
            || reader.read(&mut next),
            || {
                let rows = shards
                    .par_iter_mut()
                    .zip(&mut queues)
                    .map(|(shard, queue)| shard.measure(queue, &begin))
                    .collect();
                in_order(rows)
            },
        );
        sink(rows)?;
        has_next = is_read;
    }
    Ok(Metered {
        flows: reader.table.flows_seen(),
    })
}

/// The rows of all shards in the order of their packets.
fn in_order<Row>(shards: Vec<Vec<(u64, Row)>>) -> Vec<Row> {
    let mut rows: Vec<_> = shards.into_iter().flatten().collect();
    rows.sort_by_key(|(record, _)| *record);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// One shard's part of a chunk. Used again and again, so that memory is asked for only once.
#[derive(Default)]
struct Queue {
    packets: Vec<(Slot, FlowPacket)>,
    /// Flows that begin.
    began: Vec<(Slot, Flow)>,
    ended: Vec<(Slot, Flow)>,
}

fn new_queues() -> Vec<Queue> {
    let mut queues = Vec::new();
    queues.resize_with(SHARDS, Queue::default);
    queues
}

struct Reader<'a, P> {
    packets: &'a mut P,
    table: FlowTable,
    /// Packets whose flows are on their way into the cache.
    ahead: VecDeque<Arrival>,
    is_at_end: bool,
}

impl<P: Packets> Reader<'_, P> {
    /// Fills the queues with the next chunk, unless the capture is at its end.
    fn read(&mut self, queues: &mut [Queue]) -> bool {
        if self.is_at_end {
            return false;
        }
        let Self { table, ahead, .. } = self;
        let shown = self.packets.show(CHUNK, |sighted| {
            let arrival = sighted.arrival();
            if table.len() < MANY_FLOWS && ahead.is_empty() {
                place(table, arrival, queues);
                return;
            }
            table.expect(&arrival);
            ahead.push_back(arrival);
            if ahead.len() > AHEAD
                && let Some(arrival) = ahead.pop_front()
            {
                place(table, arrival, queues);
            }
        });
        for arrival in ahead.drain(..) {
            place(table, arrival, queues);
        }
        if shown < CHUNK {
            self.is_at_end = true;
            table.end_all();
        }
        table.drain_ended(|slot, flow| {
            queues[slot.index() % SHARDS].ended.push((slot, *flow));
        });
        true
    }
}

/// Puts a packet into the queue of its flow's shard.
#[inline]
fn place(table: &mut FlowTable, arrival: Arrival, queues: &mut [Queue]) {
    let (tracked, packet) = table.place(arrival);
    let queue = &mut queues[tracked.slot.index() % SHARDS];
    if tracked.is_first {
        let flow = *table.flow(tracked.slot);
        queue.began.push((tracked.slot, flow));
    }
    queue.packets.push((tracked.slot, packet));
}

/// Some of the flows that are alive.
struct Shard<M> {
    /// By slot, divided by the number of shards.
    meters: Vec<Option<M>>,
    chains: Chains,
}

impl<M> Default for Shard<M> {
    fn default() -> Self {
        Self {
            meters: Vec::new(),
            chains: Chains::default(),
        }
    }
}

impl<M: Meter> Shard<M> {
    fn measure(&mut self, queue: &mut Queue, new: &impl Fn(&Flow) -> M) -> Vec<(u64, M::Row)> {
        let mut rows = Rows {
            record: 0,
            rows: Vec::new(),
        };
        // A slot is not used again within a chunk, so its packets all belong to what begins there.
        for (slot, flow) in queue.began.drain(..) {
            self.begin(slot, new(&flow));
        }
        self.chains.link(&queue.packets, self.meters.len());
        for (turn, &first) in self.chains.firsts.iter().enumerate() {
            let place_of = |first: u32| queue.packets[first as usize].0.index() / SHARDS;
            if let Some(next) = self.chains.firsts.get(turn + 1) {
                prefetch(&self.meters[place_of(*next)]);
            }
            let Some(meter) = &mut self.meters[place_of(first)] else {
                continue;
            };
            let mut index = first;
            while let Some((_, packet)) = queue.packets.get(index as usize) {
                rows.record = packet.seen().record;
                match packet {
                    FlowPacket::Tcp(segment) => meter.segment(segment, &mut rows),
                    FlowPacket::Udp(datagram) => meter.datagram(datagram, &mut rows),
                }
                index = self.chains.next[index as usize];
            }
        }
        queue.packets.clear();
        rows.record = u64::MAX;
        for (slot, flow) in queue.ended.drain(..) {
            let meter = self.meters.get_mut(slot.index() / SHARDS);
            if let Some(meter) = meter.and_then(Option::take) {
                meter.end(&flow, &mut rows);
            }
        }
        rows.rows
    }

    fn begin(&mut self, slot: Slot, meter: M) {
        let place = slot.index() / SHARDS;
        if self.meters.len() <= place {
            self.meters.resize_with(place + 1, || None);
        }
        self.meters[place] = Some(meter);
    }
}

/// The packets of each flow of one queue, as chains: measured flow by flow, a chunk brings each
/// flow's state into the cache once.
#[derive(Default)]
struct Chains {
    /// The first packet of each flow.
    firsts: Vec<u32>,
    /// By packet, the next one of its flow, or [`END`].
    next: Vec<u32>,
    /// By place of a flow, its latest packet, or [`END`].
    lasts: Vec<u32>,
}

/// No packet.
const END: u32 = u32::MAX;

impl Chains {
    fn link(&mut self, packets: &[(Slot, FlowPacket)], places: usize) {
        self.firsts.clear();
        self.next.clear();
        self.lasts.resize(places, END);
        for (index, (slot, _)) in (0..).zip(packets) {
            let last = std::mem::replace(&mut self.lasts[slot.index() / SHARDS], index);
            match self.next.get_mut(last as usize) {
                Some(next) => *next = index,
                None => self.firsts.push(index),
            }
            self.next.push(END);
        }
        for &first in &self.firsts {
            self.lasts[packets[first as usize].0.index() / SHARDS] = END;
        }
    }
}

/// Rows, each with the packet that it is due to.
struct Rows<Row> {
    record: u64,
    rows: Vec<(u64, Row)>,
}

impl<Row> Extend<Row> for Rows<Row> {
    fn extend<I: IntoIterator<Item = Row>>(&mut self, rows: I) {
        self.rows
            .extend(rows.into_iter().map(|row| (self.record, row)));
    }
}
