//! What a comparison needs to know of a run.

use std::sync::Arc;

use tcpexp_units::{TimeDelta, Timestamp};

use super::window::{Bin, Window};

/// One run. All times are on one clock.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// When traffic was to start.
    pub origin: Timestamp,
    /// The link to the sinks and the link back.
    pub links: [Link; 2],
    /// All that sent.
    pub senders: Vec<Sender>,
    /// When something changed on the path, in order of time.
    pub changes: Vec<Timestamp>,
}

/// One direction of the bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its capacity in bits per second from each of these times on, the first of them at the
    /// beginning; empty if it is not known, and `None` from a time on if that is not known.
    pub capacity: Vec<(Timestamp, Option<u64>)>,
    /// All that came out of it, whoever sent it.
    pub arrived: Vec<Bin>,
}

/// A generator of traffic: what fairness is between.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The class that it is of.
    pub class: Arc<str>,
    /// Whether it sends all that TCP lets it.
    pub is_bulk: bool,
    /// Whether it only asks for round-trip times, as ping does. It is then in no sum.
    pub is_probe: bool,
    /// Which of the run's links its data takes.
    pub link: usize,
    /// From when to when it sent, as planned; to its last packet if the plan does not say.
    pub active: Window,
    /// Its full segment; `None` if it is not TCP or its handshake was not seen.
    pub segment: Option<Segment>,
    /// The smallest round-trip time between its two hosts.
    pub base_rtt: Option<TimeDelta>,
    /// Its data where it arrives.
    pub arrived: Vec<Bin>,
    /// Its data where it is sent.
    pub sent: Vec<Bin>,
    /// When it sent data again, and how many bytes; `None` if nothing tells.
    pub resent: Option<Vec<(Timestamp, u64)>>,
    /// What became of its packets; `None` if only one end was captured.
    pub fates: Option<Vec<Fate>>,
    /// Round-trip times of its data, and when that was sent.
    pub rtts: Vec<(Timestamp, TimeDelta)>,
    /// What it transferred, if its end was not planned.
    pub transfers: Vec<Transfer>,
}

/// The largest segment of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Payload without options, in bytes.
    pub payload_bytes: u32,
    /// What it takes of the link's capacity, in bytes.
    pub link_bytes: u32,
}

/// What became of a packet, or of several that one record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When it left.
    pub at: Timestamp,
    /// How many packets.
    pub packets: u64,
    /// Whether they were lost; else they arrived.
    pub is_lost: bool,
}

/// One connection that transferred something and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When its first packet was sent.
    pub at: Timestamp,
    /// Payload, each byte once.
    pub bytes: u64,
    /// From its first packet to its last; `None` if it did not end.
    pub completion: Option<TimeDelta>,
}

impl Run {
    /// The link to the sinks, or that back if nothing came out of the former.
    pub(super) fn main_link(&self) -> Option<&Link> {
        self.links.iter().find(|link| !link.arrived.is_empty())
    }
}

impl Link {
    /// The mean capacity in a window, in bits per second; `None` if any of it is not known.
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
        // A part before the first capacity is one whose capacity is not known.
        let is_known = known > TimeDelta::ZERO && known == window.until - window.from;
        is_known.then(|| bits / known.as_seconds_f64())
    }

    /// The capacity at a time, in bits per second.
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
            arrived: Vec::new(),
        };
        link.capacity_bps(Window {
            from: at(from),
            until: at(until),
        })
    }

    #[test]
    fn a_capacity_that_changes_is_averaged_over_time() {
        let steps = [(0, Some(10)), (30, Some(20))];
        assert_eq!(capacity(&steps, 0, 30), Some(10.0));
        assert_eq!(capacity(&steps, 20, 60), Some(17.5));
    }

    #[test]
    fn a_capacity_of_which_a_part_is_not_known_is_not_known() {
        assert_eq!(capacity(&[], 0, 30), None);
        assert_eq!(capacity(&[(0, Some(10)), (30, None)], 0, 31), None);
        assert_eq!(capacity(&[(0, Some(10)), (30, None)], 0, 30), Some(10.0));
        assert_eq!(capacity(&[(5, Some(10))], 0, 30), None);
    }
}
