//! Times that fall within a capture: a clock that was set back, or interfaces written in blocks.

use tcpexp_units::{TimeDelta, Timestamp};

use crate::order::{Fall, SET_BACK, Step};

/// A place where the clock of a capture was set back, or seems to have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetBack {
    /// Number of the first record after it, from 0.
    pub record: u64,
    /// Time by which that record is before the latest one. The step is larger by the time between the two.
    pub by: TimeDelta,
    /// True if no clock was set: the file has the records of its interfaces in blocks, one interface after the other,
    /// that are too long to be sorted. `None` if it is unknown which of the two happened.
    pub in_blocks: Option<bool>,
}

/// Finds the first place where the clock was set back.
#[derive(Debug, Default)]
pub(crate) struct SetBacks {
    run: Option<Run>,
    pub(crate) found: Option<SetBack>,
}

/// Late records in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Number of packets used up to the latest of them.
    used: u64,
    length: usize,
    /// Time and interface of the latest of them.
    before: (Timestamp, u32),
    /// The first of them. `in_blocks` is false once the times fall where the interface does not change, or increase
    /// where it changes.
    began: SetBack,
}

impl SetBacks {
    /// Adds the record of a `fall` whose time is earlier than one before it; `used` is the number of packets used up
    /// to it.
    #[cold]
    pub(crate) fn add(&mut self, used: u64, fall: Fall) {
        let Fall {
            record,
            from,
            to,
            interface,
            changes_interface,
        } = fall;
        let (length, began) = match self.run {
            // A record may have no packet.
            Some(run) if used <= run.used + 1 => {
                let (before, of) = run.before;
                let in_blocks = match (to < before, interface != of) {
                    // A clock step does not fall twice.
                    (true, true) => run.began.in_blocks.or(Some(true)),
                    (false, false) => run.began.in_blocks,
                    _ => Some(false),
                };
                let began = SetBack {
                    in_blocks,
                    ..run.began
                };
                (run.length + 1, began)
            }
            _ => {
                let by = from - to;
                let began = SetBack {
                    record,
                    by,
                    in_blocks: changes_interface,
                };
                (1, began)
            }
        };
        self.run = Some(Run {
            used,
            length,
            before: (to, interface),
            began,
        });
        // Fewer late records in a row are out of order.
        if length < SET_BACK {
            return;
        }
        self.found = match self.found {
            // A clock that was set back is the more serious of the two.
            Some(found) if found.in_blocks == Some(false) || began.in_blocks != Some(false) => {
                // Later blocks show what the first fall was.
                let in_blocks = found.in_blocks.or(began.in_blocks);
                Some(SetBack { in_blocks, ..found })
            }
            _ => Some(began),
        };
    }
}

