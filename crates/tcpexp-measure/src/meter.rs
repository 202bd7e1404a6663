//! One measurement per flow of a capture, all flows side by side.

use rayon::prelude::*;
use tcpexp_flow::{Datagram, Flow, FlowPacket, Segment, Slot};

use crate::Packets;
use crate::chunk::{Arrivals, Chunk, Part, Places, SHARDS, expect};

/// So many flows ahead a meter is asked for.
const FLOWS_AHEAD: usize = 3;

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

/// A measurement that may be left out.
impl<M: Meter> Meter for Option<M> {
    type Row = M::Row;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Self::Row>) {
        if let Some(meter) = self {
            meter.segment(segment, rows);
        }
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<Self::Row>) {
        if let Some(meter) = self {
            meter.datagram(datagram, rows);
        }
    }

    fn end(self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
        if let Some(meter) = self {
            meter.end(flow, rows);
        }
    }
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
/// thousand packets after it. They are the same whatever the number of threads. Memory follows the
/// flows alive.
pub fn meter<M: Meter, E: Send>(
    packets: &mut impl Packets,
    begin: impl Fn(&Flow) -> M + Sync,
    mut sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    let mut arrivals = Arrivals::of(packets);
    let mut flows = Places::default();
    let mut shards: Vec<Shard<M>> = Vec::new();
    shards.resize_with(SHARDS, Shard::default);
    // Three chunks are under way at a time: one is read, one is spread over the flows, and one is
    // measured.
    let [mut read, mut placed, mut measured] = [(); 3].map(|()| Chunk::default());
    arrivals.read(&mut placed);
    loop {
        let (is_placed, ((), rows)) = rayon::join(
            || flows.fill(&mut placed),
            || {
                rayon::join(
                    || arrivals.read(&mut read),
                    || {
                        shards
                            .par_iter_mut()
                            .zip(measured.parts())
                            .for_each(|(shard, part)| shard.measure(&measured, part, &begin));
                        in_order(&mut shards)
                    },
                )
            },
        );
        sink(rows)?;
        if !is_placed {
            break;
        }
        std::mem::swap(&mut measured, &mut placed);
        std::mem::swap(&mut placed, &mut read);
    }
    Ok(Metered {
        flows: flows.flows_seen(),
    })
}

/// Takes the rows of all shards in the order of their packets.
///
/// Rows are large, so their places are sorted and each row is moved once.
fn in_order<M: Meter>(shards: &mut [Shard<M>]) -> Vec<M::Row> {
    let mut order = Vec::new();
    for (number, shard) in shards.iter().enumerate() {
        let records = shard.rows.records.iter().enumerate();
        order.extend(records.map(|(place, record)| (*record, number, place)));
    }
    order.sort_unstable();
    let mut rows = Vec::with_capacity(order.len());
    for (_, number, place) in order {
        rows.extend(shards[number].rows.rows[place].take());
    }
    for shard in shards {
        shard.rows.clear();
    }
    rows
}

/// Some of the flows that are alive.
struct Shard<M: Meter> {
    /// By slot, divided by the number of shards.
    meters: Vec<Option<M>>,
    /// What the chunk at hand yields.
    rows: Yield<M::Row>,
}

impl<M: Meter> Default for Shard<M> {
    fn default() -> Self {
        Self {
            meters: Vec::new(),
            rows: Yield {
                record: 0,
                records: Vec::new(),
                rows: Vec::new(),
            },
        }
    }
}

impl<M: Meter> Shard<M> {
    fn measure(&mut self, chunk: &Chunk, part: &Part, new: &impl Fn(&Flow) -> M) {
        // A slot is not used again within a chunk, so its packets all belong to what begins there.
        for (slot, flow) in &part.began {
            self.begin(*slot, new(flow));
        }
        let Self { meters, rows } = self;
        for (turn, (slot, first)) in part.chains.iter().enumerate() {
            if let Some((slot, first)) = part.chains.get(turn + FLOWS_AHEAD) {
                expect(meters, *slot);
                chunk.expect(*first);
            }
            let Some(Some(meter)) = meters.get_mut(slot.index() / SHARDS) else {
                continue;
            };
            for packet in chunk.chain(*first) {
                rows.record = packet.seen().record;
                match packet {
                    FlowPacket::Tcp(segment) => meter.segment(segment, rows),
                    FlowPacket::Udp(datagram) => meter.datagram(datagram, rows),
                }
            }
        }
        rows.record = u64::MAX;
        for (slot, flow) in &part.ended {
            let meter = meters.get_mut(slot.index() / SHARDS);
            if let Some(meter) = meter.and_then(Option::take) {
                meter.end(flow, rows);
            }
        }
    }

    fn begin(&mut self, slot: Slot, meter: M) {
        let place = slot.index() / SHARDS;
        if self.meters.len() <= place {
            self.meters.resize_with(place + 1, || None);
        }
        self.meters[place] = Some(meter);
    }
}

/// Rows, each with the packet that it is due to; used again, so that memory is asked for only once.
struct Yield<Row> {
    /// The packet that rows are due to now.
    record: u64,
    records: Vec<u64>,
    /// All of them are there until they are put in order.
    rows: Vec<Option<Row>>,
}

impl<Row> Yield<Row> {
    fn clear(&mut self) {
        self.records.clear();
        self.rows.clear();
    }
}

impl<Row> Extend<Row> for Yield<Row> {
    fn extend<I: IntoIterator<Item = Row>>(&mut self, rows: I) {
        for row in rows {
            self.records.push(self.record);
            self.rows.push(Some(row));
        }
    }
}
