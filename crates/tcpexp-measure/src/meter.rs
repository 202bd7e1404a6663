//! One measurement per flow of a capture, all flows in one pass.

mod meters;

use tcpexp_flow::{Arrival, Datagram, Flow, FlowPacket, Segment, Slot};

use crate::chunk::{Arrivals, Chunk, Part, Places, SHARDS};
use crate::crew::run_ring;
use crate::metered::Metered;
use crate::ring::{Stage, UntilError};
use meters::Meters;
use tcpexp_flow::Packets;
use tcpexp_units::prefetch;

/// Maximum number of threads per capture: reading the file is sequential, so more threads would
/// wait for it.
const MAX_THREADS: usize = 8;
/// Number of shards passed between threads as one stage.
const SHARDS_TOGETHER: usize = 4;
/// Prefetch distance for meters, in flows.
const FLOWS_AHEAD: usize = 3;

/// Measures one flow, packet by packet.
pub trait Meter: Send {
    /// The type of its results.
    type Row: Send;

    /// Processes a TCP segment.
    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Self::Row>);

    /// Processes a packet that is not TCP.
    fn datagram(&mut self, _datagram: &Datagram, _rows: &mut impl Extend<Self::Row>) {}

    /// Prefetches heap data: a packet of the flow follows soon.
    fn prefetch(&self) {}

    /// Ends the flow; `flow` is its final state in the flow table.
    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>);
}

/// An optional measurement.
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

    fn prefetch(&self) {
        if let Some(meter) = self {
            meter.prefetch();
        }
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
        if let Some(meter) = self {
            meter.end(flow, rows);
        }
    }
}

/// A measurement in a box: an optional one then takes no memory where there is none.
impl<M: Meter> Meter for Box<M> {
    type Row = M::Row;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Self::Row>) {
        (**self).segment(segment, rows);
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<Self::Row>) {
        (**self).datagram(datagram, rows);
    }

    fn prefetch(&self) {
        prefetch(&**self);
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
        (**self).end(flow, rows);
    }
}

/// Measures each flow with its own meter and passes the rows to `sink`.
///
/// Rows are ordered by the packet that caused them; rows of a flow's end follow up to some thousand
/// packets later. The number of threads does not change the rows. Memory grows with the number of
/// live flows.
pub fn meter<M: Meter, E: Send>(
    packets: &mut impl Packets,
    begin: impl Fn(&Flow) -> M + Sync,
    sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    run(packets, None::<fn(&mut [Arrival])>, begin, sink)
}

/// [`meter`], with a second measurement of all packets in the same pass: `listen` receives them some
/// thousand at a time, in the order of the capture. It may assign them to flows of its own.
pub fn meter_along_with<M: Meter, E: Send>(
    packets: &mut impl Packets,
    listen: impl FnMut(&mut [Arrival]) + Send,
    begin: impl Fn(&Flow) -> M + Sync,
    sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    run(packets, Some(listen), begin, sink)
}

fn run<M: Meter, E: Send>(
    packets: &mut impl Packets,
    listen: Option<impl FnMut(&mut [Arrival]) + Send>,
    begin: impl Fn(&Flow) -> M + Sync,
    sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    let threads = rayon::current_num_threads().min(MAX_THREADS);
    let ring = |threads| Worker::ring(threads, packets, listen, sink);
    let ends = run_ring(threads, ring, |worker| worker.run(&begin));
    let ends: Result<Vec<_>, E> = ends.into_iter().flatten().collect();
    Ok(ends?.pop().unwrap_or_default())
}

/// One thread's share of the work: every n-th chunk, from the capture to the rows.
///
/// The chunks pass each stage in the order of the capture. A thread's chunk stays in its core's
/// cache; the state of the flows moves between threads.
struct Worker<'a, P, L, M, F> {
    arrivals: Stage<Arrivals<'a, P>>,
    /// `None` without a listener: a stage costs a wait for each chunk.
    listener: Option<Stage<L>>,
    places: Stage<Places>,
    shards: Vec<Stage<[Shard<M>; SHARDS_TOGETHER]>>,
    sink: Stage<UntilError<F>>,
}

