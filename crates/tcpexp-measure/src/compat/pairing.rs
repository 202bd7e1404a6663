//! Two packets, one out and one back, that make a round trip.

use tcpexp_units::{TimeDelta, Timestamp};

use super::search::{Record, Search, Window};
use super::{Options, Sighting};

/// One round trip, made of the last packet that reached the monitor before another left it.
///
/// From timestamps cut to microseconds, so every delay is off by less than 1 µs each way and the
/// round trip by less than 2 µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Half way between `sent` and the second packet's return, on the reference clock.
    pub time: Timestamp,
    /// When the first packet passed the reference, on its clock.
    pub sent: Timestamp,
    /// Time on the path out and back, without the turnaround; zero where it came out negative.
    pub rtt: TimeDelta,
    /// Time between the two packets at the monitor, on its clock (the tool's SPT).
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

/// Asks each direction for its next packet only when it is needed: the window they share moves
/// with every packet found, so the order of asking is part of the result.
pub(super) struct Pairs {
    out: Search,
    back: Search,
    window: Window,
    /// The outgoing packet after the last pair.
    ahead: Option<Record>,
}

impl Pairs {
    /// From the sightings of each direction by [`Point::index`](crate::spp::Point::index).
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
        while out.at_monitor >= back.at_monitor {
            back = self.next_back()?;
        }
        // Without an outgoing packet after it the pair is lost: the original looks for it first.
        let mut ahead = self.next_out()?;
        while ahead.at_monitor < back.at_monitor {
            out = ahead;
            ahead = self.next_out()?;
        }
        self.ahead = Some(ahead);
        Some(Pair::new(out, back))
    }
}
