//! Sizes of the data packets that no ACK covers yet.

use std::collections::VecDeque;

use crate::{MAX_WINDOW_BYTES, Segment, StreamOffset};

/// Upper bound on the runs kept. Beyond it, the oldest run counts like data that the capture missed.
const MAX_RUNS: usize = 4_096;

/// The data packets of one direction above `snd_una`, to count the packets that an ACK covers.
///
/// A captured segment longer than the SMSS was cut into packets after the capture point (TSO), or joined
/// before it (GRO); it counts as packets of the SMSS. Data that the capture missed counts as packets of the
/// largest size captured.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentPackets {
    runs: VecDeque<Run>,
    /// One past the highest sequence number of captured data; `None` before the first data.
    nxt: Option<StreamOffset>,
    /// Payload of the largest packet captured; 0 before the first data.
    largest_bytes: u32,
}

/// Consecutive packets of one size; the last may be smaller.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: StreamOffset,
    end: StreamOffset,
    packet_bytes: u32,
}

impl Run {
    /// True if a packet of `bytes` at `start` continues the run.
    fn goes_on(&self, start: StreamOffset, bytes: u32) -> bool {
        let has_whole_packets =
            self.end.since(self.start) % i64::from(self.packet_bytes.max(1)) == 0;
        self.end == start && has_whole_packets && bytes == self.packet_bytes
    }
}

/// Packets of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    pub(crate) packet_bytes: u32,
    pub(crate) packets: u64,
}

impl SentPackets {
    /// Records the new data of a segment; packets have up to `smss_bytes`.
    pub(crate) fn send(&mut self, segment: &Segment, smss_bytes: u32) {
        let first = segment.payload_start();
        let end = first.plus(segment.seen.payload_bytes);
        let start = self.nxt.map_or(first, |nxt| nxt.max(first));
        // Data further ahead than a window has a damaged sequence number.
        let is_far_ahead = self
            .nxt
            .is_some_and(|nxt| start.since(nxt) > MAX_WINDOW_BYTES);
        if end <= start || segment.flags.rst() || is_far_ahead {
            return;
        }
        self.nxt = Some(end);
        let bytes = u32::try_from(end.since(start)).unwrap_or(u32::MAX);
        let packet_bytes = bytes.min(smss_bytes);
        self.largest_bytes = self.largest_bytes.max(packet_bytes);
        match self.runs.back_mut() {
            Some(run) if run.goes_on(start, packet_bytes) => run.end = end,
            _ => self.begin(Run {
                start,
                end,
                packet_bytes,
            }),
        }
    }

    fn begin(&mut self, run: Run) {
        if self.runs.len() == MAX_RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(run);
    }

    /// One past the highest sequence number of captured data; `None` before the first data.
    pub(crate) fn nxt(&self) -> Option<StreamOffset> {
        self.nxt
    }

    /// True if any data was captured.
    pub(crate) fn has_any(&self) -> bool {
        self.nxt.is_some()
    }

    /// Forgets the packets before `una`.
    pub(crate) fn acknowledge(&mut self, una: StreamOffset) {
        while self.runs.front().is_some_and(|run| run.end <= una) {
            self.runs.pop_front();
        }
    }

    /// Returns the number of packets from `from` up to but not including `to`.
    pub(crate) fn count(&self, from: StreamOffset, to: StreamOffset, smss_bytes: u32) -> u64 {
        let mut packets = 0;
        self.each(from, to, smss_bytes, |alike| packets += alike.packets);
        packets
    }

    /// Passes the packets from `from` up to but not including `to` to `take`.
    pub(crate) fn each(
        &self,
        from: StreamOffset,
        to: StreamOffset,
        smss_bytes: u32,
        mut take: impl FnMut(Alike),
    ) {
        let mut at = from;
        let missed_bytes = match self.largest_bytes {
            0 => smss_bytes,
            largest => largest,
        };
        let first = self.runs.partition_point(|run| run.end <= from);
        for run in self.runs.range(first..) {
            if run.start >= to {
                break;
            }
            split(at, run.start, missed_bytes, &mut take);
            at = at.max(run.start);
            split(at, run.end.min(to), run.packet_bytes, &mut take);
            at = run.end.min(to);
        }
        split(at, to, missed_bytes, &mut take);
    }
}

/// Passes the packets of `packet_bytes` between two offsets to `take`.
fn split(from: StreamOffset, to: StreamOffset, packet_bytes: u32, take: &mut impl FnMut(Alike)) {
    let bytes = u64::try_from(to.since(from)).unwrap_or(0);
    let packet_bytes = packet_bytes.max(1);
    let packets = bytes / u64::from(packet_bytes);
    let rest = u32::try_from(bytes % u64::from(packet_bytes)).unwrap_or(0);
    for alike in [
        Alike {
            packet_bytes,
            packets,
        },
        Alike {
            packet_bytes: rest,
            packets: u64::from(rest > 0),
        },
    ] {
        if alike.packets > 0 {
            take(alike);
        }
    }
}
