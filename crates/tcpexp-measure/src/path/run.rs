//! What became of each packet, turned into rows and sums.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::TimeDelta;

use super::bottleneck::{Arrival, Resolution};
use super::losses::{LossCounter, LossRuns};
use super::reordering::Reordering;
use super::summary::Tally;
use super::{PathFlow, PathPacket, PathSummary};
use crate::Packets;
use crate::spp::{
    self, Alignment, Batch, DirectionCounts, Fate, FlowSummary, Options, PacketOutcome, PairedFlow,
    Passing, RttSample, Totals, Way,
};

/// The smallest one-way delay of all packets that go one way, by [`Way::index`]; `None` where none
/// went.
pub type LeastDelays = [Option<TimeDelta>; 2];

/// Fewer packets that a capture lacks are no sign that it misses packets: a middlebox behind it may
/// have injected one, a reset for instance.
const LEAST_MISSED: u64 = 2;

/// What a first pass over both captures finds out before packets become rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstPass {
    /// The smallest delays, on the timeline that the survey assumes.
    pub least_owd: LeastDelays,
    /// Packets that a capture missed, by [`Point::index`](spp::Point::index): those that the other
    /// capture shows to have left, and those that the capture file itself reports as dropped.
    pub missed: [u64; 2],
}

impl FirstPass {
    /// Adds packets that each capture file itself reports as dropped (`isb_ifdrop` of pcapng).
    pub fn add_dropped(&mut self, dropped: [u64; 2]) {
        for (missed, dropped) in self.missed.iter_mut().zip(dropped) {
            *missed += dropped;
        }
    }
}

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

/// Reads both captures for the smallest delays and for packets that a capture missed.
pub fn first_pass(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    options: Options,
) -> FirstPass {
    let options = Options {
        outcomes: false,
        ..options
    };
    let measured = spp::measure(src, dst, alignment, options, |_| {
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(totals) = measured;
    FirstPass {
        least_owd: totals.least_owd,
        missed: totals.unseen,
    }
}

/// Finds out what became of each packet between two captures, and hands it to `sink` as it is known.
///
/// Memory follows the flows alive and the packets in flight. The batches are the same whatever
/// the number of threads.
pub fn measure<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    first: FirstPass,
    options: Options,
    mut sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let assumed = alignment.clock.offset().middle;
    let clock = alignment.clock.settled(first.least_owd, options.symmetric);
    let moved = clock.offset().middle - assumed;
    let [out, back] = first.least_owd;
    let least = [out.map(|owd| owd - moved), back.map(|owd| owd + moved)];
    let mut books = Books {
        moved,
        least,
        resolutions: Way::BOTH.map(|way| Resolution {
            coarseness: clock.coarseness(),
            tick: clock.ticks()[way.upstream().opposite().index()],
        }),
        longest: options.max_owd,
        flows: HashMap::default(),
        ways: Default::default(),
    };
    let options = Options {
        outcomes: true,
        misses: first.missed.map(|missed| missed >= LEAST_MISSED),
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
    /// By how much the destination's clock is ahead of where the matching assumed it.
    moved: TimeDelta,
    least: LeastDelays,
    /// Of the clocks that spacings are read on, by [`Way::index`].
    resolutions: [Resolution; 2],
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
            packets: batch
                .outcomes
                .into_iter()
                .map(|outcome| self.packet(&self.settled(outcome)))
                .collect(),
            ended: batch.ended.into_iter().map(|s| self.close(s)).collect(),
            flows: batch.flows,
            samples: batch.samples,
        }
    }

    /// The outcome on the timeline of the settled offset.
    fn settled(&self, outcome: PacketOutcome) -> PacketOutcome {
        let at_dst = |passing: Passing| Passing {
            at: passing.at - self.moved,
            ..passing
        };
        match outcome.way {
            Way::Out => PacketOutcome {
                received: outcome.received.map(at_dst),
                one_way_delay: outcome.one_way_delay.map(|owd| owd - self.moved),
                ..outcome
            },
            Way::Back => PacketOutcome {
                sent: outcome.sent.map(at_dst),
                one_way_delay: outcome.one_way_delay.map(|owd| owd + self.moved),
                ..outcome
            },
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
            let resolution = self.resolutions[outcome.way.index()];
            let spacing = before
                .zip(way.latest)
                .zip(least)
                .and_then(|((before, this), least)| before.spacing_to(&this, least, resolution));
            for bottleneck in [&mut direction.tally.bottleneck, &mut way.tally.bottleneck] {
                match spacing {
                    Some(spacing) => bottleneck.add(packet.ip_bytes, spacing, resolution.tick),
                    // Of a clock of microseconds the error of each spacing is small.
                    None if resolution.coarseness > TimeDelta::ZERO => bottleneck.interrupt(),
                    None => {}
                }
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
