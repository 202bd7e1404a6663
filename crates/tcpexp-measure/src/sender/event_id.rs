//! Names of the events of a sender.

use std::fmt;
use std::str::FromStr;

use tcpexp_flow::Direction;
use thiserror::Error;

/// Name of an event among those of one flow: `forward.recovery.3`.
///
/// Events are counted from 0, for each direction and kind. The name depends only on the packets of
/// the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// Direction of the sender's data.
    pub direction: Direction,
    /// Kind of the event.
    pub kind: EventKind,
    /// Number among the sender's events of this kind.
    pub number: u64,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A recovery.
    Recovery,
    /// A retransmission.
    Retransmission,
}

/// A text that is no [`EventId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected an event as in the column event_id, such as forward.recovery.0")]
pub struct NoEventId;

impl EventKind {
    const ALL: [Self; 2] = [Self::Recovery, Self::Retransmission];

    const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Retransmission => "retransmission",
        }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (direction, kind) = (self.direction.name(), self.kind.name());
        write!(f, "{direction}.{kind}.{}", self.number)
    }
}

impl FromStr for EventId {
    type Err = NoEventId;

    fn from_str(text: &str) -> Result<Self, NoEventId> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(NoEventId);
        let (direction, kind, number) = (next()?, next()?, next()?);
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if parts.next().is_some() || !is_number {
            return Err(NoEventId);
        }
        let direction = Direction::BOTH
            .into_iter()
            .find(|one| one.name() == direction);
        let kind = EventKind::ALL.into_iter().find(|one| one.name() == kind);
        Ok(Self {
            direction: direction.ok_or(NoEventId)?,
            kind: kind.ok_or(NoEventId)?,
            number: number.parse().map_err(|_| NoEventId)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        for name in ["forward.recovery.0", "reverse.retransmission.17"] {
            assert_eq!(name.parse::<EventId>().unwrap().to_string(), name);
        }
        for wrong in [
            "",
            "forward.recovery",
            "forward.recovery.+1",
            "forward.loss.1",
            "up.recovery.1",
            "forward.recovery.1.2",
        ] {
            assert_eq!(wrong.parse::<EventId>(), Err(NoEventId), "{wrong}");
        }
    }
}
