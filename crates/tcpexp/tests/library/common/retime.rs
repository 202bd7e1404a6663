//! Captures with the timestamps of another clock.

use std::fs::File;
use std::path::Path;

use tcpexp_capture::Capture;
use tcpexp_testkit::{CaptureWriter, Container, Endian, Interface, Resolution};
use tcpexp_units::{TimeDelta, Timestamp};

/// A clock with an offset and a skew, read in whole microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) ahead_seconds: i64,
    pub(crate) fast_ppm: i64,
}

impl Clock {
    /// Returns the clock's time at `at`. The clock is `ahead_seconds` ahead at `start`.
    pub(crate) fn shows(self, start: Timestamp, at: Timestamp) -> Timestamp {
        let micros = at.as_nanos() / 1_000;
        let passed = micros - start.as_nanos() / 1_000;
        // Round to the nearest microsecond.
        let gained = (2 * passed * self.fast_ppm + 1_000_000).div_euclid(2_000_000);
        Timestamp::from_nanos((micros + gained + self.ahead_seconds * 1_000_000) * 1_000)
    }
}

/// The records of a capture, for writing some of them or with other times.
pub(crate) struct Records {
    interface: Interface,
    /// Time, captured bytes and wire bytes of each record.
    records: Vec<(Timestamp, Vec<u8>, u32)>,
}

/// Reads the records of the capture at `path`.
pub(crate) fn records(path: &Path) -> Records {
    records_of(Capture::from_file(File::open(path).unwrap()).unwrap())
}

/// Reads the records of a capture file with these bytes.
pub(crate) fn records_in(file: &[u8]) -> Records {
    records_of(Capture::from_bytes(file).unwrap())
}

fn records_of(mut capture: Capture<'_>) -> Records {
    let interface = Interface {
        link_type: capture.interfaces()[0].link_type.into(),
        snaplen: 96,
        resolution: Resolution::Micros,
    };
    let mut records = Vec::new();
    while let Some(record) = capture.next_record() {
        records.push((
            record.at.unwrap(),
            record.captured.to_vec(),
            record.wire_bytes,
        ));
    }
    Records { interface, records }
}

impl Records {
    /// Returns the times of the first and the last record.
    pub(crate) fn span(&self) -> (Timestamp, Timestamp) {
        (self.records[0].0, self.records[self.records.len() - 1].0)
    }

    /// Writes a capture file of the records in order of the times that `at` returns for them.
    pub(crate) fn file_by(&self, mut at: impl FnMut(Timestamp, &[u8]) -> Timestamp) -> Vec<u8> {
        let moved = self.records.iter().map(|(time, captured, wire_bytes)| {
            (at(*time, captured), captured.clone(), *wire_bytes)
        });
        let mut records: Vec<_> = moved.collect();
        records.sort_by_key(|(time, ..)| *time);
        let interface = self.interface;
        Self { interface, records }.file(Some)
    }

    /// Writes a capture file as two receive queues do that are written in turn, one for each source of IPv4
    /// packets, and one of the same records in time order.
    pub(crate) fn by_queues(&self, turn: TimeDelta) -> [Vec<u8>; 2] {
        // Ethernet takes 14 bytes, and the source address follows 12 bytes of IP.
        const SOURCE: std::ops::Range<usize> = 26..30;
        let mut records = self.records.clone();
        records.sort_by_key(|(at, captured, _)| {
            let turn = at.as_nanos() / turn.as_nanos();
            (turn, captured[SOURCE].to_vec())
        });
        let mut in_order = records.clone();
        in_order.sort_by_key(|(at, ..)| *at);
        assert!(in_order != records);
        let interface = self.interface;
        [records, in_order].map(|records| Self { interface, records }.file(Some))
    }

    /// Writes a capture file with TCP timestamps whose ticks are this many times as long. The packets are
    /// IPv4 over Ethernet.
    pub(crate) fn with_ticks(&self, times: u32) -> Vec<u8> {
        // Ethernet and IP take 34 bytes, TCP 20 before its options.
        const OPTIONS: usize = 54;
        let coarser = self.records.iter().map(|(at, captured, wire_bytes)| {
            let mut captured = captured.clone();
            let mut place = OPTIONS;
            while let [kind, length, ..] = captured[place.min(captured.len())..] {
                match kind {
                    0 => break,
                    1 => place += 1,
                    8 if captured.len() >= place + 10 => {
                        for stamp in [place + 2, place + 6].map(|start| start..start + 4) {
                            let value =
                                u32::from_be_bytes(captured[stamp.clone()].try_into().unwrap());
                            captured[stamp].copy_from_slice(&(value / times).to_be_bytes());
                        }
                        break;
                    }
                    _ => place += usize::from(length.max(2)),
                }
            }
            (*at, captured, *wire_bytes)
        });
        let (interface, records) = (self.interface, coarser.collect());
        Self { interface, records }.file(Some)
    }

    /// Writes a capture file of the records for which `at` returns a time, with that time.
    pub(crate) fn file(&self, mut at: impl FnMut(Timestamp) -> Option<Timestamp>) -> Vec<u8> {
        let interfaces = [self.interface];
        let mut writer =
            CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &interfaces).unwrap();
        for (time, captured, wire_bytes) in &self.records {
            if let Some(time) = at(*time) {
                writer.write(time, captured, *wire_bytes).unwrap();
            }
        }
        writer.into_inner()
    }
}

/// Returns the capture at `path` with the times of `clock`, and its start on the original clock.
pub(crate) fn retimed(path: &Path, clock: Clock) -> (Vec<u8>, Timestamp) {
    let records = records(path);
    let (start, _) = records.span();
    (records.file(|at| Some(clock.shows(start, at))), start)
}
