//! The position of a capture on the path of a connection.

use tcpexp_flow::Direction;
use tcpexp_units::TimeDelta;

/// Maximum share of the round trip, in percent, between a capture and a host for the capture to
/// count as taken at the host.
const NEAR_PERCENT: i64 = 10;

/// Maximum time from an ACK to the data sent in response, at the sender.
pub(crate) const ANSWER: TimeDelta = TimeDelta::from_micros(300);
/// A capture counts as taken at the sender itself if at most one part in this many of a window is on the way to
/// it. A window restored from timestamps has an error of the same size.
const MOST_HIDDEN: i64 = 100;

/// True if a capture with these round-trip times to both ends, although near the sender, does not see all that the
/// sender has sent: data is on the way to it, and packets can overtake each other there.
pub(crate) fn hides_data(to_sender: TimeDelta, to_receiver: TimeDelta) -> bool {
    to_sender >= ANSWER && to_sender.as_nanos() > (to_sender + to_receiver).as_nanos() / MOST_HIDDEN
}

/// The position of a capture, inferred from the round-trip time to either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vantage {
    /// At or near the initiator.
    Initiator,
    /// At or near the responder.
    Responder,
    /// Between the ends.
    Between,
}

/// The position of a capture relative to the data of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// At the sender of the data.
    Sender,
    /// At the receiver of the data.
    Receiver,
    /// Between the ends.
    Between,
}

impl Vantage {
    /// Infers the position from the round-trip times to the initiator and to the responder.
    ///
    /// Both contain the response time of the host. `None` if both are zero.
    pub fn between(to_initiator: TimeDelta, to_responder: TimeDelta) -> Option<Self> {
        let whole = (to_initiator + to_responder).as_nanos();
        let percent = |part: TimeDelta| part.as_nanos().saturating_mul(100) / whole.max(1);
        if whole <= 0 {
            return None;
        }
        Some(if percent(to_initiator) <= NEAR_PERCENT {
            Self::Initiator
        } else if percent(to_responder) <= NEAR_PERCENT {
            Self::Responder
        } else {
            Self::Between
        })
    }

    /// Returns the position relative to the data in `direction`.
    pub const fn of(self, direction: Direction) -> Position {
        match (self, direction) {
            (Self::Between, _) => Position::Between,
            (Self::Initiator, Direction::Forward) | (Self::Responder, Direction::Reverse) => {
                Position::Sender
            }
            (Self::Initiator, Direction::Reverse) | (Self::Responder, Direction::Forward) => {
                Position::Receiver
            }
        }
    }

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
            Self::Between => "between",
        }
    }
}

impl Position {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Between => "between",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vantage(to_initiator: i64, to_responder: i64) -> Option<Vantage> {
        let [to_initiator, to_responder] = [to_initiator, to_responder].map(TimeDelta::from_micros);
        Vantage::between(to_initiator, to_responder)
    }

    #[test]
    fn capture_is_at_the_end_that_answers_immediately() {
        assert_eq!(vantage(50, 40_000), Some(Vantage::Initiator));
        assert_eq!(vantage(40_000, 50), Some(Vantage::Responder));
        assert_eq!(vantage(10_000, 30_000), Some(Vantage::Between));
        assert_eq!(vantage(0, 0), None);
    }

    #[test]
    fn a_capture_at_the_initiator_is_at_the_forward_sender() {
        let at_initiator = Direction::BOTH.map(|direction| Vantage::Initiator.of(direction));
        assert_eq!(at_initiator, [Position::Sender, Position::Receiver]);
        let at_responder = Direction::BOTH.map(|direction| Vantage::Responder.of(direction));
        assert_eq!(at_responder, [Position::Receiver, Position::Sender]);
    }
}
