//! ACKs of data that the capture does not show.
//!
//! Either the capture missed the data, or the data was never sent: then the ACK is forged or damaged, and its
//! receiver drops it (RFC 9293, section 3.10.7.4). The next ACKs decide: a receiver acknowledges cumulatively, so an
//! ACK of later data is not below an earlier ACK.

use crate::StreamOffset;

/// An ACK of data that the capture does not contain, as long as no later packet confirms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoubtedAck {
    /// One past the highest sequence number captured before the ACK.
    pub nxt: StreamOffset,
    /// Its acknowledgment number.
    pub ack: StreamOffset,
}

impl DoubtedAck {
    /// Returns the doubt that an acknowledgment number above `nxt` raises; `before` is the open doubt, if any.
    pub fn raised(before: Option<Self>, ack: StreamOffset, nxt: StreamOffset) -> Self {
        match before {
            // One end may send several such ACKs, and none of them confirms another.
            Some(before) if nxt < before.ack => Self {
                ack: ack.max(before.ack),
                ..before
            },
            _ => Self { nxt, ack },
        }
    }

    /// True if a later acknowledgment number shows that the data was never sent: the sender went on at `nxt`, and
    /// the number is of data from there. `now` is one past the highest sequence number captured so far, and
    /// `has_captured` returns true if all data between two offsets was captured.
    #[cold]
    pub fn is_refuted_by(
        self,
        ack: StreamOffset,
        now: StreamOffset,
        has_captured: impl Fn(StreamOffset, StreamOffset) -> bool,
    ) -> bool {
        if ack <= self.nxt || ack >= self.ack || ack > now {
            return false;
        }
        // The last number may be that of a FIN, which is not data.
        let fin = ack.moved(-1);
        let ends_with_fin = ack == now && (fin == self.nxt || has_captured(self.nxt, fin));
        has_captured(self.nxt, ack) || ends_with_fin
    }
}
