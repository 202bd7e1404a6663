//! A clock that is set back within a capture.

use tcpexp_units::{TimeDelta, Timestamp};

use crate::order::{Fall, SET_BACK};

/// A place where the clock of a capture was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetBack {
    /// Number of the first record after it, from 0.
    pub record: u64,
    /// Time by which that record is before the latest one. The step is larger by the time between the two.
    pub by: TimeDelta,
}

/// Finds the first place where the clock was set back.
#[derive(Debug, Default)]
pub(crate) struct SetBacks {
    /// Number of packets used up to the latest late record, and the number of late records in a row.
    run: Option<(u64, usize)>,
    began: Option<SetBack>,
    pub(crate) found: Option<SetBack>,
}

impl SetBacks {
    /// Adds a record that is earlier than `latest`; `used` is the number of packets used up to it, and
    /// `record` its number in the file.
    #[cold]
    pub(crate) fn add(&mut self, used: u64, record: u64, at: Timestamp, latest: Timestamp) {
        let length = match self.run {
            // A record may have no packet.
            Some((before, length)) if used <= before + 1 => length + 1,
            _ => {
                let by = latest - at;
                self.began = Some(SetBack { record, by });
                1
            }
        };
        self.run = Some((used, length));
        // Fewer late records in a row are out of order.
        if length == SET_BACK {
            self.found = self.found.or(self.began);
        }
    }
}

impl SetBack {
    /// The first of both.
    pub(crate) fn first(found: Option<Self>, step: Option<Fall>) -> Option<Self> {
        let step = step.map(|Fall { record, from, to }| Self {
            record,
            by: from - to,
        });
        let both = [found, step].into_iter().flatten();
        both.min_by_key(|set_back| set_back.record)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use tcpexp_testkit::script;

    use super::*;
    use crate::{CaptureInfo, CaptureOptions, Recording};

    /// Finds where a clock was set back that shows these times in milliseconds.
    fn found(times_ms: impl IntoIterator<Item = i64>) -> Option<SetBack> {
        let (mut found, mut latest) = (SetBacks::default(), Timestamp::MIN);
        for (place, millis) in (0..).zip(times_ms) {
            let at = Timestamp::from_nanos(millis * 1_000_000);
            if at < latest {
                found.add(place, place, at, latest);
            }
            latest = latest.max(at);
        }
        found.found
    }

    #[test]
    fn a_clock_that_was_set_back_is_found_by_the_records_after_it() {
        let times = (0..1_000).map(|number| if number < 500 { number } else { number - 300 });
        let by = TimeDelta::from_millis(299);
        assert_eq!(found(times), Some(SetBack { record: 500, by }));
    }

    #[test]
    fn records_out_of_order_are_no_clock_that_was_set_back() {
        assert_eq!(found((0..1_000).map(|i| i / 5 * 5 + 4 - i % 5)), None);
    }
    #[test]
    fn a_step_back_by_the_time_of_a_few_records_is_found_in_each_pass() {
        // The first records are probed before the first pass, and the second capture is longer.
        for step_at in [500, 2_000] {
            let mut text = String::new();
            for number in 0..step_at + 500 {
                let millis = 1_000 + 10 * number - if number < step_at { 0 } else { 35 };
                let _ = writeln!(text, "{}.{:03} > udp 100", millis / 1_000, millis % 1_000);
            }
            let capture = script::capture(&text);
            let recording = Recording::spool("capture".into(), capture.as_slice()).unwrap();
            for pass in 1..=2 {
                let info = CaptureInfo::read(&recording, &CaptureOptions::default()).unwrap();
                let by = TimeDelta::from_millis(25);
                let record = step_at;
                assert_eq!(info.set_back, Some(SetBack { record, by }), "pass {pass}");
                // The record itself, until the records are known to be out of order.
                assert_eq!(info.moved_records, u64::from(pass == 1 && step_at > 1_024));
                assert!(info.unsorted_records > 0);
            }
        }
    }
}
