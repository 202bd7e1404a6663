//! What a passive observer sees of a QUIC connection (RFC 9000): its handshake and its spin bit.
//!
//! Packet numbers and acknowledgments of QUIC are encrypted, so no segment can be matched with its
//! acknowledgment. Two things remain:
//!
//! - **The handshake.** Each end answers the first Initial packet of the other at once, and the
//!   connection IDs prove which packet is an answer (section 7.2).
//! - **The spin bit** (section 17.4). The server repeats the bit of the client's newest packet, and the
//!   client inverts that of the server's, so a new value travels once around the path per round-trip
//!   time. The time in which an end has nothing to send is part of this round-trip time. Each sample
//!   therefore has a maximum error, and samples with a large one are left out. Many connections do not
//!   spin.

mod handshake;
mod spin;

#[cfg(test)]
mod tests;

use tcpexp_flow::{Datagram, Direction};
use tcpexp_metrics::{Quantiles, RttSummary};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{Quic, QuicVersion};

use handshake::Handshake;
use spin::Spin;
pub use spin::SpinState;

/// A round-trip time between the capture and one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicSample {
    /// Capture time of the answer.
    pub at: Timestamp,
    /// Direction of the answered packet.
    pub direction: Direction,
    /// Time from the packet to its answer.
    pub rtt: TimeDelta,
    /// The round trip over the path may be shorter than `rtt` by at most this; `None` if unknown.
    pub error: Option<TimeDelta>,
    /// True for a sample of the handshake, false for one of the spin bit.
    pub is_handshake: bool,
}

/// What is known of a QUIC connection at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicSummary {
    /// Version of the handshake; `None` if the connection began in another flow.
    pub version: Option<QuicVersion>,
    /// Number of connections that these addresses and ports carried, as far as Initial packets show.
    pub connections: u64,
    /// Use of the spin bit.
    pub spin: SpinState,
}

/// Observes the QUIC connection of one flow.
#[derive(Clone, Debug, Default)]
pub struct QuicObserver {
    handshake: Handshake,
    spin: Spin,
    /// Round-trip times by the spin bit, by direction of the answered packet.
    spins: [Quantiles; 2],
}

impl QuicObserver {
    /// True if `datagram` shows that its flow is QUIC.
    pub const fn is_shown_by(datagram: &Datagram) -> bool {
        matches!(datagram.quic, Some(Quic::Long(_)))
    }

    /// Processes a datagram; returns the round-trip times that it completes.
    pub fn observe(&mut self, datagram: &Datagram) -> impl Iterator<Item = QuicSample> + use<> {
        let seen = &datagram.seen;
        let (handshake, spin) = match &datagram.quic {
            Some(Quic::Long(long)) => (self.handshake.observe(long, seen), None),
            // Short headers do not show to which of two connections a spin bit belongs.
            Some(Quic::Short(short)) if self.handshake.connections() <= 1 => {
                (None, self.spin.observe(short.spin, seen))
            }
            _ => (None, None),
        };
        if let Some(sample) = &spin {
            self.spins[sample.direction.index()].add(sample.rtt);
        }
        handshake.into_iter().flatten().chain(spin)
    }

    /// The round-trip times by the spin bit between the capture and the receiver of `direction`.
    pub fn spins(&mut self, direction: Direction) -> Option<RttSummary> {
        self.spins[direction.index()].summary()
    }

    /// Time from the client's first Initial packet to its first packet that answers the server: the
    /// whole round trip and the server's computations. `None` unless each was captured and sent once.
    pub fn handshake_rtt(&self) -> Option<TimeDelta> {
        self.handshake.rtt()
    }

    /// What is known so far.
    pub fn summary(&self) -> QuicSummary {
        QuicSummary {
            version: self.handshake.version(),
            connections: self.handshake.connections(),
            spin: if self.handshake.connections() > 1 {
                SpinState::Undecided
            } else {
                self.spin.state()
            },
        }
    }
}
