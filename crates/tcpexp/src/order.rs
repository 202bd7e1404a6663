//! Sorting of records that are out of time order in the file.
//!
//! Several receive queues, and tools that merge files, write records a few places out of order.
//! Flow tracking needs time order: a SYN-ACK before its SYN begins a separate flow, and a segment
//! recorded after later data looks retransmitted. Once a record is out of order, the reader sorts
//! records within a bounded window.

use std::collections::VecDeque;

use tcpexp_capture::{HeldOptions, Record};
use tcpexp_units::{TimeDelta, Timestamp};

/// Number of records in the sorting window. A record up to half as many places late reaches its
/// place in time order. One poll of a receive queue takes up to 64 packets (`NAPI_POLL_WEIGHT` in
/// the kernel's `netdevice.h`), so two queues written in turn are at most 64 places out of order.
pub(crate) const WINDOW: usize = 128;
/// Number of consecutive records, all earlier than a record before them, that show a backward clock
/// step. Sorting across the step would mix the records before it with those after it.
pub(crate) const SET_BACK: usize = WINDOW / 2;
/// Least time by which a backward clock step of fewer than [`SET_BACK`] records exceeds the disorder of receive
/// queues. Linux handles received packets for up to 2 ms at a time (`net.core.netdev_budget_usecs`), so two queues
/// written in turn differ by about twice this time.
pub(crate) const LEAST_STEP: TimeDelta = TimeDelta::from_millis(5);
/// Number of records at the end of a file and at the start of the next one that may be out of order
/// with each other if the two are parts of one capture. More of them would look like a clock step.
pub(crate) const MIXED: usize = SET_BACK - 1;
/// Number of records probed for order before the first pass.
pub(crate) const PROBED: usize = 1_024;

/// A record with its bytes, held while later records are read.
#[derive(Debug)]
struct Held {
    number: u64,
    at: Timestamp,
    link_type: u16,
    interface: u32,
    /// True if the record before it in the file is of another interface.
    changes_interface: bool,
    wire_bytes: u32,
    captured: Vec<u8>,
    offset: u64,
    options: HeldOptions,
    /// Time of the record before it in the file, if that is later and the `SET_BACK` records before it
    /// were in order.
    falls_from: Option<Timestamp>,
}

/// A record that is earlier than the record before it in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fall {
    /// Number of the record.
    pub(crate) record: u64,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// Interface of the record.
    pub(crate) interface: u32,
    /// True if the record before it is of another interface; `None` if that is unknown.
    pub(crate) changes_interface: Option<bool>,
}

/// A backward clock step of fewer than `SET_BACK` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Number of the first record after it.
    pub(crate) record: u64,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// False if records in blocks by interface would look the same.
    pub(crate) is_certain: bool,
}

/// The next records of a capture in file order. The earliest is taken out first.
#[derive(Debug, Default)]
pub(crate) struct Window {
    held: VecDeque<Held>,
    /// Numbers of the records in the window, in file order.
    places: VecDeque<u64>,
    /// The record taken out last.
    taken: Option<Held>,
    /// Place of the record taken out last.
    place: u64,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
    /// Time and interface of the record added last.
    added: Option<(Timestamp, u32)>,
    /// Number of the last record that is earlier than the record before it in the file.
    fell: Option<u64>,
    /// The record before the window, which is not yet known to begin after a clock step.
    undecided: Option<Fall>,
    /// True if the record taken out last is of another interface than the one before it.
    has_changed_interface: bool,
    /// The first backward clock step of fewer than `SET_BACK` records.
    step: Option<Step>,
}

impl Window {
    /// A window of the records after the first one of a pass that is out of order.
    pub(crate) fn after(fall: Fall) -> Self {
        Self {
            added: Some((fall.to, fall.interface)),
            fell: Some(fall.record),
            undecided: Some(fall),
            ..Self::default()
        }
    }

