//! One point's view of a flow, and the names of its directions in the pair.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tcpexp_flow::{Direction, End, Flow, FlowId, FlowKey, InitiatorKnown, Slot};
use tcpexp_wire::SeqNum;

use super::mark::Mark;
use super::sighting::{Event, Sighting};
use crate::spp::crossing::PathDirection;
use crate::spp::point::Point;

/// One point's view of a flow, reduced to what linking needs: there may be millions.
#[derive(Debug)]
pub(in crate::spp) struct Local {
    pub(in crate::spp) flow: FlowId,
    pub(in crate::spp) key: FlowKey,
    pub(in crate::spp) initiator: End,
    pub(in crate::spp) initiator_known: InitiatorKnown,
    /// True if the flow table may have shed an earlier part of the flow.
    pub(in crate::spp) may_resume: bool,
    /// Initial sequence numbers known at the first packet, by [`End`].
    pub(in crate::spp) isn: [Option<SeqNum>; 2],
    pub(in crate::spp) state: State,
}

impl Local {
    /// `shift` is that of the sequence numbers of each end at this point; `may_resume` is true if the
    /// flow table may have shed an earlier part of the flow.
    pub(in crate::spp) fn of(flow: &Flow, shift: [u32; 2], may_resume: bool) -> Self {
        let unshifted = |end: End| {
            let isn = flow.isn(end)?;
            Some(SeqNum(isn.0.wrapping_sub(shift[end as usize])))
        };
        Self {
            flow: flow.id,
            key: flow.key,
            initiator: flow.initiator,
            initiator_known: flow.initiator_known,
            may_resume,
            isn: [End::Low, End::High].map(unshifted),
            state: State::Waiting(Box::default()),
        }
    }

    /// The link of a flow that was found at both points.
    pub(in crate::spp) fn link(&self) -> Option<&Linked> {
        match &self.state {
            State::Linked(linked) | State::Parted(linked) => Some(linked),
            State::Waiting(_) | State::Free => None,
        }
    }

    /// True if `other`, with the same endpoints, may be this new connection.
    pub(in crate::spp) fn may_be(&self, other: &Self) -> bool {
        let was_another = other.link().is_some();
        // A flow that begins with a SYN continues no other, even if a simple stack uses an initial sequence
        // number again.
        if was_another && self.initiator_known == InitiatorKnown::Syn {
            return false;
        }
        let mut isns = self.isn.iter().zip(&other.isn);
        isns.all(|isns| match isns {
            // Connections between the same endpoints have different initial sequence numbers (RFC
            // 9293, section 3.4.1).
            (Some(ours), Some(theirs)) => ours == theirs,
            // A flow that was open when its capture began may have begun with this SYN, unless it
            // is already linked to another connection.
            (Some(_), None) => !was_another,
            (None, _) => true,
        })
    }

    /// Returns the held-back packet with this mark.
    pub(in crate::spp) fn held(&self, mark: &Mark) -> Option<&Sighting> {
        match &self.state {
            State::Waiting(waiting) => waiting.held.iter().find(|held| held.mark == *mark),
            State::Free | State::Linked(_) | State::Parted(_) => None,
        }
    }

    /// The two endpoints, sender of the pair's forward direction first; `forward_is` is the pair's
    /// direction that this point calls forward.
    pub(in crate::spp) fn endpoints(&self, forward_is: Direction) -> (SocketAddr, SocketAddr) {
        let sender = match forward_is {
            Direction::Forward => self.initiator,
            Direction::Reverse => self.initiator.opposite(),
        };
        (
            self.key.endpoint(sender),
            self.key.endpoint(sender.opposite()),
        )
    }
}

#[derive(Debug)]
pub(in crate::spp) enum State {
    /// Not in use.
    Free,
    /// Not found at the other point yet.
    Waiting(Box<Waiting>),
    /// Found at both points.
    Linked(Linked),
    /// Found at both points, but ended at the other.
    Parted(Linked),
}

#[derive(Debug, Default)]
pub(in crate::spp) struct Waiting {
    pub(in crate::spp) held: VecDeque<Sighting>,
    pub(in crate::spp) packets: u64,
    pub(in crate::spp) dropped: [u64; 2],
    /// The flow at the other point with an identical datagram, and the first bytes of that
    /// datagram.
    pub(in crate::spp) resembles: Option<(Slot, [u32; 4])>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Linked {
    pub(in crate::spp) flow: FlowId,
    /// The pair's direction that this point calls forward.
    pub(in crate::spp) forward_is: Direction,
    /// Way of the pair's forward direction.
    pub(in crate::spp) path_direction: PathDirection,
    /// Slot at the other point; of another flow once this one has ended there.
    pub(in crate::spp) partner: Slot,
}

impl Linked {
    #[inline]
    pub(in crate::spp) fn event(&self, sighting: &Sighting) -> Event {
        let direction = relative(sighting.direction, self.forward_is);
        let path_direction = match direction {
            Direction::Forward => self.path_direction,
            Direction::Reverse => self.path_direction.opposite(),
        };
        Event {
            flow: self.flow,
            direction,
            path_direction,
            sighting: *sighting,
        }
    }
}

/// Returns the pair's direction that each point calls forward. The point with the better evidence
/// for the initiator decides.
pub(in crate::spp) fn names(locals: [&Local; 2], same_initiator: bool) -> [Direction; 2] {
    let other = if same_initiator {
        Direction::Forward
    } else {
        Direction::Reverse
    };
    if locals[1].initiator_known < locals[0].initiator_known {
        [other, Direction::Forward]
    } else {
        [Direction::Forward, other]
    }
}

/// Converts a point's `direction` to the pair's direction; `forward_is` is the pair's direction
/// that the point calls forward.
pub(in crate::spp) fn relative(direction: Direction, forward_is: Direction) -> Direction {
    match forward_is {
        Direction::Forward => direction,
        Direction::Reverse => direction.opposite(),
    }
}

/// Way of the forward direction, inferred from the point that saw the flow first.
pub(in crate::spp) fn way_by_time(
    waiting: &[Waiting; 2],
    forward_is: [Direction; 2],
) -> PathDirection {
    let first = Point::BOTH.map(|p| waiting[p.index()].held.front());
    let way_of = |sighting: &Sighting, point: Point, path_direction: PathDirection| match relative(
        sighting.direction,
        forward_is[point.index()],
    ) {
        Direction::Forward => path_direction,
        Direction::Reverse => path_direction.opposite(),
    };
    match first {
        [Some(src), Some(dst)] if dst.at < src.at => way_of(dst, Point::Dst, PathDirection::Back),
        [Some(src), _] => way_of(src, Point::Src, PathDirection::Out),
        [None, Some(dst)] => way_of(dst, Point::Dst, PathDirection::Back),
        [None, None] => PathDirection::Out,
    }
}
