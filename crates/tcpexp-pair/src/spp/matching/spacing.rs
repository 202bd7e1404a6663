//! Recurring datagrams that their spacing distinguishes.
//!
//! The first pass learned the window of delays of a stream and showed that the times between its
//! datagrams do not repeat. An arrival may then be the one departure whose delay lies in the
//! window. This is not certain: a datagram that a queue delays by the time to its successor arrives
//! in the successor's window. The argument that excludes this:
//!
//! - Identical datagrams leave farther apart than the window is wide, and none is faster than its
//!   lower end. So an arrival in the window of a departure is not a later one.
//! - If it is an earlier one, all datagrams since the queue grew have been taken for a successor.
//!   The first of them left its own departure without an arrival, which ends the sequence of
//!   departures that all arrived.
//! - After such a gap only [`MIN_CONSECUTIVE`] departures in a row that all arrive within the window
//!   are believed. If all of them were taken for a successor, the queue would have to follow the
//!   differences between [`MIN_CONSECUTIVE`] spacings to within the window. The differences must
//!   exceed it at every lag up to [`LAGS`], most of the time, near these departures.

use std::collections::VecDeque;

use tcpexp_units::Timestamp;

use super::departure::Departure;
use crate::spp::alignment::SpacedOwds;

/// After a departure without an arrival in its window, this many consecutive departures must have
/// one before any counts as proven. A departure agrees with a wrong shift by chance at most once in
/// four, so twelve agree once in 10⁷ gaps.
const MIN_CONSECUTIVE: u32 = 12;
/// Number of departures by which a delay may be too long: 32 of a telephone call are 640 ms.
const LAGS: usize = 32;
/// Number of spacings that are compared at each lag, and how many of them must differ.
const COMPARED: usize = 16;
const DIFFERING: usize = 12;
/// Number of changes between regular and irregular spacing that are remembered; a departure from
/// before them counts as regular.
const CHANGES: usize = 1_024;

/// Spacing of one direction of a stream.
#[derive(Debug)]
pub(in crate::spp) struct Spacing {
    /// Spacings that differ by more are not equal, in nanoseconds.
    window_ns: i64,
    last: Option<Timestamp>,
    /// The latest spacings, the newest last.
    spacings_ns: VecDeque<i64>,
    /// Departures at which the spacing became irregular or regular again.
    changes: VecDeque<(Timestamp, bool)>,
    /// Number of the latest departure that arrived within the window.
    arrived: Option<u32>,
    /// Number of departures in a row that arrived within the window.
    in_a_row: u32,
}

impl Spacing {
    pub(super) fn new(owds: SpacedOwds) -> Self {
        Self {
            window_ns: (owds.most - owds.least).as_nanos(),
            last: None,
            spacings_ns: VecDeque::with_capacity(LAGS + COMPARED),
            changes: VecDeque::new(),
            arrived: None,
            in_a_row: 0,
        }
    }

    /// Adds a departure.
    pub(in crate::spp) fn depart(&mut self, at: Timestamp) {
        if let Some(last) = self.last.replace(at) {
            if self.spacings_ns.len() == LAGS + COMPARED {
                self.spacings_ns.pop_front();
            }
            self.spacings_ns.push_back((at - last).as_nanos());
        }
        let is_irregular = self.is_irregular();
        if self.changes.back().is_some_and(|change| change.1) != is_irregular {
            if self.changes.len() == CHANGES {
                self.changes.pop_front();
            }
            self.changes.push_back((at, is_irregular));
        }
    }

    /// True if the latest spacings differ from earlier ones at every lag.
    fn is_irregular(&self) -> bool {
        let spacings_ns = &self.spacings_ns;
        spacings_ns.len() == LAGS + COMPARED
            && (1..=LAGS).all(|lag| {
                let compared = LAGS..LAGS + COMPARED;
                let differing = compared.filter(|&place| {
                    // A capture may contain any times, so the difference may exceed 63 bits.
                    let apart_ns = spacings_ns[place].abs_diff(spacings_ns[place - lag]);
                    apart_ns > self.window_ns.unsigned_abs()
                });
                differing.count() >= DIFFERING
            })
    }

    /// Adds a departure that an arrival in its window may be; true if the arrival is this departure.
    pub(in crate::spp) fn proves(&mut self, departure: &Departure) -> bool {
        // `number` is the lower half of a count, so it wraps.
        let follows = self.arrived.map(|number| number.wrapping_add(1)) == Some(departure.number);
        // More packets may have left since this departure, so the state at its time decides.
        let place = self.changes.partition_point(|(at, _)| *at <= departure.at);
        let is_irregular = place
            .checked_sub(1)
            .is_some_and(|place| self.changes[place].1);
        self.in_a_row = match (is_irregular, follows) {
            (false, _) => 0,
            (true, true) => self.in_a_row.saturating_add(1),
            (true, false) => 1,
        };
        self.arrived = Some(departure.number);
        self.in_a_row > MIN_CONSECUTIVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_at_both_ends_of_time_do_not_overflow() {
        let mut spacing = Spacing {
            window_ns: 1,
            last: None,
            spacings_ns: VecDeque::new(),
            changes: VecDeque::new(),
            arrived: None,
            in_a_row: 0,
        };
        for number in 0..LAGS + COMPARED {
            let at = [Timestamp::MIN, Timestamp::MAX][number % 2];
            spacing.depart(at);
        }
        spacing.depart(Timestamp::MIN);
        assert_eq!(spacing.spacings_ns.len(), LAGS + COMPARED);
        assert!(!spacing.is_irregular(), "every second spacing is equal");
    }
}
