//! Pairs of an outgoing and an incoming packet that form a round trip.

use tcpexp_units::{TimeDelta, Timestamp};

use super::search::{Record, Search, Window};
use super::{Options, Sighting};

/// A round trip: the last packet that reached the monitor before another packet left it, and this
/// other packet.
///
/// Timestamps are truncated to microseconds, so each delay has an error below 1 µs and the round
/// trip an error below 2 µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Midpoint between `sent` and the second packet's return, on the reference clock.
    pub time: Timestamp,
    /// Time of the first packet at the reference, on the reference clock.
    pub sent: Timestamp,
    /// Round-trip time without the turnaround; zero if the result is negative.
    pub rtt: TimeDelta,
    /// Time between the two packets at the monitor, on the monitor clock (the tool's SPT).
    pub turnaround: TimeDelta,
    /// Time of the first packet from reference to monitor, clock offset included.
    pub owd_out: TimeDelta,
    /// Time of the second packet from monitor to reference, clock offset included.
    pub owd_back: TimeDelta,
}

impl Pair {
    fn new(out: Record, back: Record) -> Self {
        let total = back.at_reference - out.at_reference;
        let turnaround = back.at_monitor - out.at_monitor;
        Self {
            // The original halves whole microseconds and truncates the result.
            time: timestamp(back.at_reference - total / 2),
            sent: timestamp(out.at_reference),
            rtt: TimeDelta::from_micros((total - turnaround).max(0)),
            turnaround: TimeDelta::from_micros(turnaround),
            owd_out: TimeDelta::from_micros(out.at_monitor - out.at_reference),
            owd_back: TimeDelta::from_micros(back.at_reference - back.at_monitor),
        }
    }
}

fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(1_000))
}

/// Iterator over pairs.
///
/// Advances each direction only when needed: each match changes the shared window, so the order of
/// the searches is part of the result.
pub(super) struct Pairs {
    out: Search,
    back: Search,
    window: Window,
    /// The outgoing packet after the last pair.
    ahead: Option<Record>,
}

impl Pairs {
    /// Creates the iterator from the sightings of each direction, indexed by
    /// [`Point::index`](crate::spp::Point::index).
    pub(super) fn new(
        options: &Options,
        out: [Vec<Sighting>; 2],
        back: [Vec<Sighting>; 2],
    ) -> Self {
        let search = |[reference, monitor]: [Vec<Sighting>; 2]| Search::new(reference, monitor);
        Self {
            out: search(out),
            back: search(back),
            window: Window::new(options),
            ahead: None,
        }
    }

    fn next_out(&mut self) -> Option<Record> {
        self.out.next(&mut self.window)
    }

    fn next_back(&mut self) -> Option<Record> {
        self.back.next(&mut self.window)
    }
}

impl Iterator for Pairs {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let mut back = self.next_back()?;
        let mut out = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.next_out()?,
        };
        // The original skips an incoming packet with the time of the outgoing one too.
        while out.at_monitor >= back.at_monitor {
            back = self.next_back()?;
        }
        // A pair without a later outgoing packet is lost, because the original searches that packet
        // first.
        let mut ahead = self.next_out()?;
        while ahead.at_monitor < back.at_monitor {
            out = ahead;
            ahead = self.next_out()?;
        }
        self.ahead = Some(ahead);
        Some(Pair::new(out, back))
    }
}
