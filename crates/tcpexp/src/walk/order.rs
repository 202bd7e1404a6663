//! The order of a pass's records in time: late records are sorted, or counted.

use std::sync::atomic::Ordering;

use tcpexp_units::Timestamp;

use super::Walk;
use crate::admission::without_time;
use crate::order::{Fall, Window};
use crate::set_back::SetBack;

impl Walk<'_> {
    /// Where the clock was first set back.
    pub fn set_back(&self) -> Option<SetBack> {
        let step = self.window.as_ref().and_then(Window::step);
        SetBack::first(self.set_backs.found, step)
    }

    /// Number of records that stood behind later ones in the file.
    pub fn moved_records(&self) -> u64 {
        self.moved_records
    }

    /// Number of records that stood so far behind later ones in the file that they were not sorted. After
    /// a clock was set back, all records until its time is reached again.
    pub fn unsorted_records(&self) -> u64 {
        self.unsorted_records
    }

    /// Sorts the rest of this pass, and the whole of later passes.
    #[cold]
    pub(super) fn sort_after(&mut self, record: u64, to: Timestamp, interface: u32) {
        let changes_interface = match &self.window {
            Some(window) => Some(window.has_changed_interface()),
            // A pass does not remember the interface of each record.
            None if self.capture.interfaces().len() > 1 => None,
            None => Some(false),
        };
        let fall = Fall {
            record,
            from: self.latest,
            to,
            interface,
            changes_interface,
        };
        self.set_backs.add(self.tally.used(), fall);
        // With a window, a record is late only after a clock step, or if it comes too late for the
        // window.
        if let Some(out_of_order) = self.out_of_order
            && self.window.is_none()
        {
            out_of_order.store(true, Ordering::Relaxed);
            self.window = Some(Window::after(fall));
            self.moved_records += 1;
        } else if self.window.is_some() {
            self.unsorted_records += 1;
        }
    }

    /// Fills the sorting window and takes the earliest record out of it.
    #[cold]
    pub(super) fn sort_next(&mut self) {
        while self.window.as_ref().is_some_and(|window| !window.is_full()) {
            let Some(record) = self.capture.next_record() else {
                if self.begin_next_part() {
                    continue;
                }
                break;
            };
            let number = self.records;
            self.records += 1;
            self.captured_bytes += record.captured.len() as u64;
            self.wire_bytes += u64::from(record.wire_bytes);
            match (record.at, &mut self.window) {
                (Ok(at), Some(window)) => window.push(number, at, &record),
                (Ok(_), None) => {}
                // A record without a time has no place in the order, so it is counted and not
                // sorted.
                (Err(why), _) => self.tally.observe(&Err::<(), _>(without_time(why))),
            }
        }
        if let Some(window) = &mut self.window {
            self.moved_records += u64::from(window.pop());
        }
    }
}