impl<'a, P, L, M, F, E> Worker<'a, P, L, M, F>
where
    P: Packets,
    L: FnMut(&mut [Arrival]),
    M: Meter,
    F: FnMut(Vec<M::Row>) -> Result<(), E>,
{
    fn ring(threads: usize, packets: &'a mut P, listen: Option<L>, sink: F) -> Vec<Self> {
        let mut shards = [(); SHARDS / SHARDS_TOGETHER]
            .map(|()| Stage::ring(threads, [(); SHARDS_TOGETHER].map(|()| Shard::default())));
        let places = Stage::ring(threads, Places::new(packets.table()));
        let arrivals = Stage::ring(threads, Arrivals::of(packets));
        let mut listeners = listen.map(|listen| Stage::ring(threads, listen));
        let sink = Stage::ring(threads, UntilError::new(sink));
        arrivals
            .zip(places)
            .zip(sink)
            .map(|((arrivals, places), sink)| Self {
                arrivals,
                listener: listeners.as_mut().and_then(Iterator::next),
                places,
                shards: shards.iter_mut().filter_map(Iterator::next).collect(),
                sink,
            })
            .collect()
    }

    /// Runs to the end of the capture; `None` if another thread failed.
    fn run(self, begin: &impl Fn(&Flow) -> M) -> Option<Result<Metered, E>> {
        let mut chunk = Chunk::default();
        let mut rows = Yield::default();
        loop {
            self.arrivals.turn(|arrivals| arrivals.read(&mut chunk))?;
            if let Some(listener) = &self.listener {
                listener.turn(|listen| listen(chunk.arrivals()))?;
            }
            let (is_placed, metered) = self
                .places
                .turn(|places| (places.fill(&mut chunk), places.metered()))?;
            if !is_placed {
                return Some(Ok(metered));
            }
            let parts = chunk.parts().chunks(SHARDS_TOGETHER);
            for (stage, parts) in self.shards.iter().zip(parts) {
                stage.turn(|shards| {
                    for (shard, part) in shards.iter_mut().zip(parts) {
                        shard.measure(&chunk, part, begin, &mut rows);
                    }
                })?;
            }
            // Sort before the turn of the sink, in parallel with the other threads.
            let rows = rows.in_order();
            // An earlier error of the sink ends this thread like a lost stage.
            if let Err(error) = self.sink.turn(|sink| sink.call(rows))?? {
                return Some(Err(error));
            }
        }
    }
}

/// A share of the live flows.
struct Shard<M> {
    meters: Meters<M>,
}

impl<M> Default for Shard<M> {
    fn default() -> Self {
        let meters = Meters::default();
        Self { meters }
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
        // A slot is reused in the next chunk at the earliest, so all its packets belong to the new flow.
        for (slot, flow) in &part.began {
            self.meters.begin(*slot, new(flow));
        }
        let Self { meters } = self;
        for (turn, (slot, first)) in part.chains.iter().enumerate() {
            prefetch_ahead(meters, &part.chains, turn);
            if let Some((_, first)) = part.chains.get(turn + FLOWS_AHEAD) {
                chunk.prefetch(*first);
            }
            let Some(meter) = meters.get_mut(*slot) else {
                continue;
            };
            for packet in chunk.chain(*first) {
                rows.place = packet.seen().place();
                match packet {
                    FlowPacket::Tcp(segment) => meter.segment(segment, rows),
                    FlowPacket::Datagram(datagram) => meter.datagram(datagram, rows),
                }
            }
        }
        // Rows of the ends of flows follow all other rows of the chunk.
        rows.place = u64::MAX;
        for (turn, (slot, flow)) in part.ended.iter().enumerate() {
            prefetch_ahead(meters, &part.ended, turn);
            if let Some(meter) = meters.get_mut(*slot) {
                meter.end(flow, rows);
            }
            meters.end(*slot, chunk.is_last());
        }
    }
}

/// Prefetches the next meters.
#[inline]
fn prefetch_ahead<M: Meter, T>(meters: &Meters<M>, list: &[(Slot, T)], turn: usize) {
    if let Some((slot, _)) = list.get(turn + FLOWS_AHEAD) {
        meters.prefetch(*slot);
    }
    // The heap of a meter can be prefetched only once the meter itself is in the cache.
    if let Some((slot, _)) = list.get(turn + 1) {
        meters.prefetch_heap(*slot);
    }
}

/// A chunk allocates memory for the rows of the chunk before and for 1/8 more. Without the spare
/// memory, every second chunk outgrew its memory and moved all its rows.
const SPARE: usize = 8;

/// Rows with the packets that caused them. Reused for every chunk, so it allocates only once.
struct Yield<Row> {
    /// Place of the current packet in the order of the pass: the record numbers of a capture may be
    /// out of time order.
    place: u64,
    places: Vec<u64>,
    rows: Vec<Row>,
}

impl<Row> Default for Yield<Row> {
    fn default() -> Self {
        Self {
            place: 0,
            places: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl<Row> Yield<Row> {
    /// Takes the rows out, ordered by packet.
    ///
    /// Rows are large, so this sorts indices and moves each row at most once.
    fn in_order(&mut self) -> Vec<Row> {
        // The next chunk yields about as many rows.
        let room = self.rows.len() + self.rows.len() / SPARE;
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(room));
        let places = self.places.drain(..);
        if places.as_slice().is_sorted() {
            return rows;
        }
        let mut order: Vec<(u64, usize)> = places.zip(0..).collect();
        order.sort_unstable();
        let mut in_order = Vec::with_capacity(rows.len());
        let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
        let take = |(_, row): (u64, usize)| rows[row].take();
        in_order.extend(order.into_iter().filter_map(take));
        in_order
    }
}

impl<Row> Extend<Row> for Yield<Row> {
    fn extend<I: IntoIterator<Item = Row>>(&mut self, rows: I) {
        self.rows.extend(rows);
        self.places.resize(self.rows.len(), self.place);
    }
}
