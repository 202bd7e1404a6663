//! One measurement per flow of a capture, all flows side by side.

use std::panic::resume_unwind;
use std::thread;

use tcpexp_flow::{Datagram, Flow, FlowPacket, Segment, Slot};

use crate::Packets;
use crate::chunk::{Arrivals, Chunk, Part, Places, SHARDS, expect};
use crate::ring::Stage;

/// Reading takes a part of all work that is not small, so more threads would wait for it.
const MOST_THREADS: usize = 8;
/// So many shards are handed from thread to thread together.
const SHARDS_TOGETHER: usize = 4;
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

    /// A packet of its flow will soon be taken in: asks for what is kept apart from it.
    fn expect(&self) {}

    /// The flow is over; `flow` is what the table knew of it in the end.
    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>);
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

    fn expect(&self) {
        if let Some(meter) = self {
            meter.expect();
        }
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
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
    sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    let threads = rayon::current_num_threads().min(MOST_THREADS);
    let mut workers = Worker::ring(threads, packets, sink);
    let own = workers.pop();
    thread::scope(|scope| {
        let begin = &begin;
        let others: Vec<_> = workers
            .into_iter()
            .map(|worker| scope.spawn(move || worker.run(begin)))
            .collect();
        let own = own.and_then(|worker| worker.run(begin));
        let others = others
            .into_iter()
            .filter_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let ends: Result<Vec<_>, E> = own.into_iter().chain(others).collect();
        Ok(ends?.pop().unwrap_or_default())
    })
}

/// One thread's part of the work: every so many chunks, one is its own from the capture to the rows.
///
/// The chunks go through each stage in the order of the capture. A thread keeps its chunk in its
/// own processor's cache; what goes round is what the flows' packets have in common.
struct Worker<'a, P, M, F> {
    arrivals: Stage<Arrivals<'a, P>>,
    places: Stage<Places>,
    shards: Vec<Stage<[Shard<M>; SHARDS_TOGETHER]>>,
    sink: Stage<Sink<F>>,
}

impl<'a, P, M, F, E> Worker<'a, P, M, F>
where
    P: Packets,
    M: Meter,
    F: FnMut(Vec<M::Row>) -> Result<(), E>,
{
    fn ring(threads: usize, packets: &'a mut P, sink: F) -> Vec<Self> {
        let mut shards = [(); SHARDS / SHARDS_TOGETHER]
            .map(|()| Stage::ring(threads, [(); SHARDS_TOGETHER].map(|()| Shard::default())));
        let arrivals = Stage::ring(threads, Arrivals::of(packets));
        let places = Stage::ring(threads, Places::default());
        let sink = Stage::ring(threads, Sink { sink: Some(sink) });
        arrivals
            .zip(places)
            .zip(sink)
            .map(|((arrivals, places), sink)| Self {
                arrivals,
                places,
                shards: shards.iter_mut().filter_map(Iterator::next).collect(),
                sink,
            })
            .collect()
    }

    /// Works until the capture is at its end, or until another thread has failed, which gives
    /// `None`.
    fn run(self, begin: &impl Fn(&Flow) -> M) -> Option<Result<Metered, E>> {
        let mut chunk = Chunk::default();
        let mut rows = Yield::default();
        loop {
            self.arrivals.turn(|arrivals| arrivals.read(&mut chunk))?;
            let (is_placed, flows) = self
                .places
                .turn(|places| (places.fill(&mut chunk), places.flows_seen()))?;
            if !is_placed {
                return Some(Ok(Metered { flows }));
            }
            let parts = chunk.parts().chunks(SHARDS_TOGETHER);
            for (stage, parts) in self.shards.iter().zip(parts) {
                stage.turn(|shards| {
                    for (shard, part) in shards.iter_mut().zip(parts) {
                        shard.measure(&chunk, part, begin, &mut rows);
                    }
                })?;
            }
            let rows = rows.in_order();
            if let Err(error) = self.sink.turn(|sink| sink.take(rows))?? {
                return Some(Err(error));
            }
        }
    }
}

/// Where the rows go.
struct Sink<F> {
    /// None once it has failed.
    sink: Option<F>,
}

impl<F> Sink<F> {
    /// Hands rows on; `None` if that has failed before.
    fn take<Row, E>(&mut self, rows: Vec<Row>) -> Option<Result<(), E>>
    where
        F: FnMut(Vec<Row>) -> Result<(), E>,
    {
        let taken = self.sink.as_mut()?(rows);
        if taken.is_err() {
            self.sink = None;
        }
        Some(taken)
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
    fn measure(
        &mut self,
        chunk: &Chunk,
        part: &Part,
        new: &impl Fn(&Flow) -> M,
        rows: &mut Yield<M::Row>,
    ) {
        // A slot is not used again within a chunk, so its packets all belong to what begins there.
        for (slot, flow) in &part.began {
            self.begin(*slot, new(flow));
        }
        let Self { meters } = self;
        for (turn, (slot, first)) in part.chains.iter().enumerate() {
            expect_ahead(meters, &part.chains, turn);
            if let Some((_, first)) = part.chains.get(turn + FLOWS_AHEAD) {
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
        for (turn, (slot, flow)) in part.ended.iter().enumerate() {
            expect_ahead(meters, &part.ended, turn);
            if let Some(place) = meters.get_mut(slot.index() / SHARDS) {
                if let Some(meter) = place {
                    meter.end(flow, rows);
                }
                *place = None;
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

/// Asks for the meters whose turn comes soon.
#[inline]
fn expect_ahead<M: Meter, T>(meters: &[Option<M>], list: &[(Slot, T)], turn: usize) {
    if let Some((slot, _)) = list.get(turn + FLOWS_AHEAD) {
        expect(meters, *slot);
    }
    if let Some((slot, _)) = list.get(turn + 1)
        && let Some(Some(meter)) = meters.get(slot.index() / SHARDS)
    {
        meter.expect();
    }
}

/// Rows, each with the packet that it is due to; used again, so that memory is asked for only once.
struct Yield<Row> {
    /// The packet that rows are due to now.
    record: u64,
    records: Vec<u64>,
    rows: Vec<Row>,
}

impl<Row> Default for Yield<Row> {
    fn default() -> Self {
        Self {
            record: 0,
            records: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl<Row> Yield<Row> {
    /// Takes the rows out, in the order of their packets.
    ///
    /// Rows are large, so their places are sorted and each row is moved at most once.
    fn in_order(&mut self) -> Vec<Row> {
        // The next chunk brings about as many.
        let next = Vec::with_capacity(self.rows.len());
        let rows = std::mem::replace(&mut self.rows, next);
        let records = self.records.drain(..);
        if records.as_slice().is_sorted() {
            return rows;
        }
        let mut order: Vec<(u64, usize)> = records.zip(0..).collect();
        order.sort_unstable();
        let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
        let take = |(_, place): (u64, usize)| rows[place].take();
        order.into_iter().filter_map(take).collect()
    }
}

impl<Row> Extend<Row> for Yield<Row> {
    fn extend<I: IntoIterator<Item = Row>>(&mut self, rows: I) {
        self.rows.extend(rows);
        self.records.resize(self.rows.len(), self.record);
    }
}
