//! Divides a sender's time among what limited it.

use tcpexp_flow::{Direction, FlowId, Holes, RetransmissionCause};
use tcpexp_units::{TimeDelta, Timestamp};

use super::cause::LimitCause;
use super::losses::Loss;
use super::opening::Opening;
use super::rounds::{Round, Rounds};
use crate::Position;
use crate::sender::{CwndSource, Limit, LostPackets, Phase, SenderRow, SenderSample};

/// Maximum number of losses stored per sender; bounds memory.
const MOST_LOSSES: usize = 4_096;

/// What limited one sender so far.
#[derive(Debug)]
pub struct Limits {
    pub(super) flow: FlowId,
    pub(super) direction: Direction,
    pub(super) opening: Option<Opening>,
    /// The sender's data that the capture missed.
    missed: Holes,
    /// Tick of the capture's clock, if known to be coarse.
    pub(super) coarse_tick: Option<TimeDelta>,
    /// Time of the flow's first packet; until the first ACK `None` if unknown.
    pub(super) began: Option<Timestamp>,
    latest: Option<SenderSample>,
    pub(super) last_at: Option<Timestamp>,
    /// Times by cause; the time limited by the congestion window is in `rounds`.
    pub(super) times: [TimeDelta; LimitCause::COUNT],
    /// Beginning and length of the longest uninterrupted time of each cause.
    pub(super) longest: [Option<(Timestamp, TimeDelta)>; LimitCause::COUNT],
    /// Beginning and length of the latest uninterrupted time of each cause.
    current: [Option<(Timestamp, TimeDelta)>; LimitCause::COUNT],
    /// Time without new data, which is due to the application if new data follows.
    pub(super) unsure: TimeDelta,
    unsure_since: Option<Timestamp>,
    pub(super) rounds: Rounds,
    pub(super) losses: Vec<Loss>,
    epoch: Option<u32>,
    /// End of the latest silence that a retransmission timeout may have ended.
    silent_until: Option<Timestamp>,
    /// Segments in flight at the first ACK.
    first_flight: Option<u32>,
    /// True if the first two flights were one and two segments: the window began at one segment.
    pub(super) began_at_one: bool,
    /// Times of timeouts since the latest ACK.
    fired: Vec<Timestamp>,
    pub(super) timeouts: u64,
    pub(super) retransmitted: u64,
    pub(super) lost: Option<LostPackets>,
    /// True if the capture does not show in which order data left the sender and ACKs reached it.
    pub(super) lacks_order: bool,
    /// Number of captured ACKs before which the sender's state is unknown, because the capture missed other ACKs.
    pub(super) acks_after_missed: u64,
    pub(super) base_rtt: Option<TimeDelta>,
    /// Position of the capture relative to the sender's data; `None` if unknown.
    pub(super) position: Option<Position>,
}

impl Limits {
    /// Begins with a flow whose connection was opened as in `opening`. If `opening` is `None`, the
    /// time before the sender's first data is left out. `missed` is the sender's data that the capture
    /// missed, `coarse_tick` the tick of its clock if known to be coarse.
    pub fn new(
        flow: FlowId,
        direction: Direction,
        opening: Option<Opening>,
        missed: Holes,
        coarse_tick: Option<TimeDelta>,
    ) -> Self {
        Self {
            flow,
            direction,
            opening,
            missed,
            coarse_tick,
            began: opening.map(|opening| opening.began),
            latest: None,
            last_at: None,
            times: [TimeDelta::ZERO; LimitCause::COUNT],
            longest: [None; LimitCause::COUNT],
            current: [None; LimitCause::COUNT],
            unsure: TimeDelta::ZERO,
            unsure_since: None,
            rounds: Rounds::default(),
            losses: Vec::new(),
            epoch: None,
            silent_until: None,
            first_flight: None,
            began_at_one: false,
            fired: Vec::new(),
            timeouts: 0,
            retransmitted: 0,
            lost: None,
            lacks_order: false,
            acks_after_missed: 0,
            base_rtt: None,
            position: None,
        }
    }

    /// Adds a row of the sender. The rows are in time order, except behind a clock that was set back: the
    /// time that it shows again counts once.
    pub fn add(&mut self, row: &SenderRow) {
        match row {
            SenderRow::Sample(sample) => self.sample(sample),
            SenderRow::Retransmission(again) => {
                self.retransmitted += 1;
                if again.cause == RetransmissionCause::Timeout {
                    self.timeouts += 1;
                    self.fired.push(again.at);
                }
            }
            SenderRow::Summary(summary) => {
                self.lost = summary.lost;
                self.position = summary.position;
            }
            SenderRow::Recovery(_) => {}
        }
    }

