//! Whether a sender empties the path now and then to see how long it is (BBR's `PROBE_RTT`).

use tcpexp_units::{TimeDelta, Timestamp};

/// BBR keeps four segments in flight while it looks (draft-ietf-ccwg-bbr, section 5.3.4.3), and one
/// more is counted before its ACK is seen: five of Ethernet.
const EMPTY_BYTES: i64 = 5 * 1_460;
/// There must have been so many times that before, for the path to have been full.
const FULL: i64 = 3;
/// It looks for 200 ms at least; some of it passes before the path is empty.
const LEAST_SPAN: TimeDelta = TimeDelta::from_millis(120);
/// One that has nothing to send is silent longer than this.
const LONGEST_GAP: TimeDelta = TimeDelta::from_millis(150);
/// Fewer segments in this time are no steady stream.
const LEAST_SEGMENTS: u32 = 6;
/// How far in the past a full path is remembered, and how soon it is full again.
const MEMORY: TimeDelta = TimeDelta::from_seconds(1);

/// Looks for flights that shrink to almost nothing, stay there, and come back without a loss.
#[derive(Debug, Default)]
pub(super) struct Drains {
    /// When the path was last full, and how full.
    full: Option<(Timestamp, i64)>,
    /// Beginning, end and number of segments of the current time with an empty path.
    empty: Option<(Timestamp, Timestamp, u32)>,
    /// A time with an empty path that was long enough, and how full the path was before.
    candidate: Option<(Timestamp, i64)>,
    count: u32,
}

impl Drains {
    /// New data is sent, with `flight_bytes` then outstanding.
    #[inline]
    pub(super) fn send(&mut self, at: Timestamp, flight_bytes: i64) {
        if flight_bytes > EMPTY_BYTES {
            self.empty = None;
            if let Some((since, before)) = self.candidate
                && flight_bytes * 2 >= before
            {
                self.count += u32::from(at - since < MEMORY);
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
        if at - began >= LEAST_SPAN
            && segments >= LEAST_SEGMENTS
            && let Some((full, before)) = self.full
            && began - full < MEMORY
        {
            self.candidate = Some((at, before));
        }
    }

    /// Data is sent again: what shrank the flight was a loss.
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
