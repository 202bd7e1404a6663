//! State of the run that all shards share.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;

use super::smallest::smallest_owds;
use super::spacing::Spacing;
use super::strays::Strays;
use super::stream::{LatestOwds, Repetition, Stream, UsualOwds};
use crate::spp::alignment::{Alignment, Ends, Field, Recurrences, SpacedOwds, address_number};
use crate::spp::clock::{ClockModel, Coverage, DISORDER};
use crate::spp::crossing::PathDirection;
use crate::spp::linking::{Found, PairedFlow, whole};
use crate::spp::point::Point;
use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, Protocol};
use tcpexp_units::{TimeDelta, Timestamp};

/// State of the run that all shards share.
#[derive(Debug)]
pub(in crate::spp) struct Setting {
    pub(in crate::spp) clock: ClockModel,
    /// The times at which packets show the clocks.
    pub(in crate::spp) coverage: Coverage,
    /// How much earlier than its departure a packet may seem to arrive because of coarse clocks.
    coarseness: TimeDelta,
    /// How much earlier than its departure a packet may seem to arrive on the timeline. The
    /// timeline uses the middle of the offset's bounds, while the true offset may be anywhere
    /// between them, and may drift.
    pub(in crate::spp) slack: TimeDelta,
    /// Smallest plausible one-way delay, by [`PathDirection::index`].
    smallest_owd: [TimeDelta; 2],
    /// Maximum error of the clocks' offset; `None` if packets in one direction alone do not bound it.
    offset_error: Option<TimeDelta>,
    /// The smallest round trip of the sampled packets; `None` if it is unknown.
    round_trip: Option<TimeDelta>,
    /// Time of the first and the last packet of each capture on the common timeline.
    pub(in crate::spp) spans: [(Timestamp, Timestamp); 2],
    /// Largest sampled one-way delay on the common timeline, by [`PathDirection::index`]; without samples,
    /// the longest delay allowed.
    pub(in crate::spp) max_owd: [TimeDelta; 2],
    /// The same with packets that arrived after the upstream capture ended.
    max_owd_at_end: [TimeDelta; 2],
    /// True if the capture records each packet twice, by [`Point::index`](Point::index).
    pub(in crate::spp) doubles: [bool; 2],
    /// True if the capture is known to miss packets, by [`Point::index`](Point::index).
    pub(in crate::spp) misses: [bool; 2],
    /// Times between which packets seem to arrive before they leave.
    pub(in crate::spp) contradicted: Option<(Timestamp, Timestamp)>,
    /// Flows with recurring datagrams, by [`Point::index`](crate::spp::Point::index).
    recurrences: [Recurrences; 2],
    /// Delays of recurring datagrams that their spacing distinguishes.
    spaced: HashMap<Ends, SpacedOwds, FixedState>,
    /// True if the path preserves the checksums of datagrams.
    keeps_checksums: bool,
    /// Time in flight after which a packet is given up.
    pub(in crate::spp) horizon: TimeDelta,
    /// First and last departure time among matched packets, by [`PathDirection::index`]: both captures were
    /// running between them.
    pub(in crate::spp) proven: [Option<(Timestamp, Timestamp)>; 2],
    /// Record number in each capture after all processed records, by
    /// [`Point::index`](Point::index).
    pub(in crate::spp) latest_record: [u64; 2],
    /// True if the evidence on packets without an arrival is weighed.
    pub(in crate::spp) weighs: bool,
    /// Packets in flows that only this capture has shown, by [`Point::index`](Point::index).
    pub(in crate::spp) strays: [Strays; 2],
    /// Upper bound on the live flows of a capture.
    pub(in crate::spp) max_flows: usize,
}

