//! Turns the fate of each packet into rows and summaries.

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, prefetch};

use super::beyond::{Judged, SeenBeyond};
use super::bottleneck::{Arrival, Resolution};
use super::losses::{LossCounter, LossRuns};
use super::reordering::Reordering;
use super::summary::Tally;
use super::timeline::Timeline;
use super::{PathFlow, PathPacket, PathSummary};
use crate::spp::{
    Batch, ClockModel, DelayBounds, DirectionCounts, Fate, FlowSummary, LeastDelay, LeastDelays,
    PacketOutcome, PairedFlow, PathDirection, RttSample,
};

/// Results for a section of both captures.
#[derive(Debug, Default)]
pub struct PathBatch {
    /// Flows found at both points; each flow comes before its packets.
    pub flows: Vec<PairedFlow>,
    /// Arrived packets in order of arrival, and given-up packets in order of departure.
    pub packets: Vec<PathPacket>,
    /// Round-trip times from [`spp::measure`](crate::spp::measure).
    pub samples: Vec<RttSample>,
    /// Flows that ended.
    pub ended: Vec<PathFlow>,
}

/// What is known before the last pass.
pub(super) struct Basis {
    pub(super) timeline: Timeline,
    pub(super) clock: ClockModel,
    /// The minimum delays on this timeline.
    pub(super) least: LeastDelays,
    /// Packets seen beyond the downstream point, by [`PathDirection::index`]; `None` with two points.
    pub(super) beyond: Option<[SeenBeyond; 2]>,
    /// Whether each capture is known to miss packets, by [`Point::index`](crate::spp::Point::index).
    pub(super) misses: [bool; 2],
    /// Whether packets that are not recognised may share the path.
    pub(super) hides_traffic: bool,
}

/// Number of packets by which the book of a flow is prefetched before its next packet: the work on
/// as many packets takes as long as a cache miss.
const AHEAD: usize = 8;

/// State of all live flows.
pub(super) struct Books {
    timeline: Timeline,
    least: LeastDelays,
    /// Packets seen beyond the downstream point, by [`PathDirection::index`]; `None` with two points.
    beyond: Option<[SeenBeyond; 2]>,
    /// Resolution of the clocks that measure spacings, indexed by [`PathDirection::index`].
    resolutions: [Resolution; 2],
    longest: TimeDelta,
    bounds: DelayBounds,
    misses: [bool; 2],
    hides_traffic: bool,
    flows: FlowBooks,
    /// Indexed by [`PathDirection::index`].
    path_directions: [WayBook; 2],
}

/// Number of flows of a [`Page`].
const PAGE: usize = 1_024;

/// The books of all flows, by flow number. They are in pages, so that those of ended flows can be freed:
/// a capture may have millions of flows, most of them ended.
#[derive(Default)]
struct FlowBooks(Vec<Option<Box<Page>>>);

/// The books of flows with consecutive numbers.
struct Page {
    books: [FlowBook; PAGE],
    /// Number of flows that have not ended, those not found yet included.
    open: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            books: std::array::from_fn(|_| FlowBook::default()),
            open: PAGE,
        }
    }
}

impl FlowBooks {
    fn of(&mut self, flow: FlowId) -> &mut FlowBook {
        &mut self.page(flow).books[flow.0 as usize % PAGE]
    }

    fn page(&mut self, flow: FlowId) -> &mut Page {
        let place = flow.0 as usize / PAGE;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_default()
    }

    /// Takes out the book of a flow that has ended, and frees the page of the last one.
    fn close(&mut self, flow: FlowId) -> FlowBook {
        let page = self.page(flow);
        page.open -= 1;
        let book = std::mem::take(&mut page.books[flow.0 as usize % PAGE]);
        if page.open == 0 {
            self.0[flow.0 as usize / PAGE] = None;
        }
        book
    }

