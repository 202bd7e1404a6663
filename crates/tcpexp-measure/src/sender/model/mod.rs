//! The model of the path that BBR has, replayed on a sender's packets.

mod aggregation;
mod bbr;
mod cycle;
mod delivery;
mod filter;
mod rate;
mod state;
mod units;
mod watch;

#[cfg(test)]
mod tests;

use tcpexp_units::{TimeDelta, Timestamp};

pub(super) use delivery::{Delivery, Repairing};
pub use state::{ModelPhase, PathModel};
pub use watch::ModelFit;

use bbr::{BANDWIDTH_ROUNDS, Bbr};
use rate::RateSampler;
use watch::PacingWatch;

/// The replay of one sender that paces.
#[derive(Debug)]
pub(super) struct Model {
    samples: RateSampler,
    bbr: Bbr,
    watch: PacingWatch,
    /// The capture has the handshake, so all of the model's state is known.
    has_start: bool,
    /// The capture was taken at the sender. Elsewhere, data arrives with the spacing of the path: at
    /// a receiver, 28 % of the phases that seemed to agree with the pacing were wrong.
    is_pacing_seen: bool,
    smss_bytes: u32,
}

impl Model {
    pub(super) fn new(smss_bytes: u32, is_pacing_seen: bool) -> Self {
        Self {
            samples: RateSampler::new(),
            bbr: Bbr::new(),
            watch: PacingWatch::default(),
            has_start: false,
            is_pacing_seen,
            smss_bytes,
        }
    }

    /// Takes the round-trip time of the handshake.
    pub(super) fn open(&mut self, at: Timestamp, rtt: TimeDelta) {
        self.has_start = true;
        self.bbr.open(at, rtt, self.smss_bytes);
    }

    /// Records data that leaves: `bytes` up to the transmission number `last`, with `in_flight`
    /// segments in the network after it. `is_idle` is true if nothing was outstanding.
    pub(super) fn send(
        &mut self,
        at: Timestamp,
        bytes: u32,
        last: u64,
        in_flight: u32,
        is_idle: bool,
    ) {
        if is_idle {
            self.samples.limit_by_application(0);
            self.bbr.restart(at, self.smss_bytes);
        }
        self.samples.send(at, last, is_idle);
        self.watch.send(
            at,
            bytes,
            in_flight,
            is_idle,
            &mut self.bbr,
            self.smss_bytes,
        );
        self.bbr.send(at, bytes);
    }

    pub(super) fn deliver(&mut self, now: &Delivery) {
        let least_rtt = self.bbr.least_rtt.unwrap_or(TimeDelta::ZERO);
        let sample = self.samples.deliver(
            now.at,
            now.segments,
            now.latest.map(|(number, _)| number),
            least_rtt,
        );
        self.bbr.deliver(now, sample, &mut self.samples);
    }

    /// How well the pacing agrees with BBR's, over the whole flow.
    pub(super) fn fit(&self) -> ModelFit {
        self.watch.fit()
    }

    pub(super) fn state(&self) -> PathModel {
        let bbr = &self.bbr;
        let bandwidth_bps = bbr.bandwidth_bps(self.smss_bytes);
        let is_whole = self.has_start || bbr.rounds() >= BANDWIDTH_ROUNDS;
        let least_rtt = bbr.least_rtt;
        let measured = PathModel {
            bandwidth_bps: Some(bandwidth_bps).filter(|bps| *bps > 0 && is_whole),
            least_rtt: least_rtt.filter(|_| is_whole),
            ..PathModel::default()
        };
        if !is_whole || !self.is_pacing_seen || !self.watch.agrees() {
            return measured;
        }
        let pacing_gain = bbr.pacing_gain_percent();
        PathModel {
            phase: Some(bbr.phase()),
            pacing_rate_bps: pacing_gain.map(|_| bbr.pacing_rate.saturating_mul(8)),
            pacing_gain_percent: pacing_gain,
            window_gain_percent: Some(bbr.window_gain_percent()),
            inflight_cap_segments: Some(bbr.cwnd),
            ..measured
        }
    }
}
