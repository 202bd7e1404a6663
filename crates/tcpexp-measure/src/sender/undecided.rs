//! Holds samples back until the reason for the sender's silence is known.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

use super::row::SenderRow;
use super::sample::{CwndSource, Limit, Phase, SenderSample};

/// Consecutive unanswered ACKs that mean an immediate window cut. A proportional reduction (RFC
/// 6937) lets the sender answer at least every third ACK for factors of 1/2 and above.
pub(super) const CUT: usize = 4;
/// Maximum number of samples held back; bounds memory.
const MOST: usize = 4_096;
/// Number of samples whose memory a sender keeps for the next ones. A capture has many thousands of
/// senders, and few of them wait at the same time.
const KEPT: usize = 4;

/// A sender sends what fits once the room is this part of its window (`tcp_tso_win_divisor`).
const DEFERRED_PART: u32 = 3;
/// A sender sends what fits once the room holds a super-packet of 64 KiB (`GSO_LEGACY_MAX_SIZE`), here in
/// segments of 1448 bytes.
const MOST_DEFERRED: u32 = 45;

/// Samples of a sender that filled its window and then sent nothing.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    samples: Vec<SenderSample>,
    /// Samples since the sender answers again, and their windows if it has cut its window.
    resumed: Vec<(SenderSample, u32)>,
    /// Time when the sender last began to reduce without a loss, and the window before.
    reducing: Option<(Timestamp, u32)>,
}

impl Undecided {
    /// Holds a sample back. Its window is valid if the application limits the sender.
    pub(super) fn wait(&mut self, sample: &SenderSample, rows: &mut impl Extend<SenderRow>) {
        // A sender that falls silent again had no data: a cut window would release more.
        if self.samples.len() == MOST || !self.resumed.is_empty() {
            self.give_up(rows);
        }
        if self.samples.capacity() == 0 {
            // The last sample of a sender often waits alone until the flow ends.
            self.samples.reserve_exact(1);
        }
        self.samples.push(*sample);
    }

    /// Holds back a sample of a sender that answers again after its silence. `pipe` is that of its answer;
    /// `None` if it has not answered this ACK yet.
    pub(super) fn resume(
        &mut self,
        sample: &SenderSample,
        pipe: Option<u32>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let latest = self.resumed.last().map(|(_, cwnd)| *cwnd);
        if self.resumed.len() == MOST {
            self.give_up(rows);
        }
        match pipe.or(latest) {
            Some(cwnd) => self.resumed.push((*sample, cwnd)),
            None => rows.extend([SenderRow::Sample(as_replayed(*sample))]),
        }
    }

    /// Emits the samples unchanged: the application had nothing to send.
    pub(super) fn give_up(&mut self, rows: &mut impl Extend<SenderRow>) {
        let resumed = self.resumed.drain(..).map(|(sample, _)| sample);
        let samples = self.samples.drain(..).chain(resumed);
        rows.extend(samples.map(|sample| SenderRow::Sample(as_replayed(sample))));
        self.rest();
    }

    /// Emits the samples without a window: the capture missed what would have decided.
    pub(super) fn hide(&mut self, rows: &mut impl Extend<SenderRow>) {
        let resumed = self.resumed.iter_mut().map(|(sample, _)| sample);
        self.samples
            .iter_mut()
            .chain(resumed)
            .for_each(clear_window);
        self.give_up(rows);
    }

    /// Frees the memory of many samples that were emitted.
    fn rest(&mut self) {
        if self.samples.capacity() > KEPT {
            self.samples = Vec::new();
        }
        if self.resumed.capacity() > 0 {
            self.resumed = Vec::new();
        }
    }

    /// Emits the samples when a recovery begins, which hides the window that the next transmission
    /// would have shown: after the ACKs of a cut it is unknown, unless a short last segment shows
    /// that the application had no more data.
    pub(super) fn interrupt(&mut self, rows: &mut impl Extend<SenderRow>) {
        // Duplicate ACKs are the sender's wait for evidence of the loss, and show no cut.
        let is_new = |pair: &&[SenderSample]| pair[0].snd_una != pair[1].snd_una;
        let advances = self.samples.windows(2).filter(is_new).count();
        let has_data = |last: &SenderSample| !last.has_short_segments();
        let resumed = self.resumed.last().map(|(sample, _)| sample);
        let last = resumed.or(self.samples.last());
        if advances + 1 >= CUT && last.is_some_and(has_data) {
            self.hide(rows);
        }
        self.give_up(rows);
    }

