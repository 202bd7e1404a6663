//! Which two packets make a pair.

use std::collections::VecDeque;

use crate::spp::crossing::{Way, clock_difference};
use crate::spp::matching::Departure;
use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

/// How many packets that went out may wait for one to come back.
const WAITING: usize = 1 << 16;

/// The pairs of one flow that start and end at one point.
///
/// A packet that comes back is paired with the latest one that had reached the far point before
/// it left there, and each packet is in one pair at the most: so the turnaround between them is
/// the shortest there is, and every time the traffic turns around there is a sample. Packets that
/// come back out of order find their place taken; nothing waits for them.
#[derive(Debug, Default)]
pub(in crate::spp) struct Pairing {
    /// The packet that arrived last at the far point, if it is not paired yet.
    latest: Option<Crossed>,
    /// Those that arrived before it and are not paired yet, in order of arrival.
    earlier: VecDeque<Crossed>,
    /// When packets left the far point, as long as it tells arrivals apart.
    departures: VecDeque<Timestamp>,
}

/// A packet that passed both points.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Crossed {
    /// When, on each point's own clock, by [`Point::index`].
    times: [Timestamp; 2],
    /// When it left, on the timeline, where no clock is ever set back.
    pub(in crate::spp) departed: Timestamp,
    /// When it arrived, on the timeline.
    pub(in crate::spp) arrived: Timestamp,
    /// The stretch between clock steps that it lies in.
    pub(in crate::spp) piece: u16,
}

impl Crossed {
    /// A packet that left as `departure` says and arrived at `arrived` on the timeline and at
    /// `time` on that point's own clock.
    pub(in crate::spp) fn new(departure: &Departure, arrived: Timestamp, time: Timestamp) -> Self {
        let times = match departure.way {
            Way::Out => [departure.time, time],
            Way::Back => [time, departure.time],
        };
        let (departed, piece) = (departure.at, departure.piece);
        Self {
            times,
            departed,
            arrived,
            piece,
        }
    }

    /// When it passed `point`, on that point's clock.
    pub(in crate::spp) fn time_at(&self, point: Point) -> Timestamp {
        self.times[point.index()]
    }

    /// One-way delay with the clocks' offset in it, for a packet that went this `way`.
    pub(in crate::spp) fn raw_owd(&self, way: Way) -> TimeDelta {
        let difference = clock_difference(self.times[0], self.times[1]);
        match way {
            Way::Out => difference,
            Way::Back => -difference,
        }
    }
}

impl Pairing {
    /// A packet left the far point at `at` and may come back. All arrivals yet to come are later
    /// than `settled`.
    pub(in crate::spp) fn depart(&mut self, settled: Option<Timestamp>, at: Timestamp) {
        // Of the departures before all arrivals yet to come the last stands for all.
        while let Some(&second) = self.departures.get(1)
            && settled.is_some_and(|settled| second <= settled)
        {
            self.departures.pop_front();
        }
        self.departures.push_back(at);
    }

    /// A packet arrived at the far point and is known to have crossed.
    pub(in crate::spp) fn arrive(&mut self, crossed: Crossed) {
        let mut turned = false;
        while let Some(&departed) = self.departures.front() {
            if departed > crossed.arrived {
                break;
            }
            turned |= self.latest.is_some_and(|latest| latest.arrived < departed);
            self.departures.pop_front();
        }
        // If nothing left since the arrival before this one, nothing will be paired with it.
        let before = self.latest.replace(crossed).filter(|_| turned);
        if self.earlier.len() == WAITING {
            self.earlier.pop_front();
        }
        self.earlier.extend(before);
    }

    /// A packet that left the far point at `departed` came back; its partner if there is one.
    pub(in crate::spp) fn come_back(&mut self, departed: Timestamp) -> Option<Crossed> {
        let is_before = |arrived: &Crossed| arrived.arrived < departed;
        if self.latest.as_ref().is_some_and(is_before) {
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
    fn departures_tell_those_arrivals_apart_that_are_settled_only_later() {
        let mut pairing = Pairing::default();
        let depart = |pairing: &mut Pairing, settled, nanos| {
            let at = Timestamp::from_nanos(nanos);
            pairing.depart(settled, at);
        };
        for nanos in [15, 25, 35] {
            depart(&mut pairing, None, nanos);
        }
        // What arrived until 20 was dealt with; all before 25 is one to what comes now.
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
