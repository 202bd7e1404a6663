//! One flow found at both points: its counts, pairs and round-trip times.

use super::absence::{absence, may_be_unexplained};
use super::partners::{Crossed, Pairing};
use super::sample::{FlowSummary, RttSample};

use crate::spp::crossing::PathDirection;
use crate::spp::linking::{Found, PairedFlow, Sighting};
use crate::spp::matching::{
    Absence, Departure, DirectionCounts, Evidence, Outcome, PacketOutcome, Ranges, Setting,
    Settled, Spacing, Stream, Unexplained, UsualOwds, widen,
};
use crate::spp::point::Point;
use tcpexp_flow::Direction;
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

/// A round-trip time with at most this error is reported, even if it is smaller: idle hosts delay
/// packets by as much, and the output contains the error.
const SMALL_ERROR: TimeDelta = TimeDelta::from_micros(100);

/// State of a live flow. There may be a million of them.
#[derive(Debug)]
pub(in crate::spp) struct Pair {
    pub(super) flow: PairedFlow,
    /// State that distinguishes identical packets, by [`Direction::index`].
    pub(in crate::spp) streams: [Stream; 2],
    /// Packet counts, by [`Direction::index`].
    pub(in crate::spp) counts: [DirectionCounts; 2],
    /// Number of departures, each counted once, by [`Direction::index`]. Packets dropped before the
    /// flow was found at the other point are included.
    pub(in crate::spp) departed: [u64; 2],
    /// Data in flight, by [`Direction::index`]; only if segments are recut.
    pub(in crate::spp) ranges: Option<Box<[Ranges; 2]>>,
    /// By [`Direction::index`] of the data; only for TCP, and only if outcomes are requested.
    pub(super) evidence: Option<Box<[Evidence; 2]>>,
    /// Arrivals without a departure, by [`Direction::index`]; rarely any.
    unexplained: Option<Box<[Unexplained; 2]>>,
    /// By [`Direction::index`]; only for recurring datagrams that their spacing distinguishes.
    pub(in crate::spp) spacings: Option<Box<[Option<Spacing>; 2]>>,
    /// By [`Point::index`] of the point where the pairs start and end.
    pub(in crate::spp) pairings: [Pairing; 2],
    rtt: [Quantiles; 2],
    /// Largest error of a sample; zero before the first.
    rtt_error: [TimeDelta; 2],
    span: Option<(Timestamp, Timestamp)>,
    /// True if packets may be in another flow, because a flow table ended this one early, or may
    /// still arrive, because they are given up before their time.
    pub(in crate::spp) is_partial: bool,
}

impl Pair {
    pub(in crate::spp) fn new(found: Found, setting: &Setting) -> Self {
        let mut counts = [DirectionCounts::default(); 2];
        for point in Point::BOTH {
            for direction in Direction::BOTH {
                let dropped = found.dropped[point.index()][direction.index()];
                let path_direction = match direction {
                    Direction::Forward => found.path_direction,
                    Direction::Reverse => found.path_direction.opposite(),
                };
                counts[direction.index()]
                    .drop_before_found(path_direction.upstream() == point, dropped);
            }
        }
        let streams = setting.streams(&found);
        // The packets that were dropped are the first of their direction, so they have its first
        // numbers.
        let departed = counts.map(|counts| counts.seen);
        Self {
            flow: found.flow,
            streams,
            counts,
            departed,
            ranges: None,
            evidence: None,
            unexplained: None,
            spacings: Setting::spacings(&streams),
            pairings: Default::default(),
            rtt: Default::default(),
            rtt_error: [TimeDelta::ZERO; 2],
            span: None,
            is_partial: found.is_partial,
        }
    }

    /// Records a packet at `point` at `at` on the timeline.
    #[inline]
    pub(in crate::spp) fn pass(&mut self, point: Point, at: Timestamp) {
        if point == Point::Src {
            widen(&mut self.span, at);
        }
    }

    /// True if the spacing of the datagrams shows that an arrival within the window of this
    /// departure is this departure.
    fn proves(&mut self, departure: &Departure) -> bool {
        let spacings = self.spacings.as_deref_mut();
        let spacing = spacings.and_then(|both| both[departure.direction.index()].as_mut());
        spacing.is_none_or(|spacing| spacing.proves(departure))
    }

