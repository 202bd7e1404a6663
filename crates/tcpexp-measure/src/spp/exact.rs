//! Packets in flight, known again by their headers.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

use super::Way;
use super::link::Event;
use super::setting::UsualOwds;

/// How much earlier than it left a packet may seem to arrive: what the estimate of the clocks'
/// offset and the capture's own disorder may be wrong by.
pub(super) const SLACK: TimeDelta = TimeDelta::from_millis(10);

/// All packets going one way that have passed the first point but not yet the second.
///
/// A packet is in here once. Where two packets cannot be told apart, an arrival that could be
/// either is neither: both stay unmatched and count as ambiguous.
///
/// Most packets arrive soon, and few enough are in flight for a processor's cache. The lost ones
/// would crowd them out, so what is overdue is kept apart.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    packets: HashMap<Identity, Departed, FixedState>,
    overdue: HashMap<Identity, Departed, FixedState>,
    /// How many there were when the overdue ones were last set apart.
    on_time: usize,
}

/// A flow and the 128-bit hash of a mark: half as large as the mark, and even in a capture of a
/// million million packets two of them are alike once in a million million million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    flow: FlowId,
    digest: [u64; 2],
}

impl Identity {
    fn of(event: &Event) -> Self {
        Self {
            flow: event.flow,
            digest: event.sighting.mark.digest,
        }
    }
}

impl Hash for Identity {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest[0] ^ u64::from(self.flow.0));
    }
}

/// A packet as it passed the first point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) direction: Direction,
    pub(super) way: Way,
    pub(super) at: Timestamp,
    pub(super) time: Timestamp,
    pub(super) piece: u32,
}

impl Departure {
    pub(super) fn of(event: &Event) -> Self {
        Self {
            direction: event.direction,
            way: event.way,
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
    /// Later ones, hardly ever any; none once they are `ambiguous`. Boxed, for the others pay for it.
    #[expect(
        clippy::box_collection,
        reason = "a third of the size of each of a million entries"
    )]
    more: Option<Box<VecDeque<Departure>>>,
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
        let identity = Identity::of(event);
        let departed = match self.overdue.get_mut(&identity) {
            Some(departed) => departed,
            None => match self.packets.entry(identity) {
                Entry::Vacant(place) => {
                    place.insert(Departed {
                        first: departure,
                        more: None,
                        ambiguous: 0,
                    });
                    return true;
                }
                Entry::Occupied(place) => place.into_mut(),
            },
        };
        let gap = departure.at - departed.latest().at;
        if mark.is_copy_after(gap, min_rtt) {
            return false;
        }
        departed.add(departure);
        true
    }

    /// A packet arrived; `usual` are the one-way delays that one may have which had a double.
    #[inline]
    pub(super) fn arrive(&mut self, event: &Event, usual: &UsualOwds) -> Outcome<Departure> {
        let sighting = &event.sighting;
        let identity = Identity::of(event);
        let mut place = match self.packets.entry(identity) {
            Entry::Occupied(place) => place,
            Entry::Vacant(_) => match self.overdue.entry(identity) {
                Entry::Occupied(place) => place,
                Entry::Vacant(_) => return Outcome::Unknown,
            },
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
        // Instead of the one that was seen leaving it may be a double that left unseen.
        let seems_unseen =
            !usual.include(departure.at, sighting.at) && !sighting.mark.is_one_of_a_kind();
        if seems_unseen || departed.second().is_some_and(|second| second.at <= latest) {
            departed.confuse();
            return Outcome::Ambiguous;
        }
        match departed.take_second() {
            Some(second) => departed.first = second,
            None => drop(place.remove()),
        }
        Outcome::Matched(departure)
    }

    /// Sets apart what should have arrived if it left before `due`.
    pub(super) fn set_apart(&mut self, due: Timestamp) {
        // Walking all takes time, so only when there are many more than there need be.
        if self.packets.len() > 2 * self.on_time + 256 {
            let late = self
                .packets
                .extract_if(|_, departed| departed.first.at < due);
            self.overdue.extend(late);
            self.on_time = self.packets.len();
        }
    }

    /// Gives up all that left before `horizon`.
    pub(super) fn expire(&mut self, horizon: Timestamp, mut each: impl FnMut(Expired)) {
        let mut keep = |identity: &Identity, departed: &mut Departed| {
            while departed.first.at < horizon {
                each(Expired {
                    flow: identity.flow,
                    departure: departed.first,
                    packets: departed.ambiguous.max(1),
                    ambiguous: departed.ambiguous > 0,
                });
                match departed.take_second() {
                    Some(second) => departed.first = second,
                    None => return false,
                }
            }
            true
        };
        self.packets.retain(&mut keep);
        self.overdue.retain(keep);
    }
}

impl Departed {
    fn latest(&self) -> &Departure {
        let more = self.more.as_ref();
        more.and_then(|more| more.back()).unwrap_or(&self.first)
    }

    fn second(&self) -> Option<&Departure> {
        self.more.as_ref()?.front()
    }

    fn take_second(&mut self) -> Option<Departure> {
        self.more.as_mut()?.pop_front()
    }

    #[cold]
    fn add(&mut self, departure: Departure) {
        if self.ambiguous > 0 {
            self.first = departure;
            self.ambiguous += 1;
        } else {
            self.more.get_or_insert_default().push_back(departure);
        }
    }

    /// Nothing tells these packets apart: from now on they only count.
    #[cold]
    fn confuse(&mut self) {
        self.first = *self.latest();
        self.ambiguous = 1 + self.more.take().map_or(0, |more| more.len() as u64);
    }
}
