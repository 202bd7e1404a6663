//! One pass over a capture.

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tcpexp_capture::{Capture, Damage, MappedFile, NoTime, Passage};
use tcpexp_flow::{MAX_FLOWS, Packets, Sighted};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Skipped, Tally, Tunnels, decode};

use crate::Error;
use crate::order::Window;
use crate::selection::Selected;

/// Number of records read between two updates of the progress counter.
const REPORT_RECORDS: u64 = 8192;

/// One pass over a capture: its usable packets, and statistics of all records.
pub struct Walk<'a> {
    capture: Capture<'a>,
    pub(crate) mapped: Option<(&'a MappedFile, Passage)>,
    tunnels: Tunnels,
    tally: Tally,
    /// Earliest and latest capture time so far; the maximum and the minimum before the first.
    earliest: Timestamp,
    latest: Timestamp,
    captured_bytes: u64,
    wire_bytes: u64,
    records: u64,
    reported: u64,
    progress: Arc<AtomicU64>,
    /// Set to true once a record is out of order. `None` for a live capture, which is never sorted:
    /// its records must not wait for later ones.
    pub(crate) out_of_order: Option<&'a AtomicBool>,
    /// Sorting window; present from the first record out of order.
    pub(crate) window: Option<Window>,
    moved_records: u64,
    pub(crate) max_flows: NonZeroUsize,
    /// The records to use; `None` for all.
    pub(crate) selected: Option<Selected<'a>>,
}

impl Walk<'static> {
    /// Starts a pass over a live capture that arrives from `input`. `name` names the input in
    /// messages.
    ///
    /// A packet is shown as soon as its last byte has been read. Nothing is kept, so no second pass
    /// is possible.
    pub fn live(
        name: &Path,
        input: impl Read + Send + 'static,
        tunnels: Tunnels,
    ) -> Result<Self, Error> {
        let capture = Capture::from_reader(input).map_err(|source| Error::Capture {
            path: name.to_owned(),
            source,
        })?;
        Ok(Self::new(
            capture.without_look_ahead(),
            tunnels,
            Arc::default(),
        ))
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(capture: Capture<'a>, tunnels: Tunnels, progress: Arc<AtomicU64>) -> Self {
        Self {
            capture,
            mapped: None,
            tunnels,
            tally: Tally::default(),
            earliest: Timestamp::MAX,
            latest: Timestamp::MIN,
            captured_bytes: 0,
            wire_bytes: 0,
            records: 0,
            reported: 0,
            progress,
            out_of_order: None,
            window: None,
            moved_records: 0,
            max_flows: MAX_FLOWS,
            selected: None,
        }
    }
}

impl Walk<'_> {
    /// Number of records used, and of records skipped, by reason.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The first damage in the file, if any.
    pub fn damage(&self) -> Option<&Damage> {
        self.capture.damage()
    }

    /// The capture, with its format and interfaces.
    pub fn capture(&self) -> &Capture<'_> {
        &self.capture
    }

    /// Earliest and latest capture time.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        (self.earliest <= self.latest).then_some((self.earliest, self.latest))
    }

    /// Captured bytes of all packets.
    pub fn captured_bytes(&self) -> u64 {
        self.captured_bytes
    }

    /// Bytes of all packets on the wire.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    #[cold]
    fn report(&mut self) {
        let position = self.capture.position();
        self.progress
            .fetch_add(position - self.reported, Ordering::Relaxed);
        self.reported = position;
        if let Some((file, passage)) = &mut self.mapped {
            file.passes(position, passage);
        }
    }
}

impl Packets for Walk<'_> {
    fn show(&mut self, count: usize, mut each: impl FnMut(&Sighted<'_>)) -> usize {
        let mut shown = 0;
        while shown < count {
            if self.window.is_some() {
                self.sort_next();
            }
            // Both sources of records share one call of `decode` and one of `each`, so that the
            // compiler inlines both.
            let next = match &self.window {
                Some(window) => window.taken(),
                None => self.capture.next_record().map(|record| {
                    let number = self.records;
                    self.records += 1;
                    self.captured_bytes += record.captured.len() as u64;
                    self.wire_bytes += u64::from(record.wire_bytes);
                    (number, record)
                }),
            };
            let Some((number, record)) = next else {
                self.report();
                break;
            };
            if let Some(selected) = &self.selected
                && let Err(why) = selected.admits(&record)
            {
                self.captured_bytes -= record.captured.len() as u64;
                self.wire_bytes -= u64::from(record.wire_bytes);
                self.tally.observe(&Err::<(), _>(why));
                if number.is_multiple_of(REPORT_RECORDS) {
                    self.report();
                }
                continue;
            }
            let outcome = match record.at {
                Ok(_) => {
                    let link = LinkType(record.link_type);
                    decode(link, record.captured, record.wire_bytes, self.tunnels)
                }
                Err(why) => Err(skipped(why)),
            };
            self.tally.observe(&outcome);
            if let Ok(at) = record.at {
                let is_late = at < self.latest;
                self.latest = self.latest.max(at);
                self.earliest = self.earliest.min(at);
                if let Ok(packet) = &outcome {
                    each(&Sighted {
                        record: number,
                        at,
                        wire_bytes: record.wire_bytes,
                        packet,
                    });
                    shown += 1;
                }
                // The late record itself has been shown: sorting begins with the record after it.
                if is_late {
                    self.sort_from_here();
                }
            }
            if number.is_multiple_of(REPORT_RECORDS) {
                self.report();
            }
        }
        shown
    }

    fn max_flows(&self) -> NonZeroUsize {
        self.max_flows
    }
}

impl Walk<'_> {
    /// Number of records that stood behind later ones in the file.
    pub fn moved_records(&self) -> u64 {
        self.moved_records
    }

    /// Sorts the rest of this pass, and the whole of later passes.
    #[cold]
    fn sort_from_here(&mut self) {
        // With a window, a record is late only after a clock step, or if it comes too late for the
        // window.
        if let Some(out_of_order) = self.out_of_order
            && self.window.is_none()
        {
            out_of_order.store(true, Ordering::Relaxed);
            self.window = Some(Window::default());
            self.moved_records += 1;
        }
    }

    /// Fills the sorting window and takes the earliest record out of it.
    #[cold]
    fn sort_next(&mut self) {
        let Some(window) = &mut self.window else {
            return;
        };
        while !window.is_full() {
            let Some(record) = self.capture.next_record() else {
                break;
            };
            let number = self.records;
            self.records += 1;
            self.captured_bytes += record.captured.len() as u64;
            self.wire_bytes += u64::from(record.wire_bytes);
            match record.at {
                Ok(at) => window.push(number, at, &record),
                // A record without a time has no place in the order, so it is counted and not
                // sorted.
                Err(why) => self.tally.observe(&Err::<(), _>(skipped(why))),
            }
        }
        self.moved_records += u64::from(window.pop());
    }
}

/// Maps the cause of a missing time to the reason for skipping the record.
fn skipped(why: NoTime) -> Skipped {
    match why {
        NoTime::Missing => Skipped::NoTimestamp,
        NoTime::OutOfRange => Skipped::TimestampOutOfRange,
        NoTime::Outlier(_) => Skipped::TimestampOutlier,
    }
}
