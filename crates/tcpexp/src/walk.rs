//! One pass over a capture.

mod order;

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tcpexp_capture::{Capture, Damage, MappedFile, Passage};
use tcpexp_flow::{Arrival, FlowTable, MAX_FLOWS, Packets, Sighted};
use tcpexp_units::Timestamp;
use tcpexp_wire::{Tally, Tunnels};

use crate::Error;
use crate::admission::{Admission, without_time};
use crate::capture_set::CaptureSet;
use crate::described::Described;
use crate::order::Window;
use crate::part_marks::PartReader;
use crate::set_back::SetBacks;
use crate::timed::Timed;

/// Number of records read between two updates of the progress counter.
pub(crate) const REPORT_RECORDS: u64 = 8192;

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
    /// Ends the pass early once it is true.
    pub(crate) stop: Option<&'a AtomicBool>,
    /// Set to true once a record is out of order. `None` for a live capture, which is never sorted:
    /// its records must not wait for later ones.
    pub(crate) out_of_order: Option<&'a AtomicBool>,
    /// Sorting window; present from the first record out of order.
    pub(crate) window: Option<Window>,
    moved_records: u64,
    unsorted_records: u64,
    set_backs: SetBacks,
    pub(crate) max_flows: NonZeroUsize,
    /// Number of flow directions whose packets alternate between VLAN tags or MPLS labels.
    pub(crate) flows_with_several_tags: u32,
    /// Decides which records to use; `None` for all.
    pub(crate) admission: Option<Admission<'a>>,
    /// Opens the next part of a set; `None` after the last.
    pub(crate) next_part: Option<NextPart<'a>>,
    /// The parts of the set before the current one.
    read: Option<Described>,
    /// Errors of parts that could not be opened again.
    failed: Vec<Error>,
    /// Description of the files of which the current part is a merged copy.
    pub(crate) copied: Option<&'a Described>,
    /// Path of the current part of a set.
    pub(crate) part_path: Option<&'a Path>,
    pub(crate) set: Option<&'a Arc<CaptureSet>>,
    /// Reads the marks of a part of a capture.
    pub(crate) part: Option<PartReader>,
}

/// Opens the parts of a set one after the other.
type NextPart<'a> = Box<dyn FnMut() -> Option<Result<Part<'a>, Error>> + Send + 'a>;

/// A part of a set, the description of the files of which it is a merged copy, and its path.
type Part<'a> = (Capture<'a>, Option<&'a Described>, &'a Path);

impl Walk<'static> {
    /// Starts a pass over a live capture that arrives from `input`. `name` names the input in
    /// messages.
    ///
    /// The pass shows a packet as soon as the last byte of the packet has been read. No data is
    /// kept, so no second pass is possible.
    pub fn live(
        name: &Path,
        input: impl Read + Send + 'static,
        tunnels: Tunnels,
    ) -> Result<Self, Error> {
        Walk::of_live(name, input, tunnels)
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn of_live(
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
            stop: None,
            out_of_order: None,
            window: None,
            moved_records: 0,
            unsorted_records: 0,
            set_backs: SetBacks::default(),
            max_flows: MAX_FLOWS,
            flows_with_several_tags: 0,
            admission: None,
            next_part: None,
            read: None,
            failed: Vec::new(),
            copied: None,
            part_path: None,
            set: None,
            part: None,
        }
    }
}

impl Walk<'_> {
    /// Number of records used, and of records skipped, by reason.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Format, interfaces and damage of all files read so far.
    pub(crate) fn described(&self) -> Described {
        let mut all = self.described_parts();
        for error in &self.failed {
            all.add_failure(error);
        }
        all
    }

    fn described_parts(&self) -> Described {
        let current = match self.copied {
            Some(copied) => copied.clone(),
            None => match self.part_path {
                Some(path) => Described::of(&self.capture).of_file(path),
                None => Described::of(&self.capture),
            },
        };
        match &self.read {
            Some(read) => {
                let mut all = read.clone();
                all.add(current);
                all
            }
            None => current,
        }
    }

    /// The first damage in the file, if any; of a set, in the part read last.
    pub fn damage(&self) -> Option<&Damage> {
        self.capture.damage()
    }

    /// The capture, with its format and interfaces; of a set, the part read last.
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
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            self.end();
        }
    }

    /// Ends the pass. The loop over records has no check of its own: it meets an empty capture.
    fn end(&mut self) {
        /// The header of a pcap file of Ethernet frames.
        const EMPTY: &[u8] = &[
            0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
        ];
        self.capture = Capture::from_bytes(EMPTY).expect("a pcap file without records");
        self.reported = self.capture.position();
        self.mapped = None;
        self.next_part = None;
    }
}

