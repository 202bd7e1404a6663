//! A capture as another clock would have stamped it.

use std::fs::File;
use std::path::Path;

use tcpexp_capture::Capture;
use tcpexp_testkit::{CaptureWriter, Container, Endian, Interface, Resolution};
use tcpexp_units::Timestamp;

/// A clock that is ahead and fast, read in whole microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) ahead_seconds: i64,
    pub(crate) fast_ppm: i64,
}

impl Clock {
    /// What it shows at `at`, when it was `ahead_seconds` ahead at `start`.
    pub(crate) fn shows(self, start: Timestamp, at: Timestamp) -> Timestamp {
        let micros = at.as_nanos() / 1_000;
        let passed = micros - start.as_nanos() / 1_000;
        // Rounded to the nearest microsecond.
        let gained = (2 * passed * self.fast_ppm + 1_000_000).div_euclid(2_000_000);
        Timestamp::from_nanos((micros + gained + self.ahead_seconds * 1_000_000) * 1_000)
    }
}

/// The capture in `path` with the times of `clock`, and its start on the old clock.
pub(crate) fn retimed(path: &Path, clock: Clock) -> (Vec<u8>, Timestamp) {
    let mut capture = Capture::from_file(File::open(path).unwrap()).unwrap();
    let interface = Interface {
        link_type: capture.interfaces()[0].link_type.into(),
        snaplen: 96,
        resolution: Resolution::Micros,
    };
    let mut writer =
        CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &[interface]).unwrap();
    let mut start = None;
    while let Some(record) = capture.next_record() {
        let at = record.at.unwrap();
        let start = *start.get_or_insert(at);
        writer
            .write(clock.shows(start, at), record.captured, record.wire_bytes)
            .unwrap();
    }
    (writer.into_inner(), start.unwrap())
}
