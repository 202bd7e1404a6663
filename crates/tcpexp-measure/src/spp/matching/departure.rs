//! A packet as it passed the first point.

use std::hash::{Hash, Hasher};

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::Timestamp;
use tcpexp_wire::SeqNum;

use crate::spp::alignment::COPY_GAP;
use crate::spp::crossing::Way;
use crate::spp::linking::{Event, low_half};

/// A flow and the 128-bit hash of a mark: half as large as the mark, and even in a capture of a
/// million million packets two of them are alike once in a million million million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) struct Identity {
    pub(super) flow: FlowId,
    digest: [u64; 2],
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

/// A packet as it passed the first point.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Departure {
    pub(in crate::spp) direction: Direction,
    pub(in crate::spp) way: Way,
    pub(in crate::spp) at: Timestamp,
    pub(in crate::spp) time: Timestamp,
    /// Which stretch between clock steps: there are few.
    pub(in crate::spp) piece: u16,
    /// Lower half of the record's number in its capture.
    pub(in crate::spp) record: u32,
    /// Lower half of its place among the packets that left in its direction.
    pub(in crate::spp) number: u32,
    pub(in crate::spp) payload_bytes: u32,
    /// TCP: sequence number of its first byte.
    pub(in crate::spp) seq: SeqNum,
    /// Bytes of all headers from IP on.
    pub(in crate::spp) header_bytes: u16,
    /// Whether it was captured twice by a capture that holds each packet twice.
    pub(in crate::spp) has_twin: bool,
}

impl Departure {
    /// `number` packets left before it.
    pub(in crate::spp) fn of(event: &Event, number: u64) -> Self {
        Self {
            direction: event.direction,
            way: event.way,
            at: event.sighting.at,
            time: event.sighting.time,
            piece: event.sighting.piece,
            seq: event.sighting.mark.seq(),
            record: event.sighting.record,
            number: low_half(number),
            payload_bytes: event.sighting.mark.length,
            header_bytes: event.sighting.header_bytes,
            has_twin: false,
        }
    }

    /// Whether one like it that passed at `at` is its second record in a capture that `doubles`
    /// each packet: one that follows at once is, but no third.
    #[inline]
    pub(in crate::spp) fn takes_twin(&mut self, at: Timestamp, doubles: bool) -> bool {
        let is_twin = doubles && !self.has_twin && at - self.at < COPY_GAP;
        self.has_twin |= is_twin;
        is_twin
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) enum Outcome<T> {
    /// This is the packet.
    Matched(T),
    /// It could be one of several.
    Ambiguous,
    /// None like it is in flight.
    Unknown,
}