impl Setting {
    /// `longest` is the longest one-way delay allowed; `max_flows` is the upper bound on the live
    /// flows of a capture.
    pub(in crate::spp) fn new(
        alignment: &Alignment,
        longest: TimeDelta,
        max_flows: NonZeroUsize,
    ) -> Self {
        // Each arrival needs these, so they are computed once.
        let coarseness = alignment.clock.delay_error.coarseness();
        let offset = alignment.clock.offset();
        let round_trip = alignment.clock.smallest_round_trip();
        // Rounding, skew or false matches may put the lower bound above the upper bound.
        let apart = offset.upper.zip(offset.lower);
        let apart = apart.map(|(upper, lower)| (upper - lower).max(TimeDelta::ZERO));
        let half = apart.map(|apart| TimeDelta::from_nanos(apart.as_nanos() / 2));
        let smallest_owd = smallest_owds(alignment, round_trip);
        let max_owd = alignment.max_owd.map(|owd| owd.unwrap_or(longest));
        // A suspected step stays on the timeline. If it is a real step, packets beyond it seem to
        // arrive before they left, by the size of the step.
        let steps = alignment.clock.suspected_steps().iter();
        let unsure = steps.fold(TimeDelta::ZERO, |sum, step| sum + step.size.abs());
        // The bounds hold for the sampled packets; the clocks may drift between them.
        let drift = alignment.clock.delay_error.drift.min(longest);
        let slack = DISORDER + coarseness + half.unwrap_or_default() + drift + unsure;
        Self {
            clock: alignment.clock.clone(),
            coverage: alignment.clock.coverage(),
            coarseness,
            slack,
            smallest_owd: smallest_owd.map(|smallest| smallest - coarseness - unsure),
            offset_error: half.map(|half| half + drift),
            round_trip,
            spans: alignment.spans,
            max_owd,
            max_owd_at_end: [0, 1].map(|path_direction| {
                let at_end = alignment.max_owd_at_end[path_direction];
                max_owd[path_direction].max(at_end.unwrap_or(longest).min(longest))
            }),
            doubles: alignment.doubles,
            contradicted: alignment.contradicted,
            misses: [false; 2],
            weighs: false,
            recurrences: alignment.recurrences.clone(),
            spaced: alignment.spaced.clone(),
            keeps_checksums: alignment.identification.uses(Field::UdpChecksum),
            horizon: longest,
            proven: [None; 2],
            latest_record: [0; 2],
            strays: Default::default(),
            max_flows: max_flows.get(),
        }
    }

    /// True if a packet that left at `at` and did not arrive may have passed the other point before
    /// its capture began or after it ended. A packet that left between two matched packets is not
    /// outside, unless packets may have overtaken it or it may have overtaken packets.
    pub(in crate::spp) fn may_be_outside(
        &self,
        path_direction: PathDirection,
        at: Timestamp,
    ) -> bool {
        let (first, last) = self.spans[path_direction.upstream().opposite().index()];
        // A coarse clock may show the same time for earlier and later departures.
        let off = self.coarseness;
        // Packets overtake each other by at most the spread of their delays. The longest delay may
        // exceed the sample by as much: the packets that it delays are the first to arrive outside.
        let smallest = self.smallest_owd[path_direction.index()];
        let spread = |longest: TimeDelta| (longest - smallest - smallest).max(TimeDelta::ZERO);
        let overtakes = spread(self.max_owd[path_direction.index()]);
        let proven = self.proven[path_direction.index()];
        // On the timeline, a packet may arrive before it leaves by the error of the offset. Without a bound of this
        // error, only packets that arrived show when the capture began.
        let has_begun = self
            .offset_error
            .is_some_and(|error| first + error + off <= at)
            || proven.is_some_and(|(from, _)| from + overtakes + off <= at);
        // A queue that fills may delay the last packets by more than those whose arrival the upstream
        // capture still saw.
        let longest = self.max_owd_at_end[path_direction.index()];
        let has_not_ended = at + longest + spread(longest) + off <= last
            || proven.is_some_and(|(_, to)| at + overtakes + off <= to);
        !(has_begun && has_not_ended)
    }

    /// True if `at` is around an unknown clock step: packets seem to arrive before they leave. A packet that
    /// seems to be missing may have passed at another time.
    pub(in crate::spp) fn is_contradicted(&self, at: Timestamp) -> bool {
        self.contradicted.is_some_and(|(first, last)| {
            let longest = self.max_owd_at_end.into_iter().max().unwrap_or_default();
            first - longest - self.slack <= at && at <= last + longest + self.slack
        })
    }

    /// True if a packet with this mark digest arrived in a flow that only the downstream capture has
    /// shown.
    pub(in crate::spp) fn has_strayed(
        &self,
        path_direction: PathDirection,
        digest: [u64; 2],
    ) -> bool {
        let downstream = path_direction.upstream().opposite();
        self.strays[downstream.index()].has(digest)
    }

