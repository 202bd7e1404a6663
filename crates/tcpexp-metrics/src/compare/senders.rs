//! The input of a comparison: links and senders of one run.

use std::sync::Arc;

use tcpexp_units::{TimeDelta, Timestamp};

use super::amount::Amount;
use super::window::{Bin, Window};
use crate::bounds::Bounds;

/// One run. All timestamps are on one clock.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Planned start of the traffic.
    pub origin: Timestamp,
    /// The link towards the sinks and the reverse link.
    pub links: [Link; 2],
    /// All traffic generators.
    pub senders: Vec<Sender>,
    /// Times at which the path changed, ascending.
    pub changes: Vec<Timestamp>,
    /// Marks of the routers' queues between two readings of their counters; `None` if unknown.
    pub marks: Option<Vec<Marks>>,
}

/// Packets that a queue marked between two readings of its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Times of the readings.
    pub between: Window,
    /// Number of packets.
    pub packets: u64,
}

/// One direction of the bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Capacity in bits per second from each timestamp on, ascending; `None` where it is unknown.
    /// Empty if it is unknown throughout.
    pub capacity: Vec<(Timestamp, Option<u64>)>,
    /// Traffic that left the link, of all senders.
    pub arrived: Vec<Bin>,
    /// From the first to the last packet of the flows in `arrived`; `None` if unknown.
    pub seen: Option<Window>,
}

/// A traffic generator: the unit between which fairness is computed.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of a sender"
)]
pub struct Sender {
    /// Class of traffic.
    pub class: Arc<str>,
    /// True if the sender always has data to send, or is part of the load of a dataset, whose tool is unknown.
    pub is_bulk: bool,
    /// True for a sender that only measures round-trip times, such as ping; excluded from all sums.
    pub is_probe: bool,
    /// True if it sends UDP packets at a constant rate, as a call does.
    pub is_call: bool,
    /// Index of the link that its data takes.
    pub link: usize,
    /// Planned activity; ends with the last packet if the plan states no end.
    pub active: Window,
    /// From the first to the last packet of its flows, in either direction, at the sending capture; `None` if
    /// unknown.
    pub seen: Option<Window>,
    /// True if the dataset should have flows of the sender and has none, so that what it sent is unknown.
    pub is_unseen: bool,
    /// Full-sized segment; `None` if the sender is not TCP or its handshake was not captured.
    pub segment: Option<Segment>,
    /// Smallest round-trip time between the two hosts.
    pub base_rtt: Option<TimeDelta>,
    /// Its data at the receiving capture.
    pub arrived: Vec<Bin>,
    /// Parts of its activity without bins in which any number of bytes may have arrived.
    pub unknown: Vec<Window>,
    /// Longest time over which `arrived` is a mean, if this time exceeds a bin; zero if bins count packets.
    pub resolution: TimeDelta,
    /// True if the payload in `arrived` may include that of duplicates.
    pub counts_duplicates: bool,
    /// Goodput during its whole activity in bits per second, as its tool reports it; `None` to compute it
    /// from `arrived`.
    pub reported_goodput_bps: Option<f64>,
    /// Its data at the sending capture.
    pub sent: Vec<Bin>,
    /// Time and payload bytes of each retransmission; `None` if unknown.
    pub retransmitted: Option<Vec<(Timestamp, u64)>>,
    /// Fates of its packets; `None` if only one end was captured.
    pub fates: Option<Vec<Fate>>,
    /// Number of packets not among `fates` that arrived, as their acknowledgments show.
    pub untimed_packets: u64,
    /// Number of packets not among `fates` with an unknown fate, such as undelivered ones sent just before the
    /// receiving capture ended.
    pub unknown_packets: u64,
    /// Number of packets of `unknown_packets` sent while the receiving capture may not have been running.
    pub outside_packets: u64,
    /// Send time and round-trip time of its data.
    pub rtts: Vec<(Timestamp, TimeDelta)>,
    /// True if the only capture is not at its host, so that the round-trip times of its data are unknown.
    pub is_captured_elsewhere: bool,
    /// Transfers, if their end was not planned.
    pub transfers: Vec<Transfer>,
    /// Media time of a segment, if the transfers are the segments of a video.
    pub media_time: Option<TimeDelta>,
}

/// A full-sized segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// TCP payload in bytes.
    pub payload_bytes: u32,
    /// Bytes that count against the link's capacity.
    pub link_bytes: u32,
}

/// The fate of a packet, or of several that one record represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Send time.
    pub at: Timestamp,
    /// Number of packets.
    pub packets: u64,
    /// True if lost, false if received.
    pub is_lost: bool,
    /// Time from one capture to the other, with an unknown constant offset between their clocks;
    /// `None` if lost or unknown.
    pub one_way_delay: Option<TimeDelta>,
}

/// One transfer, finished or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Send time of the first packet.
    pub at: Timestamp,
    /// Payload bytes without retransmissions.
    pub bytes: u64,
    /// Time from the first to the last packet.
    pub completion: Completion,
}

/// How long a transfer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Its start and its end were captured.
    Took(TimeDelta),
    /// The start or the end of the capture cuts it off: it takes no less than this.
    AtLeast(TimeDelta),
    /// It failed and never ends.
    Never,
}

impl Completion {
    /// The time; `None` unless the whole transfer was captured.
    pub fn took(self) -> Option<TimeDelta> {
        match self {
            Self::Took(time) => Some(time),
            Self::AtLeast(_) | Self::Never => None,
        }
    }

