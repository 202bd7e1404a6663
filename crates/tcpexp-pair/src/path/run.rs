//! Turns the fate of each packet into rows and summaries.

use serde::{Deserialize, Serialize};
use tcpexp_flow::{Direction, FlowId, prefetch};
use tcpexp_units::TimeDelta;

use super::beyond::{Judged, SeenBeyond};
use super::bottleneck::{Arrival, Resolution};
use super::losses::{LossCounter, LossRuns};
use super::reordering::Reordering;
use super::summary::Tally;
use super::timeline::Timeline;
use super::{PathFlow, PathPacket, PathSummary};
use crate::spp::{
    self, Alignment, Batch, ClockModel, DirectionCounts, Fate, FlowSummary, Options, PacketOutcome,
    PairedFlow, PathDirection, RttSample, Totals,
};
use tcpexp_flow::Packets;

/// The minimum one-way delay of each way, indexed by [`PathDirection::index`]; `None` without packets.
pub type LeastDelays = [Option<TimeDelta>; 2];

/// Results of the first pass over both captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstPass {
    /// The minimum delays, on the timeline that the survey assumes.
    pub least_owd: LeastDelays,
    /// Number of packets that the other capture shows and this one does not, by
    /// [`Point::index`](spp::Point::index).
    pub missed: [u64; 2],
    /// Number of packets that each capture file reports as dropped, and of its records that cannot
    /// be used, by [`Point::index`](spp::Point::index).
    pub unusable: [u64; 2],
    /// Number of packets in flows that only this capture shows, by [`Point::index`](spp::Point::index).
    pub unpaired: [u64; 2],
    /// Number of packets found at both points.
    pub matched: u64,
}

/// Traffic that is not recognised moves an estimate of the bottleneck's rate by its share. Above one
/// packet in this many, the estimates disagree by more than rates of links do.
const UNRECOGNISED: u64 = 20;

impl FirstPass {
    /// `matched` is the number of packets found at both points.
    pub(super) fn of(totals: &Totals, matched: u64) -> Self {
        Self {
            least_owd: totals.least_owd,
            missed: totals.unseen,
            unusable: [0; 2],
            unpaired: totals.unpaired.map(|unpaired| unpaired.packets),
            matched,
        }
    }

    /// True if flows that seem to be in one capture only may be the same in both: a middlebox changed
    /// them. Their packets share the path unrecognised.
    pub(super) fn hides_traffic(&self) -> bool {
        let in_both = self.unpaired[0].min(self.unpaired[1]);
        in_both.saturating_mul(UNRECOGNISED) > self.matched
    }

    /// True for a capture that provably misses packets, by [`Point::index`](spp::Point::index).
    pub(super) fn misses(&self) -> [bool; 2] {
        [0, 1].map(|point: usize| self.missed[point] + self.unusable[point] > 0)
    }
}

/// Results for a section of both captures.
#[derive(Debug, Default)]
pub struct PathBatch {
    /// Flows found at both points; each flow comes before its packets.
    pub flows: Vec<PairedFlow>,
    /// Arrived packets in order of arrival, and given-up packets in order of departure.
    pub packets: Vec<PathPacket>,
    /// Round-trip times from [`spp::measure`].
    pub samples: Vec<RttSample>,
    /// Flows that ended.
    pub ended: Vec<PathFlow>,
}

/// Totals of both captures.
#[derive(Clone, Debug)]
pub struct PathTotals {
    /// Flows seen at one point only, and packets not usable because of a clock step.
    pub totals: Totals,
    /// Summaries over all flows found at both points, indexed by [`PathDirection::index`].
    pub path_directions: [PathSummary; 2],
}