impl SetBack {
    /// The first of both.
    pub(crate) fn first(found: Option<Self>, step: Option<Step>) -> Option<Self> {
        let step = step.map(|step| Self {
            record: step.record,
            by: step.from - step.to,
            in_blocks: step.is_certain.then_some(false),
        });
        let both = [found, step].into_iter().flatten();
        both.min_by_key(|set_back| (set_back.in_blocks == Some(true), set_back.record))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use tcpexp_testkit::{CaptureWriter, Container, Endian, Interface, script};

    use super::*;
    use crate::{CaptureInfo, CaptureOptions, Recording};

    /// Finds where a clock was set back that shows these times in milliseconds.
    fn found(times_ms: impl IntoIterator<Item = i64>) -> Option<SetBack> {
        found_from(times_ms.into_iter().map(|millis| (0, millis)))
    }

    /// The same of records with their interfaces.
    fn found_from(records: impl IntoIterator<Item = (u32, i64)>) -> Option<SetBack> {
        let (mut found, mut latest) = (SetBacks::default(), Timestamp::MIN);
        let mut before = 0;
        for (record, (interface, millis)) in (0..).zip(records) {
            let at = Timestamp::from_nanos(millis * 1_000_000);
            if at < latest {
                let fall = Fall {
                    record,
                    from: latest,
                    to: at,
                    interface,
                    changes_interface: Some(interface != before),
                };
                found.add(record, fall);
            }
            latest = latest.max(at);
            before = interface;
        }
        found.found
    }

    #[test]
    fn a_clock_that_was_set_back_is_found_by_the_records_after_it() {
        let times = (0..1_000).map(|number| if number < 500 { number } else { number - 300 });
        let by = TimeDelta::from_millis(299);
        let in_blocks = Some(false);
        assert_eq!(
            found(times),
            Some(SetBack {
                record: 500,
                by,
                in_blocks
            })
        );
        // On two interfaces that take turns.
        let times = (0..1_000).map(|number| if number < 500 { number } else { number - 300 });
        let of_both = [0, 1].into_iter().cycle().zip(times);
        assert!(found_from(of_both).is_some_and(|found| found.in_blocks == Some(false)));
    }

    #[test]
    fn interfaces_written_in_blocks_are_no_clock_that_was_set_back() {
        let blocks = (0..10).flat_map(|interval| {
            (0..3).flat_map(move |interface| {
                (0..100).map(move |record| (interface, 1_000 * interval + 10 * record))
            })
        });
        let by = TimeDelta::from_millis(990);
        let found = found_from(blocks);
        assert_eq!(
            found,
            Some(SetBack {
                record: 100,
                by,
                in_blocks: Some(true)
            })
        );
    }

    #[test]
    fn records_out_of_order_are_no_clock_that_was_set_back() {
        assert_eq!(found((0..1_000).map(|i| i / 5 * 5 + 4 - i % 5)), None);
    }

    /// A pcapng file that lists two interfaces, with records of these interfaces and times in milliseconds.
    fn of_two_interfaces(records: impl IntoIterator<Item = (u32, i64)>) -> Recording {
        let interfaces = [Interface::default(); 2];
        let container = Container::Pcapng;
        let mut writer =
            CaptureWriter::new(Vec::new(), container, Endian::Little, &interfaces).unwrap();
        let (_, frame) = script::packets("0 > udp 100").remove(0);
        for (interface, millis) in records {
            let at = Timestamp::from_nanos((1_000 + millis) * 1_000_000);
            let wire_len = u32::try_from(frame.len()).unwrap();
            writer.write_on(interface, at, &frame, wire_len).unwrap();
        }
        Recording::spool("capture".into(), writer.into_inner().as_slice()).unwrap()
    }

    /// What the first and the second pass find of a fall after the records that are probed: its record, and whether
    /// the file has blocks.
    fn found_in_passes(recording: &Recording) -> [Option<(u64, Option<bool>)>; 2] {
        [(); 2].map(|()| {
            let info = CaptureInfo::read(recording, &CaptureOptions::default()).unwrap();
            let found = info.set_back;
            found.map(|found| (found.record, found.in_blocks))
        })
    }

    #[test]
    fn a_clock_that_was_set_back_past_records_of_a_listed_interface_is_not_called_blocks() {
        for back in [30, 300] {
            let at = |number: i64| {
                10 * if number < 2_000 {
                    number
                } else {
                    number - back
                }
            };
            let of_one = of_two_interfaces((0..3_000).map(|number| (0, at(number))));
            let found = [Some((2_000, None)), Some((2_000, Some(false)))];
            assert_eq!(found_in_passes(&of_one), found, "{back}");
            // Records of the other interface follow in order.
            let of_both = (0..3_000).map(|number| (u32::from(number % 2 == 1), at(number)));
            let found = [Some((2_000, Some(false))); 2];
            assert_eq!(
                found_in_passes(&of_two_interfaces(of_both)),
                found,
                "{back}"
            );
        }
    }

    #[test]
    fn a_second_fall_between_interfaces_shows_blocks() {
        // Short blocks are sorted.
        for (records, found) in [(50, None), (500, Some(Some(true)))] {
            // The other interface begins late: at first the file has one block.
            let blocks = (0..4_000_i64).map(|number| {
                let (interval, place) = ((number - 2_000) / records / 2, number % records);
                let begins = 2_000 + interval * records;
                match (number < 2_000, number / records % 2) {
                    (true, _) => (0, number),
                    (false, 0) => (1, begins - records + place),
                    (false, _) => (0, begins + place),
                }
            });
            let passes = found_in_passes(&of_two_interfaces(blocks));
            let passes = passes.map(|found| found.map(|(_, in_blocks)| in_blocks));
            assert_eq!(passes, [found; 2], "{records}");
        }
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
                let set_back = SetBack {
                    record,
                    by,
                    in_blocks: Some(false),
                };
                assert_eq!(info.set_back, Some(set_back), "pass {pass}");
                // The record itself, until the records are known to be out of order.
                assert_eq!(info.moved_records, u64::from(pass == 1 && step_at > 1_024));
                assert!(info.unsorted_records > 0);
            }
        }
    }
}
