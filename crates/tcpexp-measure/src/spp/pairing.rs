//! Which two packets make a pair.

use std::collections::VecDeque;

use tcpexp_units::Timestamp;

use super::crossing::Crossing;

/// How many packets that went out may wait for one to come back.
const WAITING: usize = 1 << 16;

/// The pairs of one flow that start and end at one point.
///
/// A packet that comes back is paired with the latest one that had reached the far point before
/// it left there, and each packet is in one pair at the most: so the turnaround between them is
/// the shortest there is, and every time the traffic turns around there is a sample. Packets that
/// come back out of order find their place taken; nothing waits for them.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Packets that arrived at the far point and are not paired yet, in order of arrival.
    arrived: VecDeque<Crossed>,
    /// When packets left the far point, as long as it tells arrivals apart.
    departures: VecDeque<Timestamp>,
    round: u64,
}

/// A crossing and the stretch between clock steps that it lies in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossed {
    pub(super) crossing: Crossing,
    /// When the packet passed the far point, on that point's clock.
    pub(super) far_time: Timestamp,
    pub(super) piece: u32,
}

impl Pairing {
    /// A packet left the far point at `far_time` and may come back.
    pub(super) fn depart(&mut self, round: u64, far_time: Timestamp) {
        if round != self.round {
            self.round = round;
            // All arrivals yet to come are later than the departures of earlier rounds: the last
            // of these stands for all.
            let last = self.departures.len().saturating_sub(1);
            self.departures.drain(..last);
        }
        self.departures.push_back(far_time);
    }

    /// A packet arrived at the far point and is known to have crossed.
    pub(super) fn arrive(&mut self, crossed: Crossed) {
        let mut turned = false;
        while let Some(&departed) = self.departures.front() {
            if departed > crossed.far_time {
                break;
            }
            turned |= self.arrived.back().is_some_and(|before| before.far_time < departed);
            self.departures.pop_front();
        }
        // If nothing left since the arrival before this one, nothing will be paired with it.
        if !turned {
            self.arrived.pop_back();
        }
        if self.arrived.len() == WAITING {
            self.arrived.pop_front();
        }
        self.arrived.push_back(crossed);
    }

    /// A packet that left the far point came back; its partner if there is one.
    pub(super) fn come_back(&mut self, far_time: Timestamp) -> Option<Crossed> {
        let mut latest = None;
        while self.arrived.front().is_some_and(|arrived| arrived.far_time < far_time) {
            latest = self.arrived.pop_front();
        }
        latest
    }
}
