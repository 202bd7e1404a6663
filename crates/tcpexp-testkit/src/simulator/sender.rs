//! The sending side of a TCP flow: segments and their timing.
//!
//! All numbers count segments; `packet` converts them to sequence numbers.

use std::collections::VecDeque;

use super::link::nanos;
use super::load::{Congestion, TcpLoad, Writes};
use super::ranges::Ranges;

/// No deadline.
pub(crate) const NEVER: u64 = u64::MAX;
const MIN_RTO: u64 = 200_000_000;
/// Timeouts in a row before the sender gives up.
const MAX_BACKOFF: u32 = 8;

/// Segments to send now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) retransmission: bool,
}

#[derive(Debug)]
pub(crate) struct Sender {
    segments: u32,
    /// Segments that the application has written.
    written: u32,
    writes: Option<Writes>,
    /// Time of the application's next write.
    pub(crate) write_at: u64,
    snd_una: u32,
    snd_nxt: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Segments acknowledged since the last growth of the window in congestion avoidance.
    credit: u32,
    congestion: Congestion,
    max_window: u32,
    sack: bool,
    sacked: Ranges,
    /// Every segment below this number has been judged lost or received.
    judged: u32,
    lost: VecDeque<u32>,
    /// Retransmitted segments, each with `snd_nxt` at the time of its retransmission.
    retransmitted: VecDeque<(u32, u32)>,
    dup_acks: u32,
    recovery_point: Option<u32>,
    srtt: u64,
    timed: Option<(u32, u64)>,
    backoff: u32,
    pub(crate) rto_at: u64,
}

impl Sender {
    pub(crate) fn new(load: &TcpLoad, segments: u32) -> Self {
        Self {
            segments,
            written: load
                .writes
                .map_or(segments, |writes| writes.segments.min(segments)),
            writes: load.writes,
            write_at: NEVER,
            snd_una: 0,
            snd_nxt: 0,
            cwnd: match load.congestion {
                Congestion::Aimd => 10,
                Congestion::Fixed(window) => window,
            },
            ssthresh: u32::MAX,
            credit: 0,
            congestion: load.congestion,
            max_window: load
                .max_window_segments
                .min(load.receive_window_segments.unwrap_or(u32::MAX))
                .max(1),
            sack: load.sack,
            sacked: Ranges::default(),
            judged: 0,
            lost: VecDeque::new(),
            retransmitted: VecDeque::new(),
            dup_acks: 0,
            recovery_point: None,
            srtt: 0,
            timed: None,
            backoff: 0,
            rto_at: NEVER,
        }
    }

    /// Number of segments in the flow.
    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    /// The next segment to be sent for the first time.
    pub(crate) fn snd_nxt(&self) -> u32 {
        self.snd_nxt
    }

    /// True if all segments are acknowledged.
    pub(crate) fn done(&self) -> bool {
        self.snd_una == self.segments
    }

    /// True if the sender has given up.
    pub(crate) fn gave_up(&self) -> bool {
        self.backoff > MAX_BACKOFF
    }

    /// Starts the application, once the connection is open.
    pub(crate) fn open(&mut self, now: u64) {
        if let Some(writes) = self.writes
            && self.write_at == NEVER
            && self.written < self.segments
        {
            self.write_at = now + nanos(writes.interval);
        }
    }

    /// The application writes.
    pub(crate) fn write(&mut self) {
        let Some(writes) = self.writes else { return };
        self.written = (self.written + writes.segments).min(self.segments);
        self.write_at = if self.written < self.segments {
            self.write_at + nanos(writes.interval)
        } else {
            NEVER
        };
    }

    /// Returns the next burst of up to `most` segments; callers repeat until `None`.
    pub(crate) fn next_burst(&mut self, now: u64, most: u32) -> Option<Burst> {
        let room = self.cwnd.min(self.max_window).saturating_sub(self.pipe());
        if room == 0 {
            return None;
        }
        // Lost segments go before new data (RFC 6675, section 4, rule 1 of NextSeg).
        if let Some(first) = self.lost.pop_front() {
            self.retransmitted.push_back((first, self.snd_nxt));
            // Karn's rule: an acknowledgment does not distinguish a retransmission from the
            // original.
            self.timed = None;
            self.arm(now);
            return Some(Burst {
                first,
                count: 1,
                retransmission: true,
            });
        }
        // A host with segmentation offload waits for a large enough burst.
        let worthwhile = most.min(self.cwnd / 4).min(self.written - self.snd_nxt);
        if room < worthwhile && self.pipe() > 0 {
            return None;
        }
        // Limits the span of outstanding segments, to bound memory and SACK ranges.
        let span = (2 * self.max_window).saturating_sub(self.snd_nxt - self.snd_una);
        let count = room.min(span).min(most).min(self.written - self.snd_nxt);
        if count == 0 {
            return None;
        }
        let first = self.snd_nxt;
        self.snd_nxt += count;
        // A single segment is timed at a time: RFC 6298, section 3, requires only a sample per
        // round trip.
        self.timed.get_or_insert((first, now));
        // RFC 6298, section 5.1: data starts the timer only if it is not running.
        if self.rto_at == NEVER {
            self.arm(now);
        }
        Some(Burst {
            first,
            count,
            retransmission: false,
        })
    }

