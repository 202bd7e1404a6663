//! Replays all candidates on the rows of one sender.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

use super::candidate::Candidate;
use super::control::Control;
use super::decline::Decline;
use super::model::ModelWatch;
use super::named::{Evidence, Named, SlowStartExit};
use super::rules::{self, Ack, Duplicate};
use crate::sender::{CwndSource, Phase, RecoveryEpoch, RecoveryKind, SenderSample, SenderSummary};

/// Minimum window in segments for a reduction: below it, rounding hides the factor.
const MIN_WINDOW: u32 = 8;
/// Number of consecutive ACKs with an unfilled window after which its growth is unknown.
const MIN_UNFILLED: u32 = 8;

/// One sender.
#[derive(Debug)]
pub(super) struct Observer {
    candidates: Vec<Candidate>,
    first: Option<(Timestamp, StreamOffset)>,
    before: Option<SenderSample>,
    /// True if the capture has the beginning of the connection.
    has_start: bool,
    /// True while the candidates' windows grow beside the observed window.
    is_running: bool,
    unfilled: u32,
    round_end: Option<StreamOffset>,
    round: u32,
    decline: Decline,
    recovering: Option<u32>,
    lost: Option<Lost>,
    /// The threshold of a completed recovery, until the next sample shows the ACK that ended it.
    ended: Option<u32>,
    /// End of a recovery and the threshold that it set, until the window is seen again.
    settled: Option<(Timestamp, u32)>,
    /// True after a recovery without a timeout: the window is at or above the threshold.
    is_avoiding: bool,
    model: ModelWatch,
    evidence: Evidence,
}

/// A loss in a window that was observed.
#[derive(Clone, Copy, Debug)]
struct Lost {
    epoch: u32,
    is_certain: bool,
}

impl Observer {
    pub(super) fn new() -> Self {
        Self {
            candidates: rules::all().into_iter().map(Candidate::new).collect(),
            first: None,
            before: None,
            has_start: false,
            is_running: false,
            unfilled: 0,
            round_end: None,
            round: 0,
            decline: Decline::default(),
            recovering: None,
            lost: None,
            ended: None,
            settled: None,
            is_avoiding: false,
            model: ModelWatch::default(),
            evidence: Evidence::default(),
        }
    }

    /// Takes the state before an ACK.
    pub(super) fn sample(&mut self, now: &SenderSample) {
        let (Some(una), Some(nxt)) = (now.snd_una, now.snd_nxt) else {
            return;
        };
        if self.first.is_none() {
            self.first = Some((now.at, una));
            self.begin(now);
        }
        self.evidence.acks += 1;
        match now.cwnd_source {
            CwndSource::Filled | CwndSource::Recovery => self.evidence.filled += 1,
            CwndSource::ReceiverLimited => self.evidence.receiver_limited += 1,
            CwndSource::Paced => self.evidence.paced += 1,
            _ => {}
        }
        if let Some(before) = self.before.replace(*now) {
            self.acknowledge(&before, now);
        }
        // No flight shows the threshold of a recovery that another one follows at once.
        let follows = |epoch| {
            self.recovering
                .is_some_and(|recovering| recovering != epoch)
        };
        if now.recovery_epoch.is_some_and(follows) {
            self.ended = None;
        }
        self.compare_threshold();
        match now.recovery_epoch {
            Some(epoch) => self.recover(epoch, now),
            None => self.look(now, una, nxt),
        }
    }

    /// Replays the ACK between two states.
    fn acknowledge(&mut self, before: &SenderSample, now: &SenderSample) {
        if let Some(ack) = self.ack(before, now) {
            self.see_start(before, &ack);
            self.evidence.measuring += u64::from(ack.was_open);
            self.evidence.measured += u64::from(ack.rtt_us.is_some());
            self.model.acknowledge(&ack);
            let is_limited = before.cwnd_source == CwndSource::Filled;
            let grows = self.is_running && ack.is_open && is_limited;
            let is_starting = ack.is_open && before.phase == Some(Phase::SlowStart);
            let starting = before.cwnd_segments.filter(|_| is_starting && !grows);
            for candidate in &mut self.candidates {
                candidate.acknowledge(&ack, grows);
                if let Some(cwnd) = starting {
                    candidate.start(cwnd, &ack);
                }
                if !ack.was_open && ack.is_open {
                    candidate.end_recovery(&ack);
                }
            }
        } else if let (Some((first_at, _)), Some(smss_bytes)) = (self.first, now.smss_bytes)
            && before.snd_una == now.snd_una
        {
            for candidate in &mut self.candidates {
                candidate.duplicate(&Duplicate {
                    at_us: micros(before.at - first_at),
                    rtt_us: rtt_us(now),
                    smss_bytes,
                });
            }
        }
    }