    /// Counts the retransmissions that nothing answered. Returns false if no ACK reached the sender.
    pub(super) fn end(&mut self) -> bool {
        let Some(latest) = self.latest else {
            return false;
        };
        if let Some(last) = self.fired.iter().max().copied() {
            let from = self.counted_until(&latest);
            self.spend(LimitCause::Timeouts, from, last - from);
            self.last_at = self.last_at.max(Some(last));
        }
        true
    }

    /// The sender's data that the capture missed.
    pub(super) fn missed(&self) -> &Holes {
        &self.missed
    }

    /// Times of the first packet, and of the last ACK or timeout.
    pub(super) fn span(&self) -> (Timestamp, Timestamp) {
        let first = self.began.or(self.last_at).unwrap_or(Timestamp::MIN);
        (first, self.last_at.unwrap_or(first))
    }

    fn sample(&mut self, sample: &SenderSample) {
        let follows_missed_packets = sample.follows_missed_packets();
        self.acks_after_missed += u64::from(follows_missed_packets);
        self.lacks_order |= sample.cwnd_source == CwndSource::NotSeen && !follows_missed_packets;
        let srtt = sample.srtt.unwrap_or(TimeDelta::ZERO);
        if srtt > TimeDelta::ZERO {
            self.base_rtt = Some(self.base_rtt.map_or(srtt, |base| base.min(srtt)));
        }
        match self.latest {
            None => self.first(sample, srtt),
            Some(latest) => {
                let had_one = self.first_flight.take() == Some(1);
                self.began_at_one |= had_one && sample.pipe_segments == Some(2);
                self.pass(&latest, sample, srtt);
            }
        }
        self.latest = Some(*sample);
        self.last_at = self.last_at.max(Some(sample.at)).max(self.began);
    }

    /// The time before the first ACK: setup, the wait for the sender's first data, then the first round
    /// trip.
    fn first(&mut self, sample: &SenderSample, srtt: TimeDelta) {
        let sent_at = sample.at - srtt;
        let began = *self.began.get_or_insert(sent_at);
        self.first_flight = sample.pipe_segments;
        let sent_at = sent_at.max(began);
        let open_at = self.open_at().unwrap_or(sent_at).clamp(began, sent_at);
        self.spend(LimitCause::Setup, began, open_at - began);
        if sample.follows_missed_packets() {
            return self.spend(LimitCause::NotCertain, open_at, sample.at - open_at);
        }
        if is_closed(sample) {
            return self.spend(LimitCause::ReceiverWindow, open_at, sample.at - open_at);
        }
        // Data from before the capture may have been in flight.
        let waits_for = match self.opening {
            Some(opening) if !opening.has_syn => LimitCause::NotCertain,
            _ => LimitCause::Application,
        };
        self.spend(waits_for, open_at, sent_at - open_at);
        self.spend(LimitCause::WindowGrowth, sent_at, sample.at - sent_at);
    }

    /// Time at which the connection was open; `None` if unknown.
    fn open_at(&self) -> Option<Timestamp> {
        let opening = self.opening?;
        match opening.tcp_handshake {
            Some(handshake) => Some(opening.began + handshake),
            None => (!opening.has_syn).then_some(opening.began),
        }
    }

    /// The time from one ACK to the next.
    fn pass(&mut self, latest: &SenderSample, sample: &SenderSample, srtt: TimeDelta) {
        if latest.rto.is_some_and(|rto| sample.at - latest.at >= rto) {
            self.silent_until = Some(sample.at);
        }
        self.note_loss(latest, sample);
        let from = self.counted_until(latest);
        let mut span = (sample.at - from).max(TimeDelta::ZERO);
        let misses_data = latest
            .snd_nxt
            .zip(sample.snd_nxt)
            .is_some_and(|(from, to)| self.missed.overlap(from, to));
        if misses_data || sample.follows_missed_packets() {
            // The packets that the capture missed would show what limited the sender, also since the
            // sender last seemed to have nothing to send.
            let since = self.unsure_since.take().unwrap_or(from);
            let unsure = std::mem::take(&mut self.unsure);
            self.spend(LimitCause::NotCertain, since, unsure + span);
            self.fired.retain(|fired| *fired > sample.at);
            return;
        }
        if sample.snd_nxt > latest.snd_nxt {
            let since = self.unsure_since.take().unwrap_or(from);
            let unsure = std::mem::take(&mut self.unsure);
            self.spend(LimitCause::Application, since, unsure);
        }
        // Rows of one time may be in any order, so a timeout after this ACK stays for the next.
        let before = self.fired.len();
        self.fired.retain(|fired| *fired > sample.at);
        if self.fired.len() < before || sample.phase == Some(Phase::LossRecovery) {
            self.spend(LimitCause::Timeouts, from, span);
            return;
        }
        // The previous ACK covered all data, so nothing was in flight until new data left, one
        // round trip before its ACK. With a closed window, the data waits for the receiver.
        if sample.snd_una.is_some() && sample.snd_una >= latest.snd_nxt && !is_closed(sample) {
            let idle = (span - srtt).max(TimeDelta::ZERO);
            self.spend(LimitCause::Application, from, idle);
            span = span - idle;
        }
        match limit(sample) {
            Some(Limit::ReceiverWindow) => self.spend(LimitCause::ReceiverWindow, from, span),
            Some(Limit::CongestionWindow) => self.rounds.add(
                sample.at,
                Round {
                    began: sample.at - span,
                    span,
                    srtt,
                    pipe_segments: sample.pipe_segments.unwrap_or(0),
                    loss: self.losses.len().checked_sub(1),
                    is_paced: sample.cwnd_source == CwndSource::Paced,
                    has_short_segments: sample.has_short_segments(),
                },
            ),
            Some(Limit::Application) => {
                self.unsure_since.get_or_insert(from);
                self.unsure += span;
            }
            None => self.spend(LimitCause::NotCertain, from, span),
        }
    }

