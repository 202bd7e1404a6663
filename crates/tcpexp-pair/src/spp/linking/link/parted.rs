//! Flows that ended at one point only: they go on, or a later flow takes their place.

use tcpexp_flow::Slot;

use super::super::local::{Linked, State};
use super::super::sighting::Sighting;
use super::{Linker, Listener};
use crate::spp::point::Point;

impl Linker {
    /// Takes in a packet of a flow that has ended at the other point. A flow that began there since
    /// then is this one, which had a silence as long as its timeout at one point only.
    #[cold]
    pub(super) fn see_parted(
        &mut self,
        point: Point,
        sighting: &Sighting,
        linked: Linked,
        out: &mut impl Listener,
    ) {
        let slot = sighting.slot;
        let Some((next, same_initiator)) = self.successor(point, slot) else {
            out.seen(point, linked.event(sighting));
            return;
        };
        match point {
            Point::Src if self.holds_all(next) => {
                self.rejoin(slot, next, same_initiator, linked, out);
            }
            // Results have the flow numbers of the source, where this is a new flow.
            _ => self.link(point, slot, next, same_initiator, out),
        }
        self.see(point, sighting, out);
    }

    /// Returns the flow that began at the other point after the flow in `slot` ended there, if it is
    /// the same flow, and whether both points agree on the initiator.
    fn successor(&self, point: Point, slot: Slot) -> Option<(Slot, bool)> {
        let ours = &self.flows[point.index()][slot.index()];
        let other = point.opposite().index();
        self.by_key[other].of(&ours.key).find_map(|next| {
            let theirs = &self.flows[other][next.index()];
            let is_same_initiator = theirs.initiator == ours.initiator;
            (matches!(theirs.state, State::Waiting(_)) && theirs.may_be(ours))
                .then_some((next, is_same_initiator))
        })
    }

    /// True if the flow in this slot of the destination holds back all packets so far.
    fn holds_all(&self, slot: Slot) -> bool {
        let state = &self.flows[Point::Dst.index()][slot.index()].state;
        matches!(state, State::Waiting(waiting) if waiting.dropped == [0; 2])
    }

    /// Adds the flow `next` of the destination to the pair of the flow in `slot` of the source.
    fn rejoin(
        &mut self,
        slot: Slot,
        next: Slot,
        same_initiator: bool,
        linked: Linked,
        out: &mut impl Listener,
    ) {
        let waiting = self.stop_waiting(Point::Dst, next, out);
        let at_dst = Linked {
            forward_is: if same_initiator {
                linked.forward_is
            } else {
                linked.forward_is.opposite()
            },
            partner: slot,
            ..linked
        };
        let at_src = Linked {
            partner: next,
            ..linked
        };
        self.flows[Point::Src.index()][slot.index()].state = State::Linked(at_src);
        self.flows[Point::Dst.index()][next.index()].state = State::Linked(at_dst);
        for sighting in &waiting.held {
            out.seen(Point::Dst, at_dst.event(sighting));
        }
    }

    /// Frees the counterpart of the flow in `slot` for another flow.
    pub(super) fn part(&mut self, point: Point, slot: Slot) {
        let State::Linked(Linked { flow, partner, .. }) =
            self.flows[point.index()][slot.index()].state
        else {
            return;
        };
        let state = &mut self.flows[point.opposite().index()][partner.index()].state;
        if let State::Linked(other) = *state
            // The counterpart may be linked to a later flow by now, also in the same pair.
            && (other.flow, other.partner) == (flow, slot)
        {
            *state = State::Parted(other);
        }
    }
}
