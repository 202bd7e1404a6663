//! Packets in flight, known again by their headers.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

use super::Way;
use super::identity::Mark;
use super::link::Event;

/// How much earlier than it left a packet may seem to arrive: what the estimate of the clocks'
/// offset and the capture's own disorder may be wrong by.
pub(super) const SLACK: TimeDelta = TimeDelta::from_millis(10);

/// All packets going one way that have passed the first point but not yet the second.
///
/// A packet is in here once. Where two packets cannot be told apart, an arrival that could be
/// either is neither: both stay unmatched and count as ambiguous.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    packets: HashMap<Identity, Departed, FixedState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    flow: FlowId,
    mark: Mark,
}

impl Hash for Identity {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.flow.0);
        self.mark.hash(state);
    }
}

/// A packet as it passed the first point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) direction: Direction,
    pub(super) way: Way,
    pub(super) record: u64,
    pub(super) at: Timestamp,
    pub(super) time: Timestamp,
    pub(super) piece: u32,
}

impl Departure {
    pub(super) fn of(event: &Event) -> Self {
        Self {
            direction: event.direction,
            way: event.way,
            record: event.sighting.record,
            at: event.sighting.at,
            time: event.sighting.time,
            piece: event.sighting.piece,
        }
    }
}

/// Packets that look the same.
#[derive(Clone, Debug)]
struct Departed {
    /// The one that left first; the last, once they are `ambiguous`.
    first: Departure,
    /// Later ones, hardly ever any; none once they are `ambiguous`.
    more: VecDeque<Departure>,
    /// How many there are in all if an arrival could be one or another of them, else 0.
    ambiguous: u64,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome<T> {
    /// This is the packet.
    Matched(T),
    /// It could be one of several.
    Ambiguous,
    /// None like it is in flight.
    Unknown,
}

/// A packet that was given up, or several that look the same.
pub(super) struct Expired {
    pub(super) flow: FlowId,
    pub(super) departure: Departure,
    pub(super) packets: u64,
    /// Whether an arrival could have been this one or another.
    pub(super) ambiguous: bool,
}

impl InFlight {
    /// A packet left. `false` if it is a second capture of one that is in flight.
    pub(super) fn depart(&mut self, event: &Event, min_rtt: TimeDelta) -> bool {
        let departure = Departure::of(event);
        let mark = event.sighting.mark;
        match self.packets.entry(Identity {
            flow: event.flow,
            mark,
        }) {
            Entry::Vacant(place) => {
                let more = VecDeque::new();
                place.insert(Departed { first: departure, more, ambiguous: 0 });
            }
            Entry::Occupied(place) => {
                let departed = place.into_mut();
                let gap = departure.at - departed.latest().at;
                if mark.is_copy_after(gap, min_rtt) {
                    return false;
                }
                departed.add(departure);
            }
        }
        true
    }

    /// A packet arrived.
    #[inline]
    pub(super) fn arrive(&mut self, event: &Event) -> Outcome<Departure> {
        let sighting = &event.sighting;
        let identity = Identity { flow: event.flow, mark: sighting.mark };
        let Entry::Occupied(mut place) = self.packets.entry(identity) else {
            return Outcome::Unknown;
        };
        let departed = place.get_mut();
        let departure = departed.first;
        if departed.ambiguous > 0 {
            return Outcome::Ambiguous;
        }
        let latest = sighting.at + SLACK;
        if departure.at > latest {
            return Outcome::Unknown;
        }
        // Where one more like it is about to leave, this may be one that left unseen.
        let seems_early = departure.at > sighting.at && !sighting.mark.is_one_of_a_kind();
        if seems_early || departed.more.front().is_some_and(|next| next.at <= latest) {
            departed.confuse();
            return Outcome::Ambiguous;
        }
        match departed.more.pop_front() {
            Some(next) => departed.first = next,
            None => drop(place.remove()),
        }
        Outcome::Matched(departure)
    }

    /// Gives up all that left before `horizon`.
    pub(super) fn expire(&mut self, horizon: Timestamp, mut each: impl FnMut(Expired)) {
        self.packets.retain(|identity, departed| {
            while departed.first.at < horizon {
                each(Expired {
                    flow: identity.flow,
                    departure: departed.first,
                    packets: departed.ambiguous.max(1),
                    ambiguous: departed.ambiguous > 0,
                });
                match departed.more.pop_front() {
                    Some(next) => departed.first = next,
                    None => return false,
                }
            }
            true
        });
    }
}

impl Departed {
    fn latest(&self) -> &Departure {
        self.more.back().unwrap_or(&self.first)
    }

    #[cold]
    fn add(&mut self, departure: Departure) {
        if self.ambiguous > 0 {
            self.first = departure;
            self.ambiguous += 1;
        } else {
            self.more.push_back(departure);
        }
    }

    /// Nothing tells these packets apart: from now on they only count.
    #[cold]
    fn confuse(&mut self) {
        self.ambiguous = 1 + self.more.len() as u64;
        self.first = *self.latest();
        self.more = VecDeque::new();
    }
}