    /// Settles a recurring datagram that may have arrived: the result is `Ambiguous` if its spacing
    /// does not prove it.
    #[cold]
    pub(in crate::spp) fn prove(
        &mut self,
        departure: Departure,
        setting: &Setting,
        outcomes: Option<&mut Vec<PacketOutcome>>,
    ) -> Outcome<Departure> {
        let stream = &self.streams[departure.direction.index()];
        if setting.is_unambiguous(departure.path_direction, stream) || self.proves(&departure) {
            return Outcome::Matched(departure);
        }
        // The match took the departure out of the packets in flight, so `Shard::give_up` never
        // counts it.
        self.settle_missing(&departure, 1, true, false, setting, outcomes);
        Outcome::Ambiguous
    }

    /// Settles identical packets without a matched arrival: counts them, and adds their fate to
    /// `outcomes`, if requested. `has_strayed` is true if a packet with their mark arrived in another
    /// flow.
    pub(in crate::spp) fn settle_missing(
        &mut self,
        departure: &Departure,
        packets: u64,
        ambiguous: bool,
        has_strayed: bool,
        setting: &Setting,
        outcomes: Option<&mut Vec<PacketOutcome>>,
    ) {
        let settled = Settled {
            packets,
            missing: packets,
            missing_bytes: packets * u64::from(departure.payload_bytes),
            ambiguous,
        };
        let direction = departure.direction.index();
        let absence = self.absence(departure, has_strayed, setting);
        let outside = setting.may_be_outside(departure.path_direction, departure.at);
        let fate = self.counts[direction].settle_missing(settled, outside, absence);
        if let Some(outcomes) = outcomes {
            let (flow, departed) = (self.flow.flow, self.departed[direction]);
            outcomes.push(PacketOutcome::of_missing(
                flow, departure, &settled, departed, fate, setting,
            ));
        }
    }

    /// True if the downstream capture provably missed a packet, for which this departure without an
    /// arrival is the sign.
    pub(in crate::spp) fn proves_miss(&self, departure: &Departure, setting: &Setting) -> bool {
        !self.is_partial
            && !self.is_unrelated()
            && self.evidence.as_ref().is_some_and(|evidence| {
                evidence[departure.direction.index()].proves_miss(departure)
                    && !setting.may_be_outside(departure.path_direction, departure.at)
                    && !may_be_unexplained(self.unexplained.as_deref(), departure, setting)
            })
    }

    /// True if no packet of the flow was found at both points. A middlebox may then have changed the
    /// numbers of its segments in an unknown way, or these are two flows with the same endpoints: the
    /// packets and acknowledgments at one point show nothing about the packets at the other.
    pub(in crate::spp) fn is_unrelated(&self) -> bool {
        is_unrelated(&self.counts)
    }

    /// Reason why a packet was not captured downstream.
    fn absence(&self, departure: &Departure, has_strayed: bool, setting: &Setting) -> Absence {
        absence(
            self.evidence.as_deref(),
            self.unexplained.as_deref(),
            &self.counts[departure.direction.index()],
            departure,
            has_strayed,
            setting,
            self.is_partial || self.is_unrelated(),
        )
    }

    /// Arrivals in `direction` without a departure.
    #[cold]
    pub(in crate::spp) fn unexplained(&mut self, direction: Direction) -> &mut Unexplained {
        &mut self.unexplained.get_or_insert_default()[direction.index()]
    }

    /// True if each departed packet has a fate. Data in segments that are recut counts as in flight.
    pub(in crate::spp) fn is_settled(&self) -> bool {
        let is_settled = |direction: Direction| {
            let (counts, index) = (&self.counts[direction.index()], direction.index());
            counts.seen - counts.copies == self.departed[index]
        };
        self.ranges.is_none() && Direction::BOTH.into_iter().all(is_settled)
    }

    /// Data in flight in `direction`.
    pub(in crate::spp) fn ranges(&mut self, direction: Direction) -> &mut Ranges {
        &mut self.ranges.get_or_insert_default()[direction.index()]
    }

    /// Matches arriving data; `before` is the time of a recent arrival that it repeats. Returns the
    /// outcome and the number of packets on the path.
    pub(in crate::spp) fn arrive_by_range(
        &mut self,
        direction: Direction,
        sighting: &Sighting,
        usual: &UsualOwds,
        before: Option<Timestamp>,
    ) -> (Outcome<Departure>, u64) {
        let ranges = &mut self.ranges.get_or_insert_default()[direction.index()];
        let counts = &mut self.counts[direction.index()];
        let outcome = match before {
            // This is a copy of an arrival, but a retransmission of the same bytes may be in flight.
            Some(before) => {
                if sighting.mark.may_be_sent_again_after(sighting.at - before) {
                    ranges.doubt_like(sighting, usual);
                }
                Outcome::Unknown
            }
            None => ranges.arrive(sighting, usual, |settled| counts.settle_matched(settled)),
        };
        (outcome, ranges.packets_in(sighting.mark.length))
    }

