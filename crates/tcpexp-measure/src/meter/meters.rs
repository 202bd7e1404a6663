//! The meters of the live flows of a shard.

use tcpexp_flow::Slot;
use tcpexp_units::prefetch;

use super::Meter;
use crate::chunk::{MANY_FLOWS, SHARDS};

/// Number of meters per page: the meters of a first pass, of 2 kB, then take about 1 MiB. The system allocator maps
/// blocks of this size from the system, and returns them to it.
const PAGE: usize = 512;

/// Meters by slot / [`SHARDS`].
///
/// They are in pages, because at the end of a capture the results of ended flows would otherwise need
/// memory beside the memory of all meters.
pub(super) struct Meters<M>(Vec<Page<M>>);

struct Page<M> {
    /// Grows up to [`PAGE`]: most captures have few flows.
    meters: Vec<Option<M>>,
    live: usize,
}

impl<M> Default for Meters<M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<M: Meter> Meters<M> {
    pub(super) fn begin(&mut self, slot: Slot, meter: M) {
        let (page, place) = place(slot);
        while self.0.len() <= page {
            self.0.push(Page {
                meters: Vec::new(),
                live: 0,
            });
        }
        let Page { meters, live } = &mut self.0[page];
        if meters.len() <= place {
            meters.resize_with(place + 1, || None);
        }
        meters[place] = Some(meter);
        *live += 1;
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut M> {
        let (page, place) = place(slot);
        self.0.get_mut(page)?.meters.get_mut(place)?.as_mut()
    }

    /// Drops the meter of an ended flow; `is_at_end` is true if no further flow begins.
    pub(super) fn end(&mut self, slot: Slot, is_at_end: bool) {
        let (page, place) = place(slot);
        let Some(page) = self.0.get_mut(page) else {
            return;
        };
        if let Some(meter) = page.meters.get_mut(place)
            && meter.take().is_some()
        {
            page.live -= 1;
        }
        // Before the end, new flows soon fill the page again.
        if is_at_end && page.live == 0 {
            page.meters = Vec::new();
        }
    }

    /// Prefetches a meter.
    #[inline]
    pub(super) fn prefetch(&self, slot: Slot) {
        let (page, place) = place(slot);
        // Few meters stay in the cache, and a prefetch only costs time.
        if self.are_many()
            && let Some(page) = self.0.get(page)
            && let Some(meter) = page.meters.get(place)
        {
            prefetch(meter);
        }
    }

    /// True if the meters do not stay in the cache.
    #[inline]
    fn are_many(&self) -> bool {
        // The first page may be freed already.
        let first = self.0.first();
        self.0.len() > 1 || first.is_some_and(|page| page.meters.len() > MANY_FLOWS / SHARDS)
    }

    /// Prefetches the heap data of a meter that is in the cache.
    #[inline]
    pub(super) fn prefetch_heap(&self, slot: Slot) {
        let (page, place) = place(slot);
        if let Some(page) = self.0.get(page)
            && let Some(Some(meter)) = page.meters.get(place)
        {
            meter.prefetch();
        }
    }
}

/// The page of a slot's meter, and the meter's place in the page.
#[inline]
fn place(slot: Slot) -> (usize, usize) {
    let place = slot.index() / SHARDS;
    (place / PAGE, place % PAGE)
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Flow, Segment};

    use super::*;

    /// Slots of one shard that fill two pages.
    fn slots() -> impl Iterator<Item = Slot> {
        let number = |place: usize| u32::try_from(place * SHARDS).unwrap();
        (0..2 * PAGE).map(move |place| Slot(number(place)))
    }

    /// A meter of nothing.
    struct Idle;

    impl Meter for Idle {
        type Row = ();

        fn segment(&mut self, _: &Segment, _: &mut impl Extend<()>) {}

        fn end(&mut self, _: &Flow, _: &mut impl Extend<()>) {}
    }

    #[test]
    fn a_page_is_freed_with_its_last_flow_at_the_end_of_the_capture() {
        let mut meters = Meters::default();
        for slot in slots() {
            meters.begin(slot, Idle);
        }
        let room = |meters: &Meters<Idle>| [0, 1].map(|page: usize| meters.0[page].meters.len());
        for slot in slots().take(PAGE) {
            meters.end(slot, false);
        }
        assert_eq!(room(&meters), [PAGE; 2]);
        meters.begin(Slot(0), Idle);
        meters.end(Slot(0), true);
        assert_eq!(room(&meters), [0, PAGE]);
        assert!(
            slots()
                .skip(PAGE)
                .all(|slot| meters.get_mut(slot).is_some())
        );
    }

    #[test]
    fn meters_stay_many_after_the_first_page_is_freed() {
        let mut meters = Meters::default();
        assert!(!meters.are_many());
        for slot in slots() {
            meters.begin(slot, Idle);
        }
        assert!(meters.are_many());
        for slot in slots().take(PAGE) {
            meters.end(slot, true);
        }
        assert!(meters.are_many());
    }
}
