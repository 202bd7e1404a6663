//! A share of the flows with their packets in flight, pairs and counts.

use std::collections::VecDeque;

use super::pairs::Pairs;
use super::recent::Recent;
use super::remembered::Remembered;
use super::unmatched::{count_without_departure, fate_without_departure};
use super::yields::Yield;
use crate::spp::alignment::COPY_GAP;
use crate::spp::clock::LeastDelay;
use crate::spp::crossing::PathDirection;
use crate::spp::linking::{Event, Found, low_half};
use crate::spp::matching::{Departure, Fate, InFlight, Outcome, PacketOutcome, Setting, widen};
use crate::spp::pairing::{Crossed, FlowSummary, Pair, Weighed};
use crate::spp::point::Point;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::Timestamp;

/// Number of later arrivals among which an identical acknowledgment is looked for. A receiver sends
/// duplicate acknowledgments in response to back-to-back segments, so they arrive in close sequence.
const LOOK_AHEAD: usize = 8;

/// One share of the flows.
#[derive(Debug, Default)]
pub(in crate::spp) struct Shard {
    /// Sightings of this round at the upstream point.
    departures: Vec<Event>,
    /// Sightings at the downstream point, by [`PathDirection::index`]; late sightings stay for the next
    /// round.
    arrivals: [VecDeque<Event>; 2],
    pub(super) pairs: Pairs,
    pub(super) ending: VecDeque<(Timestamp, FlowId)>,
    /// Number of ending flows left by the last [`shed`](Self::shed).
    pub(super) kept: usize,
    pub(super) in_flight: [InFlight; 2],
    recent: [Recent; 2],
    remembered: [Remembered; 2],
    /// Arrivals that the upstream capture seems to have missed, and that no other packet resembles, by
    /// [`PathDirection::index`].
    pub(super) unseen: [Remembered; 2],
    /// Time up to which arrivals have been processed.
    settled: Option<Timestamp>,
    pub(super) swept: Timestamp,
    pub(super) yields: Yield,
    /// Packet outcomes of this round, if requested.
    pub(super) outcomes: Option<Vec<PacketOutcome>>,
    /// True if round-trip times are requested.
    with_samples: bool,
}

/// A packet found at both points.
struct Passage {
    flow: FlowId,
    direction: Direction,
    crossed: Crossed,
}

impl Shard {
    /// Creates a shard that reports the outcome of each packet if `with_outcomes` is true, and
    /// round-trip times if `with_samples` is true.
    pub(in crate::spp) fn new(with_outcomes: bool, with_samples: bool) -> Self {
        Self {
            outcomes: with_outcomes.then(Vec::new),
            with_samples,
            ..Self::default()
        }
    }

    pub(in crate::spp) fn found(&mut self, found: Found, setting: &Setting) {
        self.pairs
            .insert(found.flow.flow, Pair::new(found, setting));
    }

    /// Notes that packets of a flow may be in another one.
    pub(in crate::spp) fn break_off(&mut self, flow: FlowId) {
        if let Some(pair) = self.pairs.get(flow) {
            pair.is_partial = true;
        }
    }

    #[inline]
    pub(in crate::spp) fn see(&mut self, point: Point, event: Event) {
        if event.path_direction.upstream() == point {
            self.departures.push(event);
        } else {
            self.arrivals[event.path_direction.index()].push_back(event);
        }
    }

    /// Ends a flow at both points; its packets in flight may still be settled.
    pub(in crate::spp) fn end(&mut self, flow: FlowId, now: Timestamp, setting: &Setting) {
        self.ending
            // The flow must outlive its packets in flight: they are given up in the sweep after one
            // horizon.
            .push_back((now + setting.horizon + setting.horizon, flow));
    }

    /// Processes the events of both captures up to `now` on the timeline.
    pub(in crate::spp) fn advance(&mut self, now: Timestamp, setting: &Setting) {
        let mut departures = std::mem::take(&mut self.departures);
        let ahead = self.pairs.ahead();
        for (place, event) in departures.iter().enumerate() {
            if let Some(later) = departures.get(place.saturating_add(ahead)) {
                self.pairs.prefetch(later.flow);
            }
            self.depart(event, setting);
        }
        departures.clear();
        self.departures = departures;
        // Forward pairs need outward arrivals first, reverse pairs need homeward arrivals first:
        // match both ways, then form the pairs.
        let crossed = PathDirection::BOTH
            .map(|path_direction| self.match_arrivals(path_direction, now, setting));
        self.settled = Some(now - setting.slack);
        if self.with_samples {
            let [out, back] = &crossed;
            // Each passage completes one pair at most.
            self.yields.samples.reserve(out.len() + back.len());
            self.pair(Point::Src, out, back, setting);
            self.pair(Point::Dst, back, out, setting);
        }
    }

    /// Gives up what is over at `now`, and returns the results of the round.
    pub(in crate::spp) fn end_round(&mut self, now: Timestamp, setting: &Setting) -> Yield {
        self.sweep(now, setting);
        self.take_yields()
    }

    /// Gives up all packets still in flight.
    pub(in crate::spp) fn finish(&mut self, setting: &Setting) -> Yield {
        self.give_up(Timestamp::MAX, setting);
        self.take_yields()
    }