    /// Processes a cumulative acknowledgment of all segments below `ack`, and SACK blocks.
    pub(crate) fn on_ack(&mut self, now: u64, ack: u32, blocks: &[(u32, u32)]) {
        if ack > self.snd_una {
            self.advance(now, ack);
        } else if ack == self.snd_una && self.snd_nxt > self.snd_una {
            // RFC 5681, section 2: an acknowledgment is a duplicate only while data is outstanding.
            self.dup_acks += 1;
        }
        let mut news = false;
        for (start, end) in blocks {
            // Reordered acknowledgments may report blocks below `snd_una`.
            news |= self.sacked.insert((*start).max(self.snd_una), *end);
        }
        if news {
            let sacked = &self.sacked;
            // A segment judged lost may only be late: a block shows its arrival before its
            // retransmission.
            self.lost
                .retain(|segment| sacked.around(*segment).is_none());
        }
        if self.sack {
            self.judge_by_sack();
        } else if self.dup_acks == 3 && self.recovery_point.is_none() {
            // Fast retransmit at the third duplicate acknowledgment (RFC 5681, section 3.2).
            self.lost.push_back(self.snd_una);
        }
        // The window shrinks once for all losses of a window (RecoveryPoint of RFC 6675, section
        // 5).
        if !self.lost.is_empty() && self.recovery_point.is_none() {
            self.recovery_point = Some(self.snd_nxt);
            self.back_off_window();
        }
    }

    /// Retransmission timeout: marks all segments that are not received as lost.
    pub(crate) fn on_rto(&mut self, now: u64) {
        self.backoff += 1;
        let sacked = &self.sacked;
        self.lost = (self.snd_una..self.snd_nxt)
            .filter(|segment| sacked.around(*segment).is_none())
            .collect();
        // `lost` has all these segments already, so `judge_by_sack` must not add them again.
        self.judged = self.snd_nxt;
        self.retransmitted.clear();
        self.dup_acks = 0;
        self.back_off_window();
        if self.congestion == Congestion::Aimd {
            // The loss window of RFC 5681, section 3.1.
            self.cwnd = 1;
        }
        self.recovery_point = Some(self.snd_nxt);
        self.arm(now);
    }

    fn advance(&mut self, now: u64, ack: u32) {
        let newly = ack - self.snd_una;
        self.snd_una = ack;
        self.sacked.remove_below(ack);
        self.lost.retain(|segment| *segment >= ack);
        self.retransmitted.retain(|(segment, _)| *segment >= ack);
        self.dup_acks = 0;
        self.backoff = 0;
        if let Some((segment, sent_at)) = self.timed
            && segment < ack
        {
            let sample = now - sent_at;
            self.srtt = if self.srtt == 0 {
                sample
            } else {
                // SRTT = 7/8 SRTT + 1/8 R' (RFC 6298, section 2.3), in nanoseconds.
                (7 * self.srtt + sample) / 8
            };
            self.timed = None;
        }
        match self.recovery_point {
            Some(point) if ack >= point => {
                self.recovery_point = None;
                self.grow(0);
            }
            // RFC 6582: a partial acknowledgment means that the next segment is lost too.
            Some(_) if self.next_hole_unsent(ack) => self.lost.push_back(ack),
            // After a timeout the window grows in slow start, although `recovery_point` is set.
            Some(_) if self.cwnd < self.ssthresh => self.grow(newly),
            Some(_) => {}
            None => self.grow(newly),
        }
        // RFC 6298, sections 5.2 and 5.3: new acknowledgments stop the timer or restart it.
        if self.snd_una == self.snd_nxt {
            self.rto_at = NEVER;
        } else {
            self.arm(now);
        }
    }

    fn next_hole_unsent(&self, ack: u32) -> bool {
        let retransmitted = self
            .retransmitted
            .iter()
            .any(|(segment, _)| *segment == ack);
        !self.sack && self.lost.is_empty() && !retransmitted
    }

    fn grow(&mut self, newly: u32) {
        if self.congestion != Congestion::Aimd {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = (self.cwnd + newly).min(self.ssthresh);
        } else {
            // Congestion avoidance adds a segment per window (RFC 5681, section 3.1). The credit
            // avoids fractions.
            self.credit += newly;
            if self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd += 1;
            }
        }
        self.cwnd = self.cwnd.min(self.max_window);
    }

    fn back_off_window(&mut self) {
        if self.congestion == Congestion::Aimd {
            // RFC 5681, equation 4, with the window in place of the flight size.
            self.ssthresh = (self.cwnd / 2).max(2);
            self.cwnd = self.ssthresh;
        }
    }

    /// RFC 6675: a segment is lost once three higher segments arrived. A retransmitted segment is
    /// lost once three segments first sent after it arrived.
    fn judge_by_sack(&mut self) {
        let end = self.sacked.end();
        self.judged = self.judged.max(self.snd_una);
        while self.judged + 3 < end {
            if self.sacked.around(self.judged).is_none() {
                self.lost.push_back(self.judged);
            }
            self.judged += 1;
        }
        while let Some((segment, next)) = self.retransmitted.front().copied() {
            let arrived = segment < self.snd_una || self.sacked.around(segment).is_some();
            // Entries are in order of their retransmission, so no later entry is lost yet either.
            if !arrived && end < next + 3 {
                break;
            }
            self.retransmitted.pop_front();
            if !arrived {
                self.lost.push_back(segment);
            }
        }
    }

    /// Estimated number of segments in flight.
    fn pipe(&self) -> u32 {
        let out = self.snd_nxt - self.snd_una;
        // Without SACK, each duplicate acknowledgment shows that a segment left the network (RFC
        // 5681, section 3.2).
        let left = if self.sack { 0 } else { self.dup_acks };
        // Duplicates made by the network can raise `dup_acks` above the segments in flight.
        out.saturating_sub(self.sacked.covered() + self.lost.len() as u32 + left)
    }

    fn arm(&mut self, now: u64) {
        // 2 SRTT replaces SRTT + 4 RTTVAR (RFC 6298, section 2.3), so no variance is kept. Each
        // timeout in a row doubles it (section 5.5), up to a factor of 64.
        self.rto_at = now + ((2 * self.srtt).max(MIN_RTO) << self.backoff.min(6));
    }
}
