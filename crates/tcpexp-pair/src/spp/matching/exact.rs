//! Packets in flight, matched by their headers.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;
use tcpexp_units::Timestamp;

use super::departure::{Departure, Identity, Outcome};
use super::queue::Queue;
use super::stream::UsualOwds;
use crate::spp::linking::{Event, Sighting};

/// All packets of one way that have passed the first point but not yet the second.
///
/// A packet is stored once. If several identical packets are in flight, an arrival that may be any
/// of them matches none: all stay unmatched and count as ambiguous.
///
/// Most packets arrive soon, and the packets in flight are few enough for the processor's cache.
/// Lost packets would evict them, so overdue packets are kept apart, and so are packets with an
/// identical one.
#[derive(Debug, Default)]
pub(in crate::spp) struct InFlight {
    queue: Queue,
    apart: HashMap<Identity, Departed, FixedState>,
}

/// Identical packets.
#[derive(Clone, Debug)]
struct Departed {
    /// The earliest departure; once they are `ambiguous`, the latest.
    first: Departure,
    /// Later departures, rarely any; none once they are `ambiguous`. Boxed to keep the common case
    /// small: a third of the size of each of a million entries.
    more: Option<Box<Later>>,
    /// Number of packets if an arrival may be any of them, else 0.
    ambiguous: u64,
}

/// Identical packets after the first, in the order of the capture.
#[derive(Clone, Debug, Default)]
struct Later {
    departures: VecDeque<Departure>,
    /// True if a departure was added that is earlier than the one before it.
    is_out_of_order: bool,
}

/// A packet that was given up, or several identical ones.
pub(in crate::spp) struct Expired {
    pub(in crate::spp) flow: FlowId,
    /// Digest of the packet's mark.
    pub(in crate::spp) digest: [u64; 2],
    pub(in crate::spp) departure: Departure,
    pub(in crate::spp) packets: u64,
    /// True if an arrival may have been this packet or another.
    pub(in crate::spp) ambiguous: bool,
}

impl InFlight {
    /// Adds the `number`th departure of its direction. Returns `false` if it is a second capture of
    /// a packet in flight.
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
        // The queue holds one packet per identity.
        self.set_one_apart(identity);
        if let Some(departed) = self.apart.get_mut(&identity) {
            departed.add(Departure::of(event, number));
        }
        true
    }

    /// Matches an arrival; `usual` holds the plausible one-way delays of a packet that may have an
    /// identical one.
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
            // The departure can no longer arrive, so the arrival does not make it ambiguous.
            Some(Err(left)) if usual.is_over(left, sighting.at) => return Outcome::Unknown,
            // `arrive_apart` may find the packet ambiguous, which the queue cannot record.
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
            let (taken, is_empty) = departed.take_only(usual, sighting.at);
            if is_empty {
                place.remove();
            }
            return taken.map_or(Outcome::Unknown, Outcome::Matched);
        }
        let latest = usual.latest_departure(sighting.at);
        let has_double = departed.second().is_some_and(|second| second.at <= latest);
        if departure.at > latest {
            // Either an identical packet left unseen, or the clock offset is wrong.
            if !sighting.mark.is_one_of_a_kind() {
                departed.confuse();
            }
            return Outcome::Unknown;
        }
        if usual.is_over(departure.at, sighting.at) && !has_double {
            return Outcome::Unknown;
        }
        // A match with the oldest departure would shift all later matches by one packet with each
        // loss.
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

    /// Moves packets that left before `due` from the queue to the packets kept apart.
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

    /// Calls `each` for every packet in flight that left before `due`, except ambiguous ones.
    pub(in crate::spp) fn each_overdue(
        &mut self,
        due: Timestamp,
        mut each: impl FnMut(FlowId, &Departure),
    ) {
        self.set_apart(due);
        for (identity, departed) in &self.apart {
            if departed.ambiguous == 0 && departed.first.at < due {
                each(identity.flow, &departed.first);
            }
        }
    }

    /// Gives up all packets that left before `horizon`.
    pub(in crate::spp) fn expire(&mut self, horizon: Timestamp, mut each: impl FnMut(Expired)) {
        self.set_apart(horizon);
        self.apart.retain(|identity, departed| {
            while departed.first.at < horizon {
                each(Expired::of(identity, departed));
                match departed.take_second() {
                    Some(second) => departed.first = second,
                    None => return false,
                }
            }
            true
        });
    }

    /// Gives up all packets of the flows for which `is_over` is true.
    pub(in crate::spp) fn expire_flows(
        &mut self,
        is_over: impl Fn(FlowId) -> bool,
        mut each: impl FnMut(Expired),
    ) {
        for identity in self.queue.identities(|identity| is_over(identity.flow)) {
            self.set_one_apart(identity);
        }
        self.apart.retain(|identity, departed| {
            if !is_over(identity.flow) {
                return true;
            }
            loop {
                each(Expired::of(identity, departed));
                match departed.take_second() {
                    Some(second) => departed.first = second,
                    None => return false,
                }
            }
        });
    }
}

