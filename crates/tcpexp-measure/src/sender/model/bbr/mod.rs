//! BBR, version 1, as Linux implements it (`tcp_bbr.c`), replayed on a sender's ACKs.
//!
//! Not replayed: the bandwidth that BBR assumes where a policer drops a fifth of the packets
//! (`bbr_lt_bw_sampling`).

mod window;

use tcpexp_units::{TimeDelta, Timestamp};

use super::aggregation::Aggregation;
use super::cycle::{Cycle, GAINS, Progress};
use super::delivery::{Delivery, Repairing};
use super::filter::WindowedMax;
use super::rate::{RateSample, RateSampler};
use super::state::ModelPhase;
use super::units::{ONE, SCALE, UNIT, micros, pacing_rate, percent, super_segments};

/// The gain of Startup, 2/ln 2 (`bbr_high_gain`).
const HIGH: u64 = 2_885 * ONE / 1_000 + 1;
/// The pacing gain of Drain (`bbr_drain_gain`).
const DRAIN: u64 = ONE * 1_000 / 2_885;
/// The window gain of the gain cycle (`bbr_cwnd_gain`).
const WINDOW: u64 = 2 * ONE;
/// Round trips over which the bandwidth is the maximum (`bbr_bw_rtts`); after this time, a capture that begins
/// later also shows it.
pub(super) const BANDWIDTH_ROUNDS: u32 = 10;
/// Time over which the propagation time is the minimum (`bbr_min_rtt_win_sec`).
const LEAST_RTT_WINDOW: TimeDelta = TimeDelta::from_seconds(10);
/// Time with the least window in `ProbeRTT` (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT: TimeDelta = TimeDelta::from_millis(200);
/// The least window (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;
/// The initial window (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// Growth of the bandwidth that continues Startup (`bbr_full_bw_thresh`), in 1/256.
const FULL_GROWTH: u64 = ONE * 5 / 4;
/// Round trips without it that end Startup (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u32 = 3;
/// Segments more in the phase with the gain 1.25.
const PROBING_ROOM: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// The state of BBR.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the kernel's bits, each set on its own"
)]
pub(super) struct Bbr {
    mode: Mode,
    pub(super) cycle: Cycle,
    bandwidth: WindowedMax,
    rounds: u32,
    round_end: u64,
    is_round_start: bool,
    pub(super) least_rtt: Option<TimeDelta>,
    least_rtt_at: Timestamp,
    probe_done_at: Option<Timestamp>,
    has_probed_round: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    is_full: bool,
    aggregation: Aggregation,
    pub(super) cwnd: u32,
    prior_cwnd: u32,
    conserves: bool,
    before: Repairing,
    is_idle_restart: bool,
    /// Bytes per second.
    pub(super) pacing_rate: u64,
    has_rtt: bool,
    /// Time when pacing allows the next packet.
    next_at: Timestamp,
}

impl Bbr {
    pub(super) fn new() -> Self {
        Self {
            mode: Mode::Startup,
            cycle: Cycle::default(),
            bandwidth: WindowedMax::default(),
            rounds: 0,
            round_end: 1,
            is_round_start: false,
            least_rtt: None,
            least_rtt_at: Timestamp::MIN,
            probe_done_at: None,
            has_probed_round: false,
            full_bandwidth: 0,
            full_rounds: 0,
            is_full: false,
            aggregation: Aggregation::new(),
            cwnd: INITIAL_WINDOW,
            prior_cwnd: 0,
            conserves: false,
            before: Repairing::Nothing,
            is_idle_restart: false,
            pacing_rate: 0,
            has_rtt: false,
            next_at: Timestamp::MIN,
        }
    }

    /// Takes the round-trip time of the handshake.
    pub(super) fn open(&mut self, at: Timestamp, rtt: TimeDelta, smss_bytes: u32) {
        self.least_rtt = Some(rtt);
        self.least_rtt_at = at;
        self.aggregation.restart(at);
        self.set_first_rate(rtt, smss_bytes);
    }

    fn set_first_rate(&mut self, rtt: TimeDelta, smss_bytes: u32) {
        self.has_rtt = true;
        let bandwidth = u64::from(self.cwnd) * UNIT / micros(rtt).max(1);
        self.pacing_rate = pacing_rate(bandwidth, HIGH, smss_bytes);
    }

