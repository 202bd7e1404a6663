//! Converts the packets of one capture to sightings.

use tcpexp_flow::{End, Flow, FlowTable, InitiatorKnown, Slot};
use tcpexp_units::Timestamp;
use tcpexp_wire::{Ecn, Packet};

use crate::spp::alignment::{Shifts, address_number};
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
    shifts: Shifts,
    /// Shift of each direction's sequence numbers, by slot; empty without any.
    shift_by_slot: Vec<[u32; 2]>,
    table: FlowTable,
    pub(in crate::spp) is_at_end: bool,
}

/// A new flow.
#[derive(Clone, Copy)]
pub(in crate::spp) struct Begins {
    /// Index of its first sighting in the chunk.
    place: usize,
    pub(in crate::spp) slot: Slot,
    pub(in crate::spp) flow: Flow,
    /// Shift of the sequence numbers of each end at this point, by [`End`].
    pub(in crate::spp) shift: [u32; 2],
    /// True if the flow table may have shed an earlier part of the flow.
    pub(in crate::spp) may_resume: bool,
}

/// Up to [`CHUNK`] sightings of one point.
#[derive(Default)]
pub(in crate::spp) struct Chunk {
    sightings: Vec<Sighting>,
    /// New flows.
    began: Vec<Begins>,
    /// Flows that ended, and whether the flow table shed them.
    pub(in crate::spp) ended: Vec<(Slot, bool)>,
    /// Flows that end with the capture.
    pub(in crate::spp) remaining: Vec<Slot>,
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
        shifts: Shifts,
    ) -> Self {
        let table = FlowTable::default().with_max_flows(packets.max_flows());
        Self {
            packets,
            timeline,
            marker,
            shifts,
            shift_by_slot: Vec::new(),
            table,
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
            shifts,
            shift_by_slot,
            ..
        } = self;
        let shown = self.packets.show(CHUNK, |sighted| {
            let tracked = table.track(sighted.at, sighted.packet);
            if tracked.is_first {
                let flow = *table.flow(tracked.slot);
                let begins = Begins {
                    place: chunk.sightings.len(),
                    slot: tracked.slot,
                    flow,
                    shift: shift_of(&flow, shifts),
                    // A SYN begins a connection, or repeats the only packet before it.
                    may_resume: table.flows_shed() > 0
                        && flow.initiator_known != InitiatorKnown::Syn,
                };
                if !shifts.is_empty() {
                    // Zero is noted too: the slot may hold the shift of an earlier flow.
                    remember(shift_by_slot, &begins);
                }
                chunk.began.push(begins);
            }
            let shift = match shift_by_slot.get(tracked.slot.index()) {
                // Acknowledgment numbers count the bytes of the opposite direction, so its shift
                // applies.
                Some(shift) => [tracked.direction, tracked.direction.opposite()]
                    .map(|direction| shift[direction.index()]),
                None => [0; 2],
            };
            let placed = timeline.place(sighted.place(), sighted.at);
            // Records may be out of order, so the last one need not be the latest.
            chunk.until = chunk.until.max(placed.at);
            chunk.last_record = chunk.last_record.max(sighted.record);
            chunk.sightings.push(Sighting {
                at: placed.at,
                time: sighted.at,
                piece: u16::try_from(placed.piece).unwrap_or(u16::MAX),
                record: low_half(sighted.record),
                moved: nearest(sighted.moved),
                header_bytes: header_bytes(sighted.packet),
                ecn: Ecn::of(sighted.packet.traffic_class),
                slot: tracked.slot,
                direction: tracked.direction,
                mark: marker.mark(sighted.packet, shift),
            });
        });
        self.table
            .drain_ended(|slot, flow| chunk.ended.push((slot, flow.was_shed())));
        if shown < CHUNK {
            self.is_at_end = true;
            self.table.end_all();
            self.table.drain_ended(|slot, _| chunk.remaining.push(slot));
        }
        chunk.is_last = self.is_at_end;
        chunk
    }
}

/// `moved` in 16 bits. They suffice for a record that waits in a window of 128, unless tens of thousands of
/// records without a time lie in between.
fn nearest(moved: i32) -> i16 {
    i16::try_from(moved.clamp(i16::MIN.into(), i16::MAX.into())).unwrap_or_default()
}

/// Shift of the sequence numbers of each end, by [`End`].
fn shift_of(flow: &Flow, shifts: &Shifts) -> [u32; 2] {
    if shifts.is_empty() {
        return [0; 2];
    }
    let [low, high] = [End::Low, End::High].map(|end| {
        let endpoint = flow.key.endpoint(end);
        (address_number(endpoint.ip()), endpoint.port())
    });
    [[low, high], [high, low]].map(|ends| shifts.of(ends))
}

/// Notes the shift of a new flow by direction.
#[cold]
fn remember(shift_by_slot: &mut Vec<[u32; 2]>, begins: &Begins) {
    let slot = begins.slot.index();
    if shift_by_slot.len() <= slot {
        shift_by_slot.resize(slot + 1, [0; 2]);
    }
    let initiator = begins.flow.initiator;
    let of = |end: End| begins.shift[end as usize];
    shift_by_slot[slot] = [of(initiator), of(initiator.opposite())];
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
        let ahead = linker.ahead(point);
        while let Some(sighting) = self.sightings.get(self.position) {
            if let Some(later) = self.sightings.get(self.position.saturating_add(ahead)) {
                linker.prefetch(point, later.slot);
            }
            while let Some(begins) = self.began.get(self.flows_begun)
                && begins.place == self.position
            {
                let Begins {
                    slot, flow, shift, ..
                } = begins;
                linker.begin(point, *slot, flow, *shift, begins.may_resume, listener);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_moved_too_far_for_16_bits_stays_on_its_side() {
        assert_eq!(
            [-100_000, -128, 0, 64, 100_000].map(nearest),
            [i16::MIN, -128, 0, 64, i16::MAX]
        );
    }
}
