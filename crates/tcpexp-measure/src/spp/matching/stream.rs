//! What is known of one direction of a flow, and which delays of its packets are plausible.

use tcpexp_units::{TimeDelta, Timestamp};

/// One direction of a flow, as far as it tells like packets apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Stream {
    /// From when on all that arrives was seen leaving: at once where the upstream capture shows how
    /// the flow began, never where it is guessed which way the flow goes.
    covered_from: Timestamp,
    /// Whether the sender retransmits.
    is_tcp: bool,
    /// How long it takes until a datagram is like one before it; `None` if all differ.
    period: Option<TimeDelta>,
    /// When the packet that left last among those that arrived had left.
    latest_departure: Timestamp,
    /// One-way delays of the two packets that arrived last.
    last_owds: [Option<TimeDelta>; 2],
}

impl Stream {
    pub(in crate::spp) fn new(
        covered_from: Timestamp,
        is_tcp: bool,
        period: Option<TimeDelta>,
    ) -> Self {
        Self {
            covered_from,
            is_tcp,
            period,
            latest_departure: Timestamp::MIN,
            last_owds: [None; 2],
        }
    }

    pub(in crate::spp) fn covered_from(&self) -> Timestamp {
        self.covered_from
    }

    pub(in crate::spp) fn period(&self) -> Option<TimeDelta> {
        self.period
    }

    /// A packet left and arrived then.
    #[inline]
    pub(in crate::spp) fn cross(&mut self, left: Timestamp, arrived: Timestamp) {
        self.latest_departure = self.latest_departure.max(left);
        self.resemble(left, arrived);
    }

    /// What arrived then is like a packet that left then: where the delay of one after the other is
    /// as long, the path has become longer.
    #[inline]
    pub(in crate::spp) fn resemble(&mut self, left: Timestamp, arrived: Timestamp) {
        self.last_owds = [Some(arrived - left), self.last_owds[0]];
    }
}

/// Plausible one-way delays of a packet that is like others, on the timeline.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct UsualOwds {
    least: TimeDelta,
    /// A longer delay may be that of a retransmission.
    longest: TimeDelta,
    /// After so long a packet does not arrive any more.
    most: TimeDelta,
    /// How much earlier than it left a packet may seem to arrive.
    slack: TimeDelta,
    /// What left earlier has been overtaken.
    not_before: Timestamp,
    /// Whether there are any.
    is_any: bool,
    /// Whether packets with the same IP ID and payload recur.
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

    /// Delays of datagrams of which like ones follow each other.
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

    /// Delays after which what arrives is not the retransmission of what left.
    ///
    /// A retransmission is like its original where there are neither IP IDs nor timestamps, and
    /// either may be missing in a capture. It follows after a round trip or later: three duplicate
    /// acknowledgments (RFC 5681, section 3.2) or a timeout come first, and by then others have
    /// overtaken it, or nothing else was sent. So a delay is plausible only of what was not overtaken,
    /// and which is not longer by a round trip than that of both packets before it.
    pub(super) fn of_stream(
        self,
        stream: &Stream,
        smallest: TimeDelta,
        round_trip: TimeDelta,
    ) -> Self {
        if !stream.is_tcp {
            return self;
        }
        let before = stream.last_owds.map(|owd| owd.unwrap_or(smallest));
        Self {
            longest: before[0].min(before[1]).max(smallest) + round_trip,
            not_before: stream.latest_departure,
            ..self
        }
    }

    /// Whether a packet that left and arrived then took one of them.
    #[inline]
    pub(super) fn include(&self, left: Timestamp, arrived: Timestamp) -> bool {
        let owd = arrived - left;
        self.is_any && self.least <= owd && owd <= self.longest && self.not_before <= left
    }

    /// When a packet left at the latest that arrived then.
    #[inline]
    pub(super) fn latest_departure(&self, arrived: Timestamp) -> Timestamp {
        arrived + self.slack
    }

    /// Whether what left then cannot arrive any more.
    #[inline]
    pub(super) fn is_over(&self, left: Timestamp, arrived: Timestamp) -> bool {
        arrived - left > self.most
    }
}
