//! Packets in flight, known again by their headers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

#[derive(Clone, Debug)]
struct Departed {
    first: Departure,
    /// More that look the same; hardly ever any.
    more: Vec<Departure>,
    ambiguous: bool,
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

/// A packet that was given up.
pub(super) struct Expired {
    pub(super) flow: FlowId,
    pub(super) departure: Departure,
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
                place.insert(Departed {
                    first: departure,
                    more: Vec::new(),
                    ambiguous: false,
                });
            }
            Entry::Occupied(place) => {
                let departed = place.into_mut();
                let gap = departure.at - departed.latest().at;
                if mark.is_copy_after(gap, min_rtt) {
                    return false;
                }
                departed.more.push(departure);
            }
        }
        true
    }

    /// A packet arrived.
    #[inline]
    pub(super) fn arrive(&mut self, event: &Event) -> Outcome<Departure> {
        let identity = Identity {
            flow: event.flow,
            mark: event.sighting.mark,
        };
        let latest = event.sighting.at + SLACK;
        let Entry::Occupied(mut place) = self.packets.entry(identity) else {
            return Outcome::Unknown;
        };
        let departed = place.get_mut();
        if departed.more.is_empty() && !departed.ambiguous {
            if departed.first.at > latest {
                return Outcome::Unknown;
            }
            let departure = departed.first;
            place.remove();
            return Outcome::Matched(departure);
        }
        departed.choose(latest)
    }

    /// Gives up all that left before `horizon`.
    pub(super) fn expire(&mut self, horizon: Timestamp, mut each: impl FnMut(Expired)) {
        self.packets.retain(|identity, departed| {
            if departed.latest().at >= horizon {
                return true;
            }
            for departure in std::iter::once(departed.first).chain(departed.more.drain(..)) {
                each(Expired {
                    flow: identity.flow,
                    departure,
                    ambiguous: departed.ambiguous,
                });
            }
            false
        });
    }
}

impl Departed {
    fn latest(&self) -> &Departure {
        self.more.last().unwrap_or(&self.first)
    }

    /// Picks the one departure that can be meant, if there is but one.
    #[cold]
    fn choose(&mut self, latest: Timestamp) -> Outcome<Departure> {
        let candidates = 1 + self
            .more
            .iter()
            .filter(|departure| departure.at <= latest)
            .count();
        if self.first.at > latest {
            return Outcome::Unknown;
        }
        if self.ambiguous || candidates > 1 {
            self.ambiguous = true;
            return Outcome::Ambiguous;
        }
        let departure = self.first;
        self.first = self.more.remove(0);
        Outcome::Matched(departure)
    }
}
