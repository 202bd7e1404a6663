//! A packet at the first point it passes.

use std::hash::{Hash, Hasher};

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::Timestamp;
use tcpexp_wire::{Ecn, SeqNum};

use crate::spp::alignment::COPY_GAP;
use crate::spp::crossing::PathDirection;
use crate::spp::linking::{Event, low_half};

/// A flow and the 128-bit hash of a mark, half as large as the mark. Even in a capture of 10^12
/// packets, the probability of any collision is about 10^-15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) struct Identity {
    pub(super) flow: FlowId,
    pub(super) digest: [u64; 2],
}

impl Identity {
    pub(in crate::spp) fn new(flow: FlowId, digest: [u64; 2]) -> Self {
        Self { flow, digest }
    }

    /// The digest is a hash already.
    #[inline]
    pub(in crate::spp) fn hash(&self) -> u64 {
        self.digest[0] ^ u64::from(self.flow.0)
    }
}

impl Hash for Identity {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(Self::hash(self));
    }
}

/// A packet at the first point it passes.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Departure {
    pub(in crate::spp) direction: Direction,
    pub(in crate::spp) path_direction: PathDirection,
    pub(in crate::spp) at: Timestamp,
    pub(in crate::spp) time: Timestamp,
    /// Number of clock steps before the packet; there are few.
    pub(in crate::spp) piece: u16,
    /// Lower half of the record number in its capture.
    pub(in crate::spp) record: u32,
    /// Lower half of the packet's number among the departures of its direction.
    pub(in crate::spp) number: u32,
    pub(in crate::spp) payload_bytes: u32,
    /// TCP sequence number of the first byte.
    pub(in crate::spp) seq: SeqNum,
    /// Bytes of all headers from the IP header on.
    pub(in crate::spp) header_bytes: u16,
    /// The ECN field.
    pub(in crate::spp) ecn: Ecn,
    /// True if the capture records each packet twice and its second record has been found.
    pub(in crate::spp) has_twin: bool,
}

impl Departure {
    /// `number` is the count of earlier departures.
    pub(in crate::spp) fn of(event: &Event, number: u64) -> Self {
        Self {
            direction: event.direction,
            path_direction: event.path_direction,
            at: event.sighting.at,
            time: event.sighting.time,
            piece: event.sighting.piece,
            seq: event.sighting.mark.seq(),
            record: event.sighting.record,
            number: low_half(number),
            payload_bytes: event.sighting.mark.length,
            header_bytes: event.sighting.header_bytes,
            ecn: event.sighting.ecn,
            has_twin: false,
        }
    }

    /// True if an identical record at `at` is the capture's duplicate record of this packet (at
    /// most one per packet); `doubles` is true if the capture records each packet twice.
    #[inline]
    pub(in crate::spp) fn takes_twin(&mut self, at: Timestamp, doubles: bool) -> bool {
        let is_twin = doubles && !self.has_twin && at - self.at < COPY_GAP;
        self.has_twin |= is_twin;
        is_twin
    }
}

/// Result of matching an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) enum Outcome<T> {
    /// Matches this departure.
    Matched(T),
    /// Matches several departures.
    Ambiguous,
    /// Identical to this departure, but may be an unseen retransmission of it.
    Doubtful(T),
    /// Its bytes are in flight, but no packet on the path can begin or end where it does.
    Misplaced,
    /// No identical packet is in flight.
    Unknown,
}
