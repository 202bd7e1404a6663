//! The scale of a window whose handshake was not captured.

use tcpexp_flow::StreamOffset;

/// The greatest shift of RFC 7323, section 2.3.
const MAX_SHIFT: u8 = 14;
/// So often must data end at the window's edge before the shift that says so is believed.
const BELIEVED_HITS: u32 = 20;
/// Data that ends so close below the edge fills the window.
const EDGE_BYTES: i64 = 1_460;

/// Shift of a receiver's window (RFC 7323, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowScale {
    /// By the handshake, or by data that stops at the window's edge again and again.
    Known(u8),
    /// Not known; a smaller one would have let the sender overrun the window.
    AtLeast(u8),
}

/// Looks for the least shift that allows all data sent.
#[derive(Debug, Default)]
pub(super) struct WindowScaleSearch {
    acknowledged: Option<(StreamOffset, u16)>,
    shift: u8,
    hits: u32,
}

impl WindowScaleSearch {
    #[inline]
    pub(super) fn on_ack(&mut self, ack: StreamOffset, window: u16) {
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
        while self.shift < MAX_SHIFT && room(self.shift) < 0 {
            self.shift += 1;
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
