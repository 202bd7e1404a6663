//! The round trip of a QUIC handshake.

use tcpexp_flow::{Direction, Seen};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{ConnectionId, QuicKind, QuicLong, QuicVersion};

use super::QuicSample;

/// Longest time between two packets of one flight. A `ClientHello` with post-quantum keys takes two
/// Initial packets, which leave back to back. A probe leaves a timeout later, which is 999 ms before
/// the first sample and at least 1 ms more than the smallest round-trip time (RFC 9002, section 6.2).
const FLIGHT_GAP: TimeDelta = TimeDelta::from_nanos(1_000_000);

/// Matches the first flights of a handshake.
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    state: State,
    version: Option<QuicVersion>,
    connections: u64,
    rtt: Option<TimeDelta>,
    /// The connection IDs by which the client knows the server.
    of_server: [ConnectionId; 2],
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// No Initial packet yet, or a Version Negotiation packet that ends the attempt.
    #[default]
    Waiting,
    /// The client has sent its first flight.
    Asked(Flight),
    /// The server has answered.
    Answered(Flight, Flight),
    /// The round trip is known, or an answer is ambiguous.
    Over(Direction),
}

/// The first packets of one end.
#[derive(Clone, Copy, Debug)]
struct Flight {
    direction: Direction,
    first: Timestamp,
    last: Timestamp,
    dcid: ConnectionId,
    scid: ConnectionId,
}

impl Flight {
    fn of(long: &QuicLong, seen: &Seen) -> Self {
        Self {
            direction: seen.direction,
            first: seen.at,
            last: seen.at,
            dcid: long.dcid,
            scid: long.scid,
        }
    }

    /// Adds a packet; `None` if it was sent again, so that an answer may belong to either copy, or if the clock
    /// was set back in between.
    fn with(self, at: Timestamp) -> Option<Self> {
        // The capture may swap two packets.
        ((at - self.last).abs() <= FLIGHT_GAP).then_some(Self { last: at, ..self })
    }
}

impl Handshake {
    /// Processes a long header; returns the round trips to both ends once both are known.
    pub(super) fn observe(&mut self, long: &QuicLong, seen: &Seen) -> Option<[QuicSample; 2]> {
        let mut samples = None;
        self.state = match self.state {
            _ if long.kind == QuicKind::VersionNegotiation => {
                // The client begins again, with the same connection in mind.
                self.connections = self.connections.saturating_sub(1);
                State::Waiting
            }
            State::Waiting => self.begin(long, seen),
            state if self.is_another(state.client(), long, seen) => self.begin(long, seen),
            State::Asked(asked) if seen.direction == asked.direction => match long.kind {
                QuicKind::Initial => asked
                    .with(seen.at)
                    .map_or(State::Over(asked.direction), State::Asked),
                _ => State::Asked(asked),
            },
            State::Asked(asked) => self.answer(asked, long, seen),
            State::Answered(asked, answered) if seen.direction == answered.direction => {
                self.of_server = [answered.scid, long.scid];
                match long.kind {
                    // Only Initial and Retry packets announce the ID that the client's answer has.
                    QuicKind::Initial | QuicKind::Retry => answered
                        .with(seen.at)
                        .map_or(State::Over(asked.direction), |answered| {
                            State::Answered(asked, answered)
                        }),
                    _ => self.state,
                }
            }
            State::Answered(asked, answered) if long.dcid == answered.scid => {
                samples = self.complete(&asked, &answered, seen);
                State::Over(asked.direction)
            }
            State::Answered(..) => self.state,
            State::Over(client) => {
                if seen.direction != client {
                    self.of_server[1] = long.scid;
                }
                self.state
            }
        };
        if long.version.is_some() && Some(seen.direction) != self.state.client() {
            // The server chooses the version (RFC 9368).
            self.version = long.version;
        }
        samples
    }

    pub(super) fn rtt(&self) -> Option<TimeDelta> {
        self.rtt
    }

    pub(super) fn version(&self) -> Option<QuicVersion> {
        self.version
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections
    }

    fn begin(&mut self, long: &QuicLong, seen: &Seen) -> State {
        self.version = self.version.or(long.version);
        if long.kind != QuicKind::Initial {
            return State::Waiting;
        }
        // Only the first connection of a flow has a known round trip.
        let is_first = self.connections == 0;
        self.connections += 1;
        self.of_server = [long.dcid; 2];
        if is_first {
            State::Asked(Flight::of(long, seen))
        } else {
            State::Over(seen.direction)
        }
    }

    /// True if the client of the flow opens another connection: an Initial packet to an ID that no
    /// packet of this connection has.
    fn is_another(&self, client: Option<Direction>, long: &QuicLong, seen: &Seen) -> bool {
        let of_client = match &self.state {
            State::Asked(asked) | State::Answered(asked, _) => Some(asked.dcid),
            State::Waiting | State::Over(_) => None,
        };
        long.kind == QuicKind::Initial
            && client == Some(seen.direction)
            && of_client != Some(long.dcid)
            && !self.of_server.contains(&long.dcid)
    }

    /// Processes the server's first packet.
    fn answer(&mut self, asked: Flight, long: &QuicLong, seen: &Seen) -> State {
        let answers = matches!(long.kind, QuicKind::Initial | QuicKind::Retry);
        // A Handshake packet before any Initial packet shows that the capture misses the latter. An
        // empty ID, or that of the client, proves nothing when it returns.
        let proves = !long.scid.is_empty() && long.scid != asked.dcid && long.dcid == asked.scid;
        self.of_server[1] = long.scid;
        if answers && proves {
            State::Answered(asked, Flight::of(long, seen))
        } else {
            State::Over(asked.direction)
        }
    }

    /// The round trips to both ends; `None` if the clock was set back within one of them, because the other end's
    /// may be wrong by a smaller step as well.
    fn complete(
        &mut self,
        asked: &Flight,
        answered: &Flight,
        seen: &Seen,
    ) -> Option<[QuicSample; 2]> {
        let of = |direction, from: Timestamp, to: Timestamp| {
            Some(QuicSample {
                at: to,
                direction,
                rtt: to.checked_since(from)?,
                error: None,
                is_handshake: true,
            })
        };
        // The server answers a complete `ClientHello`, the client any Initial packet.
        let to_server = of(asked.direction, asked.last, answered.first)?;
        let to_client = of(answered.direction, answered.first, seen.at)?;
        self.rtt = Some(to_server.rtt + to_client.rtt);
        Some([to_server, to_client])
    }
}

impl State {
    /// Direction of the client's packets.
    const fn client(&self) -> Option<Direction> {
        match self {
            Self::Waiting => None,
            Self::Asked(asked) | Self::Answered(asked, _) => Some(asked.direction),
            Self::Over(client) => Some(*client),
        }
    }
}