    /// Forgets strays that can be no packet in flight, after the shards have advanced to `now`.
    pub(in crate::spp) fn forget_strays(&mut self, now: Timestamp) {
        // The shards give up packets once per quarter of the horizon, and after the last round.
        if now != Timestamp::MAX {
            for strays in &mut self.strays {
                strays.forget(now - self.horizon - self.horizon);
            }
        }
    }

    /// Packets that left before this time are overdue at `now`: all of them that arrive at all have
    /// arrived, unless a packet takes twice as long as the slowest one in the sample.
    pub(in crate::spp) fn overdue(
        &self,
        path_direction: PathDirection,
        now: Timestamp,
    ) -> Timestamp {
        let longest = self.max_owd[path_direction.index()];
        now - longest - longest - self.slack
    }

    /// First and last plausible arrival time of a packet that left at `at`.
    pub(in crate::spp) fn arrives_within(
        &self,
        path_direction: PathDirection,
        at: Timestamp,
    ) -> [Timestamp; 2] {
        let longest = self.longest_of_recurring(path_direction);
        let smallest = self.smallest_owd[path_direction.index()];
        [at + smallest - self.slack, at + longest]
    }

    /// Initial state of a flow's directions, by [`Direction::index`].
    pub(in crate::spp) fn streams(&self, found: &Found) -> [Stream; 2] {
        Direction::BOTH.map(|direction| {
            let path_direction = match direction {
                Direction::Forward => found.path_direction,
                Direction::Reverse => found.path_direction.opposite(),
            };
            let upstream = path_direction.upstream().index();
            let is_tcp = found.flow.protocol == Protocol::Tcp;
            let covered_from = match (found.way_is_known, found.began[upstream]) {
                (false, _) => Timestamp::MAX,
                (true, true) => Timestamp::MIN,
                (true, false) => self.covered_from(path_direction, is_tcp),
            };
            let repetition = if is_tcp {
                Repetition::Retransmitted(LatestOwds::default())
            } else {
                self.recurrence(&found.flow, direction)
            };
            Stream::new(covered_from, repetition)
        })
    }

    /// Time after which every arrival was captured upstream, whatever that capture shows.
    fn covered_from(&self, path_direction: PathDirection, is_tcp: bool) -> Timestamp {
        let longest = self.max_owd[path_direction.index()];
        // The sample may not include the longest delay, and TCP retransmits.
        let again = if is_tcp { longest } else { TimeDelta::ZERO };
        self.spans[path_direction.upstream().index()].0 + longest + again
    }

    /// True if a SYN that arrived at `at` may have left before the upstream capture began, even if that
    /// capture shows the SYN: it may be a retransmission.
    pub(in crate::spp) fn may_be_earlier_syn(
        &self,
        path_direction: PathDirection,
        at: Timestamp,
    ) -> bool {
        at < self.covered_from(path_direction, true)
    }

    /// Initial state of the spacing of a flow's directions; `None` where nothing needs it.
    pub(in crate::spp) fn spacings(streams: &[Stream; 2]) -> Option<Box<[Option<Spacing>; 2]>> {
        let spacing = |stream: &Stream| stream.spaced().map(Spacing::new);
        let needed = streams.iter().any(|stream| stream.spaced().is_some());
        needed.then(|| Box::new([spacing(&streams[0]), spacing(&streams[1])]))
    }

    /// Delays of recurring datagrams that their spacing distinguishes.
    fn spaced_owds(&self, flow: &PairedFlow, direction: Direction) -> Option<SpacedOwds> {
        let ends = ends(direction, (flow.initiator, flow.responder));
        // The first pass compares flows with the same endpoints.
        flow.translated
            .is_none()
            .then(|| self.spaced.get(&ends).copied())?
    }

    /// How the datagrams of a flow recur.
    fn recurrence(&self, flow: &PairedFlow, direction: Direction) -> Repetition {
        self.period(flow, direction)
            .map_or(Repetition::None, |period| Repetition::Recurring {
                period,
                spaced: self.spaced_owds(flow, direction),
            })
    }

    /// Shortest time until a datagram recurs; `None` without recurrence.
    fn period(&self, flow: &PairedFlow, direction: Direction) -> Option<TimeDelta> {
        let at_src = (flow.initiator, flow.responder);
        let ends = [at_src, flow.ends_at_dst()].map(|endpoints| ends(direction, endpoints));
        let [src, dst] = &self.recurrences;
        Recurrences::period_between([src, dst], ends, self.keeps_checksums)
    }