    /// Start of the current reduction to `cwnd`, if less than `span` ago: the cause may be a loss
    /// that the sender repairs only later.
    pub(super) fn reducing(
        &mut self,
        at: Timestamp,
        span: TimeDelta,
        cwnd: u32,
    ) -> Option<Timestamp> {
        let (began, before) = self.reducing.take()?;
        (at - began < span && cwnd < before).then_some(began)
    }

    /// Emits the samples once the sender answers an ACK of `una`, with `pipe` segments in the network.
    /// Returns the reduction if there was one.
    pub(super) fn decide(
        &mut self,
        una: StreamOffset,
        pipe: u32,
        rows: &mut impl Extend<SenderRow>,
    ) -> Option<Reduced> {
        // A sender that answers each ACK, with less in flight, has no silent samples.
        let first = self.samples.first();
        let first = first.or(self.resumed.first().map(|(sample, _)| sample));
        let before = first?.cwnd_segments?;
        let is_cut = self.samples.len() >= CUT;
        let was_reduced = pipe + 1 < before;
        let began = self.samples.first().map(|sample| (sample.at, before));
        self.reducing = self.reducing.or(began).filter(|_| pipe < before);
        let mut grown = if was_reduced && is_cut {
            let first = self.resumed.first();
            let first = first.and_then(|(sample, cwnd)| Some((sample.snd_una?, *cwnd)));
            let (una, pipe) = first.unwrap_or((una, pipe));
            self.windows_of_a_cut(una, pipe)
        } else {
            Vec::new()
        };
        let ssthresh = grown.last().copied().unwrap_or(pipe);
        let silent = self.samples.drain(..).map(|sample| (sample, None));
        let resumed = self.resumed.drain(..);
        let resumed = resumed.map(|(sample, cwnd)| (sample, Some(cwnd)));
        for (mut sample, resumed_cwnd) in silent.chain(resumed) {
            // The application filled the window step by step.
            if !was_reduced && resumed_cwnd.is_some() {
                rows.extend([SenderRow::Sample(as_replayed(sample))]);
                continue;
            }
            let cwnd = match sample.pipe_segments {
                _ if !was_reduced => before,
                // A proportional reduction lowers the window ACK by ACK; a cut lowers it at once.
                Some(own) if !is_cut => resumed_cwnd.unwrap_or(own),
                _ => resumed_cwnd.or_else(|| grown.pop()).unwrap_or(pipe),
            };
            sample.cwnd_segments = Some(cwnd);
            sample.cwnd_bytes = sample
                .smss_bytes
                .map(|smss| u64::from(smss) * u64::from(cwnd));
            sample.cwnd_source = CwndSource::Filled;
            if sample.limit == Some(Limit::Application)
                && sample
                    .pipe_segments
                    .is_some_and(|pipe| is_deferral(cwnd, pipe))
            {
                sample.limit = Some(Limit::CongestionWindow);
            }
            if was_reduced && (is_cut || resumed_cwnd.is_some()) {
                // A cut sets the threshold to the window that it leaves, and a wait for room in the send buffer
                // does not.
                sample.ssthresh_segments = None;
                sample.phase = match sample.phase {
                    Some(_) if is_cut => Some(Phase::CongestionAvoidance),
                    // Without the silence of a cut, slow start may go on.
                    phase => phase.filter(|phase| *phase == Phase::CongestionAvoidance),
                };
            }
            rows.extend([SenderRow::Sample(sample)]);
        }
        self.rest();
        was_reduced.then_some(Reduced {
            before,
            cwnd: pipe,
            // A short silence is either a step of a proportional reduction, whose end shows its threshold, or the
            // wait for room for several segments, which reduces nothing.
            ssthresh: is_cut.then_some(ssthresh),
        })
    }