    /// The time in seconds, infinite for a transfer that failed.
    pub(super) fn seconds(self) -> Bounds {
        match self {
            Self::Took(time) => Bounds::known(time.as_seconds_f64()),
            Self::AtLeast(time) => Bounds::at_least(time.as_seconds_f64()),
            Self::Never => Bounds::known(f64::INFINITY),
        }
    }
}

impl Sender {
    /// A sender without data.
    pub fn idle(class: Arc<str>, active: Window) -> Self {
        Self {
            class,
            is_bulk: false,
            is_probe: false,
            is_call: false,
            link: 0,
            active,
            seen: None,
            is_unseen: false,
            segment: None,
            base_rtt: None,
            arrived: Vec::new(),
            unknown: Vec::new(),
            resolution: TimeDelta::ZERO,
            counts_duplicates: false,
            reported_goodput_bps: None,
            sent: Vec::new(),
            retransmitted: None,
            fates: None,
            untimed_packets: 0,
            unknown_packets: 0,
            outside_packets: 0,
            rtts: Vec::new(),
            is_captured_elsewhere: false,
            transfers: Vec::new(),
            media_time: None,
        }
    }

    /// What `of` selects of its data that arrived in a window.
    pub(super) fn arrived_in(&self, window: Window, of: impl Fn(&Bin) -> u64) -> Amount {
        let amount = Amount::within(&self.arrived, self.seen, window, of);
        if self.is_unknown_in(window) {
            amount.without_end()
        } else {
            amount
        }
    }

    /// Payload of its data that arrived in a window for the first time.
    pub(super) fn goodput_in(&self, window: Window) -> Amount {
        let arrived = self.arrived_in(window, |bin| bin.goodput_bytes);
        // Any part of it may be that of duplicates.
        if self.counts_duplicates {
            arrived.without_start()
        } else {
            arrived
        }
    }

    /// True if the bins show how much arrived in each part of `width` of a window.
    pub(super) fn resolves(&self, window: Window, width: TimeDelta) -> bool {
        self.resolution <= width && !self.is_unknown_in(window) && !self.counts_duplicates
    }

    fn is_unknown_in(&self, window: Window) -> bool {
        let parts = self.unknown.iter().map(|part| part.meet(window));
        parts.into_iter().any(|part| part.from < part.until)
    }
}

impl Run {
    /// The link that stands for all senders: the link that all bulk senders take; without bulk senders, the link
    /// that carried more payload. `None` if bulk senders take both, or if nothing left the link.
    pub(super) fn main_link(&self) -> Option<&Link> {
        let senders = || self.senders.iter().filter(|sender| !sender.is_probe);
        let mut bulk = senders().filter(|sender| sender.is_bulk);
        let index = if let Some(first) = bulk.next() {
            let is_shared = bulk.all(|other| other.link == first.link);
            is_shared.then_some(first.link)?
        } else {
            let payload = |link: usize| -> u64 {
                let bins = senders().filter(|sender| sender.link == link);
                let bins = bins.flat_map(|sender| &sender.arrived);
                bins.map(|bin| bin.goodput_bytes).sum()
            };
            usize::from(payload(1) > payload(0))
        };
        Some(&self.links[index]).filter(|link| !link.arrived.is_empty())
    }
}

impl Link {
    /// Mean capacity in a window, in bits per second; `None` if unknown for a part of it.
    pub(super) fn capacity_bps(&self, window: Window) -> Option<f64> {
        let ends = self.capacity.iter().skip(1).map(|(at, _)| *at);
        let mut bits = 0.0;
        let mut known = TimeDelta::ZERO;
        for ((from, bps), until) in self.capacity.iter().zip(ends.chain([Timestamp::MAX])) {
            let part = window.meet(Window { from: *from, until });
            if part.from < part.until {
                let length = part.until - part.from;
                bits += (*bps)? as f64 * length.as_seconds_f64();
                known += length;
            }
        }
        // The capacity before the first entry is unknown.
        let is_known = known > TimeDelta::ZERO && known == window.until - window.from;
        is_known.then(|| bits / known.as_seconds_f64())
    }

    /// Capacity at a point in time, in bits per second.
    pub(super) fn capacity_at(&self, at: Timestamp) -> Option<f64> {
        let (_, bps) = self.capacity.iter().rfind(|(from, _)| *from <= at)?;
        bps.map(|bps| bps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    fn capacity(capacity: &[(i64, Option<u64>)], from: i64, until: i64) -> Option<f64> {
        let capacity = capacity
            .iter()
            .map(|(from, bps)| (at(*from), *bps))
            .collect();
        let link = Link {
            capacity,
            ..Link::default()
        };
        link.capacity_bps(Window {
            from: at(from),
            until: at(until),
        })
    }

    #[test]
    fn changing_capacity_is_averaged_over_time() {
        let steps = [(0, Some(10)), (30, Some(20))];
        assert_eq!(capacity(&steps, 0, 30), Some(10.0));
        assert_eq!(capacity(&steps, 20, 60), Some(17.5));
    }

    #[test]
    fn partly_unknown_capacity_is_unknown() {
        assert_eq!(capacity(&[], 0, 30), None);
        assert_eq!(capacity(&[(0, Some(10)), (30, None)], 0, 31), None);
        assert_eq!(capacity(&[(0, Some(10)), (30, None)], 0, 30), Some(10.0));
        assert_eq!(capacity(&[(5, Some(10))], 0, 30), None);
    }
}
