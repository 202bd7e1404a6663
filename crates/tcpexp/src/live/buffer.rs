//! The latest records of two capture points.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tcpexp_capture::{PcapngWriter, Record};
use tcpexp_pair::spp::Point;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::Error;

/// Number of bytes kept of each packet: the headers of usual tunnels, and enough payload to identify
/// datagrams.
const KEPT_BYTES: usize = 256;

/// Time for which a reader waits for room, while the other point sends nothing, before it discards
/// the oldest records.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest pause between records in a busy stream. After a longer pause, the point counts as silent,
/// and its clock advances without records.
const PAUSE_IN_STREAM: Duration = Duration::from_millis(500);

/// The latest records of both points, by [`Point::index`].
#[derive(Debug)]
pub(super) struct Buffers {
    points: Mutex<[Buffer; 2]>,
    /// Signals records, room and ends.
    changed: Condvar,
    /// Number of records per point at which its reader waits.
    capacity: usize,
}

#[derive(Debug, Default)]
struct Buffer {
    records: VecDeque<Kept>,
    counts: PointCounts,
    /// The latest time of a record, and when it arrived here.
    latest: Option<(Timestamp, Instant)>,
    is_full: bool,
    has_ended: bool,
    failure: Option<Error>,
    /// Description of the damage at which the stream ended.
    damage: Option<String>,
}

/// State of one point of a live measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointCounts {
    /// Number of records received.
    pub packets: u64,
    /// Number of records discarded, because they arrived faster than they were measured.
    pub discarded_packets: u64,
    /// Number of records without a usable time, which are not measured.
    pub timeless_packets: u64,
    /// True while the stream is open.
    pub is_connected: bool,
}

#[derive(Debug)]
struct Kept {
    at: Timestamp,
    link_type: u16,
    wire_bytes: u32,
    captured: Box<[u8]>,
}

/// A copy of the records of both points.
pub(super) struct Snapshot {
    /// pcapng files.
    pub(super) files: [Vec<u8>; 2],
    /// How far each point has come, on its own clock; `None` without records.
    pub(super) progress: [Option<Timestamp>; 2],
    pub(super) counts: [PointCounts; 2],
    /// Damage at which a stream ended since the last snapshot.
    pub(super) damage: [Option<String>; 2],
    /// True if both streams have ended.
    pub(super) is_last: bool,
    /// True if no reader can go on before records are discarded.
    pub(super) is_stuck: bool,
}