    fn take_yields(&mut self) -> Yield {
        let outcomes = self.outcomes.as_mut().map(|outcomes| {
            // The next round is about as large as this one.
            let next = Vec::with_capacity(outcomes.len());
            std::mem::replace(outcomes, next)
        });
        Yield {
            outcomes: outcomes.unwrap_or_default(),
            ..std::mem::take(&mut self.yields)
        }
    }

    /// Removes a flow and returns its summary.
    pub(in crate::spp) fn close(&mut self, flow: FlowId) -> Option<FlowSummary> {
        self.pairs.remove(flow).map(Pair::close)
    }

    fn depart(&mut self, event: &Event, setting: &Setting) {
        let Some(pair) = self.pairs.get(event.flow) else {
            return;
        };
        let sighting = &event.sighting;
        let upstream = event.path_direction.upstream();
        pair.pass(upstream, sighting.at);
        let departed = &mut pair.departed[event.direction.index()];
        let number = *departed;
        *departed += 1;
        if let Some(spacings) = &mut pair.spacings
            && let Some(spacing) = &mut spacings[event.direction.index()]
        {
            spacing.depart(sighting.at);
        }
        // Departures while the other capture was not running are kept too: only the clock offset
        // shows how far outside the capture they are, and they may be identical to packets that
        // arrive. A packet that leaves here is on its way back to the opposite point.
        if self.with_samples {
            pair.pairings[upstream.opposite().index()].depart(self.settled, sighting.at);
        }
        let doubles = setting.doubles[upstream.index()];
        let is_new = if sighting.mark.by_range {
            let ranges = pair.ranges(event.direction);
            ranges.depart(sighting, Departure::of(event, number), doubles)
        } else {
            self.in_flight[event.path_direction.index()].depart(event, number, doubles)
        };
        if self.outcomes.is_some() {
            let passage = if is_new {
                Weighed::Departs
            } else {
                Weighed::DepartsAsCopy
            };
            pair.weigh(event, passage(low_half(number)));
        }
        if !is_new {
            let counts = &mut pair.counts[event.direction.index()];
            counts.seen += 1;
            counts.copies += 1;
            // A copy takes no number: reordering and runs of losses count packets, not records.
            pair.departed[event.direction.index()] -= 1;
            if let Some(outcomes) = &mut self.outcomes {
                let departure = Departure::of(event, number);
                let outcome = PacketOutcome::of_copy(event.flow, &departure, setting);
                outcomes.push(outcome);
            }
        }
    }

    fn match_arrivals(
        &mut self,
        path_direction: PathDirection,
        now: Timestamp,
        setting: &Setting,
    ) -> Vec<Passage> {
        let mut arrivals = std::mem::take(&mut self.arrivals[path_direction.index()]);
        // An arrival may seem to be earlier than its departure by `slack`, so it waits for records
        // that the other capture has not shown yet.
        let is_due =
            |event: &&Event| now == Timestamp::MAX || event.sighting.at <= now - setting.slack;
        let due = arrivals.iter().take_while(is_due).count();
        let mut passages = Vec::with_capacity(if self.with_samples { due } else { 0 });
        // A capture that records each packet twice shows a second arrival of each.
        let doubles = setting.doubles[path_direction.upstream().opposite().index()];
        let ahead = self.pairs.ahead();
        // A slice is faster to walk than the two halves of a ring.
        let in_order = arrivals.make_contiguous();
        for (place, event) in in_order[..due].iter().enumerate() {
            if let Some(later) = in_order.get(place.saturating_add(ahead)) {
                self.pairs.prefetch(later.flow);
            }
            let later = &in_order[place + 1..in_order.len().min(place + 1 + LOOK_AHEAD)];
            let is_twin = |later: &Event| {
                let gap = later.sighting.at - event.sighting.at;
                event.is_identical(later) && !(doubles && gap < COPY_GAP)
            };
            let is_alone = !event.sighting.mark.may_have_twin() || !later.iter().any(is_twin);
            let Some(departure) = self.arrive(event, is_alone, setting) else {
                continue;
            };
            widen(
                &mut self.yields.proven[path_direction.index()],
                departure.at,
            );
            // Timestamps on both sides of a clock step cannot be subtracted.
            if departure.piece != event.sighting.piece {
                self.yields.across_steps += 1;
                continue;
            }
            let least = &mut self.yields.least_delays[path_direction.index()];
            let delay = LeastDelay::of(
                event.sighting.at - departure.at,
                path_direction.by_point(departure.at, event.sighting.at),
            );
            let uncovered = setting.coverage.excluded(delay.times);
            LeastDelay::add(least, delay, uncovered, |times| {
                setting.clock.is_beside_step(times)
            });
            if !self.with_samples {
                continue;
            }
            passages.push(Passage {
                flow: event.flow,
                direction: event.direction,
                crossed: Crossed::new(&departure, event.sighting.at, event.sighting.time),
            });
        }
        arrivals.drain(..due);
        self.arrivals[path_direction.index()] = arrivals;
        passages
    }

