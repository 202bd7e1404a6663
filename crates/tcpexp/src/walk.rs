//! One pass over a capture.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tcpexp_capture::{Capture, Damage, MappedFile, NoTime, Passage};
use tcpexp_measure::{Packets, Sighted};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Skipped, Tally, Tunnels, decode};

use crate::Error;
use crate::order::{Held, Window};

/// How many records are read between two reports of progress.
const REPORT_RECORDS: u64 = 8192;

/// One pass over a capture: its usable packets, and what was passed over.
pub struct Walk<'a> {
    capture: Capture<'a>,
    pub(crate) mapped: Option<(&'a MappedFile, Passage)>,
    tunnels: Tunnels,
    tally: Tally,
    span: Option<(Timestamp, Timestamp)>,
    captured_bytes: u64,
    wire_bytes: u64,
    records: u64,
    reported: u64,
    progress: Arc<AtomicU64>,
    /// Set once a record is found out of order; `None` for a live capture, which is never sorted
    /// because no record may wait for later ones.
    pub(crate) out_of_order: Option<&'a AtomicBool>,
    /// Where records are sorted, from the first one out of order on.
    pub(crate) window: Option<Window>,
    latest: Timestamp,
    moved_records: u64,
}

impl Walk<'static> {
    /// A pass over what `input` brings while it comes, `name` in messages: a capture that is being
    /// made, of which nothing is kept.
    ///
    /// A packet is shown as soon as its last byte has been read.
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
            span: None,
            captured_bytes: 0,
            wire_bytes: 0,
            records: 0,
            reported: 0,
            progress,
            out_of_order: None,
            window: None,
            latest: Timestamp::MIN,
            moved_records: 0,
        }
    }
}

impl Walk<'_> {
    /// How many records were used, and how many not and why.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Where the file is damaged, if it is.
    pub fn damage(&self) -> Option<&Damage> {
        self.capture.damage()
    }

    /// The capture itself, for its format and interfaces.
    pub fn capture(&self) -> &Capture<'_> {
        &self.capture
    }

    /// Earliest and latest capture time.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Bytes captured of all packets.
    pub fn captured_bytes(&self) -> u64 {
        self.captured_bytes
    }

    /// Bytes of all packets as they were on the wire.
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
        while shown < count && self.window.is_none() {
            let Some(record) = self.capture.next_record() else {
                self.report();
                return shown;
            };
            let number = self.records;
            self.records += 1;
            self.captured_bytes += record.captured.len() as u64;
            self.wire_bytes += u64::from(record.wire_bytes);
            let outcome = match record.at {
                Ok(_) => {
                    let link = LinkType(record.link_type);
                    decode(link, record.captured, record.wire_bytes, self.tunnels)
                }
                Err(why) => Err(skipped(why)),
            };
            self.tally.observe(&outcome);
            if let Ok(at) = record.at {
                widen(&mut self.span, at);
                let is_late = at < self.latest;
                self.latest = self.latest.max(at);
                if let Ok(packet) = &outcome {
                    each(&Sighted {
                        record: number,
                        at,
                        wire_bytes: record.wire_bytes,
                        packet,
                    });
                    shown += 1;
                }
                if is_late {
                    self.sort_from_here();
                }
            }
            if number.is_multiple_of(REPORT_RECORDS) {
                self.report();
            }
        }
        while shown < count {
            let Some(held) = self.next_in_time() else {
                self.report();
                break;
            };
            let link = LinkType(held.link_type);
            let outcome = decode(link, &held.captured, held.wire_bytes, self.tunnels);
            self.tally.observe(&outcome);
            if let Ok(packet) = &outcome {
                each(&Sighted {
                    record: held.number,
                    at: held.at,
                    wire_bytes: held.wire_bytes,
                    packet,
                });
                shown += 1;
            }
            if let Some(window) = &mut self.window {
                window.reuse(held);
            }
        }
        shown
    }
}

impl Walk<'_> {
    /// How many records stood behind later ones in the file.
    pub fn moved_records(&self) -> u64 {
        self.moved_records
    }

    /// Sorts what follows, and from its first record on what later passes read.
    #[cold]
    fn sort_from_here(&mut self) {
        if let Some(out_of_order) = self.out_of_order {
            out_of_order.store(true, Ordering::Relaxed);
            self.window = Some(Window::default());
            self.moved_records += 1;
        }
    }

    /// The record that follows in order of time.
    fn next_in_time(&mut self) -> Option<Held> {
        let window = self.window.as_mut()?;
        let mut is_due = false;
        while !window.is_full() {
            let Some(record) = self.capture.next_record() else {
                break;
            };
            let number = self.records;
            self.records += 1;
            self.captured_bytes += record.captured.len() as u64;
            self.wire_bytes += u64::from(record.wire_bytes);
            match record.at {
                Ok(at) => {
                    widen(&mut self.span, at);
                    window.push(number, at, &record);
                }
                Err(why) => self.tally.observe(&Err::<(), _>(skipped(why))),
            }
            is_due |= number.is_multiple_of(REPORT_RECORDS);
        }
        if is_due {
            self.report();
        }
        let (held, was_behind) = self.window.as_mut()?.pop()?;
        self.moved_records += u64::from(was_behind);
        Some(held)
    }
}

/// Why a record without a usable time is not used.
fn skipped(why: NoTime) -> Skipped {
    match why {
        NoTime::Missing => Skipped::NoTimestamp,
        NoTime::OutOfRange => Skipped::TimestampOutOfRange,
        NoTime::Outlier(_) => Skipped::TimestampOutlier,
    }
}

/// Makes `span` reach `at`.
fn widen(span: &mut Option<(Timestamp, Timestamp)>, at: Timestamp) {
    let (first, last) = span.get_or_insert((at, at));
    *first = (*first).min(at);
    *last = (*last).max(at);
}