    /// The first backward clock step of fewer than `SET_BACK` records.
    pub(crate) fn step(&self) -> Option<Step> {
        self.step
    }

    /// True if the earliest record is known without reading further.
    pub(crate) fn is_full(&self) -> bool {
        self.held.len() >= WINDOW
    }

    /// Adds the next record of the file, captured at `at`.
    pub(crate) fn push(&mut self, number: u64, at: Timestamp, record: &Record<'_>) {
        let before = self.added.replace((at, record.interface));
        let falls_from = self.falls_from(number, at, before);
        let mut captured = self.spare.pop().unwrap_or_default();
        captured.clear();
        captured.extend_from_slice(record.captured);
        self.places.push_back(number);
        self.held.push_back(Held {
            number,
            at,
            link_type: record.link_type,
            interface: record.interface,
            changes_interface: before.is_some_and(|(_, before)| before != record.interface),
            wire_bytes: record.wire_bytes,
            captured,
            offset: record.offset,
            options: HeldOptions::of(&record.options),
            falls_from,
        });
    }

    /// Returns the time of the record `before`, if the clock may have been set back before this record.
    fn falls_from(
        &mut self,
        number: u64,
        at: Timestamp,
        before: Option<(Timestamp, u32)>,
    ) -> Option<Timestamp> {
        let (before, _) = before?;
        if at >= before {
            return None;
        }
        let fell = self.fell.replace(number);
        let is_alone = fell.is_none_or(|fell| number - fell > SET_BACK as u64);
        is_alone.then_some(before)
    }

    /// Takes out the earliest record, for [`taken`](Self::taken). Returns true if other records
    /// stood before it in the file.
    pub(crate) fn pop(&mut self) -> bool {
        if let Some(fall) = self.undecided.take()
            && self.is_step(fall.from, fall.to, 0)
        {
            let Fall {
                record, from, to, ..
            } = fall;
            let step = |is_certain| Step {
                record,
                from,
                to,
                is_certain,
            };
            self.step = match self.begins_block(&fall) {
                Some(true) => None,
                begins_block => Some(step(begins_block.is_some())),
            };
        }
        let place = self.earliest();
        if let Some(place) = place
            && self.step.is_none()
            && self.is_after_step(place)
        {
            let Held {
                number,
                at,
                falls_from,
                ..
            } = self.held[place];
            self.step = falls_from.map(|from| Step {
                record: number,
                from,
                to: at,
                is_certain: true,
            });
        }
        let next = place.and_then(|place| self.held.remove(place));
        if next.is_some() {
            self.place = self.places.pop_front().unwrap_or_default();
        }
        let before = std::mem::replace(&mut self.taken, next);
        let interfaces =
            [&self.taken, &before].map(|held| held.as_ref().map(|held| held.interface));
        self.has_changed_interface = interfaces[0] != interfaces[1];
        self.spare.extend(before.map(|held| held.captured));
        place.is_some_and(|place| place > 0)
    }

    /// The record taken out last, with its number; `None` once no record is left.
    pub(crate) fn taken(&self) -> Option<(u64, Record<'_>)> {
        let held = self.taken.as_ref()?;
        let record = Record {
            at: Ok(held.at),
            link_type: held.link_type,
            interface: held.interface,
            wire_bytes: held.wire_bytes,
            captured: &held.captured,
            offset: held.offset,
            options: held.options.options(),
        };
        Some((held.number, record))
    }

    /// True if the record taken out last is of another interface than the one before it.
    pub(crate) fn has_changed_interface(&self) -> bool {
        self.has_changed_interface
    }

    /// How many places later than in the file a pass returns the record taken out last; negative if earlier.
    ///
    /// The n-th record taken out has the place of the n-th record with a time. Passes that sort from their
    /// first record agree; the pass that finds the first late record does not sort that record.
    pub(crate) fn moved(&self) -> i32 {
        let moved = |taken: &Held| self.place.cast_signed() - taken.number.cast_signed();
        let moved = self.taken.as_ref().map_or(0, moved);
        i32::try_from(moved).unwrap_or(0)
    }

