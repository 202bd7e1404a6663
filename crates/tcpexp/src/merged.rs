//! Merging of the captures on one side of a path.

use std::collections::VecDeque;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use tcpexp_capture::{Capture, HeldOptions, NoTime, PcapngWriter, Record};
use tcpexp_units::Timestamp;

use crate::described::Described;
use crate::{Error, Recording};

impl Recording {
    /// Merges captures taken at the same time on several hosts or interfaces into one.
    ///
    /// The clocks of the hosts must agree, as for the interfaces of one machine: no offset is
    /// corrected. Records without a time are left out. The merged capture is an unnamed temporary
    /// file.
    pub fn merged(parts: &[Self]) -> Result<Self, Error> {
        Self::merged_from(parts, &vec![Timestamp::MIN; parts.len()])
    }

    /// Merges captures, each of which is opened when the merged capture reaches its start.
    pub(crate) fn merged_from(parts: &[Self], starts: &[Timestamp]) -> Result<Self, Error> {
        parts.iter().try_for_each(Self::require_no_part)?;
        let names: Vec<_> = parts
            .iter()
            .map(|part| part.name().display().to_string())
            .collect();
        let name = PathBuf::from(names.join(" + "));
        let not_written = |source| Error::Spool {
            name: name.clone(),
            source,
        };
        let file = tempfile::tempfile().map_err(not_written)?;
        let out = BufWriter::with_capacity(1 << 18, file);
        let mut out = PcapngWriter::new(out).map_err(not_written)?;
        let mut merge = Merge {
            unopened: parts.iter().zip(starts.iter().copied()).collect(),
            heads: Vec::new(),
            described: None,
        };
        while let Some(place) = merge.next()? {
            // `next` returns the place of a head with a record.
            let Some(record) = merge.heads[place].next.take() else {
                continue;
            };
            let written = out.packet_with_comments(
                record.at,
                record.link_type,
                record.wire_bytes,
                &record.captured,
                record.options.options().comments(),
            );
            written.map_err(not_written)?;
            merge.heads[place].step(record.captured);
        }
        parts.iter().try_for_each(Self::require_store)?;
        let file = out
            .into_inner()
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        let file = file.map_err(not_written)?;
        Ok(Self::of_copies(name, file, merge.described))
    }
}

/// Captures that are being merged.
struct Merge<'a> {
    /// Captures not yet opened and the times of their first records, in order of these times.
    unopened: VecDeque<(&'a Recording, Timestamp)>,
    heads: Vec<Head<'a>>,
    /// Description of the captures that have ended.
    described: Option<Described>,
}

impl Merge<'_> {
    /// Place of the head with the earliest record; `None` after the last record of all captures.
    ///
    /// Of equal times, the first capture wins.
    fn next(&mut self) -> Result<Option<usize>, Error> {
        self.close();
        loop {
            // A linear search is enough, as few captures are open at the same time.
            let heads = self.heads.iter().enumerate();
            let earliest = heads
                .filter_map(|(place, head)| Some((head.next.as_ref()?.order, place)))
                .min();
            match (earliest, self.unopened.front()) {
                (Some((at, place)), Some(&(_, start))) if at < start => return Ok(Some(place)),
                (Some((_, place)), None) => return Ok(Some(place)),
                (None, None) => return Ok(None),
                (_, Some(&(part, _))) => {
                    self.heads.push(Head::of(part.name(), part.capture()?));
                    self.unopened.pop_front();
                    self.close();
                }
            }
        }
    }

    /// Closes the captures that have ended.
    fn close(&mut self) {
        let ended = self.heads.extract_if(.., |head| head.next.is_none());
        for head in ended {
            let described = Described::of(&head.capture).of_file(head.path);
            match &mut self.described {
                Some(all) => all.add(described),
                None => self.described = Some(described),
            }
        }
    }
}

/// A capture and its next record.
struct Head<'a> {
    /// Path of the file.
    path: &'a Path,
    capture: Capture<'a>,
    next: Option<Kept>,
    /// Time of the last record with a usable time.
    latest: Timestamp,
}

struct Kept {
    at: Timestamp,
    /// Sort key among the records of all captures. An outlier keeps the key of the record before
    /// it.
    order: Timestamp,
    link_type: u16,
    wire_bytes: u32,
    captured: Vec<u8>,
    options: HeldOptions,
}

impl<'a> Head<'a> {
    fn of(path: &'a Path, capture: Capture<'a>) -> Self {
        let mut head = Self {
            path,
            capture,
            next: None,
            latest: Timestamp::from_nanos(i64::MIN),
        };
        head.step(Vec::new());
        head
    }

    /// Reads the next record with a time. Reuses `buffer`.
    fn step(&mut self, mut buffer: Vec<u8>) {
        self.next = None;
        while let Some(Record {
            at,
            link_type,
            wire_bytes,
            captured,
            options,
            ..
        }) = self.capture.next_record()
        {
            // An outlier keeps its time, so that a pass over the merged file recognises the outlier
            // again.
            let (Ok(time) | Err(NoTime::Outlier(time))) = at else {
                continue;
            };
            self.latest = at.unwrap_or(self.latest);
            buffer.clear();
            buffer.extend_from_slice(captured);
            self.next = Some(Kept {
                at: time,
                order: self.latest,
                link_type,
                wire_bytes,
                captured: buffer,
                options: HeldOptions::of(&options),
            });
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::script;

    use super::*;
    use crate::{CaptureInfo, CaptureOptions};

    fn capture(text: &str) -> Recording {
        Recording::spool("part".into(), script::capture(text).as_slice()).unwrap()
    }

    #[test]
    fn records_of_all_parts_are_merged_in_time_order() {
        let parts = [
            capture("1.000000001 > udp 100\n3.0 > udp 101 flow 1\n5.0 > udp 99"),
            capture("2.0 > udp 7 flow 2\n4.0 > udp 8 flow 2"),
        ];
        let merged = Recording::merged(&parts).unwrap();
        let mut records = Vec::new();
        merged
            .each_record(|record| {
                records.push((record.at.unwrap().as_nanos(), record.captured.to_vec()));
            })
            .unwrap();
        let mut expected = Vec::new();
        for part in &parts {
            part.each_record(|record| {
                expected.push((record.at.unwrap().as_nanos(), record.captured.to_vec()));
            })
            .unwrap();
        }
        expected.sort();
        assert_eq!(records, expected);
        let info = CaptureInfo::read(&merged, &CaptureOptions::default()).unwrap();
        assert_eq!((info.tally.used(), info.damage), (5, None));
        assert_eq!(merged.name().to_str(), Some("part + part"));
    }
}
