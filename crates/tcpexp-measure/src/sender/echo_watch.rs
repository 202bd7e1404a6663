//! Whether the timestamps that data echoes show the ACKs that its sender knew.

use tcpexp_flow::{StreamOffset, is_after};

use super::scale::WindowScale;

/// Number of windows that data may lie beyond the latest echoed ACK: one, and as much again for ACKs that
/// the capture missed.
const MOST_WINDOWS: i64 = 2;

/// The echoes in one direction's data.
#[derive(Debug, Default)]
pub(super) struct EchoWatch {
    /// Most data that was sent beyond the latest ACK whose timestamp had been echoed.
    most_unechoed_bytes: i64,
    /// Largest window of the other end, not scaled.
    largest_window: u16,
    /// First and latest timestamp of the other end.
    stamps: Option<(u32, u32)>,
    /// Number of new data segments that echo a timestamp in the range of `stamps`, and of later ones that
    /// do not.
    known_echoes: u32,
    strange_echoes: u32,
}

impl EchoWatch {
    /// Takes the timestamp and the window of a segment of the other end.
    #[inline]
    pub(super) fn on_ack(&mut self, stamp: Option<u32>, window: u16) {
        self.largest_window = self.largest_window.max(window);
        let Some(stamp) = stamp else {
            return;
        };
        let (_, latest) = self.stamps.get_or_insert((stamp, stamp));
        if is_after(stamp, *latest) {
            *latest = stamp;
        }
    }

    /// Takes new data up to `end`, whose sender knew at most the ACK `known_at_most` by its echoes.
    #[inline]
    pub(super) fn send(
        &mut self,
        echo: Option<u32>,
        end: StreamOffset,
        known_at_most: Option<StreamOffset>,
    ) {
        if let Some(acked) = known_at_most {
            self.most_unechoed_bytes = self.most_unechoed_bytes.max(end.since(acked));
        }
        if let (Some(echo), Some((first, latest))) = (echo, self.stamps) {
            if !is_after(first, echo) && !is_after(echo, latest) {
                self.known_echoes = self.known_echoes.saturating_add(1);
            } else if self.known_echoes > 0 {
                // The first data of a capture that begins late echoes ACKs from before.
                self.strange_echoes = self.strange_echoes.saturating_add(1);
            }
        }
    }

    /// True if the echoes show which ACKs the sender had received.
    ///
    /// The echoes do not show this if most of them match no timestamp of the other end, as behind a
    /// middlebox that changes only the timestamps or only the echoes. They also do not show it if data
    /// lies beyond the window of the latest ACK whose timestamp was echoed: hosts that follow RFC 1323,
    /// section 3.4, to the letter do not echo ACKs without data.
    pub(super) fn shows_acks(&self, window_scale: WindowScale) -> bool {
        let keeps_to_window = match window_scale {
            WindowScale::Known(shift) => {
                let window_bytes = i64::from(self.largest_window) << shift;
                self.most_unechoed_bytes <= window_bytes * MOST_WINDOWS
            }
            WindowScale::AtLeast(_) => true,
        };
        keeps_to_window && self.known_echoes > self.strange_echoes
    }
}
