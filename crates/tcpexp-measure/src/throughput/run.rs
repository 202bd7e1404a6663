//! Counts packets in bins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tcpexp_flow::{Arrival, Coverage, Direction, FlowId, FlowPacket, FlowTable, Slot};
use tcpexp_units::{TimeDelta, Timestamp, prefetch};
use tcpexp_wire::is_congestion_experienced;

use super::bin::{rated, utilisation_ppm};
use super::clock::{Clock, LONGEST_SILENCE};
use super::grid::{Grid, Index, Lookup};
use super::series::{Both, Series};
use super::{
    BinWidth, Origin, ThroughputBin, ThroughputFlow, ThroughputRow, ThroughputTotals, Volume,
};
use crate::MissedData;
use crate::chunk::{AHEAD, MANY_FLOWS, each_chunk};
use tcpexp_flow::Packets;

/// Options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputOptions {
    /// Width of a bin.
    pub width: BinWidth,
    /// Start of a bin.
    pub origin: Origin,
    /// Rate of the link in bits per second, for its utilisation.
    pub link_rate_bps: Option<u64>,
    /// Maximum time by which packets are out of order in the capture.
    pub tolerance: TimeDelta,
}

impl ThroughputOptions {
    /// Bins of this width from the first packet on. Capture files of several queues or interfaces
    /// are out of order by a few milliseconds; the tolerance is ten times as much.
    pub const fn new(width: BinWidth) -> Self {
        Self {
            width,
            origin: Origin::FirstPacket,
            link_rate_bps: None,
            tolerance: TimeDelta::from_millis(50),
        }
    }
}

/// Counts packets and bytes in each bin and passes rows to `sink` as soon as they are final.
///
/// An error returned by `sink` ends the measurement.
pub fn throughput<E: Send>(
    packets: &mut impl Packets,
    options: &ThroughputOptions,
    mut sink: impl FnMut(ThroughputRow) -> Result<(), E> + Send,
) -> Result<ThroughputTotals, E> {
    let mut counter = ThroughputCounter::new(*options, packets.table());
    each_chunk(packets, |arrivals| counter.take(arrivals, &mut sink))?;
    counter.end(&mut sink)
}

/// Counts packets in a pass shared with other measurements.
pub struct ThroughputCounter {
    options: ThroughputOptions,
    table: FlowTable,
    /// Set by the first packet.
    grid: Option<Grid>,
    /// Finds the bins of packets.
    of_packets: Lookup,
    /// Finds the bins to report.
    of_reports: Lookup,
    clock: Clock,
    /// Times of the first and the last packet, as far as they are plausible.
    span: Option<(Timestamp, Timestamp)>,
    /// First bin that is not reported yet.
    closed_before: Option<Index>,
    /// Indexed by slot.
    flows: Vec<Option<FlowBins>>,
    all: Series,
    /// Non-empty bins with their flows, earliest first. The slot does not order them, because it
    /// depends on the flows that ended before.
    pending: BinaryHeap<Reverse<(Index, FlowId, Slot)>>,
    totals: ThroughputTotals,
}

/// Counters of one flow.
struct FlowBins {
    flow: FlowId,
    series: Series,
    coverage: [Coverage; 2],
    volumes: [Volume; 2],
}

impl ThroughputCounter {
    /// Creates an empty counter that assigns packets to the flows of `table`.
    pub fn new(options: ThroughputOptions, table: FlowTable) -> Self {
        Self {
            options,
            table,
            grid: None,
            of_packets: Lookup::default(),
            of_reports: Lookup::default(),
            clock: Clock::default(),
            span: None,
            closed_before: None,
            flows: Vec::new(),
            all: Series::default(),
            pending: BinaryHeap::new(),
            totals: ThroughputTotals::default(),
        }
    }

    /// Counts the next packets of the capture, assigns them to flows, and passes the rows that became
    /// final to `sink`.
    pub fn take<E>(
        &mut self,
        arrivals: &mut [Arrival],
        sink: &mut impl FnMut(ThroughputRow) -> Result<(), E>,
    ) -> Result<(), E> {
        for place in 0..arrivals.len() {
            if self.table.len() > MANY_FLOWS
                && let Some(later) = arrivals.get(place + AHEAD)
                && let Some(slot) = self.table.prefetch(later)
                && let Some(bins) = self.flows.get(slot.index())
            {
                prefetch(bins);
            }
            self.count(&mut arrivals[place], sink)?;
        }
        Ok(())
    }

