//! Assigns segments to flows, with direction and unwrapped stream offsets.
//!
//! A [`FlowTable`] takes a capture's packets one by one. For each it returns the flow, the
//! direction and the position in the byte stream. Later stages use [`StreamOffset`]s, which do not
//! wrap, instead of sequence numbers.
//!
//! ```
//! use tcpexp_flow::{Direction, FlowTable};
//! use tcpexp_units::Timestamp;
//! use tcpexp_wire::{LinkType, Tunnels, decode};
//!
//! let mut flows = FlowTable::default();
//! let udp: [u8; 28] = [
//!     0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
//!     0x13, 0x88, 0x13, 0x89, 0, 8, 0, 0, // UDP
//! ];
//! let packet = decode(LinkType::RAW, &udp, 28, Tunnels::Closed)?;
//! let tracked = flows.track(Timestamp::from_nanos(0), &packet);
//! assert_eq!(tracked.direction, Direction::Forward);
//! assert_eq!(flows.flow(tracked.slot).initiator().to_string(), "10.0.0.1:5000");
//! # Ok::<(), tcpexp_wire::Skipped>(())
//! ```

mod acceptance;
mod after_reset;
mod alpha;
mod cause;
mod classify;
mod connection_ids;
mod coverage;
mod doubted_ack;
mod ecn;
mod first_copies;
mod flow;
mod further_records;
mod holes;
mod hops;
mod identity;
mod key;
mod marks;
mod offset;
mod packets;
mod protocol;
mod recent;
mod record_identity;
mod segment;
mod sent_packets;
mod serial;
mod shard;
mod slot;
mod table;
mod timeouts;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod trace;

pub use after_reset::AfterReset;
pub use cause::{
    LossRecoveryKind, MAX_ANSWER_DELAY, PathTimes, RetransmissionCause, RetransmissionEvidence,
    SHORTEST_TIMEOUT, may_be_probe_after,
};
pub use classify::{Behind, Class, Classifier};
pub use coverage::Coverage;
pub use doubted_ack::DoubtedAck;
pub use ecn::{CeFeedback, EcnHandshake, EcnMode, ace};
pub use first_copies::FirstCopies;
pub use flow::{Flow, InitiatorKnown};
pub use further_records::FurtherRecords;
pub use holes::Holes;
pub use identity::{OrderEvidence, SendOrder};
pub use key::{Direction, End, FlowId, FlowKey};
pub use marks::{FlowMark, FlowMarks};
pub use offset::{MAX_WINDOW_BYTES, StreamOffset};
pub use packets::{Packets, Sighted};
pub use protocol::Protocol;
pub use record_identity::RecordIdentity;
pub use segment::{Arrival, Datagram, FlowPacket, Seen, Segment, is_possible_length};
pub use serial::is_after;
pub use shard::{FlowShard, NoShard};
pub use slot::{Slot, Tracked};
pub use table::{FlowTable, MAX_FLOWS};
pub use timeouts::Timeouts;

// Re-exported because segments contain them, and offsets are built from sequence numbers.
pub use tcpexp_wire::{SeqNum, SynOptions};
