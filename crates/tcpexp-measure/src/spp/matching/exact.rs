//! Packets in flight, known again by their headers.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;
use tcpexp_units::Timestamp;

use super::departure::{Departure, Identity, Outcome};
use super::queue::Queue;
use super::stream::UsualOwds;
use crate::spp::linking::{Event, Sighting};

/// All packets going one way that have passed the first point but not yet the second.
///
/// A packet is in here once. Where two packets cannot be told apart, an arrival that could be
/// either is neither: both stay unmatched and count as ambiguous.
///
/// Most packets arrive soon, and few enough are in flight for a processor's cache. The lost ones
/// would crowd them out, so what is overdue is kept apart, and so are those that have a double.
#[derive(Debug, Default)]
pub(in crate::spp) struct InFlight {
    queue: Queue,
    apart: HashMap<Identity, Departed, FixedState>,
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

/// A packet that was given up, or several that look the same.
pub(in crate::spp) struct Expired {
    pub(in crate::spp) flow: FlowId,
    pub(in crate::spp) departure: Departure,
    pub(in crate::spp) packets: u64,
    /// Whether an arrival could have been this one or another.
    pub(in crate::spp) ambiguous: bool,
}

impl InFlight {
    /// A packet left as the `number`th of its direction. `false` if it is a second capture of one
    /// that is in flight.
    pub(in crate::spp) fn depart(&mut self, event: &Event, number: u64, doubles: bool) -> bool {
        let mark = &event.sighting.mark;
        let identity = Identity::new(event.flow, mark.digest);
        let latest = match self.apart.get_mut(&identity) {
            Some(departed) => Some(departed.latest_mut()),
            None => self.queue.push(identity, || Departure::of(event, number)),
        };
        let Some(latest) = latest else {
            return true;
        };
        let at = event.sighting.at;
        if latest.takes_twin(at, doubles) || mark.is_copy_after(at - latest.at) {
            return false;
        }
        self.set_one_apart(identity);
        if let Some(departed) = self.apart.get_mut(&identity) {
            departed.add(Departure::of(event, number));
        }
        true
    }

    /// A packet arrived; `usual` are the one-way delays that one may have which had a double.
    #[inline]
    pub(in crate::spp) fn arrive(
        &mut self,
        event: &Event,
        usual: &UsualOwds,
    ) -> Outcome<Departure> {
        let sighting = &event.sighting;
        let identity = Identity::new(event.flow, sighting.mark.digest);
        let latest = usual.latest_departure(sighting.at);
        let taken = self.queue.take_if(&identity, |departure| {
            !usual.is_over(departure.at, sighting.at)
                && departure.at <= latest
                && !seems_unseen(departure, sighting, usual)
        });
        match taken {
            Some(Ok(departure)) => return Outcome::Matched(departure),
            Some(Err(left)) if usual.is_over(left, sighting.at) => return Outcome::Unknown,
            Some(Err(_)) => self.set_one_apart(identity),
            None => {}
        }
        self.arrive_apart(identity, sighting, usual)
    }

    #[cold]
    fn arrive_apart(
        &mut self,
        identity: Identity,
        sighting: &Sighting,
        usual: &UsualOwds,
    ) -> Outcome<Departure> {
        let Entry::Occupied(mut place) = self.apart.entry(identity) else {
            return Outcome::Unknown;
        };
        let departed = place.get_mut();
        let departure = departed.first;
        if departed.ambiguous > 0 {
            return Outcome::Ambiguous;
        }
        if usual.recurs {
            let may_be = |departure: &Departure| usual.include(departure.at, sighting.at);
            let (taken, is_empty) = departed.take_only(may_be);
            if is_empty {
                place.remove();
            }
            return taken.map_or(Outcome::Unknown, Outcome::Matched);
        }
        let latest = usual.latest_departure(sighting.at);
        let has_double = departed.second().is_some_and(|second| second.at <= latest);
        if departure.at > latest {
            // Either its like left unseen, or the clocks are not what they seem.
            if !sighting.mark.is_one_of_a_kind() {
                departed.confuse();
            }
            return Outcome::Unknown;
        }
        if usual.is_over(departure.at, sighting.at) && !has_double {
            return Outcome::Unknown;
        }
        if has_double {
            departed.confuse();
            return Outcome::Ambiguous;
        }
        if seems_unseen(&departure, sighting, usual) {
            departed.confuse();
            return Outcome::Doubtful(departure);
        }
        match departed.take_second() {
            Some(second) => departed.first = second,
            None => drop(place.remove()),
        }
        Outcome::Matched(departure)
    }

    /// Sets apart what should have arrived if it left before `due`.
    pub(in crate::spp) fn set_apart(&mut self, due: Timestamp) {
        while let Some((identity, departure)) = self.queue.take_before(due) {
            self.apart.insert(identity, Departed::new(departure));
        }
    }

    fn set_one_apart(&mut self, identity: Identity) {
        if let Some(departure) = self.queue.take(&identity) {
            self.apart.insert(identity, Departed::new(departure));
        }
    }

    /// Gives up all that left before `horizon`.
    pub(in crate::spp) fn expire(&mut self, horizon: Timestamp, mut each: impl FnMut(Expired)) {
        self.set_apart(horizon);
        self.apart.retain(|identity, departed| {
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
        });
    }
}

/// Whether instead of the packet that was seen leaving, a double that left unseen may have arrived.
fn seems_unseen(departure: &Departure, sighting: &Sighting, usual: &UsualOwds) -> bool {
    let is_one_of_a_kind = sighting.mark.is_one_of_a_kind() && !usual.recurs;
    !usual.include(departure.at, sighting.at) && !is_one_of_a_kind
}

impl Departed {
    fn new(departure: Departure) -> Self {
        Self {
            first: departure,
            more: None,
            ambiguous: 0,
        }
    }

    fn latest(&self) -> &Departure {
        let more = self.more.as_ref();
        more.and_then(|more| more.back()).unwrap_or(&self.first)
    }

    fn latest_mut(&mut self) -> &mut Departure {
        let more = self.more.as_mut();
        more.and_then(|more| more.back_mut())
            .unwrap_or(&mut self.first)
    }

    fn second(&self) -> Option<&Departure> {
        self.more.as_ref()?.front()
    }

    fn take_second(&mut self) -> Option<Departure> {
        self.more.as_mut()?.pop_front()
    }

    /// Takes out the one packet that `may_be` it, if there is exactly one; and whether none is left.
    fn take_only(&mut self, may_be: impl Fn(&Departure) -> bool) -> (Option<Departure>, bool) {
        let mut all = self.more.take().map_or_else(VecDeque::new, |more| *more);
        all.push_front(self.first);
        let mut places = (0..all.len()).filter(|&place| may_be(&all[place]));
        let place = places.next().filter(|_| places.next().is_none());
        let taken = place.and_then(|place| all.remove(place));
        let Some(first) = all.pop_front() else {
            return (taken, true);
        };
        self.first = first;
        self.more = (!all.is_empty()).then(|| Box::new(all));
        (taken, false)
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
