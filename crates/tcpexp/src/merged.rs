//! Merging of the captures on one side of a path.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use tcpexp_capture::{Capture, NoTime, PcapngWriter, Record};
use tcpexp_units::Timestamp;

use crate::{Error, Recording};

impl Recording {
    /// Merges captures taken at the same time on several hosts or interfaces into one.
    ///
    /// The clocks of the hosts must agree, as for the interfaces of one machine: no offset is
    /// corrected. Records without a time are left out. The merged capture is an unnamed temporary
    /// file.
    pub fn merged(parts: &[Self]) -> Result<Self, Error> {
        let names: Vec<_> = parts
            .iter()
            .map(|part| part.name().display().to_string())
            .collect();
        let name = PathBuf::from(names.join(" + "));
        let mut heads = Vec::new();
        for part in parts {
            heads.push(Head::of(part.capture()?));
        }
        let mut merge = || -> io::Result<std::fs::File> {
            let mut out = BufWriter::with_capacity(1 << 18, tempfile::tempfile()?);
            write(&mut heads, &mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)
        };
        match merge() {
            Ok(file) => Ok(Self::of_spool(name, file)),
            Err(source) => Err(Error::Spool { name, source }),
        }
    }
}

/// A capture and its next record.
struct Head<'a> {
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
}

impl<'a> Head<'a> {
    fn of(capture: Capture<'a>) -> Self {
        let mut head = Self {
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
            });
            return;
        }
    }
}

/// Writes the records of all captures in time order.
fn write(heads: &mut [Head<'_>], out: impl Write) -> io::Result<()> {
    let mut writer = PcapngWriter::new(out)?;
    loop {
        // A linear search is enough, as one side has few captures. Of equal times, the first
        // capture wins.
        let earliest = heads
            .iter_mut()
            .filter(|head| head.next.is_some())
            .min_by_key(|head| head.next.as_ref().map(|next| next.order));
        let Some((head, record)) = earliest.and_then(|head| {
            let record = head.next.take()?;
            Some((head, record))
        }) else {
            return Ok(());
        };
        writer.packet(
            record.at,
            record.link_type,
            record.wire_bytes,
            &record.captured,
        )?;
        head.step(record.captured);
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
