//! Packets that arrive without new data.

use tcpexp_wire::Ecn;

use crate::{Segment, StreamOffset};

/// Retransmissions and pure ACKs that a router may mark: the counter of marked packets counts them although no
/// acknowledgment number shows their arrival.
///
/// A packet may arrive until an ACK covers data that was sent after it. Packets are counted in epochs of
/// one round trip, so that there is no list of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// Packets of this epoch and of the one before.
    packets: [u64; 2],
    /// The packets among these that have no payload: the `AccECN` option does not count their marks.
    without_payload: [u64; 2],
    /// True if data was sent again in these epochs, whether or not a router may mark it.
    has_resent: [bool; 2],
    /// An ACK beyond this offset ends the epoch.
    until: Option<StreamOffset>,
}

impl Repeats {
    /// Records a segment of the marked direction whose data, if any, was sent before.
    pub(super) fn send(&mut self, segment: &Segment, smss_bytes: u32) {
        self.has_resent[0] |= segment.seen.payload_bytes > 0;
        if Ecn::of(segment.seen.traffic_class) != Ecn::NotEct {
            let packets = segment.seen.payload_bytes.div_ceil(smss_bytes).max(1);
            self.packets[0] += u64::from(packets);
            self.without_payload[0] += u64::from(segment.seen.payload_bytes == 0);
        }
    }

    /// Most packets that may have arrived since the latest ACK.
    pub(super) fn most(&self) -> u64 {
        self.packets[0] + self.packets[1]
    }

    /// Most packets without payload that may have arrived since the latest ACK.
    pub(super) fn most_without_payload(&self) -> u64 {
        self.without_payload[0] + self.without_payload[1]
    }

    /// True if data may have arrived behind a gap since the latest ACK.
    pub(super) fn may_fill_gaps(&self) -> bool {
        self.has_resent != [false; 2]
    }

    /// Processes an ACK of the data before `ack`; data before `nxt` was sent.
    pub(super) fn acknowledge(&mut self, ack: StreamOffset, nxt: StreamOffset) {
        if self.until.is_none_or(|until| ack > until) {
            self.packets = [0, self.packets[0]];
            self.without_payload = [0, self.without_payload[0]];
            self.has_resent = [false, self.has_resent[0]];
            self.until = Some(nxt);
        }
    }
}
