//! A share of the flows: their packets in flight, their pairs, their counts.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

use super::clock::ClockModel;
use super::crossing::Crossing;
use super::exact::{Departure, Expired, InFlight, Outcome, SLACK};
use super::identity::Mark;
use super::link::{Event, Found};
use super::pairing::{Crossed, Pairing};
use super::ranges::{Ranges, Settled};
use super::{DirectionCounts, FlowSummary, PairedFlow, Point, Quantiles, RttSample, Way};

/// How many recent arrivals are remembered to tell a second copy from a stranger.
const RECENT: usize = 64;

/// What all shards know of the run.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) clock: ClockModel,
    /// First and last packet of each capture on the common timeline.
    pub(super) spans: [(Timestamp, Timestamp); 2],
    /// The largest one-way delay of the sample on the common timeline, by [`Way::index`].
    pub(super) max_owd: [TimeDelta; 2],
    /// The smallest round-trip time between the points that the sample shows.
    pub(super) min_rtt: TimeDelta,
    /// After this time in flight a packet is given up.
    pub(super) horizon: TimeDelta,
    /// First and last departure that arrived so far, by [`Way::index`]: both captures were
    /// running then.
    pub(super) proven: [Option<(Timestamp, Timestamp)>; 2],
}

impl Setting {
    /// Whether a packet that left at `at` cannot have been seen at the other point.
    fn is_surely_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().opposite().index()];
        at + self.max_owd[way.index()] < first || at > last
    }

    /// Whether a packet that left at `at` and did not arrive may have passed the other point
    /// before its capture began or after it ended. What left between two packets that arrived
    /// was lost, whatever the delay.
    fn may_be_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().opposite().index()];
        let is_proven = |(from, to)| from <= at && at <= to;
        let is_covered = first <= at && at + self.max_owd[way.index()] <= last;
        !is_covered && !self.proven[way.index()].is_some_and(is_proven)
    }
}

/// One share of the flows.
#[derive(Debug, Default)]
pub(super) struct Shard {
    /// Sightings at the point that a packet passes first, of this round.
    departures: Vec<Event>,
    /// Sightings at the point that a packet passes last, by [`Way::index`]; late ones stay for
    /// the next round.
    arrivals: [VecDeque<Event>; 2],
    pairs: HashMap<FlowId, Pair, FixedState>,
    ending: VecDeque<(Timestamp, FlowId)>,
    in_flight: [InFlight; 2],
    recent: [VecDeque<(FlowId, Mark)>; 2],
    /// Arrivals up to here have been worked off.
    settled: Option<Timestamp>,
    swept: Timestamp,
    yields: Yield,
}

/// What a round yields.
#[derive(Debug, Default)]
pub(super) struct Yield {
    /// With the time on the timeline at which the pair was complete.
    pub(super) samples: Vec<(Timestamp, RttSample)>,
    pub(super) ended: Vec<FlowSummary>,
    /// Pairs not used because a clock stepped in between.
    pub(super) across_steps: u64,
    /// First and last departure that arrived, by [`Way::index`].
    pub(super) proven: [Option<(Timestamp, Timestamp)>; 2],
}

#[derive(Debug)]
struct Pair {
    flow: PairedFlow,
    counts: [DirectionCounts; 2],
    ranges: [Ranges; 2],
    /// By [`Point::index`] of the point where pairs start and end.
    pairings: [Pairing; 2],
    rtt: [Quantiles; 2],
    span: Option<(Timestamp, Timestamp)>,
}

impl Shard {
    pub(super) fn found(&mut self, found: Found) {
        let mut pair = Pair {
            flow: found.flow,
            counts: Default::default(),
            ranges: Default::default(),
            pairings: Default::default(),
            rtt: Default::default(),
            span: None,
        };
        for point in Point::BOTH {
            for direction in Direction::BOTH {
                let dropped = found.dropped[point.index()][direction.index()];
                let way = match direction {
                    Direction::Forward => found.way,
                    Direction::Reverse => found.way.opposite(),
                };
                let counts = &mut pair.counts[direction.index()];
                if way.upstream() == point {
                    counts.seen += dropped;
                    counts.outside += dropped;
                } else {
                    counts.arrived += dropped;
                    counts.arrivals_outside += dropped;
                }
            }
        }
        self.pairs.insert(pair.flow.flow, pair);
    }

    #[inline]
    pub(super) fn see(&mut self, point: Point, event: Event) {
        if event.way.upstream() == point {
            self.departures.push(event);
        } else {
            self.arrivals[event.way.index()].push_back(event);
        }
    }

    /// The flow is over at both points; what it has in flight may still be settled.
    pub(super) fn end(&mut self, flow: FlowId, now: Timestamp, setting: &Setting) {
        self.ending
            .push_back((now + setting.horizon + setting.horizon, flow));
    }

