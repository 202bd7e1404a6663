//! Connection IDs of QUIC, by which a connection is known on a new path.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_wire::{ConnectionId, Quic, QuicKind, QuicLong};

use crate::FlowId;

/// Shortest connection ID that identifies a connection. With the number of IDs that are kept, four
/// random bytes of a packet match one of them with a probability of 6e-5, and eight bytes with a
/// probability of 1e-14.
const MIN_ID_BYTES: usize = 4;
/// Maximum length of a connection ID in versions 1 and 2 (RFC 9000, section 17.2).
const MAX_ID_BYTES: usize = 20;
/// Upper bound on the connection IDs kept, which take about 10 MB. Later connections are not
/// recognised on a new path.
const MAX_IDS: usize = 1 << 18;

/// The connection IDs that long headers announced.
#[derive(Debug, Default)]
pub(crate) struct ConnectionIds {
    /// The flow that first carried the connection.
    flows: HashMap<ConnectionId, FlowId, FixedState>,
    /// True at the lengths of the IDs in `flows`.
    lengths: [bool; MAX_ID_BYTES + 1],
}

impl ConnectionIds {
    /// Stores the ID that the sender of a long header has chosen; `first` is the flow that first
    /// carried the connection.
    #[cold]
    pub(crate) fn announce(&mut self, long: &QuicLong, first: FlowId) {
        // Version Negotiation repeats the IDs of the client (RFC 9000, section 17.2.1).
        let is_chosen = long.kind != QuicKind::VersionNegotiation;
        let len = long.scid.bytes().len();
        if is_chosen && len >= MIN_ID_BYTES && self.flows.len() < MAX_IDS {
            self.flows.entry(long.scid).or_insert(first);
            self.lengths[len] = true;
        }
    }

    /// Returns the flow that first carried the connection of a packet.
    #[cold]
    pub(crate) fn find(&self, quic: &Quic) -> Option<FlowId> {
        if self.flows.is_empty() {
            return None;
        }
        match quic {
            Quic::Long(long) => self.flows.get(&long.dcid).copied(),
            Quic::Short(short) => (MIN_ID_BYTES..=MAX_ID_BYTES)
                .filter(|len| self.lengths[*len])
                .find_map(|len| self.flows.get(&short.dcid(len)?).copied()),
        }
    }
}
