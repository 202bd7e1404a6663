//! State of one direction of a flow, and the plausible delays of its packets.

use tcpexp_units::{TimeDelta, Timestamp};

use crate::spp::alignment::SpacedOwds;

/// Stands for no delay, and is shorter than any.
const NO_OWD: TimeDelta = TimeDelta::from_nanos(i64::MIN);

/// One direction of a flow: the state that distinguishes identical packets.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Stream {
    /// Time after which every arrival was captured upstream: the earliest time if the upstream
    /// capture shows the SYN; never if the way is inferred.
    covered_from: Timestamp,
    repetition: Repetition,
}

/// How identical packets come about in a stream.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) enum Repetition {
    /// TCP: the sender retransmits.
    Retransmitted(LatestOwds),
    /// Equal datagrams follow each other.
    Recurring {
        /// Shortest time until a datagram recurs.
        period: TimeDelta,
        /// Delays of datagrams that their spacing distinguishes.
        spaced: Option<SpacedOwds>,
    },
    /// No identical datagram is expected.
    None,
}

/// The latest packets of a stream that arrived.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct LatestOwds {
    /// Latest departure time among matched packets.
    departure: Timestamp,
    /// One-way delays of the last two arrivals; [`NO_OWD`] before them.
    owds: [TimeDelta; 2],
}

impl Default for LatestOwds {
    fn default() -> Self {
        Self {
            departure: Timestamp::MIN,
            owds: [NO_OWD; 2],
        }
    }
}

impl Stream {
    pub(in crate::spp) fn new(covered_from: Timestamp, repetition: Repetition) -> Self {
        Self {
            covered_from,
            repetition,
        }
    }

    pub(in crate::spp) fn covered_from(&self) -> Timestamp {
        self.covered_from
    }

    /// Shortest time until a datagram recurs; `None` if none recurs.
    pub(in crate::spp) fn period(&self) -> Option<TimeDelta> {
        match self.repetition {
            Repetition::Recurring { period, .. } => Some(period),
            Repetition::Retransmitted(_) | Repetition::None => None,
        }
    }

    /// Delays of recurring datagrams that their spacing distinguishes.
    pub(in crate::spp) fn spaced(&self) -> Option<SpacedOwds> {
        match self.repetition {
            Repetition::Recurring { spaced, .. } => spaced,
            Repetition::Retransmitted(_) | Repetition::None => None,
        }
    }

    /// Records a matched packet.
    #[inline]
    pub(in crate::spp) fn cross(&mut self, left: Timestamp, arrived: Timestamp) {
        if let Repetition::Retransmitted(latest) = &mut self.repetition {
            latest.departure = latest.departure.max(left);
        }
        self.resemble(left, arrived);
    }

    /// True if a packet that left after `left` has arrived.
    pub(in crate::spp) fn has_overtaken(&self, left: Timestamp) -> bool {
        match self.repetition {
            Repetition::Retransmitted(latest) => left < latest.departure,
            Repetition::Recurring { .. } | Repetition::None => false,
        }
    }

    /// Records the delay of an arrival that is identical to a departure. Two long delays in a row
    /// show that the delay of the path has grown.
    #[inline]
    pub(in crate::spp) fn resemble(&mut self, left: Timestamp, arrived: Timestamp) {
        if let Repetition::Retransmitted(latest) = &mut self.repetition {
            latest.owds = [arrived - left, latest.owds[0]];
        }
    }
}

/// Plausible one-way delays, on the timeline, of a packet that may have an identical one.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct UsualOwds {
    least: TimeDelta,
    /// A packet with a longer delay may be a retransmission.
    longest: TimeDelta,
    /// No packet arrives after a longer delay.
    most: TimeDelta,
    /// How much earlier than its departure a packet may seem to arrive.
    slack: TimeDelta,
    /// Packets that left earlier have been overtaken.
    not_before: Timestamp,
    /// False if no delay is plausible.
    is_any: bool,
    /// True if packets with the same IP ID and payload recur.
    pub(super) recurs: bool,
}

impl UsualOwds {
    pub(super) fn new(least: TimeDelta, most: TimeDelta, slack: TimeDelta, is_any: bool) -> Self {
        Self {
            least,
            longest: most,
            most,
            slack,
            not_before: Timestamp::MIN,
            is_any,
            recurs: false,
        }
    }

    /// Delays of recurring datagrams.
    pub(super) fn of_recurring(
        least: TimeDelta,
        longest: TimeDelta,
        slack: TimeDelta,
        is_any: bool,
    ) -> Self {
        Self {
            most: if is_any { longest } else { TimeDelta::ZERO },
            recurs: true,
            ..Self::new(least, longest, slack, is_any)
        }
    }

    /// Restricts the delays to those that no retransmission can have.
    ///
    /// Without IP IDs and timestamps a retransmission is identical to its original, and a capture
    /// may miss either. A retransmission follows at least a round trip later, after three duplicate
    /// acknowledgments (RFC 5681, section 3.2) or a timeout. By then later packets have overtaken
    /// the original, or nothing else was sent. So a departure must not be overtaken, and its delay
    /// must not exceed the smaller of the last two delays by more than a round trip.
    pub(super) fn of_stream(
        self,
        stream: &Stream,
        smallest: TimeDelta,
        round_trip: TimeDelta,
    ) -> Self {
        // `of_recurring` limits the delays of recurring datagrams.
        let Repetition::Retransmitted(latest) = stream.repetition else {
            return self;
        };
        Self {
            longest: latest.owds[0].min(latest.owds[1]).max(smallest) + round_trip,
            not_before: latest.departure,
            ..self
        }
    }

    /// The same limits, but no delay proves a match.
    pub(in crate::spp) fn none(self) -> Self {
        Self {
            is_any: false,
            ..self
        }
    }

    /// True if a packet with these times has a plausible delay.
    #[inline]
    pub(super) fn include(&self, left: Timestamp, arrived: Timestamp) -> bool {
        let owd = arrived - left;
        self.is_any && self.least <= owd && owd <= self.longest && self.not_before <= left
    }

    /// True if a packet that left at `left`, or earlier, cannot have arrived at `arrived`.
    #[inline]
    pub(super) fn is_too_early(&self, left: Timestamp, arrived: Timestamp) -> bool {
        arrived - left > self.longest
    }

    /// True if a packet that left at `left`, or later, cannot have arrived at `arrived`.
    #[inline]
    pub(super) fn is_too_late(&self, left: Timestamp, arrived: Timestamp) -> bool {
        arrived - left < self.least
    }

    /// Latest departure time of a packet that arrived at `arrived`.
    #[inline]
    pub(super) fn latest_departure(&self, arrived: Timestamp) -> Timestamp {
        arrived + self.slack
    }

    /// True if a packet that left at `left` can no longer arrive at `arrived`.
    #[inline]
    pub(super) fn is_over(&self, left: Timestamp, arrived: Timestamp) -> bool {
        arrived - left > self.most
    }
}
