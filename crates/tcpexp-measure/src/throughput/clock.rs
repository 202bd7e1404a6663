//! How far a capture's time has certainly come.

use tcpexp_units::{TimeDelta, Timestamp};

/// A silence longer than this is none: a clock was set, or captures were joined.
pub(super) const LONGEST_SILENCE: TimeDelta = TimeDelta::from_seconds(86_400);

/// The time that a capture has come to, which one packet with a wrong time cannot move.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    previous: Option<Timestamp>,
    certain: Option<Timestamp>,
}

impl Clock {
    /// A packet was captured at `at`; returns whether that may be true.
    ///
    /// It is not believed to be more than a day ahead of the others until another one is.
    #[inline]
    pub(super) fn pass(&mut self, at: Timestamp) -> bool {
        if let Some(previous) = self.previous {
            // Both packets have come that far, so one of them may be wrong.
            let both = at.min(previous);
            self.certain = Some(self.certain.map_or(both, |certain| certain.max(both)));
        }
        self.previous = Some(at);
        self.certain
            .is_none_or(|certain| at - certain <= LONGEST_SILENCE)
    }

    /// The time that the capture has come to; `None` before the second packet.
    #[inline]
    pub(super) fn certain(&self) -> Option<Timestamp> {
        self.certain
    }
}
