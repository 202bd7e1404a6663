//! The end of a flow.

use tcpexp_flow::{AfterReset, Direction, Segment};

/// How a flow ended, as far as the capture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Both ends sent a FIN.
    Closed,
    /// Only one end sent a FIN.
    HalfClosed(Direction),
    /// A RST in this direction ended the connection.
    Reset(Direction),
    /// A SYN without an answer: the capture contains no answer, and the initiator acknowledges
    /// nothing.
    Unanswered,
    /// The connection was open when the capture ended.
    Open,
}

impl Ending {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfClosed(Direction::Forward) => "half_closed_by_initiator",
            Self::HalfClosed(Direction::Reverse) => "half_closed_by_responder",
            Self::Reset(Direction::Forward) => "reset_by_initiator",
            Self::Reset(Direction::Reverse) => "reset_by_responder",
            Self::Unanswered => "unanswered",
            Self::Open => "open",
        }
    }
}

/// A RST, until the connection is seen to go on.
#[derive(Clone, Copy, Debug)]
struct Reset {
    by: Direction,
    after: AfterReset,
}

impl Reset {
    /// Processes a later segment; returns true if it shows that the RST ended nothing.
    #[cold]
    fn is_refuted_by(&mut self, segment: &Segment) -> bool {
        let is_own = segment.seen.direction == self.by;
        let start = segment.is_numbered().then_some(segment.start);
        !segment.flags.rst() && self.after.is_refuted_by(is_own, start, segment.ack)
    }
}

/// Segments that close a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Closing {
    finished: [bool; 2],
    reset: Option<Reset>,
    /// True after a SYN.
    is_asked: bool,
    /// True if an end acknowledges a segment, captured or not.
    is_answered: bool,
}

impl Closing {
    /// Processes a segment, except its FIN: that of a segment outside the receive window finishes nothing.
    #[inline]
    pub(super) fn observe(&mut self, segment: &Segment) {
        let direction = segment.seen.direction;
        self.is_asked |= segment.flags.syn();
        self.is_answered |= segment.ack.is_some();
        if let Some(reset) = &mut self.reset
            && reset.is_refuted_by(segment)
        {
            self.reset = None;
        }
        // After both FINs, a RST answers a segment to a closed socket.
        if segment.flags.rst() && self.finished != [true; 2] && self.reset.is_none() {
            self.reset = Some(Reset {
                by: direction,
                after: AfterReset::default(),
            });
        }
    }

    /// Processes the FIN of an end.
    #[cold]
    pub(super) fn finish(&mut self, direction: Direction) {
        self.finished[direction.index()] = true;
    }

    /// Withdraws the FIN of an end, which the other end has dropped.
    #[cold]
    pub(super) fn go_on(&mut self, direction: Direction) {
        self.finished[direction.index()] = false;
    }

    /// True if both ends sent a FIN, or one end sent a RST.
    #[inline]
    pub(super) fn is_closed(self) -> bool {
        self.finished == [true; 2] || self.reset.is_some()
    }

    pub(super) fn ending(self) -> Ending {
        match (self.reset, self.finished) {
            (Some(reset), _) => Ending::Reset(reset.by),
            (None, [true, true]) => Ending::Closed,
            (None, [true, false]) => Ending::HalfClosed(Direction::Forward),
            (None, [false, true]) => Ending::HalfClosed(Direction::Reverse),
            (None, [false, false]) if self.is_asked && !self.is_answered => Ending::Unanswered,
            (None, [false, false]) => Ending::Open,
        }
    }
}