    /// Records data that leaves with nothing in the network.
    pub(super) fn restart(&mut self, at: Timestamp, smss_bytes: u32) {
        self.is_idle_restart = true;
        self.aggregation.restart(at);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(ONE, smss_bytes),
            Mode::ProbeRtt => self.check_probe_done(at),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Records data that leaves (`tcp_update_skb_after_send`).
    pub(super) fn send(&mut self, at: Timestamp, bytes: u32) {
        let nanos = (u64::from(bytes) * 1_000_000_000).checked_div(self.pacing_rate);
        if let Some(nanos) = nanos {
            let span = TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(0));
            self.next_at = self.next_at.max(at) + span;
        }
    }

    /// Processes an ACK (`bbr_main`). `samples` is limited by the application in `ProbeRTT`.
    pub(super) fn deliver(
        &mut self,
        now: &Delivery,
        sample: Option<RateSample>,
        samples: &mut RateSampler,
    ) {
        if !self.has_rtt
            && let Some((_, Some(rtt))) = now.latest
        {
            self.set_first_rate(rtt, now.smss_bytes);
        }
        self.enter(now, samples);
        self.update_bandwidth(sample, samples);
        self.update_aggregation(now, sample);
        self.update_cycle(now);
        self.check_full(sample);
        self.check_drain(now);
        self.update_least_rtt(now, sample, samples);
        self.set_pacing_rate(self.pacing_gain(), now.smss_bytes);
        self.set_cwnd(now, samples);
    }

    /// Saves the window when a recovery begins (`bbr_ssthresh`, `bbr_set_state`).
    fn enter(&mut self, now: &Delivery, samples: &RateSampler) {
        if self.before == Repairing::Nothing && now.repairing != Repairing::Nothing {
            self.prior_cwnd = if self.mode == Mode::ProbeRtt {
                self.prior_cwnd.max(self.cwnd)
            } else {
                self.cwnd
            };
        }
        if now.repairing == Repairing::AfterTimeout && self.before != now.repairing {
            self.full_bandwidth = 0;
            self.cwnd = now.in_flight + 1;
            self.round_end = samples.delivered();
        }
    }

    fn update_bandwidth(&mut self, sample: Option<RateSample>, samples: &RateSampler) {
        self.is_round_start = false;
        let Some(sample) = sample else {
            return;
        };
        let Some(interval) = sample.interval else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.round_end = samples.delivered();
            self.rounds += 1;
            self.is_round_start = true;
            self.conserves = false;
        }
        let bandwidth = sample.delivered * UNIT / micros(interval).max(1);
        if !sample.is_app_limited || bandwidth >= self.bandwidth() {
            self.bandwidth.see(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    fn update_aggregation(&mut self, now: &Delivery, sample: Option<RateSample>) {
        if now.segments == 0 || sample.is_none_or(|sample| sample.interval.is_none()) {
            return;
        }
        if self.is_round_start {
            self.aggregation.begin_round();
        }
        let bandwidth = self.bandwidth();
        self.aggregation.update(now, bandwidth, self.cwnd);
    }

    fn update_cycle(&mut self, now: &Delivery) {
        let (Mode::ProbeBandwidth, Some(least_rtt)) = (self.mode, self.least_rtt) else {
            return;
        };
        let in_flight = self.at_departure(now.at, now.prior_in_flight);
        let bandwidth = self.bandwidth();
        self.cycle.advance(&Progress {
            at: now.at,
            least_rtt,
            in_flight,
            has_lost: now.lost > 0,
            full: (self.flight(bandwidth, ONE * 5 / 4, now.smss_bytes) + PROBING_ROOM)
                .saturating_sub(super_segments(self.pacing_rate, now.smss_bytes)),
            drained: self.flight(bandwidth, ONE, now.smss_bytes),
        });
    }

    fn check_full(&mut self, sample: Option<RateSample>) {
        let is_limited = sample.is_some_and(|sample| sample.is_app_limited);
        if self.is_full || !self.is_round_start || is_limited {
            return;
        }
        if self.bandwidth() >= (self.full_bandwidth * FULL_GROWTH) >> 8 {
            self.full_bandwidth = self.bandwidth();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, now: &Delivery) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        let drained = self.flight(self.bandwidth(), ONE, now.smss_bytes);
        if self.mode == Mode::Drain && self.at_departure(now.at, now.in_flight) <= drained {
            self.probe_bandwidth(now.at);
        }
    }

    fn probe_bandwidth(&mut self, at: Timestamp) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.begin(at);
    }

    fn update_least_rtt(
        &mut self,
        now: &Delivery,
        sample: Option<RateSample>,
        samples: &mut RateSampler,
    ) {
        // Behind a clock that was set back, the window would last longer by the size of the step.
        self.least_rtt_at = self.least_rtt_at.min(now.at);
        let is_expired = now.at - self.least_rtt_at > LEAST_RTT_WINDOW;
        let rtt = now.latest.and_then(|(_, rtt)| rtt);
        if let Some(rtt) = rtt
            && (is_expired || self.least_rtt.is_none_or(|least| rtt < least))
        {
            self.least_rtt = Some(rtt);
            self.least_rtt_at = now.at;
        }
        if is_expired && !self.is_idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.prior_cwnd = if self.before == Repairing::Nothing {
                self.cwnd
            } else {
                self.prior_cwnd.max(self.cwnd)
            };
            self.probe_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            samples.limit_by_application(now.in_flight);
            if self.probe_done_at.is_some() {
                self.has_probed_round |= self.is_round_start;
                if self.has_probed_round {
                    self.check_probe_done(now.at);
                }
            } else if now.in_flight <= LEAST_WINDOW {
                self.probe_done_at = Some(now.at + PROBE_RTT);
                self.has_probed_round = false;
                self.round_end = samples.delivered();
            }
        }
        if sample.is_some_and(|sample| sample.delivered > 0) {
            self.is_idle_restart = false;
        }
    }

