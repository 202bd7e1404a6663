//! Links the flows of one capture to the flows of the other.

mod parted;

use tcpexp_flow::{Direction, Flow, FlowId, InitiatorKnown, Slot};
use tcpexp_units::prefetch;

use super::by_key::ByKey;
use super::holders::Holders;
use super::local::{Linked, Local, State, Waiting, names, relative, way_by_time};
use super::paired::{Found, LocalFlow, PairedFlow, Unpaired};
use super::sighting::{Event, Sighting};
use crate::spp::alignment::{Sides, address_number};
use crate::spp::point::Point;

/// Maximum number of packets held back per flow until the flow is found at the other point: as many
/// as a fast flow has in flight.
const HELD: usize = 4096;

/// Number of packets held back in total; beyond it each flow may hold back only `HELD_WHEN_FULL`.
const HELD_IN_ALL: usize = 262_144;

const HELD_WHEN_FULL: usize = 64;

/// Largest number of packets that damaged records may put into one flow. A flow with more packets that
/// only one point shows is real.
const STRAYS: u64 = 16;

/// Number of packets by which a flow is prefetched before its next packet: the work on as many
/// packets takes as long as a cache miss.
const AHEAD: usize = 8;

/// Fewer flows stay in the cache, so prefetching them would only cost time.
const FEW_FLOWS: usize = 1_024;

/// Receives the events of flows found at both points, in order.
///
/// One method per event instead of an event enum: passing a packet through memory in an enum as
/// large as a flow took longer than finding its flow.
pub(in crate::spp) trait Listener {
    /// A flow was found at both points.
    fn found(&mut self, found: Found);
    /// A packet of a linked flow passed `point`.
    fn seen(&mut self, point: Point, event: Event);
    /// A packet passed `point` in a flow that the other point has not shown yet, and that had few
    /// packets before it.
    fn strayed(&mut self, point: Point, sighting: &Sighting);
    /// A flow table may have ended a linked flow early: its packets may be in another flow.
    fn broken(&mut self, flow: FlowId);
    /// A linked flow ended at both points.
    fn ended(&mut self, flow: FlowId);
}

/// Links the flows of two captures by their endpoints, or by content if addresses are translated.
#[derive(Debug)]
pub(in crate::spp) struct Linker {
    sides: Sides,
    translated: bool,
    flows: [Vec<Local>; 2],
    by_key: [ByKey; 2],
    /// Flows that hold back packets, if addresses are translated.
    holders: [Holders; 2],
    held: usize,
    next: FlowId,
    unpaired: [Unpaired; 2],
    /// Number of packets dropped before their flow was found at the other point, by
    /// [`Point::index`].
    not_held: [u64; 2],
}

impl Linker {
    pub(in crate::spp) fn new(sides: Sides, translated: bool) -> Self {
        Self {
            sides,
            translated,
            flows: Default::default(),
            by_key: Default::default(),
            holders: Default::default(),
            held: 0,
            next: FlowId(0),
            unpaired: Default::default(),
            not_held: [0; 2],
        }
    }

    /// Number of flows found at both points.
    pub(in crate::spp) fn flows_found(&self) -> u32 {
        self.next.0
    }

    /// Counts of flows never found at the other point, by [`Point::index`].
    pub(in crate::spp) fn unpaired(&self) -> [Unpaired; 2] {
        self.unpaired
    }

    /// Number of packets dropped before their flow was found at the other point, by
    /// [`Point::index`].
    pub(in crate::spp) fn not_held(&self) -> [u64; 2] {
        self.not_held
    }

    /// Adds a flow that began at `point`; `shift` is that of the sequence numbers of each end.
    /// `may_resume` is true if the flow table may have shed an earlier part of the flow.
    pub(in crate::spp) fn begin(
        &mut self,
        point: Point,
        slot: Slot,
        flow: &Flow,
        shift: [u32; 2],
        may_resume: bool,
        out: &mut impl Listener,
    ) {
        // The endpoints are in use again, so the earlier flow must not keep its counterpart.
        if let Some(before) = self.by_key[point.index()].begin(flow, slot) {
            if may_resume {
                self.shed(point, before, out);
            }
            self.part(point, before);
        }
        let local = Local::of(flow, shift, may_resume);
        let locals = &mut self.flows[point.index()];
        match locals.get_mut(slot.index()) {
            Some(place) => *place = local,
            // The flow table assigns slots in order.
            None => locals.push(local),
        }
    }