    /// The windows at the samples after a cut, the last sample's first. The window grows while the
    /// sender waits (RFC 5681, equation 3), and is `pipe` when it sends again, at the ACK of `una`.
    fn windows_of_a_cut(&self, una: StreamOffset, pipe: u32) -> Vec<u32> {
        let mut cwnd = i64::from(pipe);
        // The window may have grown just before the sender sends again, or be about to grow.
        let mut left = cwnd / 2;
        let mut next = Some(una);
        let mut windows = Vec::with_capacity(self.samples.len());
        for sample in self.samples.iter().rev() {
            if let (Some(own), Some(after)) = (sample.snd_una, next) {
                let smss = i64::from(sample.smss_bytes.unwrap_or(1).max(1));
                left -= after.since(own) / smss;
            }
            next = sample.snd_una.or(next);
            while left < 0 && cwnd > 1 {
                cwnd -= 1;
                left += cwnd;
            }
            windows.push(u32::try_from(cwnd).unwrap_or(pipe));
        }
        windows
    }
}

/// True if a sender with this window and pipe may wait for more room, to send several segments at once
/// (`tcp_tso_should_defer` of Linux).
pub(super) fn is_deferral(cwnd_segments: u32, pipe_segments: u32) -> bool {
    let room = cwnd_segments.saturating_sub(pipe_segments);
    room <= (cwnd_segments / DEFERRED_PART).min(MOST_DEFERRED)
}

/// A reduction of the window without a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduced {
    /// The window before, in segments.
    pub(super) before: u32,
    /// The window when the sender sends again, in segments.
    pub(super) cwnd: u32,
    /// The window right after a cut, in segments; `None` if the silence was too short for one.
    pub(super) ssthresh: Option<u32>,
}

/// The sample of a sender that had nothing to send, without the window if only a fill would have shown it.
fn as_replayed(mut sample: SenderSample) -> SenderSample {
    if sample.cwnd_source == CwndSource::Undecided {
        sample.cwnd_segments = None;
        sample.cwnd_bytes = None;
    }
    sample
}

/// Makes the window of a sample unknown.
fn clear_window(sample: &mut SenderSample) {
    sample.cwnd_segments = None;
    sample.cwnd_bytes = None;
    sample.ssthresh_segments = None;
    sample.cwnd_source = CwndSource::Undecided;
    sample.limit = None;
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Direction, FlowId};

    use super::*;

    #[test]
    fn a_sender_waits_for_room_for_a_super_packet_and_no_longer() {
        for (cwnd, pipe, expected) in [
            (613, 604, true),
            (613, 568, true),
            (613, 567, false),
            (10, 7, true),
            (10, 6, false),
            (2, 1, false),
            // A window that was cut is below the pipe.
            (20, 40, true),
        ] {
            assert_eq!(is_deferral(cwnd, pipe), expected, "{cwnd} {pipe}");
        }
    }

    /// A sample of a sender with a window of ten segments, all in flight.
    fn sample() -> SenderSample {
        let first = tcpexp_wire::SeqNum(1);
        SenderSample {
            snd_una: Some(StreamOffset::first(first)),
            snd_nxt: Some(StreamOffset::first(first)),
            smss_bytes: Some(1_000),
            pipe_segments: Some(10),
            cwnd_segments: Some(10),
            cwnd_bytes: Some(10_000),
            cwnd_source: CwndSource::Undecided,
            ..SenderSample::unknown(Timestamp::from_nanos(0), FlowId(0), Direction::Forward)
        }
    }

    #[test]
    fn a_silence_too_short_for_a_cut_shows_no_threshold() {
        let una = StreamOffset::first(tcpexp_wire::SeqNum(1));
        for (unanswered, ssthresh) in [(1, None), (CUT - 1, None), (CUT, Some(5))] {
            let mut undecided = Undecided::default();
            let mut rows: Vec<SenderRow> = Vec::new();
            for _ in 0..unanswered {
                undecided.wait(&sample(), &mut rows);
            }
            let reduced = undecided.decide(una, 5, &mut rows).unwrap();
            assert_eq!((reduced.cwnd, reduced.ssthresh), (5, ssthresh));
        }
    }

    #[test]
    fn an_undecided_sample_of_a_sender_that_never_waited_has_no_window() {
        let mut rows = Vec::new();
        Undecided::default().resume(&sample(), None, &mut rows);
        let [SenderRow::Sample(emitted)] = rows.as_slice() else {
            panic!("{rows:?}");
        };
        assert_eq!(emitted.cwnd_segments, None);
    }
}