    /// Works off what both captures showed up to `now` on the timeline.
    pub(super) fn advance(&mut self, now: Timestamp, setting: &Setting) -> Yield {
        for event in std::mem::take(&mut self.departures) {
            self.depart(&event, setting);
        }
        // Forward pairs need the outward arrivals before the homeward ones, reverse pairs the
        // other way round: so match both, then pair both.
        let crossed = Way::BOTH.map(|way| self.match_arrivals(way, now, setting));
        self.settled = Some(now - SLACK);
        for reference in Point::BOTH {
            let out = match reference {
                Point::Src => Way::Out,
                Point::Dst => Way::Back,
            };
            self.pair(
                reference,
                &crossed[out.index()],
                &crossed[out.opposite().index()],
                setting,
            );
        }
        self.sweep(now, setting);
        std::mem::take(&mut self.yields)
    }

    /// Gives up all that is still in flight and closes all flows.
    pub(super) fn finish(&mut self, setting: &Setting) -> Yield {
        self.give_up(Timestamp::MAX, setting);
        let mut flows: Vec<FlowId> = self.pairs.keys().copied().collect();
        flows.sort_unstable();
        for flow in flows {
            self.close(flow);
        }
        std::mem::take(&mut self.yields)
    }

    fn depart(&mut self, event: &Event, setting: &Setting) {
        let Some(pair) = self.pairs.get_mut(&event.flow) else {
            return;
        };
        let sighting = &event.sighting;
        let upstream = event.way.upstream();
        pair.pass(upstream, sighting.time);
        let counts = &mut pair.counts[event.direction.index()];
        if setting.is_surely_outside(event.way, sighting.at) {
            counts.seen += 1;
            counts.outside += 1;
            return;
        }
        // Leaving here, it is on its way back to the other point.
        pair.pairings[upstream.opposite().index()].depart(self.settled, sighting.at, sighting.time);
        let is_new = if sighting.mark.by_range {
            let ranges = &mut pair.ranges[event.direction.index()];
            ranges.depart(sighting, Departure::of(event), setting.min_rtt)
        } else {
            self.in_flight[event.way.index()].depart(event, setting.min_rtt)
        };
        if !is_new {
            counts.seen += 1;
            counts.copies += 1;
        }
    }

    fn match_arrivals(
        &mut self,
        way: Way,
        now: Timestamp,
        setting: &Setting,
    ) -> Vec<(FlowId, Direction, Timestamp, Crossed)> {
        let mut crossed = Vec::new();
        while let Some(event) = self.arrivals[way.index()].front().copied() {
            if event.sighting.at > now - SLACK && now != Timestamp::MAX {
                break;
            }
            self.arrivals[way.index()].pop_front();
            if let Some(departure) = self.arrive(&event, setting) {
                widen(&mut self.yields.proven[way.index()], departure.at);
                let departed = (departure.record, departure.time);
                let arrived = (event.sighting.record, event.sighting.time);
                let crossing = Crossing::new(way, departed, arrived);
                // Read across a step, neither time can be subtracted from the other.
                let piece = departure.piece;
                if piece == event.sighting.piece {
                    let far_time = event.sighting.time;
                    let crossed_by = Crossed {
                        crossing,
                        far_time,
                        piece,
                    };
                    crossed.push((event.flow, event.direction, event.sighting.at, crossed_by));
                } else {
                    self.yields.across_steps += 1;
                }
            }
        }
        crossed
    }

    fn arrive(&mut self, event: &Event, setting: &Setting) -> Option<Departure> {
        let pair = self.pairs.get_mut(&event.flow)?;
        let sighting = &event.sighting;
        let way = event.way.index();
        let downstream = event.way.upstream().opposite();
        pair.pass(downstream, sighting.time);
        let direction = event.direction.index();
        let counts = &mut pair.counts[direction];
        let recent = &mut self.recent[way];
        let identity = (event.flow, sighting.mark);
        let outcome = if !sighting.mark.by_range {
            self.in_flight[way].arrive(event)
        } else if recent.contains(&identity) {
            Outcome::Unknown
        } else {
            pair.ranges[direction].arrive(sighting, |settled, _| counts.settle_matched(settled))
        };
        let packets = if sighting.mark.by_range {
            pair.ranges[direction].packets_in(sighting.mark.length)
        } else {
            1
        };
        counts.arrived += packets;
        match outcome {
            Outcome::Matched(departure) => {
                counts.arrivals_matched += packets;
                if !sighting.mark.by_range {
                    counts.seen += 1;
                    counts.matched += 1;
                }
                if recent.len() == RECENT {
                    recent.pop_front();
                }
                recent.push_back(identity);
                return Some(departure);
            }
            Outcome::Ambiguous => counts.arrivals_ambiguous += packets,
            Outcome::Unknown if recent.contains(&identity) => counts.arrivals_copies += packets,
            Outcome::Unknown => {
                let (first, last) = setting.spans[event.way.upstream().index()];
                let sent_after = sighting.at - setting.max_owd[way];
                if sent_after < first || sighting.at - SLACK > last {
                    counts.arrivals_outside += packets;
                } else {
                    counts.unseen_upstream += packets;
                }
            }
        }
        None
    }

