//! Sorting of records that are out of time order in the file.
//!
//! Several receive queues, and tools that merge files, write records a few places out of order.
//! Flow tracking needs time order: a SYN-ACK before its SYN begins a separate flow, and a segment
//! recorded after later data looks retransmitted. Once a record is out of order, the reader sorts
//! records within a bounded window.

use std::collections::VecDeque;

use tcpexp_capture::{HeldOptions, Record};
use tcpexp_units::Timestamp;

/// Number of records in the sorting window. A record up to half as many places late reaches its
/// place in time order. One poll of a receive queue takes up to 64 packets (`NAPI_POLL_WEIGHT` in
/// the kernel's `netdevice.h`), so two queues written in turn are at most 64 places out of order.
pub(crate) const WINDOW: usize = 128;
/// Number of consecutive records, all earlier than a record before them, that show a backward clock
/// step. Sorting across the step would mix the records before it with those after it.
pub(crate) const SET_BACK: usize = WINDOW / 2;
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
    wire_bytes: u32,
    captured: Vec<u8>,
    offset: u64,
    options: HeldOptions,
}

/// The next records of a capture in file order. The earliest is taken out first.
#[derive(Debug, Default)]
pub(crate) struct Window {
    held: VecDeque<Held>,
    /// The record taken out last.
    taken: Option<Held>,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl Window {
    /// True if the earliest record is known without reading further.
    pub(crate) fn is_full(&self) -> bool {
        self.held.len() >= WINDOW
    }

    /// Adds the next record of the file, captured at `at`.
    pub(crate) fn push(&mut self, number: u64, at: Timestamp, record: &Record<'_>) {
        let mut captured = self.spare.pop().unwrap_or_default();
        captured.clear();
        captured.extend_from_slice(record.captured);
        self.held.push_back(Held {
            number,
            at,
            link_type: record.link_type,
            interface: record.interface,
            wire_bytes: record.wire_bytes,
            captured,
            offset: record.offset,
            options: HeldOptions::of(&record.options),
        });
    }

    /// Takes out the earliest record, for [`taken`](Self::taken). Returns true if other records
    /// stood before it in the file.
    pub(crate) fn pop(&mut self) -> bool {
        let place = self.earliest();
        let next = place.and_then(|place| self.held.remove(place));
        let before = std::mem::replace(&mut self.taken, next);
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

    /// True if all records from `place` on, at least `SET_BACK`, are earlier than a record before
    /// `place`.
    fn is_set_back(&self, place: usize) -> bool {
        let before = self.held.iter().take(place).map(|held| held.at).max();
        let after = self.held.iter().skip(place);
        after.len() >= SET_BACK && after.map(|held| held.at).max() < before
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_capture::PacketOptions;

    use super::*;

    /// Times in the order in which the window returns them, and the number of moved records.
    fn sorted(times: impl IntoIterator<Item = i64>) -> (Vec<i64>, usize) {
        let (mut window, mut out, mut moved) = (Window::default(), Vec::new(), 0);
        let mut take = |window: &mut Window| {
            moved += usize::from(window.pop());
            if let Some((_, Record { at: Ok(at), .. })) = window.taken() {
                out.push(at.as_nanos());
            }
        };
        for (number, time) in (0..).zip(times) {
            let at = Timestamp::from_nanos(time);
            let record = Record {
                at: Ok(at),
                link_type: 1,
                interface: 0,
                wire_bytes: 0,
                captured: &[],
                offset: 0,
                options: PacketOptions::default(),
            };
            window.push(number, at, &record);
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
    fn backward_clock_step_is_not_sorted_away() {
        let set_back = (0..1_000).map(|i| if i < 500 { i } else { i - 300 });
        let (times, moved) = sorted(set_back.clone());
        assert_eq!(times, set_back.collect::<Vec<_>>());
        assert_eq!(moved, 0);
    }
}