    /// True if a packet of a `stream` with recurring datagrams is the only identical one that can
    /// arrive at its time.
    pub(in crate::spp) fn is_unambiguous(
        &self,
        path_direction: PathDirection,
        stream: &Stream,
    ) -> bool {
        let Some(period) = stream.period() else {
            return true;
        };
        let longest = self.longest_of_recurring(path_direction);
        self.clock.offset_is_sure() && period > longest + longest + self.slack
    }

    /// Longest delay of a packet that may be mistaken for an identical one a period earlier: twice
    /// the largest sample, since the sample may not include the longest delay.
    fn longest_of_recurring(&self, path_direction: PathDirection) -> TimeDelta {
        let longest = self.max_owd[path_direction.index()].max(TimeDelta::ZERO);
        longest + longest + self.slack
    }

    /// Plausible delays of packets of a `stream` that arrived at `at`. If the packet `is_unique`, no
    /// identical one can be mistaken for it, and only the limits that hold for every packet count.
    ///
    /// The limits derive from the smallest delays of the sample. No delay is plausible if an identical
    /// packet may have left before the upstream capture began or after it ended.
    #[inline]
    pub(in crate::spp) fn usual_owds(
        &self,
        path_direction: PathDirection,
        at: Timestamp,
        stream: &Stream,
        is_unique: bool,
    ) -> UsualOwds {
        let smallest = self.smallest_owd[path_direction.index()];
        if stream.period().is_some() {
            let is_any = self.is_unambiguous(path_direction, stream);
            // Where the period alone distinguishes datagrams, the narrow window would only lose
            // late ones.
            if let Some(owds) = stream.spaced().filter(|_| !is_any) {
                return UsualOwds::of_recurring(owds.least, owds.most, self.slack, true);
            }
            // The period leaves room for one datagram among all delays that the bounds of the
            // offset allow, however wrong its middle.
            return UsualOwds::of_recurring(
                -self.slack,
                self.longest_of_recurring(path_direction),
                self.slack,
                is_any,
            );
        }
        // The other limits take a twentieth of the instructions per arrival.
        if is_unique {
            return UsualOwds::new(smallest, self.horizon, self.slack, true);
        }
        let is_any =
            self.clock.offset_is_sure() && !self.may_have_left_outside(path_direction, at, stream);
        let usual = UsualOwds::new(smallest, self.horizon, self.slack, is_any);
        match self.round_trip {
            Some(round_trip) => usual.of_stream(stream, smallest, round_trip + self.coarseness),
            None => usual,
        }
    }

    /// True if a packet of `stream` that arrived at `at` may have passed the first point before its
    /// capture began or after it ended.
    #[inline]
    pub(in crate::spp) fn may_have_left_outside(
        &self,
        path_direction: PathDirection,
        at: Timestamp,
        stream: &Stream,
    ) -> bool {
        let (_, last) = self.spans[path_direction.upstream().index()];
        // No packet that arrives at `at` left later than `at - smallest`.
        let smallest = self.smallest_owd[path_direction.index()];
        at < stream.covered_from() || at - smallest > last
    }

    /// Restores a record number from its lower half.
    pub(super) fn record(&self, point: Point, low: u32) -> u64 {
        whole(low, self.latest_record[point.index()])
    }
}

/// Sender and receiver of a direction; `endpoints` are the initiator and the responder.
fn ends(direction: Direction, endpoints: (SocketAddr, SocketAddr)) -> Ends {
    let ends = [endpoints.0, endpoints.1].map(|end| (address_number(end.ip()), end.port()));
    match direction {
        Direction::Forward => ends,
        Direction::Reverse => [ends[1], ends[0]],
    }
}

/// Extends `span` to include `at`.
pub(in crate::spp) fn widen(span: &mut Option<(Timestamp, Timestamp)>, at: Timestamp) {
    let (first, last) = span.get_or_insert((at, at));
    *first = (*first).min(at);
    *last = (*last).max(at);
}

/// Extends each of `spans` to include the span in its place in `others`.
pub(in crate::spp) fn widen_each(
    spans: &mut [Option<(Timestamp, Timestamp)>; 2],
    others: [Option<(Timestamp, Timestamp)>; 2],
) {
    for (span, other) in spans.iter_mut().zip(others) {
        for at in other.into_iter().flat_map(<[_; 2]>::from) {
            widen(span, at);
        }
    }
}
