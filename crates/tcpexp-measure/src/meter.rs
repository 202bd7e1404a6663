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
                        let rows = shards
                            .par_iter_mut()
                            .zip(measured.parts())
                            .map(|(shard, part)| shard.measure(&measured, part, &begin))
                            .collect();
                        in_order(rows)
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

/// The rows of all shards in the order of their packets.
///
/// Rows are large, so their records are sorted and each row is moved once.
fn in_order<Row>(shards: Vec<Yield<Row>>) -> Vec<Row> {
    let mut order = Vec::new();
    let mut rows = Vec::new();
    for mut shard in shards {
        order.extend(
            (rows.len()..)
                .zip(shard.records)
                .map(|(place, record)| (record, place)),
        );
        rows.append(&mut shard.rows);
    }
    order.sort_unstable();
    let mut take = |(_, place): (u64, usize)| rows[place].take();
    order.into_iter().filter_map(&mut take).collect()
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
    fn measure(&mut self, chunk: &Chunk, part: &Part, new: &impl Fn(&Flow) -> M) -> Yield<M::Row> {
        let mut rows = Yield {
            record: 0,
            records: Vec::new(),
            rows: Vec::new(),
        };
        // A slot is not used again within a chunk, so its packets all belong to what begins there.
        for (slot, flow) in &part.began {
            self.begin(*slot, new(flow));
        }
        for (turn, (slot, first)) in part.chains.iter().enumerate() {
            if let Some((slot, _)) = part.chains.get(turn + FLOWS_AHEAD) {
                expect(&self.meters, *slot);
            }
            let Some(Some(meter)) = self.meters.get_mut(slot.index() / SHARDS) else {
                continue;
            };
            for packet in chunk.chain(*first) {
                rows.record = packet.seen().record;
                match packet {
                    FlowPacket::Tcp(segment) => meter.segment(segment, &mut rows),
                    FlowPacket::Udp(datagram) => meter.datagram(datagram, &mut rows),
                }
            }
        }
        rows.record = u64::MAX;
        for (slot, flow) in &part.ended {
            let meter = self.meters.get_mut(slot.index() / SHARDS);
            if let Some(meter) = meter.and_then(Option::take) {
                meter.end(flow, &mut rows);
            }
        }
        rows
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
struct Yield<Row> {
    /// The packet that rows are due to now.
    record: u64,
    records: Vec<u64>,
    /// All of them are there until they are put in order.
    rows: Vec<Option<Row>>,
}

impl<Row> Extend<Row> for Yield<Row> {
    fn extend<I: IntoIterator<Item = Row>>(&mut self, rows: I) {
        for row in rows {
            self.records.push(self.record);
            self.rows.push(Some(row));
        }
    }
}
