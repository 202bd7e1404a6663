//! Search for one packet at both points.

use std::vec;

use super::queue::Queue;
use super::{Options, Sighting};

/// Number of matches after which the window follows the observed delays instead of the option.
const MATCHES_BEFORE_TUNING: u64 = 20;
/// Seconds added to the estimated delay.
const MARGIN_SECONDS: i64 = 4;

/// Times of one packet at both points, in microseconds on each point's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) at_reference: i64,
    pub(super) at_monitor: i64,
}

/// Maximum difference between the two sightings of a packet, in whole seconds; shared by both
/// directions.
pub(super) struct Window {
    delay_bound_seconds: i64,
    autotune: bool,
    search_depth: usize,
    matches: u64,
    /// Moving average of the whole seconds between the two sightings, clock offset included.
    delay_estimate_seconds: f64,
}

impl Window {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            delay_bound_seconds: options.delay_bound_seconds.into(),
            autotune: options.autotune,
            search_depth: options.search_depth,
            matches: 0,
            delay_estimate_seconds: 0.0,
        }
    }

    fn seconds(&self) -> i64 {
        if self.autotune && self.matches >= MATCHES_BEFORE_TUNING {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "an average of whole seconds"
            )]
            let estimate = self.delay_estimate_seconds.ceil() as i64;
            estimate + MARGIN_SECONDS
        } else {
            self.delay_bound_seconds
        }
    }

    fn learn(&mut self, apart_seconds: i64) {
        self.matches += 1;
        // The original's moving average gives the newest match a weight of 0.3.
        self.delay_estimate_seconds =
            0.7 * self.delay_estimate_seconds + 0.3 * apart_seconds.unsigned_abs() as f64;
    }
}

/// The packets of one direction: processed in order at the monitor, searched at the reference.
pub(super) struct Search {
    monitor: vec::IntoIter<Sighting>,
    reference: Queue,
}

/// First decisive sighting in a walk through the reference list.
enum Met {
    TooNew,
    TooOld,
    SameId,
}

impl Search {
    pub(super) fn new(reference: Vec<Sighting>, monitor: Vec<Sighting>) -> Self {
        Self {
            monitor: monitor.into_iter(),
            reference: Queue::new(reference),
        }
    }

    /// The next packet found at both points, in the order of the monitor's file.
    pub(super) fn next(&mut self, window: &mut Window) -> Option<Record> {
        while let Some(monitor) = self.monitor.next() {
            let Some(position) = self.find(monitor, window) else {
                continue;
            };
            let reference = self.reference.sighting(position);
            self.reference.remove(position);
            window.learn(reference.second() - monitor.second());
            self.drop_stale_heads(monitor.second() - window.delay_bound_seconds - 1);
            return Some(Record {
                at_reference: reference.micros,
                at_monitor: monitor.micros,
            });
        }
        None
    }

    /// Returns the position of the monitor's packet in the reference list.
    ///
    /// Equivalent to a walk from the head. A sighting later than the window, or the
    /// `search_depth`-th sighting, ends the walk. A sighting earlier than the window is dropped,
    /// and the walk restarts. The first sighting with the same id is the packet. Each step tests in
    /// this order.
    fn find(&mut self, monitor: Sighting, window: &Window) -> Option<usize> {
        // The original compares whole seconds with `>` and the window plus one.
        let span = window.seconds() + 1;
        let too_new = self.reference.first_after(monitor.second() + span);
        loop {
            let same_id = self.reference.first_of(monitor.id);
            let too_old = self.reference.first_before(monitor.second() - span);
            let (position, met) = [
                (too_new, Met::TooNew),
                (too_old, Met::TooOld),
                (same_id, Met::SameId),
            ]
            .into_iter()
            .filter_map(|(position, met)| Some((position?, met)))
            // Of equal positions the first wins, which keeps the order of the tests.
            .min_by_key(|(position, _)| *position)?;
            let step = self.reference.count_ahead(position) + 1;
            match met {
                // The original tests the age before the depth and the id after it, hence `<=` and
                // `<`.
                Met::TooOld if step <= window.search_depth => self.reference.remove(position),
                Met::SameId if step < window.search_depth => return Some(position),
                _ => return None,
            }
        }
    }

    /// Drops sightings too old for the option, which may be less than the tuned window.
    fn drop_stale_heads(&mut self, earliest_second: i64) {
        while let Some(head) = self.reference.head()
            && self.reference.sighting(head).second() < earliest_second
        {
            self.reference.remove(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn options() -> Options {
        Options::between(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
    }

    /// The search of the original: a walk through a list, with restarts.
    struct Walk {
        reference: Vec<Sighting>,
    }

    impl Walk {
        fn find(&mut self, monitor: Sighting, window: &Window) -> Option<Sighting> {
            let mut walked = 0;
            while walked < self.reference.len() {
                let apart = self.reference[walked].second() - monitor.second();
                if apart > window.seconds() + 1 {
                    return None;
                }
                if -apart > window.seconds() + 1 {
                    self.reference.remove(walked);
                    walked = 0;
                    continue;
                }
                if walked + 1 >= window.search_depth {
                    return None;
                }
                if self.reference[walked].id == monitor.id {
                    return Some(self.reference.remove(walked));
                }
                walked += 1;
            }
            None
        }

        fn records(mut self, monitor: &[Sighting], window: &mut Window) -> Vec<Record> {
            let mut records = Vec::new();
            for &monitor in monitor {
                let Some(reference) = self.find(monitor, window) else {
                    continue;
                };
                window.learn(reference.second() - monitor.second());
                while self.reference.first().is_some_and(|head| {
                    monitor.second() - head.second() > window.delay_bound_seconds + 1
                }) {
                    self.reference.remove(0);
                }
                records.push(Record {
                    at_reference: reference.micros,
                    at_monitor: monitor.micros,
                });
            }
            records
        }
    }

    /// Few ids and gaps up to seconds, forward and backward: duplicates, losses, files out of
    /// order.
    fn sightings() -> impl Strategy<Value = Vec<Sighting>> {
        vec((0_u64..40, -700_000_i64..1_300_000), 0..120).prop_map(|steps| {
            let mut micros = 0;
            steps
                .into_iter()
                .map(|(id, gap)| {
                    micros += gap;
                    Sighting { id, micros }
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn the_search_equals_a_linear_search(
            reference in sightings(),
            monitor in sightings(),
            delay_bound_seconds in 0_u32..12,
            search_depth in 0_usize..60,
            autotune: bool,
        ) {
            let options = Options { delay_bound_seconds, search_depth, autotune, ..options() };
            let (mut window, mut other) = (Window::new(&options), Window::new(&options));
            let expected = Walk { reference: reference.clone() }.records(&monitor, &mut other);
            let mut search = Search::new(reference, monitor);
            let found: Vec<_> = std::iter::from_fn(|| search.next(&mut window)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_window_is_the_option_until_twenty_packets_are_found() {
        let mut window = Window::new(&options());
        (1..20).for_each(|_| window.learn(-3));
        assert_eq!(window.seconds(), 60);
        window.learn(-3);
        assert_eq!(window.seconds(), 3 + 4);
    }

    #[test]
    fn one_packet_across_a_second_boundary_keeps_the_window_a_second_wider() {
        let mut window = Window::new(&options());
        (0..20).for_each(|_| window.learn(0));
        assert_eq!(window.seconds(), 4);
        window.learn(1);
        (0..500).for_each(|_| window.learn(0));
        assert_eq!(window.seconds(), 5, "the average decays but never to zero");
    }
}