impl Packets for Walk<'_> {
    fn show(&mut self, count: usize, mut each: impl FnMut(&Sighted<'_>)) -> usize {
        self.each_record(count, |record, tally| record.show(tally, &mut each))
    }

    fn arrive(&mut self, count: usize, arrivals: &mut Vec<Arrival>) -> usize {
        self.each_record(count, |record, tally| record.arrive(tally, arrivals))
    }

    fn max_flows(&self) -> NonZeroUsize {
        self.max_flows
    }

    fn table(&mut self) -> FlowTable {
        match &mut self.part {
            Some(part) => part.table(),
            None => FlowTable::default().with_max_flows(self.max_flows),
        }
    }
}

impl Walk<'_> {
    /// Passes the next records with a time to `take`, which counts them and returns true for a packet.
    /// Ends after `count` packets, or earlier at the end of the capture; returns the number of packets.
    #[inline]
    fn each_record(
        &mut self,
        count: usize,
        mut take: impl FnMut(Timed<'_>, &mut Tally) -> bool,
    ) -> usize {
        let tunnels = self.tunnels;
        let mut taken = 0;
        while taken < count {
            if self.window.is_some() {
                self.sort_next();
            }
            // Both sources of records share one call of `take`, so that the compiler inlines it.
            let next = match &self.window {
                Some(window) => window.taken().map(|(number, record)| {
                    let moved = window.moved();
                    (number, moved, record)
                }),
                None => self.capture.next_record().map(|record| {
                    let number = self.records;
                    self.records += 1;
                    self.captured_bytes += record.captured.len() as u64;
                    self.wire_bytes += u64::from(record.wire_bytes);
                    (number, 0, record)
                }),
            };
            let Some((mut number, mut moved, mut record)) = next else {
                if self.begin_next_part() {
                    continue;
                }
                break;
            };
            if let Some(part) = &self.part {
                (number, moved, record) = part.read(number, record);
            }
            // One check for both reasons: most passes have neither.
            if let Some(admission) = &mut self.admission
                && let Err(why) = admission.admits(&record, tunnels)
            {
                self.captured_bytes -= record.captured.len() as u64;
                self.wire_bytes -= u64::from(record.wire_bytes);
                self.tally.observe(&Err::<(), _>(why));
                if number.is_multiple_of(REPORT_RECORDS) {
                    self.report();
                }
                continue;
            }
            match record.at {
                Ok(at) => {
                    let is_late = at < self.latest;
                    self.latest = self.latest.max(at);
                    self.earliest = self.earliest.min(at);
                    let interface = record.interface;
                    let timed = Timed {
                        number,
                        moved,
                        at,
                        record,
                        tunnels,
                    };
                    taken += usize::from(take(timed, &mut self.tally));
                    // The late record itself has been taken: sorting begins with the record after it.
                    if is_late {
                        self.sort_after(number, at, interface);
                    }
                }
                Err(why) => self.tally.observe(&Err::<(), _>(without_time(why))),
            }
            if number.is_multiple_of(REPORT_RECORDS) {
                self.report();
            }
        }
        taken
    }
}

impl Walk<'_> {
    /// Continues with the next part of a set. Returns false if there is none.
    #[cold]
    fn begin_next_part(&mut self) -> bool {
        self.report();
        let Some(next) = self.next_part.as_mut().and_then(|next| next()) else {
            self.next_part = None;
            return false;
        };
        match next {
            Ok((capture, copied, path)) => {
                self.read = Some(self.described_parts());
                self.capture = capture;
                self.copied = copied;
                self.part_path = Some(path);
                self.reported = 0;
            }
            // The parts after it are still of use.
            Err(error) => self.failed.push(error),
        }
        true
    }
}