    #[inline]
    fn count<E>(
        &mut self,
        arrival: &mut Arrival,
        sink: &mut impl FnMut(ThroughputRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let tracked = self.table.place(arrival);
        let packet = arrival.packet();
        let at = packet.seen().at;
        let grid = *self.grid.get_or_insert_with(|| match self.options.origin {
            Origin::FirstPacket => Grid::new(self.options.width, at),
            Origin::At(origin) => Grid::new(self.options.width, origin),
        });
        // The last row of an ended flow comes before the first row of the flow that replaces it.
        if self.table.has_ended() {
            self.end_flows(grid, sink)?;
        }
        let slot = tracked.slot;
        if tracked.is_first {
            self.begin(slot, sink)?;
        }
        let is_believed = self.clock.pass(at);
        if is_believed {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        if let Some(certain) = self.clock.certain() {
            let reached = certain - self.options.tolerance;
            let bound = self.of_reports.index(&grid, reached);
            if self.closed_before.is_none_or(|closed| closed < bound) {
                self.close(bound, grid, sink)?;
            }
        }
        let Some(Some(bins)) = self.flows.get_mut(slot.index()) else {
            return Ok(());
        };
        let direction = tracked.direction;
        let volume = bins.volume(packet);
        bins.volumes[direction.index()] += volume;
        let index = self.of_packets.index(&grid, at);
        if !is_believed || self.closed_before.is_some_and(|closed| index < closed) {
            self.totals.late += volume;
            return Ok(());
        }
        self.totals.binned += volume;
        // The heap names the flows with open bins; a scan of all live flows would cost more per
        // bin.
        if bins.series.add(index, direction, volume) {
            self.pending.push(Reverse((index, bins.flow, slot)));
        }
        self.all.add(index, direction, volume);
        Ok(())
    }

    fn begin<E>(
        &mut self,
        slot: Slot,
        sink: &mut impl FnMut(ThroughputRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let flow = self.table.flow(slot);
        if self.flows.len() <= slot.index() {
            self.flows.resize_with(slot.index() + 1, || None);
        }
        self.flows[slot.index()] = Some(FlowBins {
            flow: flow.id,
            series: Series::default(),
            coverage: Default::default(),
            volumes: [Volume::default(); 2],
        });
        sink(ThroughputRow::Began(*flow))
    }

    /// Reports the bins before `bound`, bins of flows first.
    #[cold]
    fn close<E>(
        &mut self,
        bound: Index,
        grid: Grid,
        sink: &mut impl FnMut(ThroughputRow) -> Result<(), E>,
    ) -> Result<(), E> {
        self.closed_before = Some(bound);
        let mut rows = Rows::new(grid, self.span, &self.options, sink);
        while let Some(Reverse((index, _, slot))) = self.pending.peek().copied() {
            if index >= bound {
                break;
            }
            self.pending.pop();
            // The slot may be empty or reused by now: closing the new flow's series early is harmless.
            if let Some(Some(bins)) = self.flows.get_mut(slot.index()) {
                rows.close(&mut bins.series, bound, Some(bins.flow))?;
            }
        }
        rows.close(&mut self.all, bound, None)
    }

    /// Reports the remaining bins of flows that have ended.
    #[cold]
    fn end_flows<E>(
        &mut self,
        grid: Grid,
        sink: &mut impl FnMut(ThroughputRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut outcome = Ok(());
        self.table.drain_ended(|slot, flow| {
            let place = self.flows.get_mut(slot.index());
            // The table drains every ended flow, also after an error of the sink.
            let Some(mut bins) = place.and_then(Option::take).filter(|_| outcome.is_ok()) else {
                return;
            };
            for coverage in &bins.coverage {
                self.totals.missed += MissedData::of(&coverage.missed());
            }
            let mut rows = Rows::new(grid, self.span, &self.options, sink);
            outcome = rows.close(&mut bins.series, Index::MAX, Some(bins.flow));
            if outcome.is_ok() {
                outcome = sink(ThroughputRow::Ended(Box::new(ThroughputFlow {
                    flow: *flow,
                    directions: bins.volumes,
                })));
            }
        });
        outcome
    }

    /// Ends the capture and passes the remaining rows to `sink`.
    pub fn end<E>(
        mut self,
        sink: &mut impl FnMut(ThroughputRow) -> Result<(), E>,
    ) -> Result<ThroughputTotals, E> {
        if let Some(grid) = self.grid {
            self.table.end_all();
            self.end_flows(grid, sink)?;
            let mut rows = Rows::new(grid, self.span, &self.options, sink);
            rows.close(&mut self.all, Index::MAX, None)?;
        }
        self.totals.flows = self.table.flows_seen();
        self.totals.flows_shed = self.table.flows_shed();
        Ok(self.totals)
    }
}

impl FlowBins {
    /// Processes a packet and returns its sizes.
    #[inline]
    fn volume(&mut self, packet: &FlowPacket) -> Volume {
        let seen = packet.seen();
        let goodput_bytes = match packet {
            FlowPacket::Datagram(_) => seen.payload_bytes,
            // The payload of a reset is not part of the stream (RFC 9293, section 3.5.3).
            FlowPacket::Tcp(segment) if segment.flags.rst() => 0,
            FlowPacket::Tcp(segment) => {
                self.coverage[seen.direction.opposite().index()].acknowledge(segment);
                self.coverage[seen.direction.index()].send(segment)
            }
        };
        Volume {
            packets: 1,
            wire_bytes: seen.wire_bytes.into(),
            ip_bytes: seen.ip_bytes.into(),
            goodput_bytes: goodput_bytes.into(),
            ce_packets: is_congestion_experienced(seen.traffic_class).into(),
        }
    }
}

/// Builds rows.
struct Rows<'a, S> {
    grid: Grid,
    span: Option<(Timestamp, Timestamp)>,
    link_rate_bps: Option<u64>,
    sink: &'a mut S,
}

impl<'a, S> Rows<'a, S> {
    /// `span` holds the times of the first and the last packet so far.
    fn new(
        grid: Grid,
        span: Option<(Timestamp, Timestamp)>,
        options: &ThroughputOptions,
        sink: &'a mut S,
    ) -> Self {
        Self {
            grid,
            span,
            link_rate_bps: options.link_rate_bps,
            sink,
        }
    }

    /// Reports the bins of a series before `bound`.
    fn close<E>(&mut self, series: &mut Series, bound: Index, flow: Option<FlowId>) -> Result<(), E>
    where
        S: FnMut(ThroughputRow) -> Result<(), E>,
    {
        let most_empty = self.grid.count(LONGEST_SILENCE);
        series.close(bound, most_empty, |index, both| self.bin(index, both, flow))
    }

    /// One row for each direction, and their sum for the bins of all flows.
    fn bin<E>(&mut self, index: Index, both: &Both, flow: Option<FlowId>) -> Result<(), E>
    where
        S: FnMut(ThroughputRow) -> Result<(), E>,
    {
        let [mut sum, reverse] = *both;
        sum += reverse;
        let directions =
            Direction::BOTH.map(|direction| (Some(direction), both[direction.index()]));
        let total = flow.is_none().then_some((None, sum));
        let (start, width) = (self.grid.start(index), self.grid.width());
        let (left_out, covered) = self.covered(start, width);
        for (direction, volume) in directions.into_iter().chain(total) {
            (self.sink)(ThroughputRow::Bin(ThroughputBin {
                flow,
                direction,
                start,
                width,
                left_out,
                covered,
                volume,
                utilisation_ppm: rated(covered, width)
                    .zip(self.link_rate_bps)
                    .and_then(|(time, link)| utilisation_ppm(volume.wire_bytes, time, link)),
            }))?;
        }
        Ok(())
    }

    /// The parts of a bin before the first packet, and between the first and the last packet.
    fn covered(&self, start: Timestamp, width: TimeDelta) -> (TimeDelta, TimeDelta) {
        let (from, to) = self.span.unwrap_or((start, start));
        let left_out = (from - start).max(TimeDelta::ZERO).min(width);
        let end = (to - start).min(width);
        (left_out, (end - left_out).max(TimeDelta::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use tcpexp_testkit::scripted::Scripted;

    #[test]
    fn open_bins_depend_on_the_tolerance_and_not_on_the_capture() {
        // Fifty flows that send twice a second, each packet in a bin of its own.
        let line = |number: u32| {
            let (second, place) = (number / 100, number % 100);
            format!("{second}.{place:02} > udp 10 flow {}\n", place / 2)
        };
        let trace: String = (0..6_000).map(line).collect();
        let width = BinWidth::new(TimeDelta::from_millis(1)).unwrap();
        let mut counter =
            ThroughputCounter::new(ThroughputOptions::new(width), FlowTable::default());
        let mut packets = Scripted::new(&trace);
        packets.show(usize::MAX, |sighted| {
            let mut arrivals = [sighted.arrival()];
            let Ok(()) = counter.take(&mut arrivals, &mut |_| Ok::<(), Infallible>(()));
            // Seven packets 10 ms apart make 60 ms: the tolerance and one packet more.
            assert!(counter.pending.len() <= 7, "{}", counter.pending.len());
            assert!(counter.all.open() <= 7, "{}", counter.all.open());
        });
        assert_eq!(counter.totals.binned.packets, 6_000);
    }
}