    /// The ACK between two states.
    fn ack(&self, before: &SenderSample, now: &SenderSample) -> Option<Ack> {
        let (first_at, first) = self.first?;
        let (from, una) = (before.snd_una?, now.snd_una?);
        let bytes = u64::try_from(una.since(from))
            .ok()
            .filter(|bytes| *bytes > 0)?;
        let smss_bytes = now.smss_bytes?.max(1);
        let whole = |offset: StreamOffset| offset.since(first) / i64::from(smss_bytes);
        let was_open = before.recovery_epoch.is_none();
        let segments = whole(una) - whole(from);
        let delivered = segments + sacked(now)? - sacked(before)?;
        let srtt_us = micros(now.srtt?);
        Some(Ack {
            at_us: micros(before.at - first_at),
            segments: u32::try_from(segments).unwrap_or(u32::MAX),
            delivered: u32::try_from(delivered).unwrap_or(0),
            bytes,
            rtt_us: rtt_us(now),
            srtt_us,
            una: una.since(first),
            nxt: before.snd_nxt?.since(first),
            in_flight: before.pipe_segments?,
            smss_bytes,
            marked: now.latest_marked_packets,
            was_open,
            is_open: now.recovery_epoch.is_none(),
        })
    }

    /// Takes the first state.
    fn begin(&mut self, now: &SenderSample) {
        self.has_start = !matches!(now.cwnd_source, CwndSource::WarmUp | CwndSource::NotSeen);
        // The handshake gives a round-trip time too.
        let srtt_us = now.srtt.filter(|_| self.has_start).map(micros);
        if let Some(srtt_us) = srtt_us {
            let handshake = Ack {
                rtt_us: Some(srtt_us),
                srtt_us,
                was_open: true,
                is_open: true,
                ..Ack::default()
            };
            for candidate in &mut self.candidates {
                candidate.acknowledge(&handshake, false);
            }
        }
    }

    /// Records the initial window: what was in the network when the first full segment was
    /// acknowledged. Smaller segments before it, such as a request's, do not fill a window.
    fn see_start(&mut self, before: &SenderSample, ack: &Ack) {
        let is_first = self.has_start && self.evidence.initial_window_segments.is_none();
        if is_first && ack.bytes >= u64::from(ack.smss_bytes) {
            self.evidence.initial_window_segments = before.pipe_segments;
        }
    }

    /// Takes a state within a recovery.
    fn recover(&mut self, epoch: u32, now: &SenderSample) {
        let before = self.recovering.replace(epoch);
        if before == Some(epoch) {
            return;
        }
        self.see_exit(SlowStartExit::Loss);
        // A candidate learns from each loss, but only an observed window can contradict it.
        let is_certain = self.is_running && !self.decline.is_falling() && self.unfilled == 0;
        self.stop();
        self.settled = None;
        if before.is_some() {
            for candidate in &mut self.candidates {
                candidate.lose_again(now.phase);
            }
            return;
        }
        let cwnd = self.evidence.latest_cwnd.take().or(now.cwnd_segments);
        let Some(cwnd) = cwnd else {
            return;
        };
        for candidate in &mut self.candidates {
            candidate.lose(cwnd, now.phase);
        }
        let is_certain = is_certain && cwnd >= MIN_WINDOW;
        self.lost = Some(Lost { epoch, is_certain });
    }

