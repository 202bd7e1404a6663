//! Receive offload: consecutive segments become one frame.

use super::packet::{Body, Kind, Packet, Segment};
use super::truth::PacketId;

/// Time that a host waits for the next segment, in nanoseconds.
const PATIENCE: u64 = 50_000;

/// A frame that may still grow.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) packet: Packet,
    pub(crate) ids: Vec<PacketId>,
    pub(crate) flush_at: u64,
}

impl Merge {
    /// Starts a frame with a data segment without PSH; other packets cannot be merged.
    pub(crate) fn start(now: u64, packet: &Packet) -> Option<Self> {
        data(packet).filter(|segment| !segment.push).map(|_| Self {
            packet: *packet,
            ids: vec![packet.id],
            flush_at: now + PATIENCE,
        })
    }

    /// Appends the next segment; returns false if it does not continue the frame.
    pub(crate) fn take(&mut self, packet: &Packet) -> bool {
        let (Some(have), Some(next)) = (data(&self.packet), data(packet)) else {
            return false;
        };
        // Other options or another acknowledgment end a frame in Linux too (`tcp_gro_receive`).
        let follows = packet.direction == self.packet.direction
            && have.first + have.count == next.first
            && (have.ts_val, have.ts_ecr, have.ack) == (next.ts_val, next.ts_ecr, next.ack);
        if follows {
            let merged = Segment {
                count: have.count + next.count,
                push: next.push,
                ..have
            };
            self.packet.body = Body::Tcp(merged);
            self.ids.push(packet.id);
        }
        follows
    }

    /// True if the frame accepts no more segments.
    pub(crate) fn full(&self, most: u32) -> bool {
        data(&self.packet).is_none_or(|segment| segment.push || segment.count >= most)
    }
}

fn data(packet: &Packet) -> Option<Segment> {
    match packet.body {
        Body::Tcp(segment) if segment.kind == Kind::Data => Some(segment),
        _ => None,
    }
}
