//! Times of one file of a set.

use std::collections::VecDeque;

use tcpexp_capture::Error as CaptureError;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::order::MIXED;
use crate::{Error, Recording};

/// Times of the records of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) records: u64,
    /// Earliest and latest time; `None` if no record has a time.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    /// Latest time of all but the last `MIXED` records.
    pub(super) latest_inside: Timestamp,
    /// Earliest time of all but the first `MIXED` records.
    pub(super) earliest_inside: Timestamp,
    /// Earliest and latest time of the middle of a file with few records; `None` for other files.
    pub(super) middle: Option<(Timestamp, Timestamp)>,
    /// The longest time between two neighbouring records.
    pub(super) longest_pause: TimeDelta,
}

/// The earliest and the latest of this many equal parts of a small file do not belong to its middle. Files of
/// equal lengths that overlap for more than half of their times overlap in their middles too.
const MIDDLE_PARTS: usize = 4;
/// Number of records from which on the records inside the file decide: they are more than half of it.
const MANY: usize = 4 * MIXED;

/// True for a file that is not a capture, as other files of a directory.
pub(super) fn is_no_capture(error: &CaptureError) -> bool {
    match error {
        CaptureError::Empty | CaptureError::NotCapture { .. } => true,
        CaptureError::Inside { source, .. } => is_no_capture(source),
        _ => false,
    }
}

impl Scan {
    /// Time of the first record. A file without times comes last.
    pub(super) fn start(&self) -> Timestamp {
        self.span.map_or(Timestamp::MAX, |(first, _)| first)
    }

    /// Reads the file; `None` if it has no records.
    pub(crate) fn of(recording: &Recording) -> Result<Option<Self>, Error> {
        let mut scan = Self {
            records: 0,
            span: None,
            latest_inside: Timestamp::MIN,
            earliest_inside: Timestamp::MAX,
            middle: None,
            longest_pause: TimeDelta::ZERO,
        };
        let mut few = Vec::new();
        let mut last = VecDeque::new();
        let mut timed = 0;
        let mut capture = recording.capture()?;
        while let Some(record) = capture.next_record() {
            scan.records += 1;
            let Ok(at) = record.at else { continue };
            if let Some((_, latest)) = scan.span {
                scan.longest_pause = scan.longest_pause.max(at - latest);
            }
            let (first, latest) = scan.span.unwrap_or((at, at));
            scan.span = Some((first.min(at), latest.max(at)));
            if timed >= MIXED {
                scan.earliest_inside = scan.earliest_inside.min(at);
            }
            if timed < MANY {
                few.push(at);
            }
            timed += 1;
            last.push_back(at);
            if last.len() > MIXED {
                let inside = last.pop_front();
                scan.latest_inside = scan.latest_inside.max(inside.unwrap_or(at));
            }
        }
        if timed < MANY {
            scan.middle = middle(few);
        }
        recording.require_store()?;
        recording.require_no_part()?;
        Ok((scan.records > 0).then_some(scan))
    }
}

/// Returns the earliest and the latest time without the first and the last part.
pub(super) fn middle(mut times: Vec<Timestamp>) -> Option<(Timestamp, Timestamp)> {
    times.sort_unstable();
    let outside = times.len() / MIDDLE_PARTS;
    let inside = times.get(outside..times.len() - outside)?;
    Some((*inside.first()?, *inside.last()?))
}
