//! Detects a sender that regularly drains the path to measure its round-trip time (BBR's
//! `PROBE_RTT`).

use tcpexp_units::{TimeDelta, Timestamp};

/// Flight in bytes up to which the path counts as empty: five Ethernet segments. BBR keeps four
/// segments in flight in `PROBE_RTT` (draft-ietf-ccwg-bbr, section 5.3.4.3); the sender may send
/// one more before the capture shows the ACK.
const EMPTY_BYTES: i64 = 5 * 1_460;
/// The path counts as full from this multiple of `EMPTY_BYTES`.
const FULL: i64 = 3;
/// Minimum duration of a drain. `PROBE_RTT` lasts at least 200 ms, part of which passes before the
/// path is empty.
const MIN_SPAN: TimeDelta = TimeDelta::from_millis(120);
/// Longest gap between segments during a drain; an idle application leaves longer gaps.
const LONGEST_GAP: TimeDelta = TimeDelta::from_millis(150);
/// Minimum number of segments during a drain; fewer are no steady stream.
const MIN_SEGMENTS: u32 = 6;
/// Maximum time from a full path to the drain, in shortest round trips: BBR sends nothing for one round trip, which
/// queues may lengthen. A window that falls by a third per round trip, as that of CDG, takes longer.
const LONGEST_FALL: i64 = 3;
/// Maximum time from the drain to half of the earlier flight, in halves of a round trip. BBR restores
/// its window at once and then sends at its bandwidth, so half of two bandwidth-delay products takes
/// one round trip.
const LONGEST_REFILL_HALVES: i64 = 3;
/// Both times while the shortest round trip is not known.
const LONGEST: TimeDelta = TimeDelta::from_seconds(1);

/// Counts flights that shrink to almost nothing, stay small, and grow back without a loss.
#[derive(Debug, Default)]
pub(super) struct Drains {
    /// Time and flight in bytes when the path was last full.
    full: Option<(Timestamp, i64)>,
    /// Start, end and number of segments of the current drain.
    empty: Option<(Timestamp, Timestamp, u32)>,
    /// End of a sufficiently long drain, and the flight in bytes before it.
    candidate: Option<(Timestamp, i64)>,
    count: u32,
}

impl Drains {
    /// Records new data, with `flight_bytes` outstanding after it, on a path with this shortest round trip.
    #[inline]
    pub(super) fn send(&mut self, at: Timestamp, flight_bytes: i64, least_rtt: Option<TimeDelta>) {
        let within = |halves: i64| {
            let most = least_rtt.map(|rtt| rtt.as_nanos().saturating_mul(halves) / 2);
            most.map_or(LONGEST, TimeDelta::from_nanos)
        };
        if flight_bytes > EMPTY_BYTES {
            self.empty = None;
            // BBR restores its window after `PROBE_RTT` (`BBRRestoreCwnd`), so the flight grows
            // back.
            if let Some((since, before)) = self.candidate
                && flight_bytes * 2 >= before
            {
                self.count += u32::from(at - since < within(LONGEST_REFILL_HALVES));
                self.candidate = None;
            }
            if flight_bytes >= EMPTY_BYTES * FULL {
                self.full = Some((at, flight_bytes));
            }
            return;
        }
        let (began, segments) = match self.empty {
            Some((began, latest, segments)) if at - latest < LONGEST_GAP => (began, segments + 1),
            _ => (at, 1),
        };
        self.empty = Some((began, at, segments));
        if at - began >= MIN_SPAN
            && segments >= MIN_SEGMENTS
            && let Some((full, before)) = self.full
            && began - full < within(2 * LONGEST_FALL)
        {
            self.candidate = Some((at, before));
        }
    }

    /// Records a retransmission: a loss shrank the flight, so discards the current drain.
    pub(super) fn send_again(&mut self) {
        *self = Self {
            count: self.count,
            ..Self::default()
        };
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: TimeDelta = TimeDelta::from_millis(80);

    /// The drains of a flight that has these segments every 10 ms.
    fn drains(segments: impl IntoIterator<Item = i64>) -> u32 {
        let mut drains = Drains::default();
        for (step, segments) in (0_i64..).zip(segments) {
            let at = Timestamp::from_nanos(step * 10_000_000);
            drains.send(at, segments * 1_448, Some(RTT));
        }
        drains.count()
    }

    #[test]
    fn a_flight_that_stops_and_stays_small_until_it_is_restored_is_a_drain() {
        let probe = [vec![34; 50], (0..8).map(|step| 34 - 4 * step).collect()];
        let small = [vec![4; 20], vec![8, 12, 16, 20, 34, 34]];
        assert_eq!(drains([probe.concat(), small.concat()].concat()), 1);
    }

    #[test]
    fn a_window_that_falls_step_by_step_is_no_drain() {
        // A third less per round trip, then a segment more per round trip.
        let falls = [16, 11, 8, 5].map(|window| [window; 8]).concat();
        let grows = [5, 5, 6, 7, 8, 9].map(|window| [window; 8]).concat();
        assert_eq!(drains([falls, grows].concat()), 0);
    }
}