    /// Place of the earliest record before any backward clock step.
    fn earliest(&self) -> Option<usize> {
        // The records after a full window are unknown, so its later half may be the start of a
        // backward clock step.
        let mut end = self.held.len();
        if self.is_full() {
            end -= SET_BACK;
        }
        loop {
            let times = self.held.iter().take(end).enumerate();
            let (place, _) = times.min_by_key(|&(_, held)| held.at)?;
            if place == 0 || !self.is_set_back(place) {
                return Some(place);
            }
            // The records before the step may contain an earlier step.
            end = place;
        }
    }

    /// True if a backward clock step is before the record at `place`: all records from there on, at least
    /// `SET_BACK`, are earlier than a record before it, or they pass the time of a few records a second time.
    fn is_set_back(&self, place: usize) -> bool {
        let before = self.held.iter().take(place).map(|held| held.at).max();
        let after = self.held.iter().skip(place);
        let is_long = after.len() >= SET_BACK && after.map(|held| held.at).max() < before;
        let begins_block = || {
            let Held {
                at,
                changes_interface,
                ..
            } = self.held[place];
            changes_interface && before.is_some_and(|before| self.is_block(before, at, place + 1))
        };
        is_long && !begins_block() || self.is_after_step(place)
    }

    /// True if the record at `place` is the first one after a step of fewer than `SET_BACK` records.
    fn is_after_step(&self, place: usize) -> bool {
        let Held {
            at,
            changes_interface,
            falls_from,
            ..
        } = self.held[place];
        falls_from.is_some_and(|from| {
            self.is_step(from, at, place + 1)
                && !(changes_interface && self.is_block(from, at, place + 1))
        })
    }

    /// True if the record before the window begins a block of its interface; `None` if that is unknown. If the
    /// interface before it is unknown, another fall where the interface changes shows blocks.
    fn begins_block(&self, fall: &Fall) -> Option<bool> {
        if !self.is_block(fall.from, fall.to, 0) {
            return Some(false);
        }
        let has_another = || {
            let mut pairs = self.held.iter().zip(self.held.iter().skip(1));
            pairs.any(|(before, held)| held.at < before.at && held.changes_interface)
        };
        fall.changes_interface
            .or_else(|| has_another().then_some(true))
    }

    /// True if the record before `place`, the first one of its interface after another one, begins a block: the file
    /// has all records of one interface during an interval, and then those of the next interface.
    ///
    /// Until the time `from` of the interface before, the times then fall exactly where the interface changes. After a
    /// clock step, they increase across interfaces.
    fn is_block(&self, from: Timestamp, to: Timestamp, place: usize) -> bool {
        let mut before = to;
        let repeated = self.held.iter().skip(place);
        repeated.take_while(|held| held.at < from).all(|held| {
            let falls = held.at < before;
            before = held.at;
            falls == held.changes_interface
        })
    }

