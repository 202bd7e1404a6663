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
/// Maximum time from a full path to the drain, and from the drain to a full path.
const MEMORY: TimeDelta = TimeDelta::from_seconds(1);

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
    /// Records new data, with `flight_bytes` outstanding after it.
    #[inline]
    pub(super) fn send(&mut self, at: Timestamp, flight_bytes: i64) {
        if flight_bytes > EMPTY_BYTES {
            self.empty = None;
            // BBR restores its window after `PROBE_RTT` (`BBRRestoreCwnd`), so the flight grows
            // back.
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
        if at - began >= MIN_SPAN
            && segments >= MIN_SEGMENTS
            && let Some((full, before)) = self.full
            && began - full < MEMORY
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