/// Reads both captures for the minimum delays and for packets that a capture missed. Passes the
/// flows found at both points to `flows`.
pub fn first_pass(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    options: Options,
    mut flows: impl FnMut(Vec<PairedFlow>) + Send,
) -> FirstPass {
    let options = Options {
        outcomes: false,
        samples: false,
        ..options
    };
    let mut matched = 0;
    let measured = spp::measure(src, dst, alignment, options, |batch| {
        matched += matched_by(&batch.ended);
        flows(batch.flows);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(totals) = measured;
    FirstPass::of(&totals, matched)
}

/// Number of packets of ended flows that were found at both points.
pub(super) fn matched_by(ended: &[FlowSummary]) -> u64 {
    let counts = ended.iter().flat_map(|flow| &flow.counts);
    counts.map(|counts| counts.matched).sum()
}

/// Determines the fate of each packet between two captures and passes results to `sink` as they
/// become known.
///
/// Memory grows with the number of live flows and packets in flight. The batches do not depend on
/// the number of threads.
pub fn measure<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    first: FirstPass,
    options: Options,
    sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let assumed = alignment.clock.offset().middle;
    let clock = alignment.clock.settled(first.least_owd, options.symmetric);
    let moved = clock.offset().middle - assumed;
    let [out, back] = first.least_owd;
    let basis = Basis {
        // A larger offset makes delays out shorter and delays back longer by the same time.
        least: [out.map(|owd| owd - moved), back.map(|owd| owd + moved)],
        timeline: Timeline::Moved(moved),
        clock,
        beyond: None,
        misses: first.misses(),
        hides_traffic: first.hides_traffic(),
    };
    run(src, dst, alignment, basis, options, sink)
}

/// What is known before the last pass.
pub(super) struct Basis {
    pub(super) timeline: Timeline,
    pub(super) clock: ClockModel,
    /// The minimum delays on this timeline.
    pub(super) least: LeastDelays,
    /// Packets seen beyond the downstream point, by [`PathDirection::index`]; `None` with two points.
    pub(super) beyond: Option<[SeenBeyond; 2]>,
    /// Whether each capture is known to miss packets, by [`Point::index`](spp::Point::index).
    pub(super) misses: [bool; 2],
    /// Whether packets that are not recognised may share the path.
    pub(super) hides_traffic: bool,
}

/// The last pass.
pub(super) fn run<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    basis: Basis,
    options: Options,
    mut sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let Basis {
        timeline,
        clock,
        least,
        beyond,
        misses,
        hides_traffic,
    } = basis;
    let mut books = Books {
        timeline,
        least,
        beyond,
        resolutions: PathDirection::BOTH.map(|path_direction| Resolution {
            coarseness: clock.coarseness(),
            // Spacings are between arrivals, so the clock of the downstream point limits them.
            tick: clock.ticks()[path_direction.upstream().opposite().index()],
        }),
        longest: options.max_owd,
        misses,
        hides_traffic,
        flows: FlowBooks::default(),
        path_directions: Default::default(),
    };
    let options = Options {
        outcomes: true,
        misses,
        ..options
    };
    let totals = spp::measure(src, dst, alignment, options, |batch| {
        sink(books.enter(batch))
    })?;
    let [out, back] = books.path_directions;
    Ok(PathTotals {
        totals,
        path_directions: [out.close(least[0]), back.close(least[1])],
    })
}

/// Number of packets by which the book of a flow is prefetched before its next packet: the work on
/// as many packets takes as long as a cache miss.
const AHEAD: usize = 8;

/// State of all live flows.
struct Books {
    timeline: Timeline,
    least: LeastDelays,
    /// Packets seen beyond the downstream point, by [`PathDirection::index`]; `None` with two points.
    beyond: Option<[SeenBeyond; 2]>,
    /// Resolution of the clocks that measure spacings, indexed by [`PathDirection::index`].
    resolutions: [Resolution; 2],
    longest: TimeDelta,
    misses: [bool; 2],
    hides_traffic: bool,
    flows: FlowBooks,
    /// Indexed by [`PathDirection::index`].
    path_directions: [WayBook; 2],
}

/// The books of the flows by number: 24 bytes per flow, ended flows included.
#[derive(Default)]
struct FlowBooks(Vec<FlowBook>);

impl FlowBooks {
    fn of(&mut self, flow: FlowId) -> &mut FlowBook {
        let place = flow.0 as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, FlowBook::default);
        }
        &mut self.0[place]
    }

    /// Prefetches the book of a direction.
    #[inline]
    fn expect(&self, flow: FlowId, direction: Direction) {
        let book = self.0.get(flow.0 as usize);
        if let Some(Some(direction)) = book.map(|book| &book.directions[direction.index()]) {
            prefetch(&**direction);
        }
    }
}

#[derive(Default)]
struct FlowBook {
    /// Way of the forward direction, once a packet has shown it.
    path_direction: Option<PathDirection>,
    /// Indexed by [`Direction::index`].
    directions: [Option<Box<DirectionBook>>; 2],
}