impl Buffers {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            points: Mutex::default(),
            changed: Condvar::new(),
            capacity,
        }
    }

    fn lock(&self) -> MutexGuard<'_, [Buffer; 2]> {
        self.points.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn connected(&self, point: Point, is_connected: bool) {
        self.lock()[point.index()].counts.is_connected = is_connected;
    }

    /// Ends the stream of a point for good, with the damage at its end.
    pub(super) fn end(&self, point: Point, damage: Option<String>) {
        let buffer = &mut self.lock()[point.index()];
        buffer.has_ended = true;
        buffer.damage = damage;
        self.changed.notify_all();
    }

    /// Ends the measurement with an error.
    pub(super) fn fail(&self, point: Point, failure: Error) {
        self.lock()[point.index()].failure = Some(failure);
        self.changed.notify_all();
    }

    /// Counts a record without a usable time.
    pub(super) fn skip(&self, point: Point) {
        self.lock()[point.index()].counts.timeless_packets += 1;
    }

    /// Adds a record. Waits for room if the buffer is full.
    pub(super) fn push(&self, point: Point, at: Timestamp, record: &Record<'_>) {
        let mut points = self.lock();
        if points[point.index()].records.len() >= self.capacity {
            points[point.index()].is_full = true;
            self.changed.notify_all();
        }
        while points[point.index()].is_full {
            let is_full = |points: &mut [Buffer; 2]| points[point.index()].is_full;
            let waited = self.changed.wait_timeout_while(points, PATIENCE, is_full);
            points = waited.unwrap_or_else(PoisonError::into_inner).0;
            let other = &points[1 - point.index()];
            if other.is_silent() {
                break;
            }
        }
        let buffer = &mut points[point.index()];
        if buffer.is_full {
            let oldest = buffer.records.len() / 4;
            buffer.records.drain(..oldest);
            buffer.counts.discarded_packets += oldest as u64;
            buffer.is_full = false;
        }
        let kept = record.captured.len().min(KEPT_BYTES);
        buffer.records.push_back(Kept {
            at,
            link_type: record.link_type,
            wire_bytes: record.wire_bytes,
            captured: record.captured[..kept].into(),
        });
        buffer.counts.packets += 1;
        let latest = buffer.latest.map_or(at, |(latest, _)| latest.max(at));
        buffer.latest = Some((latest, Instant::now()));
    }

    /// Waits until records have arrived since the last snapshot and the `pause` is over, or until a
    /// buffer is full, or until both streams have ended; returns a copy of all records.
    ///
    /// `None` if `is_stopped`, or if nothing has arrived and no earlier packet is awaited for its
    /// settling time.
    pub(super) fn snapshot(
        &self,
        (before, is_settling): (&[PointCounts; 2], bool),
        pause: Duration,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Option<Snapshot>, Error> {
        let mut points = self.lock();
        let began = Instant::now();
        loop {
            if let Some(failure) = points.iter_mut().find_map(|point| point.failure.take()) {
                return Err(failure);
            }
            let is_last = points.iter().all(|point| point.has_ended);
            let is_full = points.iter().any(|point| point.is_full);
            if is_last || is_full {
                break;
            }
            let left = pause.saturating_sub(began.elapsed());
            if left.is_zero() {
                let is_new = |(point, before): (&Buffer, &PointCounts)| {
                    point.counts.packets > before.packets
                };
                let has_news = is_settling || points.iter().zip(before).any(is_new);
                if is_stopped() || !has_news {
                    return Ok(None);
                }
                break;
            }
            let waited = self.changed.wait_timeout(points, left);
            points = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let now = Instant::now();
        Ok(Some(Snapshot {
            files: [points[0].encoded()?, points[1].encoded()?],
            progress: [points[0].progress(now), points[1].progress(now)],
            counts: [points[0].counts, points[1].counts],
            damage: [points[0].damage.take(), points[1].damage.take()],
            is_last: points.iter().all(|point| point.has_ended),
            is_stuck: points.iter().all(|point| point.is_full || point.has_ended),
        }))
    }

    /// Discards old records.
    ///
    /// Keeps at most `history` of each point, and makes room where a buffer is full. `settled` is the
    /// time up to which all samples are out, on the clock of each point; `is_stuck` is that of the
    /// snapshot.
    pub(super) fn trim(&self, settled: Option<[Timestamp; 2]>, history: TimeDelta, is_stuck: bool) {
        let mut points = self.lock();
        // The same moment on both clocks, so that neither point keeps packets without partners.
        let mut age = history;
        for (point, settled) in points.iter().zip(settled.into_iter().flatten()) {
            // The more of a full buffer is kept, the longer the round trips that fit.
            let kept = self.capacity / 4 * 3;
            if let Some(spare) = point.records.len().checked_sub(kept) {
                age = age.min(settled - point.records[spare].at);
            }
        }
        let age = age.max(TimeDelta::ZERO);
        // While the clocks are unknown, each point is on its own.
        let latest = |point: &Buffer| point.latest.map_or(Timestamp::MIN, |(latest, _)| latest);
        let settled = settled.unwrap_or([latest(&points[0]), latest(&points[1])]);
        for (point, settled) in points.iter_mut().zip(settled) {
            let is_old = |kept: &Kept| settled - kept.at > age;
            while point.records.front().is_some_and(is_old) {
                point.records.pop_front();
            }
        }
        for point in points.iter_mut().filter(|point| point.is_full) {
            if is_stuck && point.records.len() >= self.capacity {
                let oldest = self.capacity / 4;
                point.records.drain(..oldest);
            }
            // Otherwise the other point may need the rest, and its reader can go on.
            point.is_full = point.records.len() >= self.capacity;
        }
        self.changed.notify_all();
    }
}

impl Buffer {
    /// True if no record has arrived for some time.
    fn is_silent(&self) -> bool {
        let arrived = self.latest.map(|(_, arrived)| arrived);
        arrived.is_none_or(|arrived| arrived.elapsed() > PATIENCE)
    }

    fn encoded(&self) -> Result<Vec<u8>, Error> {
        let bytes = self.records.len() * (KEPT_BYTES / 2);
        let written = || -> io::Result<Vec<u8>> {
            let mut file = PcapngWriter::new(Vec::with_capacity(bytes))?;
            for kept in &self.records {
                file.packet(kept.at, kept.link_type, kept.wire_bytes, &kept.captured)?;
            }
            Ok(file.into_inner())
        };
        written().map_err(|source| Error::Write {
            path: "the latest records".into(),
            source,
        })
    }

    /// The latest time of a record plus the time since it arrived: a silent link makes progress too.
    fn progress(&self, now: Instant) -> Option<Timestamp> {
        let (latest, arrived) = self.latest?;
        let silence = now - arrived;
        if self.is_full || silence < PAUSE_IN_STREAM {
            // More records may wait in the stream.
            return Some(latest);
        }
        let silence = i64::try_from(silence.as_nanos()).unwrap_or(i64::MAX);
        Some(Timestamp::from_nanos(
            latest.as_nanos().saturating_add(silence),
        ))
    }
}
