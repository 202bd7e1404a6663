//! Segments outside the receive window.
//!
//! A receiver drops a segment outside its window (RFC 9293, section 3.10.7.4): a late duplicate of an earlier
//! connection, or a damaged or forged one. It does not move the stream.

use tcpexp_wire::MAX_WINDOW_SHIFT;

use crate::{MAX_WINDOW_BYTES, Segment, StreamOffset};

/// The receive window of the other end, and the latest segment outside it.
///
/// A capture may have missed the packets that moved the window. So a segment outside it is put aside, and
/// belongs to the stream after all if an ACK reaches it or the next data continues it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acceptance {
    window: Window,
    aside: Option<Box<Segment>>,
}

/// Upper bound on the window that an end advertised.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// Largest window field, without those of SYNs.
    largest: u16,
    /// Window field of the SYN, which is never scaled (RFC 7323, section 2.2).
    of_syn: u16,
    /// Shift of the window scale option; `None` if no SYN with its options was captured. The shift counts even
    /// if the other SYN has none, which makes the window too large.
    shift: Option<u8>,
}

impl Window {
    fn bytes(self) -> i64 {
        let shift = self
            .shift
            .map_or(MAX_WINDOW_SHIFT, |shift| shift.min(MAX_WINDOW_SHIFT));
        let bytes = i64::from(self.largest) << shift;
        match bytes.max(self.of_syn.into()) {
            // Nothing of the other end was captured.
            0 => MAX_WINDOW_BYTES,
            bytes => bytes.min(MAX_WINDOW_BYTES),
        }
    }
}

impl Acceptance {
    /// Processes a segment of the other end.
    #[inline]
    pub(crate) fn advertise(&mut self, segment: &Segment) {
        if segment.flags.syn() {
            self.open(segment);
        } else {
            self.window.largest = self.window.largest.max(segment.window);
        }
    }

    /// Processes a SYN of the other end.
    #[cold]
    fn open(&mut self, segment: &Segment) {
        self.window = Window {
            largest: 0,
            of_syn: segment.window,
            shift: segment.syn.map(|syn| syn.window_scale.unwrap_or(0)),
        };
    }

    /// Puts `segment` aside if it is outside the window; returns true if it did. `nxt` is one past the highest
    /// sequence number captured: the sender had room up to there, also if the capture missed the ACKs.
    #[cold]
    pub(crate) fn puts_aside(
        &mut self,
        segment: &Segment,
        nxt: StreamOffset,
        una: Option<StreamOffset>,
    ) -> bool {
        let from = una.map_or(nxt, |una| una.max(nxt));
        // A second SYN-ACK may have any sequence number (RFC 4987, section 3.6).
        let is_outside = !segment.flags.syn() && segment.start.since(from) > self.window.bytes();
        if is_outside {
            self.aside = Some(Box::new(*segment));
        }
        is_outside
    }

    /// Returns the segment put aside if it belongs to the stream, in which `later` is about to leave a gap.
    #[cold]
    pub(crate) fn take_confirmed(
        &mut self,
        later: &Segment,
        nxt: StreamOffset,
        una: Option<StreamOffset>,
    ) -> Option<Box<Segment>> {
        self.aside.take_if(|aside| {
            aside.start >= nxt && (later.start == aside.end() || Some(aside.start) <= una)
        })
    }

    /// Returns the segment put aside if the other end has acknowledged it.
    pub(crate) fn acknowledged(
        &self,
        nxt: StreamOffset,
        una: Option<StreamOffset>,
    ) -> Option<&Segment> {
        let aside = self.aside.as_deref()?;
        (aside.start >= nxt && Some(aside.end()) <= una).then_some(aside)
    }

    /// True if this record was put aside.
    pub(crate) fn has_aside(&self, segment: &Segment) -> bool {
        let aside = self.aside.as_deref();
        aside.is_some_and(|aside| aside.seen.record == segment.seen.record)
    }
}