impl Expired {
    /// The first of the departures of `identity`.
    fn of(identity: &Identity, departed: &Departed) -> Self {
        Self {
            flow: identity.flow,
            digest: identity.digest,
            departure: departed.first,
            packets: departed.ambiguous.max(1),
            ambiguous: departed.ambiguous > 0,
        }
    }
}

/// True if the arrival may be an identical packet that left unseen, instead of this departure.
fn seems_unseen(departure: &Departure, sighting: &Sighting, usual: &UsualOwds) -> bool {
    // A recurring datagram may have its IP ID again after the ID wraps.
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
        more.and_then(|more| more.departures.back())
            .unwrap_or(&self.first)
    }

    fn latest_mut(&mut self) -> &mut Departure {
        let more = self.more.as_mut();
        more.and_then(|more| more.departures.back_mut())
            .unwrap_or(&mut self.first)
    }

    fn second(&self) -> Option<&Departure> {
        self.more.as_ref()?.departures.front()
    }

    fn take_second(&mut self) -> Option<Departure> {
        self.more.as_mut()?.departures.pop_front()
    }

    /// Takes out the one packet that may have arrived at `arrived`, if exactly one may; the flag is
    /// true if none is left.
    fn take_only(&mut self, usual: &UsualOwds, arrived: Timestamp) -> (Option<Departure>, bool) {
        let is_first = usual.include(self.first.at, arrived);
        let Some(more) = self.more.as_deref_mut() else {
            return (is_first.then_some(self.first), is_first);
        };
        let mut places = more.plausible(usual, arrived);
        let place = places.next();
        let has_another = is_first && place.is_some() || places.next().is_some();
        drop(places);
        if has_another {
            return (None, false);
        }
        if !is_first {
            let taken = place.and_then(|place| more.departures.remove(place));
            return (taken, false);
        }
        let taken = self.first;
        match more.departures.pop_front() {
            Some(second) => self.first = second,
            None => return (Some(taken), true),
        }
        (Some(taken), false)
    }

    #[cold]
    fn add(&mut self, departure: Departure) {
        if self.ambiguous > 0 {
            self.first = departure;
            self.ambiguous += 1;
        } else {
            let is_earlier = departure.at < self.latest().at;
            let more = self.more.get_or_insert_default();
            more.is_out_of_order |= is_earlier;
            more.departures.push_back(departure);
        }
    }

    /// Marks the packets as indistinguishable: from now on they are only counted.
    #[cold]
    fn confuse(&mut self) {
        // The packets stay in flight until the last of them has passed the horizon.
        self.first = *self.latest();
        self.ambiguous = 1 + self
            .more
            .take()
            .map_or(0, |more| more.departures.len() as u64);
    }
}

impl Later {
    /// Places of the packets that may have arrived at `arrived`.
    ///
    /// Identical datagrams that no arrival takes out stay until the horizon, possibly a hundred
    /// thousand of them, so those that left too early are skipped by binary search.
    fn plausible(
        &self,
        usual: &UsualOwds,
        arrived: Timestamp,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let usual = *usual;
        let from = if self.is_out_of_order {
            0
        } else {
            self.departures
                .partition_point(|departure| usual.is_too_early(departure.at, arrived))
        };
        let is_sorted = !self.is_out_of_order;
        self.departures
            .range(from..)
            .zip(from..)
            .take_while(move |(departure, _)| {
                !is_sorted || !usual.is_too_late(departure.at, arrived)
            })
            .filter(move |(departure, _)| usual.include(departure.at, arrived))
            .map(|(_, place)| place)
    }
}