    /// Builds the sample of two packets; the first went in `direction`. Returns `None` if the error
    /// may exceed the round-trip time.
    pub(in crate::spp) fn sample(
        &mut self,
        direction: Direction,
        reference: Point,
        outward: &Crossed,
        homeward: &Crossed,
        setting: &Setting,
    ) -> Option<RttSample> {
        let far = reference.opposite();
        let out = match reference {
            Point::Src => PathDirection::Out,
            Point::Dst => PathDirection::Back,
        };
        // RTT = (back − out at the reference) − (back − out at the far point). Each difference is
        // on one clock, so a constant offset cancels.
        let turnaround = homeward.time_at(far) - outward.time_at(far);
        let elapsed = homeward.time_at(reference) - outward.time_at(reference);
        let rtt = elapsed - turnaround - setting.clock.skew_share(far, turnaround);
        let rtt_error =
            setting
                .clock
                .rtt_error(turnaround, reference, [outward.departed, homeward.arrived]);
        if rtt_error > rtt.max(SMALL_ERROR) {
            return None;
        }
        self.rtt[direction.index()].add(rtt);
        let largest = &mut self.rtt_error[direction.index()];
        *largest = (*largest).max(rtt_error);
        Some(RttSample {
            flow: self.flow.flow,
            direction,
            reference,
            time: outward.time_at(reference),
            rtt,
            rtt_error,
            turnaround,
            owd_out: outward.raw_owd(out),
            owd_back: homeward.raw_owd(out.opposite()),
        })
    }

    /// Gives up data that left before `horizon` and adds missing data to `outcomes` if requested.
    /// Returns the number of missing packets.
    pub(in crate::spp) fn give_up(
        &mut self,
        horizon: Timestamp,
        setting: &Setting,
        outcomes: &mut Option<Vec<PacketOutcome>>,
    ) -> u64 {
        let mut missing = 0;
        let Some(ranges) = &mut self.ranges else {
            return missing;
        };
        let flow = self.flow.flow;
        let is_partial = self.is_partial || is_unrelated(&self.counts);
        let each = ranges.iter_mut().zip(&mut self.counts).zip(self.departed);
        for ((ranges, counts), departed) in each {
            ranges.expire(horizon, |settled, departure, digest| {
                let settled = Settled {
                    ambiguous: settled.ambiguous || setting.is_contradicted(departure.at),
                    ..settled
                };
                let outside = setting.may_be_outside(departure.path_direction, departure.at);
                let absence = absence(
                    self.evidence.as_deref(),
                    self.unexplained.as_deref(),
                    counts,
                    departure,
                    setting.has_strayed(departure.path_direction, digest),
                    setting,
                    is_partial,
                );
                missing += settled.missing;
                let fate = counts.settle_missing(settled, outside, absence);
                if let Some(outcomes) = outcomes
                    // A whole piece may wait behind an incomplete one; its arrivals have been
                    // reported.
                    && settled.missing > 0
                {
                    outcomes.push(PacketOutcome::of_missing(
                        flow, departure, &settled, departed, fate, setting,
                    ));
                }
            });
        }
        missing
    }

    pub(in crate::spp) fn close(mut self) -> FlowSummary {
        let span = self
            .span
            .map_or(TimeDelta::ZERO, |(first, last)| last - first);
        let rtt = self.rtt.each_mut().map(Quantiles::summary);
        FlowSummary {
            duration: span,
            counts: self.counts,
            rtt,
            rtt_error: [0, 1].map(|index| rtt[index].map(|_| self.rtt_error[index])),
            flow: self.flow,
        }
    }
}

/// As [`Pair::is_unrelated`], from the counts of both directions. False without any arrival: each capture then
/// has only the packets that leave its point, and none of them could match.
fn is_unrelated(counts: &[DirectionCounts; 2]) -> bool {
    let sum = |count: fn(&DirectionCounts) -> u64| counts.iter().map(count).sum::<u64>();
    sum(|counts| counts.arrivals_matched) == 0 && sum(|counts| counts.arrived) > 0
}
