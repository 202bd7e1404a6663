//! What became of each packet, turned into rows and sums.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::TimeDelta;

use super::bottleneck::Arrival;
use super::losses::{LossCounter, LossRuns};
use super::reordering::Reordering;
use super::summary::Tally;
use super::{PathFlow, PathPacket, PathSummary};
use crate::Packets;
use crate::spp::{
    self, Alignment, Batch, DirectionCounts, Fate, FlowSummary, Options, PacketOutcome, PairedFlow,
    RttSample, Totals, Way,
};

/// The smallest one-way delay of all packets that go one way, by [`Way::index`]; `None` where none
/// went.
pub type LeastDelays = [Option<TimeDelta>; 2];

/// What a stretch of both captures yields.
#[derive(Debug, Default)]
pub struct PathBatch {
    /// Flows found at both points; each comes before its packets.
    pub flows: Vec<PairedFlow>,
    /// Packets that arrived, in order of arrival; those that did not come once they are given up,
    /// in order of departure.
    pub packets: Vec<PathPacket>,
    /// Round-trip times, as [`spp::measure`] yields them.
    pub samples: Vec<RttSample>,
    /// Flows that are over.
    pub ended: Vec<PathFlow>,
}

/// What is known when both captures have been read.
#[derive(Clone, Debug)]
pub struct PathTotals {
    /// Flows at one point only, and what could not be used because a clock stepped.
    pub totals: Totals,
    /// All flows found at both points together, by [`Way::index`].
    pub ways: [PathSummary; 2],
}

/// Reads both captures for the smallest delays alone.
pub fn least_delays(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    options: Options,
) -> LeastDelays {
    let options = Options {
        outcomes: false,
        ..options
    };
    let measured = spp::measure(src, dst, alignment, options, |_| {
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(totals) = measured;
    totals.least_owd
}

/// Tells what became of each packet between two captures, and hands it to `sink` as it is known.
///
/// Memory follows the flows alive and the packets in flight. The batches are the same whatever
/// the number of threads.
pub fn measure<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    least: LeastDelays,
    options: Options,
    mut sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let mut books = Books {
        least,
        longest: options.max_owd,
        flows: HashMap::default(),
        ways: Default::default(),
    };
    let options = Options {
        outcomes: true,
        ..options
    };
    let totals = spp::measure(src, dst, alignment, options, |batch| {
        sink(books.enter(batch))
    })?;
    let [out, back] = books.ways;
    Ok(PathTotals {
        totals,
        ways: [out.close(least[0]), back.close(least[1])],
    })
}

/// The state of all flows that are alive.
struct Books {
    least: LeastDelays,
    longest: TimeDelta,
    flows: HashMap<FlowId, FlowBook, FixedState>,
    /// By [`Way::index`].
    ways: [WayBook; 2],
}

#[derive(Default)]
struct FlowBook {
    /// Which way its forward direction goes, once a packet has shown it.
    way: Option<Way>,
    /// By [`Direction::index`].
    directions: [DirectionBook; 2],
}

#[derive(Default)]
struct DirectionBook {
    reordering: Reordering,
    losses: LossCounter,
    tally: Tally,
}

#[derive(Default)]
struct WayBook {
    latest: Option<Arrival>,
    counts: DirectionCounts,
    losses: LossRuns,
    tally: Tally,
}

impl Books {
    fn enter(&mut self, batch: Batch) -> PathBatch {
        for flow in &batch.flows {
            self.flows.insert(flow.flow, FlowBook::default());
        }
        PathBatch {
            packets: batch.outcomes.iter().map(|o| self.packet(o)).collect(),
            ended: batch.ended.into_iter().map(|s| self.close(s)).collect(),
            flows: batch.flows,
            samples: batch.samples,
        }
    }

    fn packet(&mut self, outcome: &PacketOutcome) -> PathPacket {
        let least = self.least[outcome.way.index()];
        let flow = self.flows.entry(outcome.flow).or_default();
        flow.way = Some(match outcome.direction {
            Direction::Forward => outcome.way,
            Direction::Reverse => outcome.way.opposite(),
        });
        let direction = &mut flow.directions[outcome.direction.index()];
        let way = &mut self.ways[outcome.way.index()];
        if outcome.fate == Fate::Lost {
            direction.losses.lose(outcome.number, outcome.packets);
        }
        let arrived = (outcome.fate == Fate::Delivered)
            .then(|| outcome.number.zip(outcome.sent))
            .flatten();
        let order = arrived.map(|(number, sent)| {
            let reordering = &mut direction.reordering;
            reordering.arrive(number, sent.at, self.longest)
        });
        let packet = PathPacket::new(outcome, least, order);
        if let Some(order) = order {
            direction.tally.arrive(packet.queueing_delay, order);
            way.tally.arrive(packet.queueing_delay, order);
        }
        if packet.received_at.is_some() {
            let before = std::mem::replace(&mut way.latest, Arrival::of(&packet));
            let spacing = before
                .zip(way.latest)
                .zip(least)
                .and_then(|((before, this), least)| before.spacing_to(&this, least));
            if let Some(spacing) = spacing {
                direction.tally.bottleneck.add(packet.ip_bytes, spacing);
                way.tally.bottleneck.add(packet.ip_bytes, spacing);
            }
        }
        packet
    }

    fn close(&mut self, summary: FlowSummary) -> PathFlow {
        let flow = self.flows.remove(&summary.flow.flow).unwrap_or_default();
        let forward = flow.way.unwrap_or(Way::Out);
        let ways = [forward, forward.opposite()];
        let [there, back] = flow.directions;
        let directions = [(there, ways[0], 0), (back, ways[1], 1)];
        let directions = directions.map(|(book, way, direction)| {
            let (counts, losses) = (summary.counts[direction], book.losses.found());
            let total = &mut self.ways[way.index()];
            total.counts += counts;
            total.losses.add(&losses);
            let least = self.least[way.index()];
            book.tally.close(counts, losses, least)
        });
        PathFlow {
            summary,
            forward: flow.way,
            directions,
        }
    }
}

impl WayBook {
    fn close(self, least: Option<TimeDelta>) -> PathSummary {
        self.tally.close(self.counts, self.losses, least)
    }
}

impl Arrival {
    /// `None` if it is not known when it left.
    fn of(packet: &PathPacket) -> Option<Self> {
        packet.one_way_delay?;
        Some(Self {
            sent_at: packet.sent_at?,
            received_at: packet.received_at?,
            ip_bytes: packet.ip_bytes,
        })
    }
}