    /// Time up to which the causes have been counted. Behind a clock that was set back, it is later than the
    /// latest ACK.
    fn counted_until(&self, latest: &SenderSample) -> Timestamp {
        self.last_at.map_or(latest.at, |last| last.max(latest.at))
    }

    /// Notes the beginning of a recovery.
    fn note_loss(&mut self, latest: &SenderSample, sample: &SenderSample) {
        let has_begun = sample.recovery_epoch.is_some() && sample.recovery_epoch != self.epoch;
        if !has_begun {
            return;
        }
        self.epoch = sample.recovery_epoch;
        // Without the missed packets, the beginning and the cause of the recovery are unknown.
        if !sample.follows_missed_packets()
            && sample.phase != Some(Phase::LossRecovery)
            && self.losses.len() < MOST_LOSSES
            && let (Some(una), Some(srtt)) = (latest.snd_una, latest.srtt)
        {
            let silent = self.silent_until.map(|until| sample.at - until);
            self.losses.push(Loss {
                at: latest.at,
                una,
                srtt,
                is_after_silence: silent.is_some_and(|since| since <= srtt),
            });
        }
    }

    /// Counts a time; the part of it within the TLS handshake counts as such, whatever limited the
    /// sender then.
    pub(super) fn spend(&mut self, cause: LimitCause, from: Timestamp, span: TimeDelta) {
        // The clock may have been set back since `from`.
        if span <= TimeDelta::ZERO {
            return;
        }
        let to = from + span;
        let tls = self.opening.and_then(|opening| opening.tls);
        let Some(tls) = tls.filter(|tls| tls.began < to) else {
            return self.count(cause, from, span);
        };
        let begins = tls.began.max(from);
        let ends = tls.ended.unwrap_or(to).clamp(begins, to);
        self.count(cause, from, begins - from);
        self.count(LimitCause::Tls, begins, ends - begins);
        self.count(cause, ends, to - ends);
    }

    /// Calls the time of a cause not certain.
    pub(super) fn doubt(&mut self, cause: LimitCause) {
        let (from, to) = (cause.index(), LimitCause::NotCertain.index());
        let time = std::mem::take(&mut self.times[from]);
        self.times[to] += time;
        if let Some((at, span)) = self.longest[from].take()
            && self.longest[to].is_none_or(|(_, longest)| span > longest)
        {
            self.longest[to] = Some((at, span));
        }
    }

    fn count(&mut self, cause: LimitCause, from: Timestamp, span: TimeDelta) {
        if span <= TimeDelta::ZERO {
            return;
        }
        self.times[cause.index()] += span;
        let current = &mut self.current[cause.index()];
        let (from, span) = match *current {
            Some((began, before)) if began + before == from => (began, before + span),
            _ => (from, span),
        };
        *current = Some((from, span));
        let longest = &mut self.longest[cause.index()];
        if longest.is_none_or(|(_, longest)| span > longest) {
            *longest = Some((from, span));
        }
    }
}

/// True if the receiver's window had no room for a full segment before an ACK.
fn is_closed(sample: &SenderSample) -> bool {
    let least = sample.smss_bytes.map_or(1, i64::from);
    sample
        .usable_window_bytes
        .is_some_and(|usable| usable < least)
}

/// The limit of a sender before an ACK.
fn limit(sample: &SenderSample) -> Option<Limit> {
    let fills_window = sample
        .cwnd_segments
        .is_some_and(|cwnd| sample.pipe_segments >= Some(cwnd));
    match sample.limit {
        // The first ACKs of a flow do not show yet that the sender fills its window.
        Some(Limit::Application) if fills_window => Some(Limit::CongestionWindow),
        // A paced sender with short segments follows the pace of its application.
        None if sample.cwnd_source == CwndSource::Paced && sample.has_short_segments() => {
            Some(Limit::Application)
        }
        // A sender that paces by a model of the path keeps to the path's capacity.
        None if sample.cwnd_source == CwndSource::Paced => Some(Limit::CongestionWindow),
        limit => limit,
    }
}