    /// Prefetch distance in packets; `usize::MAX` (no prefetch) if there are few flows.
    #[inline]
    pub(in crate::spp) fn ahead(&self, point: Point) -> usize {
        if self.flows[point.index()].len() < FEW_FLOWS {
            usize::MAX
        } else {
            AHEAD
        }
    }

    /// Prefetches the flow in `slot` at `point`.
    #[inline]
    pub(in crate::spp) fn prefetch(&self, point: Point, slot: Slot) {
        // A flow may begin between this packet and its own.
        if let Some(local) = self.flows[point.index()].get(slot.index()) {
            prefetch(&local.state);
        }
    }

    /// Takes in a packet at `point` of a flow that has begun.
    #[inline]
    pub(in crate::spp) fn see(
        &mut self,
        point: Point,
        sighting: &Sighting,
        out: &mut impl Listener,
    ) {
        match &self.flows[point.index()][sighting.slot.index()].state {
            State::Linked(linked) => out.seen(point, linked.event(sighting)),
            State::Waiting(_) => self.wait(point, sighting, out),
            State::Parted(linked) => self.see_parted(point, sighting, *linked, out),
            State::Free => {}
        }
    }

    /// Notes that the flow table of `point` shed the flow in `slot`.
    pub(in crate::spp) fn shed(&mut self, point: Point, slot: Slot, out: &mut impl Listener) {
        if let Some(linked) = self.flows[point.index()][slot.index()].link() {
            out.broken(linked.flow);
        }
    }

    /// Ends the flow in `slot` at `point`.
    pub(in crate::spp) fn end(&mut self, point: Point, slot: Slot, out: &mut impl Listener) {
        self.part(point, slot);
        let local = &mut self.flows[point.index()][slot.index()];
        let key = local.key;
        match std::mem::replace(&mut local.state, State::Free) {
            State::Waiting(waiting) => {
                self.held -= waiting.held.len();
                if self.translated {
                    self.withdraw(point, &waiting.held);
                }
                let unpaired = &mut self.unpaired[point.index()];
                unpaired.flows += 1;
                unpaired.packets += waiting.packets;
            }
            // No counterpart is left that could report the end later.
            State::Parted(linked) => out.ended(linked.flow),
            State::Linked(_) | State::Free => {}
        }
        self.by_key[point.index()].end(key, slot);
    }

    fn wait(&mut self, point: Point, sighting: &Sighting, out: &mut impl Listener) {
        let limit = if self.held < HELD_IN_ALL {
            HELD
        } else {
            HELD_WHEN_FULL
        };
        let slot = sighting.slot;
        let local = &mut self.flows[point.index()][slot.index()];
        let State::Waiting(waiting) = &mut local.state else {
            return;
        };
        waiting.packets += 1;
        waiting.held.push_back(*sighting);
        self.held += 1;
        let holders = &mut self.holders[point.index()];
        let is_only = self.translated && holders.hold(sighting.mark, slot);
        // The limit falls when all flows together hold too many packets.
        while waiting.held.len() > limit {
            if let Some(oldest) = waiting.held.pop_front() {
                waiting.dropped[oldest.direction.index()] += 1;
                self.held -= 1;
                if self.translated {
                    holders.release(&oldest.mark);
                }
            }
        }
        // The key is known from the first packet on. If no flow has it at the other point yet, the
        // flow that begins there later finds this one.
        let packets = waiting.packets;
        if packets == 1
            && let Some((partner, same_initiator)) = self.counterpart(point, slot)
        {
            let theirs = &self.flows[point.opposite().index()][partner.index()];
            let State::Parted(before) = theirs.state else {
                self.link(point, slot, partner, same_initiator, out);
                return;
            };
            // The next packet there shows whether that flow continues. If so, packets in flight are
            // in it.
            out.broken(before.flow);
        }
        if packets <= STRAYS {
            out.strayed(point, sighting);
        }
        if is_only {
            self.offer(point, sighting, out);
        }
    }

