//! A sender whose rate follows a known gain cycle, behind a bottleneck.

use std::cell::RefCell;
use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

use super::{Delivery, Model, ModelPhase, PathModel, Repairing};

const SMSS: u32 = 1_000;
/// Time of a segment at the bottleneck: 8 Mbit/s.
const SERVICE_US: i64 = 1_000;
const RTT_US: i64 = 40_000;

/// A segment in the network: its number, and the times when it left and when its ACK arrives.
struct Segment {
    number: u64,
    sent_us: i64,
    acked_us: i64,
}

struct Path {
    model: Model,
    flight: VecDeque<Segment>,
    sent: u64,
    free_us: i64,
}

fn at(us: i64) -> Timestamp {
    Timestamp::from_nanos(us * 1_000)
}

impl Path {
    fn new(is_pacing_seen: bool) -> Self {
        let mut model = Model::new(SMSS, is_pacing_seen);
        model.open(at(0), TimeDelta::from_micros(RTT_US));
        Self {
            model,
            flight: VecDeque::new(),
            sent: 0,
            free_us: 0,
        }
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.flight.len()).unwrap()
    }

    fn send(&mut self, now_us: i64) {
        let is_idle = self.flight.is_empty();
        self.sent += 1;
        self.free_us = self.free_us.max(now_us) + SERVICE_US;
        self.flight.push_back(Segment {
            number: self.sent,
            sent_us: now_us,
            acked_us: self.free_us + RTT_US - SERVICE_US,
        });
        let in_flight = self.in_flight();
        self.model
            .send(at(now_us), SMSS, self.sent, in_flight, is_idle);
    }

    fn acknowledge(&mut self, now_us: i64) {
        while let Some(segment) = self.flight.pop_front_if(|s| s.acked_us <= now_us) {
            let in_flight = self.in_flight();
            self.model.deliver(&Delivery {
                at: at(segment.acked_us),
                segments: 1,
                latest: Some((
                    segment.number,
                    Some(TimeDelta::from_micros(segment.acked_us - segment.sent_us)),
                )),
                prior_in_flight: in_flight + 1,
                in_flight,
                lost: 0,
                repairing: Repairing::Nothing,
                smss_bytes: SMSS,
            });
        }
    }

    /// Sends at `rate_of` of the bottleneck's rate, in percent, and calls `see` each millisecond.
    fn run(
        &mut self,
        until_us: i64,
        rate_of: impl Fn(i64, u32) -> u32,
        mut see: impl FnMut(i64, PathModel),
    ) {
        let mut next_us = 0;
        for now_us in (0..until_us).step_by(100) {
            self.acknowledge(now_us);
            if now_us >= next_us {
                let gain = i64::from(rate_of(now_us, self.in_flight()));
                if gain > 0 {
                    self.send(now_us);
                    next_us = next_us.max(now_us - SERVICE_US) + SERVICE_US * 100 / gain;
                }
            }
            if now_us % 1_000 == 0 {
                see(now_us, self.model.state());
            }
        }
    }
}

/// The pacing of a sender with BBR's schedule, in percent of the bottleneck's rate.
#[derive(Default)]
struct Schedule {
    phase: usize,
    since_us: i64,
}

impl Schedule {
    /// Startup fills the path in 400 ms, Drain empties it, and a gain cycle follows.
    fn gain_percent(&mut self, now_us: i64, in_flight: u32) -> u32 {
        match now_us {
            0..=400_000 => return 285,
            400_001..=600_000 => return 34,
            _ => {}
        }
        let is_long = now_us - self.since_us > RTT_US;
        let is_over = match self.phase {
            // A quarter above the 40 segments of the path, and room for three super-packets of two.
            3 => is_long && in_flight >= 56,
            4 => is_long || in_flight <= 46,
            _ => is_long,
        };
        if is_over {
            self.phase = (self.phase + 1) % 8;
            self.since_us = now_us;
        }
        match self.phase {
            3 => 124,
            4 => 74,
            _ => 99,
        }
    }
}

#[test]
fn constant_rates_are_not_taken_for_bbr() {
    let mut named = 0;
    let mut bandwidth = None;
    let mut path = Path::new(true);
    path.run(
        8_000_000,
        |_, in_flight| if in_flight < 60 { 98 } else { 0 },
        |now_us, state| {
            if now_us > 4_000_000 {
                named += u32::from(state.phase.is_some());
                bandwidth = state.bandwidth_bps;
            }
        },
    );
    assert_eq!(named, 0);
    assert!(!path.model.fit().is_bbr(), "{:?}", path.model.fit());
    // A sender below the bottleneck's rate measures its own.
    let bandwidth = bandwidth.unwrap();
    assert!((7_700_000..=8_000_000).contains(&bandwidth), "{bandwidth}");
}

/// The gain of the schedule, which it keeps beside it, or 0 if the window is full.
fn paced(schedule: &RefCell<(Schedule, u32)>, now_us: i64, in_flight: u32) -> u32 {
    let (schedule, gain) = &mut *schedule.borrow_mut();
    *gain = schedule.gain_percent(now_us, in_flight);
    let window = if now_us < 400_000 { 115 } else { 90 };
    if in_flight < window { *gain } else { 0 }
}

#[test]
fn phases_are_unknown_where_the_pacing_is_not_seen() {
    let schedule = RefCell::new((Schedule::default(), 0));
    let mut path = Path::new(false);
    let mut stated = 0;
    path.run(
        9_000_000,
        |now_us, in_flight| paced(&schedule, now_us, in_flight),
        |_, state| stated += u32::from(state.phase.is_some()),
    );
    assert_eq!(stated, 0);
    let state = path.model.state();
    assert_eq!(state.pacing_rate_bps, None);
    assert_eq!(state.inflight_cap_segments, None);
    assert_eq!(state.least_rtt.unwrap().as_nanos() / 1_000, RTT_US);
    assert!(state.bandwidth_bps.is_some());
}

#[test]
fn gain_cycle_is_found_whatever_its_first_phase() {
    let (mut seen, mut right, mut known) = (0, 0, 0);
    let mut path = Path::new(true);
    let schedule = RefCell::new((Schedule::default(), 0));
    path.run(
        9_000_000,
        |now_us, in_flight| paced(&schedule, now_us, in_flight),
        |now_us, state| {
            if now_us > 2_000_000 && state.phase == Some(ModelPhase::ProbeBandwidth) {
                seen += 1;
                if let Some(gain) = state.pacing_gain_percent {
                    known += 1;
                    let truth = schedule.borrow().1;
                    right += u32::from(u32::from(gain).abs_diff(truth) <= 1);
                }
                assert_eq!(state.least_rtt.unwrap().as_nanos() / 1_000, RTT_US);
                let bandwidth = state.bandwidth_bps.unwrap();
                assert!((7_900_000..=8_100_000).contains(&bandwidth), "{bandwidth}");
            }
        },
    );
    assert!(path.model.fit().is_bbr(), "{:?}", path.model.fit());
    // The rest are the delays between the end of a phase and the data that shows it.
    assert!(known * 10 >= seen * 9, "{known} of {seen}");
    assert!(seen > 6_000, "{seen}");
    assert!(right * 10 >= known * 9, "{right} of {known}");
}