#[derive(Default)]
struct DirectionBook {
    reordering: Reordering,
    losses: LossCounter,
    tally: Tally,
    judged: Judged,
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
        let outcomes = &batch.outcomes;
        PathBatch {
            // The order of the fields matters: `close` removes the book that `packet` fills.
            packets: outcomes
                .iter()
                .enumerate()
                .map(|(place, outcome)| {
                    if let Some(later) = outcomes.get(place + AHEAD) {
                        self.flows.expect(later.flow, later.direction);
                    }
                    self.packet(&self.timeline.settled(*outcome))
                })
                .collect(),
            ended: batch.ended.into_iter().map(|s| self.close(s)).collect(),
            flows: batch.flows,
            samples: batch.samples,
        }
    }

    fn packet(&mut self, outcome: &PacketOutcome) -> PathPacket {
        let least = self.least[outcome.path_direction.index()];
        let flow = self.flows.of(outcome.flow);
        flow.path_direction = Some(match outcome.direction {
            Direction::Forward => outcome.path_direction,
            Direction::Reverse => outcome.path_direction.opposite(),
        });
        let direction = flow.directions[outcome.direction.index()].get_or_insert_default();
        let path_direction = &mut self.path_directions[outcome.path_direction.index()];
        let outcome = match &self.beyond {
            None => outcome,
            Some(beyond) => {
                let fate = beyond[outcome.path_direction.index()].judge(outcome);
                direction.judged.count(outcome.fate, fate, outcome.packets);
                &PacketOutcome { fate, ..*outcome }
            }
        };
        if outcome.fate == Fate::Lost {
            direction.losses.lose(outcome.number, outcome.packets);
        }
        // Only the first copy of a packet counts for reordering (RFC 4737).
        let arrived = (outcome.fate == Fate::Delivered)
            .then(|| outcome.number.zip(outcome.sent))
            .flatten();
        let order = arrived.map(|(number, sent)| {
            let reordering = &mut direction.reordering;
            reordering.arrive(number, sent.at, self.longest)
        });
        let packet = PathPacket::new(outcome, least, order);
        if let Some(order) = order {
            direction.tally.arrive(&packet, order);
            path_direction.tally.arrive(&packet, order);
        }
        if packet.received_at.is_some() {
            // An arrival without a known departure leaves `None`: no spacing may span it.
            let before = std::mem::replace(&mut path_direction.latest, Arrival::of(&packet));
            let resolution = self.resolutions[outcome.path_direction.index()];
            let misses = self.misses[outcome.path_direction.upstream().opposite().index()];
            let spacing = before
                .zip(path_direction.latest)
                .zip(least)
                .filter(|((before, this), _)| !misses || before.precedes(this))
                .filter(|_| !self.hides_traffic)
                .and_then(|((before, this), least)| before.spacing_to(&this, least, resolution));
            for bottleneck in [
                &mut direction.tally.bottleneck,
                &mut path_direction.tally.bottleneck,
            ] {
                match spacing {
                    Some(spacing) => bottleneck.add(packet.ip_bytes, spacing, resolution.tick),
                    // With a microsecond clock, the error of each spacing is small.
                    None if resolution.coarseness > TimeDelta::ZERO => bottleneck.interrupt(),
                    None => {}
                }
            }
        }
        packet
    }

    fn close(&mut self, mut summary: FlowSummary) -> PathFlow {
        let flow = std::mem::take(self.flows.of(summary.flow.flow));
        let forward = flow.path_direction.unwrap_or(PathDirection::Out);
        let path_directions = [forward, forward.opposite()];
        let [there, back] = flow.directions;
        let directions = [
            (there, path_directions[0], 0),
            (back, path_directions[1], 1),
        ];
        let directions = directions.map(|(book, path_direction, direction)| {
            let book = *book.unwrap_or_default();
            book.judged.correct(&mut summary.counts[direction]);
            let (counts, losses) = (summary.counts[direction], book.losses.found());
            let total = &mut self.path_directions[path_direction.index()];
            total.counts += counts;
            total.losses.add(&losses);
            let least = self.least[path_direction.index()];
            book.tally.close(counts, losses, least)
        });
        PathFlow {
            summary,
            forward: flow.path_direction,
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
    /// `None` if the departure time is unknown.
    fn of(packet: &PathPacket) -> Option<Self> {
        packet.one_way_delay?;
        Some(Self {
            flow: packet.flow,
            number: packet.number?,
            sent_at: packet.sent_at?,
            received_at: packet.received_at?,
            ip_bytes: packet.ip_bytes,
        })
    }
}