    /// True if the clock was set from `from` back to `to`, the time of the record before `place`.
    ///
    /// The records of a late batch, which a receive queue held back, are followed by a jump to the time
    /// of the other queues. After a clock step, records are in order and fill the repeated time: at least half of it,
    /// as records have gaps. Of a single record in this time, nothing shows which it is: it is sorted.
    fn is_step(&self, from: Timestamp, to: Timestamp, place: usize) -> bool {
        let after = || {
            let after = self.held.iter().skip(place).take(SET_BACK);
            after.map(|held| held.at)
        };
        let is_sorted = after().next().is_none_or(|at| at >= to) && after().is_sorted();
        let last = after().take_while(|at| *at < from).last();
        let is_filled = last.is_some_and(|last| last - to >= from - last);
        is_sorted && is_filled && from - to >= LEAST_STEP
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_capture::PacketOptions;

    use super::*;

    fn push(window: &mut Window, number: u64, at: Timestamp) {
        push_from(0, window, number, at);
    }

    fn push_from(interface: u32, window: &mut Window, number: u64, at: Timestamp) {
        let record = Record {
            at: Ok(at),
            link_type: 1,
            interface,
            wire_bytes: 0,
            captured: &[],
            offset: 0,
            options: PacketOptions::default(),
        };
        window.push(number, at, &record);
    }

    /// Times in the order in which the window returns them, and the number of moved records. Checks that the
    /// places of the records count up.
    fn sorted(times: impl IntoIterator<Item = i64>) -> (Vec<i64>, usize) {
        sorted_from(times.into_iter().map(|time| (0, time)))
    }

    /// The same of records with their interfaces.
    fn sorted_from(records: impl IntoIterator<Item = (u32, i64)>) -> (Vec<i64>, usize) {
        let (mut window, mut out, mut moved) = (Window::default(), Vec::new(), 0);
        let mut take = |window: &mut Window| {
            moved += usize::from(window.pop());
            if let Some((number, Record { at: Ok(at), .. })) = window.taken() {
                let place = number.checked_add_signed(window.moved().into());
                assert_eq!(place, Some(out.len() as u64));
                out.push(at.as_nanos());
            }
        };
        for (number, (interface, time)) in (0..).zip(records) {
            push_from(interface, &mut window, number, Timestamp::from_nanos(time));
            if window.is_full() {
                take(&mut window);
            }
        }
        while !window.held.is_empty() {
            take(&mut window);
        }
        (out, moved)
    }

    #[test]
    fn records_a_few_places_out_of_order_are_sorted() {
        // Each group of five records is reversed.
        let backwards = (0..1_000).map(|i| i / 5 * 5 + 4 - i % 5);
        let (times, moved) = sorted(backwards);
        assert_eq!(times, (0..1_000).collect::<Vec<_>>());
        assert_eq!(moved, 800);
    }

    #[test]
    fn records_in_order_are_not_moved() {
        let (times, moved) = sorted((0..1_000).map(|i| i / 3));
        assert!(times.is_sorted());
        assert_eq!(moved, 0);
    }

    #[test]
    fn records_without_a_time_do_not_move_the_records_around_them() {
        // Record 50 has no time, and records 100 and 101 are out of order.
        let mut window = Window::default();
        for number in (0..200_u64).filter(|number| *number != 50) {
            let nanos = match number {
                100 => 101,
                101 => 100,
                _ => number.cast_signed(),
            };
            push(&mut window, number, Timestamp::from_nanos(nanos));
        }
        let moved = std::iter::from_fn(|| {
            window.pop();
            let (number, _) = window.taken()?;
            Some((number, window.moved()))
        });
        let moved: Vec<_> = moved.filter(|(_, moved)| *moved != 0).collect();
        assert_eq!(moved, [(101, -1), (100, 1)]);
    }

    #[test]
    fn backward_clock_step_is_not_sorted_away() {
        let set_back = (0..1_000).map(|i| if i < 500 { i } else { i - 300 });
        let (times, moved) = sorted(set_back.clone());
        assert_eq!(times, set_back.collect::<Vec<_>>());
        assert_eq!(moved, 0);
    }

    /// Times in ms as nanoseconds.
    fn millis(times: impl IntoIterator<Item = i64>) -> Vec<i64> {
        times.into_iter().map(|time| time * 1_000_000).collect()
    }

    #[test]
    fn backward_clock_step_of_a_few_records_is_not_sorted_away() {
        // Steps by three, by 30 and by 62 records of 10 ms each.
        for records in [3, 30, 62] {
            let at = |i: i64| if i < 500 { i } else { i - records };
            let set_back = millis((0..1_000).map(|i| at(i) * 10));
            let (times, moved) = sorted(set_back.clone());
            assert_eq!(times, set_back, "{records}");
            assert_eq!(moved, 0, "{records}");
        }
    }

    #[test]
    fn backward_clock_step_near_the_end_of_a_file_is_not_sorted_away() {
        let set_back = millis((0..505).map(|i| if i < 500 { i * 10 } else { i * 10 - 35 }));
        let (times, moved) = sorted(set_back.clone());
        assert_eq!((times, moved), (set_back, 0));
    }

    #[test]
    fn late_record_and_late_batch_are_sorted() {
        // Of 1 000 records, one to three records in a row come 100 ms late.
        for late in 1..=3 {
            let mut batch = millis((0..1_000).map(|i| i * 10));
            let moved_back: Vec<_> = batch.drain(500..500 + late).collect();
            batch.splice(510..510, moved_back);
            let (times, moved) = sorted(batch.clone());
            batch.sort_unstable();
            assert_eq!((times, moved), (batch, late));
        }
    }

    #[test]
    fn queues_that_are_read_in_turn_are_sorted() {
        // Each queue has 20 records per turn of 20 ms.
        let turns = (0..50_i64).flat_map(|turn| {
            let of_queue = move |queue| (0..20).map(move |i| turn * 20_000 + i * 1_000 + queue);
            of_queue(0).chain(of_queue(500))
        });
        let mut turns: Vec<_> = turns.map(|micros| micros * 1_000).collect();
        let (times, _) = sorted(turns.clone());
        turns.sort_unstable();
        assert_eq!(times, turns);
    }

    #[test]
    fn interfaces_written_in_blocks_are_sorted() {
        // In each interval of 1 s, all records of each interface follow each other. The last interface has more records
        // in some intervals than half the window.
        for interfaces in [2, 3] {
            let blocks = (0..20_i64).flat_map(|second| {
                (0..interfaces).flat_map(move |interface: u32| {
                    let is_long = second % 4 == 1 && interface + 1 == interfaces;
                    let records = if is_long { 90 } else { 20 };
                    let step = 1_000_000 / records;
                    (0..records).map(move |record| {
                        let micros = second * 1_000_000 + record * step + i64::from(interface);
                        (interface, micros * 1_000)
                    })
                })
            });
            let mut blocks: Vec<_> = blocks.collect();
            let (times, _) = sorted_from(blocks.clone());
            blocks.sort_unstable_by_key(|(_, time)| *time);
            assert!(
                times
                    .into_iter()
                    .eq(blocks.into_iter().map(|(_, time)| time))
            );
        }
    }

    #[test]
    fn backward_clock_step_between_records_of_two_interfaces_is_not_sorted_away() {
        // Each interface has every second record.
        for records in [31, 300] {
            let at = |i: i64| if i < 500 { i } else { i - records };
            let set_back = millis((0..1_000).map(|i| at(i) * 10));
            let of_both = set_back.iter().zip([0, 1].into_iter().cycle());
            let (times, moved) = sorted_from(of_both.map(|(time, interface)| (interface, *time)));
            assert_eq!(times, set_back, "{records}");
            assert_eq!(moved, 0, "{records}");
        }
    }

    #[test]
    fn the_window_finds_a_step_before_its_first_record() {
        let found = |repeated: i64, changes_interface| {
            let at = |i: i64| Timestamp::from_nanos(i * 10_000_000);
            let fall = Fall {
                record: 500,
                from: at(500),
                to: at(500 - repeated),
                interface: 0,
                changes_interface,
            };
            let mut window = Window::after(fall);
            for i in 1..128_i64 {
                push(&mut window, 500 + i.unsigned_abs(), at(500 - repeated + i));
            }
            window.pop();
            window.step().map(|step| (step.record, step.is_certain))
        };
        assert_eq!(found(2, Some(false)), Some((500, true)));
        // A single record in the repeated time may be a late one.
        assert_eq!(found(1, Some(false)), None);
        // A block of another interface, or a clock step.
        assert_eq!(found(2, Some(true)), None);
        assert_eq!(found(2, None), Some((500, false)));
    }
}