    /// Prefetches the book of a direction.
    #[inline]
    fn prefetch(&self, flow: FlowId, direction: Direction) {
        let page = self.0.get(flow.0 as usize / PAGE);
        if let Some(Some(page)) = page
            && let Some(direction) =
                &page.books[flow.0 as usize % PAGE].directions[direction.index()]
        {
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
    /// `None` without losses. In a box, as `judged`, because there may be a million flows, and most lose nothing.
    losses: Option<Box<LossCounter>>,
    tally: Tally,
    /// `None` with two points.
    judged: Option<Box<Judged>>,
}

#[derive(Default)]
struct WayBook {
    latest: Option<Arrival>,
    counts: DirectionCounts,
    losses: LossRuns,
    tally: Tally,
}

impl Books {
    /// A packet counts as lost after `longest`.
    pub(super) fn new(basis: Basis, longest: TimeDelta) -> Self {
        let Basis {
            timeline,
            clock,
            least,
            beyond,
            misses,
            hides_traffic,
        } = basis;
        Self {
            timeline,
            least,
            beyond,
            resolutions: PathDirection::BOTH.map(|path_direction| Resolution {
                coarseness: clock.coarseness(),
                // Spacings are between arrivals, so the clock of the downstream point limits them.
                tick: clock.ticks()[path_direction.upstream().opposite().index()],
            }),
            longest,
            misses,
            hides_traffic,
            bounds: DelayBounds::new(&clock, least),
            flows: FlowBooks::default(),
            path_directions: Default::default(),
        }
    }

    /// The summaries of both ways, by [`PathDirection::index`].
    pub(super) fn close_ways(self) -> [PathSummary; 2] {
        let [out, back] = self.path_directions;
        [out.close(self.least[0]), back.close(self.least[1])]
    }

    pub(super) fn enter(&mut self, batch: Batch) -> PathBatch {
        let outcomes = &batch.outcomes;
        PathBatch {
            // The order of the fields matters: `close` removes the book that `packet` fills.
            packets: outcomes
                .iter()
                .enumerate()
                .map(|(place, outcome)| {
                    if let Some(later) = outcomes.get(place + AHEAD) {
                        self.flows.prefetch(later.flow, later.direction);
                    }
                    self.packet(outcome)
                })
                .collect(),
            ended: batch.ended.into_iter().map(|s| self.close(s)).collect(),
            flows: batch.flows,
            samples: batch.samples,
        }
    }

    fn packet(&mut self, outcome: &PacketOutcome) -> PathPacket {
        // The clocks are known on the timeline of the matching.
        let times = outcome.times();
        let errors = times.map(|times| self.bounds.of(outcome.path_direction, times));
        let errors = errors.unwrap_or_default();
        let outcome = &self.timeline.settled(*outcome);
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
                let judged = direction.judged.get_or_insert_default();
                judged.count(outcome.fate, fate, outcome.packets);
                &PacketOutcome { fate, ..*outcome }
            }
        };
        if outcome.fate == Fate::Lost {
            let losses = direction.losses.get_or_insert_default();
            losses.lose(outcome.number, outcome.packets);
        }
        // Only the first copy of a packet counts for reordering (RFC 4737).
        let arrived = (outcome.fate == Fate::Delivered)
            .then(|| outcome.number.zip(outcome.sent))
            .flatten();
        let order = arrived.map(|(number, sent)| {
            let reordering = &mut direction.reordering;
            reordering.arrive(number, outcome.packets, sent.at, self.longest)
        });
        let packet = PathPacket::new(outcome, least.map(|least| least.delay), errors, order);
        if let Some(order) = order {
            direction
                .tally
                .arrive(&packet, order, errors.is_beside_step);
            path_direction
                .tally
                .arrive(&packet, order, errors.is_beside_step);
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
                .and_then(|((before, this), least)| {
                    let spacing = before.spacing_to(&this, least.delay, resolution)?;
                    // The queueing delay may be an error of the clocks.
                    let most = least.delay + errors.queueing.unwrap_or_default();
                    let is_sure = before.spacing_to(&this, most, resolution).is_some();
                    Some((spacing, is_sure))
                });
            for bottleneck in [
                &mut direction.tally.bottleneck,
                &mut path_direction.tally.bottleneck,
            ] {
                match spacing {
                    Some((spacing, is_sure)) => {
                        bottleneck.add(packet.ip_bytes, spacing, is_sure, resolution.tick);
                    }
                    // With a microsecond clock, the error of each spacing is small.
                    None if resolution.coarseness > TimeDelta::ZERO => bottleneck.interrupt(),
                    None => {}
                }
            }
        }
        packet
    }

    fn close(&mut self, mut summary: FlowSummary) -> PathFlow {
        let flow = self.flows.close(summary.flow.flow);
        let forward = flow.path_direction.unwrap_or(PathDirection::Out);
        let path_directions = [forward, forward.opposite()];
        let [there, back] = flow.directions;
        let directions = [
            (there, path_directions[0], 0),
            (back, path_directions[1], 1),
        ];
        let directions = directions.map(|(book, path_direction, direction)| {
            let book = *book.unwrap_or_default();
            if let Some(judged) = &book.judged {
                judged.correct(&mut summary.counts[direction]);
            }
            let losses = book.losses.unwrap_or_default().found();
            let counts = summary.counts[direction];
            let total = &mut self.path_directions[path_direction.index()];
            total.counts += counts;
            total.losses.add(&losses);
            let least = self.least[path_direction.index()];
            book.tally
                .close(counts, losses, least.map(|least| least.delay))
        });
        PathFlow {
            summary,
            forward: flow.path_direction,
            directions,
        }
    }
}

impl WayBook {
    fn close(self, least: Option<LeastDelay>) -> PathSummary {
        let least = least.map(|least| least.delay);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_without_losses_takes_little_memory() {
        let bytes = size_of::<DirectionBook>();
        assert!(bytes <= 336, "{bytes}");
    }

    #[test]
    fn a_page_is_freed_with_its_last_flow() {
        let mut books = FlowBooks::default();
        let flows = || (0..).map(FlowId).take(PAGE + 1);
        for flow in flows() {
            books.of(flow).path_direction = Some(PathDirection::Back);
        }
        for flow in flows().take(PAGE) {
            assert!(books.0[0].is_some());
            let book = books.close(flow);
            assert_eq!(book.path_direction, Some(PathDirection::Back));
        }
        assert!(books.0[0].is_none() && books.0[1].is_some());
    }
}