    fn check_probe_done(&mut self, at: Timestamp) {
        if self.probe_done_at.is_none_or(|done_at| at <= done_at) {
            return;
        }
        self.least_rtt_at = at;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.probe_bandwidth(at);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_pacing_rate(&mut self, gain: u64, smss_bytes: u32) {
        let rate = pacing_rate(self.bandwidth(), gain, smss_bytes);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Segments in the network when the next packet may leave (`bbr_packets_in_net_at_edt`).
    fn at_departure(&self, at: Timestamp, in_flight: u32) -> u32 {
        let wait = micros((self.next_at.max(at)) - at);
        let delivered = (self.bandwidth() * wait) >> SCALE;
        in_flight.saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds
    }

    fn bandwidth(&self) -> u64 {
        self.bandwidth.value()
    }

    /// Bits of payload per second.
    pub(super) fn bandwidth_bps(&self, smss_bytes: u32) -> u64 {
        let bits = u128::from(self.bandwidth()) * u128::from(smss_bytes) * 8_000_000;
        u64::try_from(bits >> SCALE).unwrap_or(u64::MAX)
    }

    /// The pacing rate without a gain, in bytes per second.
    pub(super) fn steady_rate(&self, smss_bytes: u32) -> u64 {
        pacing_rate(self.bandwidth(), ONE, smss_bytes)
    }

    /// The pacing rate in each candidate's phase of the cycle, in bytes per second.
    pub(super) fn rates(&self, smss_bytes: u32) -> impl Iterator<Item = u64> + '_ {
        let is_cycling = self.mode == Mode::ProbeBandwidth;
        let phases = self.cycle.phases().filter(move |_| is_cycling);
        phases.map(move |phase| {
            let gain = u64::from(GAINS[phase]) * ONE / 100;
            pacing_rate(self.bandwidth(), gain, smss_bytes)
        })
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            Mode::ProbeBandwidth => u64::from(self.cycle.gain_percent().unwrap_or(100)) * ONE / 100,
            Mode::ProbeRtt => ONE,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::ProbeBandwidth => WINDOW,
            Mode::ProbeRtt => ONE,
        }
    }

    pub(super) fn window_gain_percent(&self) -> u16 {
        percent(self.window_gain())
    }

    /// The pacing gain in percent; `None` where the phase of the cycle is not known.
    pub(super) fn pacing_gain_percent(&self) -> Option<u16> {
        if self.mode == Mode::ProbeBandwidth {
            return self.cycle.gain_percent();
        }
        Some(percent(self.pacing_gain()))
    }

    pub(super) fn phase(&self) -> ModelPhase {
        match self.mode {
            Mode::Startup => ModelPhase::Startup,
            Mode::Drain => ModelPhase::Drain,
            Mode::ProbeBandwidth => ModelPhase::ProbeBandwidth,
            Mode::ProbeRtt => ModelPhase::ProbeRtt,
        }
    }
}
