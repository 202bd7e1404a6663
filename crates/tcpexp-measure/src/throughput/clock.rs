//! The capture time that has certainly been reached.

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum gap between packets, a day; a longer gap is a clock step or joined captures.
pub(super) const LONGEST_SILENCE: TimeDelta = TimeDelta::from_seconds(86_400);

/// The capture time reached, robust against one packet with a wrong timestamp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    previous: Option<Timestamp>,
    certain: Option<Timestamp>,
}

impl Clock {
    /// Adds the time of a packet; returns true if the time is plausible.
    ///
    /// A time more than a day ahead is implausible until a second packet confirms it.
    #[inline]
    pub(super) fn pass(&mut self, at: Timestamp) -> bool {
        if let Some(previous) = self.previous {
            // The earlier of two packets: one of the two timestamps may be wrong.
            let both = at.min(previous);
            self.certain = Some(self.certain.map_or(both, |certain| certain.max(both)));
        }
        self.previous = Some(at);
        self.certain
            .is_none_or(|certain| at - certain <= LONGEST_SILENCE)
    }

    /// The capture time reached; `None` before the second packet.
    #[inline]
    pub(super) fn certain(&self) -> Option<Timestamp> {
        self.certain
    }
}