    /// Matches an arrival. `is_alone` is false if an identical acknowledgment arrives next to it: the
    /// captured departure may then belong to either of the two.
    fn arrive(&mut self, event: &Event, is_alone: bool, setting: &Setting) -> Option<Departure> {
        let pair = self.pairs.get(event.flow)?;
        let sighting = &event.sighting;
        let path_direction = event.path_direction.index();
        let downstream = event.path_direction.upstream().opposite();
        pair.pass(downstream, sighting.at);
        if self.outcomes.is_some() {
            let tick = setting.clock.ticks()[downstream.index()];
            pair.weigh(event, Weighed::Arrives(tick));
        }
        let recent = &mut self.recent[path_direction];
        let remembered = &mut self.remembered[path_direction];
        let identity = (event.flow, sighting.mark.digest);
        let stream = &pair.streams[event.direction.index()];
        let recurs = stream.period().is_some();
        // An arrival by range may have a part of a departure, whatever its own mark.
        let is_unique = sighting.mark.is_one_of_a_kind() && !sighting.mark.by_range;
        let usual = setting.usual_owds(event.path_direction, sighting.at, stream, is_unique);
        let usual = if is_alone { usual } else { usual.none() };
        let (outcome, packets) = if sighting.mark.by_range {
            // An exact match takes its departure out, so only a range can match a copy again.
            let before = recent.time_of(identity);
            pair.arrive_by_range(event.direction, sighting, &usual, before)
        } else {
            (self.in_flight[path_direction].arrive(event, &usual), 1)
        };
        let outcome = match outcome {
            Outcome::Matched(matched) if recurs => {
                pair.prove(matched, setting, self.outcomes.as_mut())
            }
            outcome => outcome,
        };
        let counts = &mut pair.counts[event.direction.index()];
        counts.arrived += packets;
        let mut departure = None;
        let fate = match outcome {
            Outcome::Matched(matched) => {
                counts.arrivals_matched += packets;
                // A departure by range counts once all of its bytes have arrived or it is given up.
                if sighting.mark.by_range {
                    recent.add(identity, sighting.at);
                } else {
                    counts.seen += 1;
                    counts.matched += 1;
                }
                remembered.add(identity, sighting.at);
                pair.identify(&matched, sighting.place());
                pair.streams[event.direction.index()].cross(matched.at, sighting.at);
                departure = Some(matched);
                Fate::Delivered
            }
            Outcome::Doubtful(like) => {
                let stream = &mut pair.streams[event.direction.index()];
                stream.resemble(like.at, sighting.at);
                counts.arrivals_ambiguous += packets;
                if stream.has_overtaken(like.at) {
                    counts.arrivals_overtaken += packets;
                }
                Fate::Ambiguous
            }
            Outcome::Ambiguous => {
                counts.arrivals_ambiguous += packets;
                Fate::Ambiguous
            }
            Outcome::Misplaced => {
                counts.arrivals_ambiguous += packets;
                pair.unexplained(event.direction)
                    .add(sighting.at, sighting.mark.seq());
                Fate::Ambiguous
            }
            Outcome::Unknown => {
                // Later, another packet may have the same fields.
                let oldest = sighting.at - setting.horizon;
                let before = remembered.time_of(identity).filter(|at| *at >= oldest);
                let fate = fate_without_departure(event, pair, before, setting);
                let upstream = event.path_direction.upstream().index();
                let unseen = &mut self.yields.unseen[upstream];
                count_without_departure(event, pair, packets, fate, unseen);
                if fate == Fate::Unseen {
                    widen(&mut self.yields.unseen_between[upstream], sighting.at);
                    if is_unique {
                        self.unseen[path_direction].add(identity, sighting.at);
                    }
                }
                fate
            }
        };
        if let Some(outcomes) = &mut self.outcomes {
            let departed = pair.departed[event.direction.index()];
            let departure = departure.as_ref().map(|departure| (departure, departed));
            let outcome = PacketOutcome::of_arrival(event, departure, fate, packets, setting);
            outcomes.push(outcome);
        }
        departure
    }

    /// Pairs packets that went from `reference` to the far point with packets that came back.
    fn pair(&mut self, reference: Point, out: &[Passage], back: &[Passage], setting: &Setting) {
        for Passage { flow, crossed, .. } in out {
            if let Some(pair) = self.pairs.get(*flow) {
                pair.pairings[reference.index()].arrive(*crossed);
            }
        }
        for Passage {
            flow,
            direction,
            crossed: homeward,
        } in back
        {
            let Some(pair) = self.pairs.get(*flow) else {
                continue;
            };
            let pairing = &mut pair.pairings[reference.index()];
            let Some(outward) = pairing.come_back(homeward.departed) else {
                continue;
            };
            if outward.piece != homeward.piece {
                self.yields.across_steps += 1;
                continue;
            }
            // `direction` is that of the returning packet; a sample has the direction of its first
            // packet.
            let direction = direction.opposite();
            match pair.sample(direction, reference, &outward, homeward, setting) {
                Some(sample) => self.yields.samples.push((homeward.arrived, sample)),
                None => self.yields.uncertain += 1,
            }
        }
    }
}