    /// Takes a state outside of recoveries.
    fn look(&mut self, now: &SenderSample, una: StreamOffset, nxt: StreamOffset) {
        self.recovering = None;
        let is_avoiding = self.is_avoiding || now.phase == Some(Phase::CongestionAvoidance);
        let is_filled = now.cwnd_source == CwndSource::Filled;
        let observed = now.cwnd_segments.filter(|_| is_filled && is_avoiding);
        self.evidence.latest_cwnd = now.cwnd_segments;
        let (Some(cwnd), Some(srtt)) = (observed, now.srtt) else {
            self.unfilled += 1;
            if self.unfilled >= MIN_UNFILLED {
                self.stop();
            }
            return;
        };
        self.unfilled = 0;
        self.see_exit(SlowStartExit::Delay);
        if !self.is_running {
            // A later window would have grown in the meantime.
            let settled = self.settled.take();
            if let Some((_, threshold)) = settled.filter(|(ended, _)| now.at - *ended <= srtt)
                && threshold >= MIN_WINDOW
            {
                for candidate in &mut self.candidates {
                    candidate.settle(threshold, cwnd);
                }
            }
            self.is_running = true;
            self.candidates.iter_mut().for_each(|c| c.begin(cwnd));
            self.round = 0;
            self.round_end = Some(nxt);
        }
        if let Some((before, after)) = self.decline.see(now.at, cwnd, srtt) {
            self.evidence.lossless_cuts += 1;
            for candidate in &mut self.candidates {
                candidate.cut(before, (before >= MIN_WINDOW).then_some(after));
                candidate.follow(cwnd);
            }
            self.round = 0;
        }
        if self.round_end.is_none_or(|end| una >= end) && !self.decline.is_falling() {
            self.round_end = Some(nxt);
            self.round += 1;
            self.evidence.rounds += 1;
            for candidate in &mut self.candidates {
                candidate.compare(cwnd, self.round);
            }
        }
    }

    fn see_exit(&mut self, exit: SlowStartExit) {
        if self.has_start {
            self.evidence.slow_start_exit.get_or_insert(exit);
        }
    }

    fn stop(&mut self) {
        self.is_avoiding = false;
        self.is_running = false;
        self.round_end = None;
        self.decline = Decline::default();
    }

    /// Takes a completed recovery.
    pub(super) fn recovered(&mut self, epoch: &RecoveryEpoch) {
        if epoch.kind == RecoveryKind::CongestionEcho {
            self.evidence.echo_reductions += 1;
        }
        let Some(lost) = self.lost.take_if(|lost| lost.epoch == epoch.epoch) else {
            return;
        };
        let Some(threshold) = epoch.seen_ssthresh_segments else {
            return;
        };
        if lost.is_certain && epoch.kind != RecoveryKind::Timeout && !epoch.was_undone {
            self.evidence.reductions += 1;
            self.ended = Some(threshold);
            self.settled = epoch.ended.map(|ended| (ended, threshold));
            self.is_avoiding = true;
        }
    }

    /// Compares the threshold of a completed recovery.
    fn compare_threshold(&mut self) {
        if let Some(threshold) = self.ended.take() {
            for candidate in &mut self.candidates {
                candidate.compare_threshold(threshold);
            }
        }
    }

    pub(super) fn name(mut self, summary: &SenderSummary) -> Named {
        self.compare_threshold();
        // Without a congestion echo, DCTCP is Reno.
        let has_echoes = self.evidence.echo_reductions > 0;
        let fits = self.candidates.iter().map(Candidate::fit);
        let fits = fits
            .filter(|fit| has_echoes || fit.control != Control::Dctcp)
            .collect();
        Named::of(summary, fits, self.evidence, &self.model)
    }
}

/// Segments beyond `snd_una` that the receiver has, or that are lost and not sent again.
fn sacked(state: &SenderSample) -> Option<i64> {
    let flight_bytes = state.snd_nxt?.since(state.snd_una?);
    let segments = -(-flight_bytes).div_euclid(i64::from(state.smss_bytes?.max(1)));
    Some(segments - i64::from(state.pipe_segments?))
}

/// The round-trip time that the ACK before a state showed.
fn rtt_us(now: &SenderSample) -> Option<i64> {
    now.latest_rtt.map(micros).filter(|rtt_us| *rtt_us > 0)
}

fn micros(span: TimeDelta) -> i64 {
    span.as_nanos() / 1_000
}
