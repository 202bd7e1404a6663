//! The passage of a packet over the points and the segments between them.

use std::io::{self, Write};

use super::Engine;
use crate::simulator::events::What;
use crate::simulator::flows::{State, offload_segments};
use crate::simulator::link::Verdict;
use crate::simulator::merge::Merge;
use crate::simulator::network::{Direction, Point};
use crate::simulator::packet::{Body, Packet, Protocol};
use crate::simulator::truth::PacketId;

impl<W: Write> Engine<'_, W> {
    /// A frame passes the first point and enters the network; a super-segment enters in pieces.
    pub(super) fn upstream(&mut self, place: u32) -> io::Result<()> {
        let packet = self.packets.take(place);
        let point = packet.direction.upstream();
        let pieces = packet.pieces();
        let ids = packet.id..packet.id + u64::from(pieces);
        let wire_len = self.capture(&packet, point, &ids)?;
        self.flows.slots[packet.slot as usize].in_flight -= 1;
        for number in 0..pieces {
            let piece = packet.piece(number, self.scenario.ip_id);
            // Each piece has its own headers, and the last piece may be shorter.
            let bytes = if pieces == 1 {
                wire_len
            } else {
                let slot = &self.flows.slots[packet.slot as usize];
                let framing = self.scenario.capture(point).framing;
                slot.identity.frame(&piece, point, framing).wire_len()
            };
            self.enter(piece, bytes, 0);
        }
        // Only after the pieces entered: a slot without a packet in flight may pass to another
        // flow.
        self.settle(packet.slot);
        Ok(())
    }

    /// One packet enters the queue of the next segment; it has passed this many middle points.
    fn enter(&mut self, packet: Packet, bytes: u32, passed: usize) {
        let way = packet.direction.index();
        let segment = match packet.direction {
            Direction::Forward => passed,
            Direction::Reverse => self.middle_taps.len() - passed,
        };
        let verdict = self.links[way][segment].enter(self.now, bytes, &mut self.prng);
        let flow = self.flows.slots[packet.slot as usize].identity.number;
        let copy_id = self.ledger.decided(flow, &packet, segment, verdict);
        if let Verdict::Arrives(at, copy_at) = verdict {
            self.arrive_at(at, packet, passed);
            if let Some(copy_at) = copy_at {
                let copy = Packet {
                    id: copy_id,
                    ..packet
                };
                self.arrive_at(copy_at, copy, passed);
            }
        }
    }

    fn arrive_at(&mut self, at: u64, packet: Packet, passed: usize) {
        self.flows.slots[packet.slot as usize].in_flight += 1;
        let place = self.packets.put(packet);
        let what = if passed < self.middle_taps.len() {
            What::Middle(place, passed as u32)
        } else {
            What::Downstream(place)
        };
        self.events.at(at, what);
    }

    /// A packet passes a middle point and enters the next segment.
    pub(super) fn middle(&mut self, place: u32, passed: u32) -> io::Result<()> {
        let packet = self.packets.take(place);
        let passed = passed as usize;
        let number = match packet.direction {
            Direction::Forward => passed,
            Direction::Reverse => self.middle_taps.len() - 1 - passed,
        };
        let at = self.time(self.now);
        let slot = &mut self.flows.slots[packet.slot as usize];
        slot.in_flight -= 1;
        // Addresses are translated on the last segment only.
        let framing = self.scenario.middles[number].capture.framing;
        let frame = slot.identity.frame(&packet, Point::Src, framing);
        let id = std::iter::once(packet.id);
        self.middle_taps[number].record(self.scenario, at, &frame, &id)?;
        let bytes = frame.wire_len();
        self.enter(packet, bytes, passed + 1);
        self.settle(packet.slot);
        Ok(())
    }

    /// A packet passes the second point.
    pub(super) fn downstream(&mut self, place: u32) -> io::Result<()> {
        let packet = self.packets.take(place);
        self.ledger.arrived(&packet, self.time(self.now));
        let slot = &mut self.flows.slots[packet.slot as usize];
        slot.in_flight -= 1;
        let offload = self
            .scenario
            .capture(packet.direction.downstream())
            .gro_segments;
        let most = match &slot.identity.protocol {
            Protocol::Tcp { load, .. } => offload_segments(load, offload),
            Protocol::Udp(_) => 1,
        };
        if let Some(merge) = &mut slot.merge
            && merge.take(&packet)
        {
            if merge.full(most) {
                self.flush_merge(packet.slot)?;
            }
        } else {
            // Offload keeps the order: a frame that does not continue the merged frame delivers it
            // first.
            self.flush_merge(packet.slot)?;
            let slot = &mut self.flows.slots[packet.slot as usize];
            slot.merge = if most > 1 {
                Merge::start(self.now, &packet)
            } else {
                None
            };
            if slot.merge.is_none() {
                self.arrived(&packet, &[packet.id])?;
            }
        }
        self.settle(packet.slot);
        Ok(())
    }

    pub(super) fn flush_merge(&mut self, index: u32) -> io::Result<()> {
        match self.flows.slots[index as usize].merge.take() {
            Some(merge) => self.arrived(&merge.packet, &merge.ids),
            None => Ok(()),
        }
    }

    /// Captures a frame, merged or single, and delivers it to its host.
    fn arrived(&mut self, packet: &Packet, ids: &[PacketId]) -> io::Result<()> {
        let point = packet.direction.downstream();
        self.capture(packet, point, &ids.iter().copied())?;
        let slot = &mut self.flows.slots[packet.slot as usize];
        if let (State::Tcp(flow), Body::Tcp(segment)) = (&mut slot.state, &packet.body) {
            flow.receive(self.now, packet.direction, segment, &mut self.outgoing);
            self.send_outgoing(packet.slot);
        }
        Ok(())
    }

    /// Records a frame at a point; returns its length on the wire in bytes.
    fn capture(
        &mut self,
        packet: &Packet,
        point: Point,
        ids: &(impl Iterator<Item = PacketId> + Clone),
    ) -> io::Result<u32> {
        let at = self.time(self.now);
        let spec = self.scenario.capture(point);
        let slot = &self.flows.slots[packet.slot as usize];
        let mut frame = slot.identity.frame(packet, point, spec.framing);
        // Only received frames are padded: a capture at the sender sees the frame before its
        // network card.
        if point == packet.direction.downstream() {
            frame.min_frame_bytes = spec.min_frame_bytes;
        }
        self.taps[point as usize].record(self.scenario, at, &frame, ids)?;
        Ok(frame.wire_len())
    }
}
