//! Converts the packets of one capture to sightings.

use tcpexp_flow::{Flow, FlowTable, Slot};
use tcpexp_units::Timestamp;
use tcpexp_wire::Packet;

use crate::spp::clock::TimelineReader;
use crate::spp::linking::{Linker, Listener, Marker, Sighting, low_half};
use crate::spp::point::Point;
use tcpexp_flow::Packets;

/// Number of packets read from a capture at a time.
pub(in crate::spp) const CHUNK: usize = 8_192;

/// A capture with its timeline and its flow table.
pub(in crate::spp) struct Reader<'a, P> {
    packets: &'a mut P,
    timeline: TimelineReader,
    marker: Marker,
    table: FlowTable,
    pub(in crate::spp) is_at_end: bool,
}

/// Up to [`CHUNK`] sightings of one point.
#[derive(Default)]
pub(in crate::spp) struct Chunk {
    sightings: Vec<Sighting>,
    /// New flows, each with the index of its first sighting.
    began: Vec<(usize, Slot, Flow)>,
    pub(in crate::spp) ended: Vec<Slot>,
    /// Latest time in the chunk, on the timeline.
    pub(in crate::spp) until: Timestamp,
    /// Highest record number in the chunk.
    pub(in crate::spp) last_record: u64,
    pub(in crate::spp) is_last: bool,
    /// Number of sightings used.
    position: usize,
    flows_begun: usize,
    /// Latest time used, on the timeline.
    reached: Timestamp,
}

impl<'a, P: Packets> Reader<'a, P> {
    pub(in crate::spp) fn new(
        packets: &'a mut P,
        timeline: TimelineReader,
        marker: Marker,
    ) -> Self {
        Self {
            packets,
            timeline,
            marker,
            table: FlowTable::default(),
            is_at_end: false,
        }
    }

    /// Number of flows ended early because too many were alive.
    pub(in crate::spp) fn flows_shed(&self) -> u32 {
        self.table.flows_shed()
    }

    pub(in crate::spp) fn chunk(&mut self) -> Chunk {
        let mut chunk = Chunk {
            sightings: Vec::with_capacity(CHUNK),
            until: Timestamp::MIN,
            reached: Timestamp::MIN,
            ..Chunk::default()
        };
        let Self {
            table,
            timeline,
            marker,
            ..
        } = self;
        let shown = self.packets.show(CHUNK, |sighted| {
            let tracked = table.track(sighted.at, sighted.packet);
            if tracked.is_first {
                let flow = *table.flow(tracked.slot);
                chunk
                    .began
                    .push((chunk.sightings.len(), tracked.slot, flow));
            }
            let placed = timeline.place(sighted.record, sighted.at);
            chunk.until = chunk.until.max(placed.at);
            chunk.last_record = chunk.last_record.max(sighted.record);
            chunk.sightings.push(Sighting {
                at: placed.at,
                time: sighted.at,
                piece: u16::try_from(placed.piece).unwrap_or(u16::MAX),
                record: low_half(sighted.record),
                header_bytes: header_bytes(sighted.packet),
                slot: tracked.slot,
                direction: tracked.direction,
                mark: marker.mark(sighted.packet),
            });
        });
        if shown < CHUNK {
            self.is_at_end = true;
            self.table.end_all();
        }
        self.table.drain_ended(|slot, _| chunk.ended.push(slot));
        chunk.is_last = self.is_at_end;
        chunk
    }
}

/// Bytes of all headers from the IP header on; saturates, as no IP header is that long.
fn header_bytes(packet: &Packet<'_>) -> u16 {
    let bytes = packet.ip_bytes.saturating_sub(packet.payload_bytes);
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

impl Chunk {
    pub(in crate::spp) fn is_used_up(&self) -> bool {
        self.position == self.sightings.len()
    }

    /// Time at which the next sighting is due; `None` if this is after `until`. Records out of
    /// order become monotonic: a late record is due at once.
    pub(in crate::spp) fn next_at(&self, until: Timestamp) -> Option<Timestamp> {
        let next = self.sightings.get(self.position)?;
        Some(next.at.max(self.reached)).filter(|at| *at <= until)
    }

    /// Passes on at least one sighting, and then all sightings up to `limit`.
    pub(in crate::spp) fn pass(
        &mut self,
        point: Point,
        limit: Timestamp,
        linker: &mut Linker,
        listener: &mut impl Listener,
    ) {
        while let Some(&sighting) = self.sightings.get(self.position) {
            while let Some(&(index, slot, flow)) = self.began.get(self.flows_begun)
                && index == self.position
            {
                linker.begin(point, slot, &flow);
                self.flows_begun += 1;
            }
            self.position += 1;
            self.reached = self.reached.max(sighting.at);
            linker.see(point, sighting, listener);
            if self
                .sightings
                .get(self.position)
                .is_none_or(|next| next.at > limit)
            {
                break;
            }
        }
    }
}
