//! Chooses the two packets of each pair.

use std::collections::VecDeque;

use crate::spp::crossing::{PathDirection, clock_difference};
use crate::spp::matching::Departure;
use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum number of outward packets that wait for a partner.
const WAITING: usize = 1 << 16;

/// The pairs of one flow that start and end at one point.
///
/// A returning packet is paired with the latest packet that reached the far point before the
/// returning packet left it. Each packet is in at most one pair. So the turnaround is the shortest
/// possible, and each turnaround of the traffic yields one sample. A packet that returns out of
/// order may find its partner taken; it is not paired.
#[derive(Debug, Default)]
pub(in crate::spp) struct Pairing {
    /// The last packet to reach the far point, if it is not paired yet.
    latest: Option<Crossed>,
    /// Earlier unpaired packets, in order of arrival.
    earlier: VecDeque<Crossed>,
    /// Departure times at the far point, as long as they separate arrivals.
    departures: VecDeque<Timestamp>,
}

/// A packet that passed both points.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Crossed {
    /// Time on the clock of each point, by [`Point::index`].
    times: [Timestamp; 2],
    /// Departure time on the timeline, where no clock is set back.
    pub(in crate::spp) departed: Timestamp,
    /// Arrival time on the timeline.
    pub(in crate::spp) arrived: Timestamp,
    /// Number of clock steps before the packet.
    pub(in crate::spp) piece: u16,
}

impl Crossed {
    /// Combines a `departure` with its arrival: `arrived` on the timeline, `time` on the clock of
    /// that point.
    pub(in crate::spp) fn new(departure: &Departure, arrived: Timestamp, time: Timestamp) -> Self {
        let times = match departure.path_direction {
            PathDirection::Out => [departure.time, time],
            PathDirection::Back => [time, departure.time],
        };
        let (departed, piece) = (departure.at, departure.piece);
        Self {
            times,
            departed,
            arrived,
            piece,
        }
    }

    /// Time at `point`, on the clock of that point.
    pub(in crate::spp) fn time_at(&self, point: Point) -> Timestamp {
        self.times[point.index()]
    }

    /// One-way delay of a packet that went in `path_direction`, clock offset included.
    pub(in crate::spp) fn raw_owd(&self, path_direction: PathDirection) -> TimeDelta {
        let difference = clock_difference(self.times[0], self.times[1]);
        match path_direction {
            PathDirection::Out => difference,
            PathDirection::Back => -difference,
        }
    }
}

impl Pairing {
    /// Adds a packet that left the far point at `at` and may come back. All arrivals to come are
    /// later than `settled`.
    pub(in crate::spp) fn depart(&mut self, settled: Option<Timestamp>, at: Timestamp) {
        // Of the departures before all arrivals to come, only the last is needed.
        while let Some(&second) = self.departures.get(1)
            && settled.is_some_and(|settled| second <= settled)
        {
            self.departures.pop_front();
        }
        self.departures.push_back(at);
    }

    /// Adds a matched packet that reached the far point.
    pub(in crate::spp) fn arrive(&mut self, crossed: Crossed) {
        let mut turned = false;
        while let Some(&departed) = self.departures.front() {
            if departed > crossed.arrived {
                break;
            }
            turned |= self.latest.is_some_and(|latest| latest.arrived < departed);
            self.departures.pop_front();
        }
        // If nothing left since the previous arrival, the previous arrival will never be paired.
        let before = self.latest.replace(crossed);
        if self.earlier.len() == WAITING {
            self.earlier.pop_front();
        }
        if let Some(before) = before.filter(|_| turned) {
            self.earlier.push_back(before);
        }
    }

    /// Returns the partner of a packet that left the far point at `departed` and came back.
    pub(in crate::spp) fn come_back(&mut self, departed: Timestamp) -> Option<Crossed> {
        // The order is strict: equal timestamps do not show which packet passed first.
        let is_before = |arrived: &Crossed| arrived.arrived < departed;
        if self.latest.as_ref().is_some_and(is_before) {
            // Only a packet that left before this one and returns after it could use these; it
            // stays unpaired.
            self.earlier.clear();
            return self.latest.take();
        }
        let mut partner = None;
        while self.earlier.front().is_some_and(is_before) {
            partner = self.earlier.pop_front();
        }
        partner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(nanos: i64) -> Crossed {
        let at = Timestamp::from_nanos(nanos);
        Crossed {
            times: [at; 2],
            departed: at,
            arrived: at,
            piece: 0,
        }
    }

    #[test]
    fn departures_that_distinguish_later_arrivals_are_kept() {
        let mut pairing = Pairing::default();
        let depart = |pairing: &mut Pairing, settled, nanos| {
            let at = Timestamp::from_nanos(nanos);
            pairing.depart(settled, at);
        };
        for nanos in [15, 25, 35] {
            depart(&mut pairing, None, nanos);
        }
        // Arrivals up to 20 are settled. For later arrivals, all departures before 25 are
        // equivalent.
        depart(&mut pairing, Some(Timestamp::from_nanos(20)), 45);
        for nanos in [21, 30, 40] {
            pairing.arrive(arrival(nanos));
        }
        let partners = [25, 35, 45].map(|nanos| {
            let partner = pairing.come_back(Timestamp::from_nanos(nanos));
            partner.map(|crossed| crossed.arrived.as_nanos())
        });
        assert_eq!(partners, [Some(21), Some(30), Some(40)]);
    }

    #[test]
    fn departures_without_arrivals_take_no_memory() {
        let mut pairing = Pairing::default();
        for nanos in 0..1_000 {
            let at = Timestamp::from_nanos(nanos);
            pairing.depart(Some(Timestamp::from_nanos(nanos - 10)), at);
        }
        assert!(pairing.departures.len() < 20);
    }
}
