//! One flow that was found at both points: its counts, its pairs, its round-trip times.

use tcpexp_flow::Direction;
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use super::exact::{Departure, Outcome};
use super::link::{Found, Sighting};
use super::pairing::{Crossed, Pairing};
use super::ranges::{Ranges, Settled};
use super::setting::{Setting, UsualOwds, widen};
use super::{DirectionCounts, Fate, FlowSummary, PacketOutcome, PairedFlow, Point, RttSample, Way};

/// What is remembered of a flow while it lives. There may be a million of them.
#[derive(Debug)]
pub(super) struct Pair {
    flow: PairedFlow,
    /// From when on all that arrives was seen leaving at a point, by [`Point::index`].
    pub(super) covered_from: [Timestamp; 2],
    /// By [`Direction::index`].
    pub(super) counts: [DirectionCounts; 2],
    /// Packets that left, each counted once, by [`Direction::index`].
    pub(super) departed: [u64; 2],
    /// By [`Direction::index`]; only where segments are cut anew.
    pub(super) ranges: Option<Box<[Ranges; 2]>>,
    /// By [`Point::index`] of the point where pairs start and end.
    pub(super) pairings: [Pairing; 2],
    rtt: [Quantiles; 2],
    span: Option<(Timestamp, Timestamp)>,
}

impl Pair {
    pub(super) fn new(found: Found, setting: &Setting) -> Self {
        let mut counts = [DirectionCounts::default(); 2];
        for point in Point::BOTH {
            for direction in Direction::BOTH {
                let dropped = found.dropped[point.index()][direction.index()];
                let way = match direction {
                    Direction::Forward => found.way,
                    Direction::Reverse => found.way.opposite(),
                };
                counts[direction.index()].drop_before_found(way.upstream() == point, dropped);
            }
        }
        let covered_from = setting.covered_from(&found);
        Self {
            flow: found.flow,
            covered_from,
            counts,
            departed: [0; 2],
            ranges: None,
            pairings: Default::default(),
            rtt: Default::default(),
            span: None,
        }
    }

    /// A packet passed `point` at `at` on the timeline.
    #[inline]
    pub(super) fn pass(&mut self, point: Point, at: Timestamp) {
        if point == Point::Src {
            widen(&mut self.span, at);
        }
    }

    /// The data in flight in `direction`.
    pub(super) fn ranges(&mut self, direction: Direction) -> &mut Ranges {
        &mut self.ranges.get_or_insert_default()[direction.index()]
    }

    /// Data arrived; `is_copy` if the like of it did just before. Tells what it is and how many
    /// packets of the path it stands for.
    pub(super) fn arrive_by_range(
        &mut self,
        direction: Direction,
        sighting: &Sighting,
        usual: &UsualOwds,
        is_copy: bool,
    ) -> (Outcome<Departure>, u64) {
        let ranges = &mut self.ranges.get_or_insert_default()[direction.index()];
        let counts = &mut self.counts[direction.index()];
        let outcome = if is_copy {
            Outcome::Unknown
        } else {
            ranges.arrive(sighting, usual, |settled| counts.settle_matched(settled))
        };
        (outcome, ranges.packets_in(sighting.mark.length))
    }

    /// The sample of two packets, the first of which went in `direction`.
    pub(super) fn sample(
        &mut self,
        direction: Direction,
        reference: Point,
        outward: &Crossed,
        homeward: &Crossed,
        setting: &Setting,
    ) -> RttSample {
        let far = reference.opposite();
        let out = match reference {
            Point::Src => Way::Out,
            Point::Dst => Way::Back,
        };
        let turnaround = homeward.time_at(far) - outward.time_at(far);
        let elapsed = homeward.time_at(reference) - outward.time_at(reference);
        let rtt = elapsed - turnaround - setting.clock.skew_share(far, turnaround);
        self.rtt[direction.index()].add(rtt);
        RttSample {
            flow: self.flow.flow,
            direction,
            reference,
            time: outward.time_at(reference),
            rtt,
            turnaround,
            owd_out: outward.raw_owd(out),
            owd_back: homeward.raw_owd(out.opposite()),
        }
    }

    /// Gives up the data that left before `horizon`; what did not arrive is told to `outcomes` if
    /// there are any.
    pub(super) fn give_up(
        &mut self,
        horizon: Timestamp,
        setting: &Setting,
        outcomes: &mut Option<Vec<PacketOutcome>>,
    ) {
        let Some(ranges) = &mut self.ranges else {
            return;
        };
        let flow = self.flow.flow;
        let each = ranges.iter_mut().zip(&mut self.counts).zip(self.departed);
        for ((ranges, counts), departed) in each {
            ranges.expire(horizon, |settled, departure| {
                let outside = setting.may_be_outside(departure.way, departure.at);
                let fate = counts.settle_missing(settled, outside);
                if let Some(outcomes) = outcomes
                    && settled.missing > 0
                {
                    outcomes.push(PacketOutcome::of_missing(
                        flow, departure, &settled, departed, fate, setting,
                    ));
                }
            });
        }
    }

    pub(super) fn close(mut self) -> FlowSummary {
        let span = self
            .span
            .map_or(TimeDelta::ZERO, |(first, last)| last - first);
        FlowSummary {
            duration: span,
            counts: self.counts,
            rtt: [0, 1].map(|direction| self.rtt[direction].summary()),
            flow: self.flow,
        }
    }
}

impl DirectionCounts {
    /// Packets from before the flow was found at the other point.
    fn drop_before_found(&mut self, upstream: bool, packets: u64) {
        if upstream {
            self.seen += packets;
            self.outside += packets;
        } else {
            self.arrived += packets;
            self.arrivals_outside += packets;
        }
    }

    pub(super) fn settle_matched(&mut self, settled: Settled) {
        self.seen += settled.packets;
        self.matched += settled.packets;
    }

    /// Tells what became of the missing ones.
    pub(super) fn settle_missing(&mut self, settled: Settled, outside: bool) -> Fate {
        self.seen += settled.packets;
        let missing = settled.missing.min(settled.packets);
        self.matched += settled.packets - missing;
        if settled.ambiguous {
            self.ambiguous += missing;
            Fate::Ambiguous
        } else if outside {
            self.outside += missing;
            Fate::Outside
        } else {
            self.lost += missing;
            Fate::Lost
        }
    }
}