    /// Pairs what went from `reference` to the far point with what came back.
    fn pair(
        &mut self,
        reference: Point,
        out: &[(FlowId, Direction, Timestamp, Crossed)],
        back: &[(FlowId, Direction, Timestamp, Crossed)],
        setting: &Setting,
    ) {
        for (flow, _, _, crossed) in out {
            if let Some(pair) = self.pairs.get_mut(flow) {
                pair.pairings[reference.index()].arrive(*crossed);
            }
        }
        for (flow, direction, at, homeward) in back {
            let Some(pair) = self.pairs.get_mut(flow) else {
                continue;
            };
            let left_far = homeward.crossing.time_at(reference.opposite());
            let Some(outward) = pair.pairings[reference.index()].come_back(left_far) else {
                continue;
            };
            if outward.piece != homeward.piece {
                self.yields.across_steps += 1;
                continue;
            }
            let direction = direction.opposite();
            let sample = sample(
                *flow,
                direction,
                reference,
                &outward.crossing,
                &homeward.crossing,
                setting,
            );
            pair.rtt[direction.index()].add(sample.rtt);
            self.yields.samples.push((*at, sample));
        }
    }

    fn sweep(&mut self, now: Timestamp, setting: &Setting) {
        // A quarter of the horizon: all that is in flight is walked four times at the most.
        if now == Timestamp::MAX || (now - self.swept).as_nanos() < setting.horizon.as_nanos() / 4 {
            return;
        }
        self.swept = now;
        self.give_up(now - setting.horizon, setting);
        while let Some((at, flow)) = self.ending.front().copied() {
            if at > now {
                break;
            }
            self.ending.pop_front();
            self.close(flow);
        }
    }

    /// Counts what left before `horizon` and did not arrive.
    fn give_up(&mut self, horizon: Timestamp, setting: &Setting) {
        for way in Way::BOTH {
            let pairs = &mut self.pairs;
            self.in_flight[way.index()].expire(
                horizon,
                |Expired {
                     flow,
                     departure,
                     packets,
                     ambiguous,
                 }| {
                    if let Some(pair) = pairs.get_mut(&flow) {
                        let settled = Settled {
                            packets,
                            missing: packets,
                            ambiguous,
                        };
                        let counts = &mut pair.counts[departure.direction.index()];
                        counts.settle_missing(settled, setting.may_be_outside(way, departure.at));
                    }
                },
            );
        }
        for pair in self.pairs.values_mut() {
            for direction in Direction::BOTH {
                let counts = &mut pair.counts[direction.index()];
                let ranges = &mut pair.ranges[direction.index()];
                ranges.expire(horizon, |settled, departure| {
                    let outside = setting.may_be_outside(departure.way, departure.at);
                    counts.settle_missing(settled, outside);
                });
            }
        }
    }

    fn close(&mut self, flow: FlowId) {
        let Some(mut pair) = self.pairs.remove(&flow) else {
            return;
        };
        self.yields.ended.push(FlowSummary {
            duration: pair
                .span
                .map_or(TimeDelta::ZERO, |(first, last)| last - first),
            counts: pair.counts,
            rtt: [0, 1].map(|direction| pair.rtt[direction].summary()),
            flow: pair.flow,
        });
    }
}

impl Pair {
    #[inline]
    fn pass(&mut self, point: Point, time: Timestamp) {
        if point == Point::Src {
            widen(&mut self.span, time);
        }
    }
}

/// Makes `span` reach `at`.
pub(super) fn widen(span: &mut Option<(Timestamp, Timestamp)>, at: Timestamp) {
    let (first, last) = span.get_or_insert((at, at));
    *first = (*first).min(at);
    *last = (*last).max(at);
}

impl DirectionCounts {
    fn settle_matched(&mut self, settled: Settled) {
        self.seen += settled.packets;
        self.matched += settled.packets;
    }

    fn settle_missing(&mut self, settled: Settled, outside: bool) {
        self.seen += settled.packets;
        let missing = settled.missing.min(settled.packets);
        self.matched += settled.packets - missing;
        if settled.ambiguous {
            self.ambiguous += missing;
        } else if outside {
            self.outside += missing;
        } else {
            self.lost += missing;
        }
    }
}

fn sample(
    flow: FlowId,
    direction: Direction,
    reference: Point,
    outward: &Crossing,
    homeward: &Crossing,
    setting: &Setting,
) -> RttSample {
    let far = reference.opposite();
    let turnaround = homeward.time_at(far) - outward.time_at(far);
    let elapsed = homeward.time_at(reference) - outward.time_at(reference);
    RttSample {
        flow,
        direction,
        reference,
        time: outward.time_at(reference),
        rtt: elapsed - turnaround - setting.clock.skew_share(far, turnaround),
        turnaround,
        owd_out: outward.raw_owd(),
        owd_back: homeward.raw_owd(),
    }
}
