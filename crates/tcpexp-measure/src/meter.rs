//! One measurement per flow of a capture, all flows side by side.

use rayon::prelude::*;
use tcpexp_flow::{Datagram, Flow, FlowPacket, FlowTable, Segment, Slot};

use crate::Packets;

/// Packets read at a time.
const CHUNK: usize = 8_192;
/// Flows are spread over so many shards, whatever the number of threads.
const SHARDS: usize = 16;

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
    /// Flows that begin, each with the place of its first packet.
    began: Vec<(usize, Slot, Flow)>,
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
    is_at_end: bool,
}

impl<P: Packets> Reader<'_, P> {
    /// Fills the queues with the next chunk, unless the capture is at its end.
    fn read(&mut self, queues: &mut [Queue]) -> bool {
        if self.is_at_end {
            return false;
        }
        let table = &mut self.table;
        let shown = self.packets.show(CHUNK, |sighted| {
            let tracked = table.track(sighted.at, sighted.packet);
            let queue = &mut queues[tracked.slot.index() % SHARDS];
            if tracked.is_first {
                let flow = *table.flow(tracked.slot);
                queue.began.push((queue.packets.len(), tracked.slot, flow));
            }
            let packet = FlowPacket::new(
                table,
                &tracked,
                sighted.record,
                sighted.at,
                sighted.wire_bytes,
                sighted.packet,
            );
            queue.packets.push((tracked.slot, packet));
        });
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

/// Some of the flows that are alive.
struct Shard<M> {
    /// By slot, divided by the number of shards.
    meters: Vec<Option<M>>,
}

impl<M> Default for Shard<M> {
    fn default() -> Self {
        Self { meters: Vec::new() }
    }
}

impl<M: Meter> Shard<M> {
    fn measure(&mut self, queue: &mut Queue, begin: &impl Fn(&Flow) -> M) -> Vec<(u64, M::Row)> {
        let mut rows = Rows {
            record: 0,
            rows: Vec::new(),
        };
        let mut starting = queue.began.drain(..).peekable();
        for (index, (slot, packet)) in queue.packets.iter().enumerate() {
            while let Some((_, slot, flow)) = starting.next_if(|(place, ..)| *place == index) {
                self.begin(slot, begin(&flow));
            }
            let place = slot.index() / SHARDS;
            let Some(Some(meter)) = self.meters.get_mut(place) else {
                continue;
            };
            rows.record = packet.seen().record;
            match packet {
                FlowPacket::Tcp(segment) => meter.segment(segment, &mut rows),
                FlowPacket::Udp(datagram) => meter.datagram(datagram, &mut rows),
            }
        }
        rows.record = u64::MAX;
        queue.packets.clear();
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