    /// Returns the flow with the same endpoints at the other point, if it has no counterpart or its
    /// counterpart has ended, and whether both points agree on the initiator.
    fn counterpart(&self, point: Point, slot: Slot) -> Option<(Slot, bool)> {
        let ours = &self.flows[point.index()][slot.index()];
        let other = point.opposite().index();
        self.by_key[other].of(&ours.key).find_map(|partner| {
            let theirs = &self.flows[other][partner.index()];
            let is_free = matches!(theirs.state, State::Waiting(_) | State::Parted(_));
            let is_same_initiator = theirs.initiator == ours.initiator;
            (is_free && ours.may_be(theirs)).then_some((partner, is_same_initiator))
        })
    }

    /// Searches for the counterpart of a flow by the mark of one packet, which no other flow of the
    /// point holds back.
    fn offer(&mut self, point: Point, sighting: &Sighting, out: &mut impl Listener) {
        let Sighting { slot, mark, .. } = *sighting;
        let other = point.opposite().index();
        let Some(partner) = self.holders[other].only(&mark) else {
            return;
        };
        let theirs = &self.flows[other][partner.index()];
        let Some(found) = theirs.held(&mark) else {
            return;
        };
        let same_initiator = found.direction == sighting.direction;
        let their_endpoints = theirs.endpoints(found.direction);
        let ours = &mut self.flows[point.index()][slot.index()];
        let endpoints = ours.endpoints(sighting.direction);
        let State::Waiting(waiting) = &mut ours.state else {
            return;
        };
        let resembled = waiting.resembles.replace((partner, mark.words));
        // A datagram may hold only its number, which is the same in all flows and both directions.
        let is_like = resembled.is_some_and(|(flow, words)| flow == partner && words != mark.words)
            && (endpoints.0 == their_endpoints.0 || endpoints.1 == their_endpoints.1);
        if is_like || mark.is_of_one_flow() {
            self.link(point, slot, partner, same_initiator, out);
        }
    }

    fn link(
        &mut self,
        point: Point,
        slot: Slot,
        partner: Slot,
        same_initiator: bool,
        out: &mut impl Listener,
    ) {
        let slots = match point {
            Point::Src => [slot, partner],
            Point::Dst => [partner, slot],
        };
        let was_linked = Point::BOTH.iter().any(|p| {
            self.flows[p.index()][slots[p.index()].index()]
                .link()
                .is_some()
        });
        let waiting = Point::BOTH.map(|point| self.stop_waiting(point, slots[point.index()], out));
        let locals = Point::BOTH.map(|p| &self.flows[p.index()][slots[p.index()].index()]);
        let forward_is = names(locals, same_initiator);
        let endpoints = Point::BOTH.map(|p| locals[p.index()].endpoints(forward_is[p.index()]));
        let (initiator, responder) = endpoints[0];
        let [at_src, at_dst] = endpoints.map(|(initiator, responder)| {
            [initiator, responder].map(|end| address_number(end.ip()))
        });
        let known = self.sides.path_direction(at_src, at_dst);
        // The sample of the first pass may include no packet of these hosts.
        let path_direction = known.unwrap_or_else(|| way_by_time(&waiting, forward_is));
        let is_partial = was_linked || locals.iter().any(|local| local.may_resume);
        let began = locals.map(|local| local.initiator_known == InitiatorKnown::Syn);
        let flow = self.next;
        self.next = FlowId(flow.0 + 1);
        let paired = PairedFlow {
            flow,
            number: locals[0].flow,
            protocol: locals[0].key.protocol(),
            initiator,
            responder,
            translated: (endpoints[0] != endpoints[1]).then(|| Box::new(endpoints[1])),
            local: Point::BOTH.map(|p| LocalFlow {
                flow: locals[p.index()].flow,
                forward_is: forward_is[p.index()],
            }),
        };
        let dropped = Point::BOTH.map(|p| {
            let dropped = waiting[p.index()].dropped;
            Direction::BOTH.map(|d| dropped[relative(d, forward_is[p.index()]).index()])
        });
        for point in Point::BOTH {
            self.not_held[point.index()] += dropped[point.index()].iter().sum::<u64>();
        }
        out.found(Found {
            flow: paired,
            path_direction,
            way_is_known: known.is_some(),
            began,
            is_partial,
            dropped,
        });
        for (point, waiting) in Point::BOTH.into_iter().zip(waiting) {
            let linked = Linked {
                flow,
                forward_is: forward_is[point.index()],
                path_direction,
                partner: slots[point.opposite().index()],
            };
            self.flows[point.index()][slots[point.index()].index()].state = State::Linked(linked);
            for sighting in &waiting.held {
                out.seen(point, linked.event(sighting));
            }
        }
    }

