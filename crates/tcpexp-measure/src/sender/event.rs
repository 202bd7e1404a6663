//! The two events of a sender: data leaves, and an ACK arrives.

use tcpexp_flow::{Seen, StreamOffset};
use tcpexp_units::Timestamp;

use super::ack_gaps::NextToGap;

/// Maximum number of SACK blocks in one header (RFC 2018, section 3).
const MAX_BLOCKS: usize = 4;

/// The captured packet at which an event is processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    /// Record number in the capture.
    pub(super) record: u64,
    /// Place in the order of the capture, which gives the order relative to retransmissions: record
    /// numbers may be out of time order.
    pub(super) place: u64,
}

impl Located {
    /// After all packets of the capture.
    pub(super) const AT_END: Self = Self {
        record: u64::MAX,
        place: u64::MAX,
    };

    #[inline]
    pub(super) fn of(seen: &Seen) -> Self {
        Self {
            record: seen.record,
            place: seen.place(),
        }
    }
}

/// Data that leaves the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Timestamp,
    pub(super) packet: Located,
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
    /// `TSval`.
    pub(super) stamp: Option<u32>,
}

/// An ACK that reaches the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) at: Timestamp,
    /// Place of the packet at which the ACK is processed, in the order of retransmissions.
    pub(super) place: u64,
    /// Record number of the ACK itself.
    pub(super) packet: u64,
    pub(super) ack: StreamOffset,
    /// Sequence number of the ACK's segment, in the stream of the receiver.
    pub(super) seq: StreamOffset,
    pub(super) blocks: Blocks,
    /// The receiver's window in bytes; `None` if the window scale is unknown.
    pub(super) window_bytes: Option<u64>,
    pub(super) is_syn: bool,
    /// True without data, SYN or FIN; only these ACKs can count as duplicate ACKs.
    pub(super) is_bare: bool,
    /// `TSecr`.
    pub(super) echo: Option<u32>,
    /// True if the ACK reports congestion marks: ECE where the handshake negotiated ECN (RFC 3168),
    /// or a higher count of marked packets (RFC 9768).
    pub(super) congestion_echo: bool,
    /// See [`CeFeedback::latest_marked_packets`](tcpexp_flow::CeFeedback::latest_marked_packets).
    pub(super) marked_packets: u32,
    /// Whether the capture missed ACKs before or behind this one, or data that this one acknowledges.
    pub(super) gap: NextToGap,
}

/// SACK blocks of one ACK in the order sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocks {
    edges: [Option<(StreamOffset, StreamOffset)>; MAX_BLOCKS],
}

impl FromIterator<(StreamOffset, StreamOffset)> for Blocks {
    fn from_iter<I: IntoIterator<Item = (StreamOffset, StreamOffset)>>(blocks: I) -> Self {
        let mut edges = [None; MAX_BLOCKS];
        for (place, block) in edges.iter_mut().zip(blocks) {
            *place = Some(block);
        }
        Self { edges }
    }
}

impl Blocks {
    pub(super) fn iter(&self) -> impl Iterator<Item = (StreamOffset, StreamOffset)> + '_ {
        self.edges.iter().map_while(|block| *block)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.edges[0].is_none()
    }

    /// The D-SACK block: the first block, if it reports bytes received before (RFC 2883).
    pub(super) fn duplicate(&self, ack: StreamOffset) -> Option<(StreamOffset, StreamOffset)> {
        let mut blocks = self.iter();
        let first = blocks.next()?;
        let is_inside = blocks
            .next()
            .is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        (first.1 <= ack || is_inside).then_some(first)
    }

    /// The blocks that acknowledge selectively: all except a D-SACK block.
    pub(super) fn selective(
        &self,
        ack: StreamOffset,
    ) -> impl Iterator<Item = (StreamOffset, StreamOffset)> + '_ {
        let duplicates = usize::from(self.duplicate(ack).is_some());
        self.iter()
            .skip(duplicates)
            // A block below the acknowledgment number is stale; a forged block may be empty or
            // reversed.
            .filter(move |block| block.0 >= ack && block.0 < block.1)
    }
}
