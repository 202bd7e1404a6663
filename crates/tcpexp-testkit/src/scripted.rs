//! Test source of packets: a script or a capture in memory.

use std::num::NonZeroUsize;

use tcpexp_flow::{FlowPacket, FlowTable, MAX_FLOWS, Packets, Segment, Sighted};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Tunnels, decode};

use crate::script;

/// Frames with their capture times.
pub struct Scripted {
    frames: std::vec::IntoIter<(Timestamp, Vec<u8>)>,
    record: u64,
    max_flows: NonZeroUsize,
    snaplen: usize,
}

impl Scripted {
    /// The packets of a script.
    pub fn new(text: &str) -> Self {
        Self::of(script::packets(text))
    }

    /// Frames of Ethernet with their capture times.
    pub fn of(frames: Vec<(Timestamp, Vec<u8>)>) -> Self {
        Self {
            frames: frames.into_iter(),
            record: 0,
            max_flows: MAX_FLOWS,
            snaplen: usize::MAX,
        }
    }

    /// Captures at most this many bytes of each frame.
    #[must_use]
    pub fn with_snaplen(mut self, snaplen: usize) -> Self {
        self.snaplen = snaplen;
        self
    }

    /// Sets the upper bound on the live flows of a measurement.
    #[must_use]
    pub fn with_max_flows(mut self, max_flows: usize) -> Self {
        self.max_flows = NonZeroUsize::new(max_flows).unwrap();
        self
    }
}

/// The TCP segments of a script.
pub fn segments(text: &str) -> Vec<Segment> {
    let mut table = FlowTable::default();
    let mut segments = Vec::new();
    Scripted::new(text).show(usize::MAX, |sighted| {
        let mut arrival = sighted.arrival();
        table.place(&mut arrival);
        if let &FlowPacket::Tcp(segment) = arrival.packet() {
            segments.push(segment);
        }
    });
    segments
}

impl Packets for Scripted {
    fn show(&mut self, count: usize, mut each: impl FnMut(&Sighted<'_>)) -> usize {
        for shown in 0..count {
            let Some((at, frame)) = self.frames.next() else {
                return shown;
            };
            let wire_bytes = u32::try_from(frame.len()).unwrap();
            let captured = &frame[..frame.len().min(self.snaplen)];
            let packet = decode(LinkType::ETHERNET, captured, wire_bytes, Tunnels::Closed).unwrap();
            each(&Sighted {
                record: self.record,
                moved: 0,
                at,
                wire_bytes,
                packet: &packet,
            });
            self.record += 1;
        }
        count
    }

    fn max_flows(&self) -> NonZeroUsize {
        self.max_flows
    }
}