    /// Takes the packets that a flow held back; if the flow was linked, the earlier link ends.
    fn stop_waiting(&mut self, point: Point, slot: Slot, out: &mut impl Listener) -> Waiting {
        let state = &mut self.flows[point.index()][slot.index()].state;
        let waiting = match std::mem::replace(state, State::Free) {
            State::Waiting(waiting) => *waiting,
            State::Linked(before) | State::Parted(before) => {
                out.ended(before.flow);
                Waiting::default()
            }
            State::Free => Waiting::default(),
        };
        self.held -= waiting.held.len();
        if self.translated {
            self.withdraw(point, &waiting.held);
        }
        waiting
    }

    /// Removes the marks of packets that are no longer held back.
    fn withdraw<'a>(&mut self, point: Point, held: impl IntoIterator<Item = &'a Sighting>) {
        for sighting in held {
            self.holders[point.index()].release(&sighting.mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{FlowTable, Packets};
    use tcpexp_testkit::scripted::Scripted;

    use super::*;
    use crate::spp::alignment::Identification;
    use crate::spp::linking::Marker;

    /// Numbers of the flows in each capture that were linked, source first.
    #[derive(Default)]
    struct Links(Vec<[FlowId; 2]>);

    impl Listener for Links {
        fn found(&mut self, found: Found) {
            self.0.push(found.flow.local.map(|local| local.flow));
        }
        fn seen(&mut self, _: Point, _: Event) {}
        fn strayed(&mut self, _: Point, _: &Sighting) {}
        fn broken(&mut self, _: FlowId) {}
        fn ended(&mut self, _: FlowId) {}
    }

    /// Two captures with translated addresses, read up to now.
    struct Scene {
        linker: Linker,
        tables: [FlowTable; 2],
        links: Links,
    }

    impl Scene {
        fn new() -> Self {
            Self {
                linker: Linker::new(Sides::default(), true),
                tables: Default::default(),
                links: Links::default(),
            }
        }

        fn see(&mut self, point: Point, text: &str) {
            let identification = Identification {
                fields: Vec::new(),
                recut: false,
                translated: true,
                shifted: Vec::new(),
            };
            let marker = Marker::new(&identification);
            Scripted::new(text).show(usize::MAX, |sighted| {
                let table = &mut self.tables[point.index()];
                let tracked = table.track(sighted.at, sighted.packet);
                if tracked.is_first {
                    let flow = *table.flow(tracked.slot);
                    self.linker
                        .begin(point, tracked.slot, &flow, [0; 2], false, &mut self.links);
                }
                let sighting = Sighting {
                    at: sighted.at,
                    time: sighted.at,
                    piece: 0,
                    record: 0,
                    moved: 0,
                    header_bytes: 0,
                    ecn: tcpexp_wire::Ecn::NotEct,
                    slot: tracked.slot,
                    direction: tracked.direction,
                    mark: marker.mark(sighted.packet, [0; 2]),
                };
                self.linker.see(point, &sighting, &mut self.links);
            });
        }
    }

    #[test]
    fn datagrams_that_two_flows_hold_back_identify_no_third_flow() {
        let mut scene = Scene::new();
        scene.see(
            Point::Src,
            "
            1.00 > udp 8 num 7 id 0 flow 1
            1.01 > udp 8 num 8 id 0 flow 1
            1.02 > udp 8 num 7 id 0 flow 2
            1.03 > udp 8 num 8 id 0 flow 2
            ",
        );
        scene.linker.end(Point::Src, Slot(0), &mut scene.links);
        scene.see(
            Point::Src,
            "
            2.00 > udp 8 num 7 id 0 flow 3
            2.01 > udp 8 num 8 id 0 flow 3
            ",
        );
        // Any of the flows 2 and 3 may be this one.
        scene.see(
            Point::Dst,
            "
            2.02 > udp 8 num 7 id 0 flow 4
            2.03 > udp 8 num 8 id 0 flow 4
            ",
        );
        assert!(scene.links.0.is_empty(), "{:?}", scene.links.0);
    }
}
