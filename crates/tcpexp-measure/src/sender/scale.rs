//! The window scale of a connection whose handshake was not captured.

use tcpexp_flow::StreamOffset;
use tcpexp_wire::MAX_WINDOW_SHIFT;

/// Minimum number of times data must end at the window's edge for a shift to count as known.
const BELIEVED_HITS: u32 = 20;
/// Data that ends less than this far below the edge fills the window.
const EDGE_BYTES: i64 = 1_460;

/// Shift of a receiver's window (RFC 7323, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowScale {
    /// The shift, from the handshake or from data that repeatedly stops at the window's edge.
    Known(u8),
    /// Lower bound; with a smaller shift, the sender would have overrun the window.
    AtLeast(u8),
}

/// Searches the smallest shift that allows all data sent.
#[derive(Debug, Default)]
pub(super) struct WindowScaleSearch {
    acknowledged: Option<(StreamOffset, u16)>,
    shift: u8,
    hits: u32,
}

impl WindowScaleSearch {
    #[inline]
    pub(super) fn on_ack(&mut self, ack: StreamOffset, window: u16) {
        // An ACK overtaken on its way carries an older edge of the window.
        if self.acknowledged.is_none_or(|(latest, _)| ack >= latest) {
            self.acknowledged = Some((ack, window));
        }
    }

    #[inline]
    pub(super) fn send(&mut self, end: StreamOffset) {
        let Some((ack, window)) = self.acknowledged else {
            return;
        };
        let room = |shift: u8| (i64::from(window) << shift) - end.since(ack);
        while self.shift < MAX_WINDOW_SHIFT && room(self.shift) < 0 {
            self.shift += 1;
            // Hits at the edge of a refuted shift do not count for the next shift.
            self.hits = 0;
        }
        if (0..EDGE_BYTES).contains(&room(self.shift)) {
            self.hits += 1;
        }
    }

    pub(super) fn found(&self) -> WindowScale {
        if self.hits >= BELIEVED_HITS {
            WindowScale::Known(self.shift)
        } else {
            WindowScale::AtLeast(self.shift)
        }
    }
}
