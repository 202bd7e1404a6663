//! Senders that follow the rules of a control exactly, behind a bottleneck with a queue.

use std::collections::VecDeque;

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::SeqNum;

use super::rules::{Ack, Rule, all};
use super::{Control, Named, Namer, Unnamed};
use crate::Position;
use crate::sender::{
    CongestionHint, CwndSource, LimitedTime, Phase, RecoveryEpoch, RecoveryKind, SenderRow,
    SenderSample, SenderSummary, WindowScale,
};

const SMSS: u32 = 1_000;
const FLOW: FlowId = FlowId(0);
const DIRECTION: Direction = Direction::Forward;

/// A path: time per segment at the bottleneck, round-trip time and queue.
struct Path {
    service_us: i64,
    rtt_us: i64,
    queue: i64,
}

/// A sender and the rows that a reconstruction gives.
struct Sender {
    rule: Box<dyn Rule>,
    path: Path,
    now_us: i64,
    free_us: i64,
    cwnd: u32,
    una: i64,
    nxt: i64,
    /// Segments in the network: time sent, time of the ACK, and whether the queue drops it.
    flight: VecDeque<(i64, i64, bool)>,
    srtt8: i64,
    latest_us: Option<i64>,
    epochs: u32,
    rows: Vec<SenderRow>,
}

fn offset(segments: i64) -> StreamOffset {
    StreamOffset::first(SeqNum(1_000)).moved(segments * i64::from(SMSS))
}

fn at(us: i64) -> Timestamp {
    Timestamp::from_nanos(us * 1_000)
}

impl Sender {
    fn new(rule: Box<dyn Rule>, path: Path) -> Self {
        Self {
            rule,
            path,
            now_us: 0,
            free_us: 0,
            cwnd: 10,
            una: 0,
            nxt: 0,
            flight: VecDeque::new(),
            srtt8: 0,
            latest_us: None,
            epochs: 0,
            rows: Vec::new(),
        }
    }

    fn fill(&mut self) {
        while self.flight.len() < self.cwnd as usize {
            let start_us = self.free_us.max(self.now_us);
            let is_dropped = (start_us - self.now_us) / self.path.service_us > self.path.queue;
            if !is_dropped {
                self.free_us = start_us + self.path.service_us;
            }
            let acked_us = self.free_us + self.path.rtt_us;
            self.flight.push_back((self.now_us, acked_us, is_dropped));
            self.nxt += 1;
        }
    }

    fn sample(&mut self, epoch: Option<u32>) {
        self.sample_with(u32::try_from(self.flight.len()).unwrap(), epoch);
    }

    fn sample_with(&mut self, pipe: u32, epoch: Option<u32>) {
        self.rows.push(SenderRow::Sample(SenderSample {
            snd_una: Some(offset(self.una)),
            snd_nxt: Some(offset(self.nxt)),
            smss_bytes: Some(SMSS),
            pipe_segments: Some(pipe),
            cwnd_segments: Some(pipe),
            cwnd_source: if epoch.is_some() {
                CwndSource::Recovery
            } else {
                CwndSource::Filled
            },
            phase: Some(if epoch.is_some() {
                Phase::FastRecovery
            } else {
                Phase::CongestionAvoidance
            }),
            recovery_epoch: epoch,
            srtt: (self.srtt8 > 0).then(|| TimeDelta::from_micros(self.srtt8 >> 3)),
            latest_rtt: self.latest_us.map(TimeDelta::from_micros),
            ..SenderSample::unknown(at(self.now_us), FLOW, DIRECTION)
        }));
    }

    /// Acknowledges the next two segments.
    fn step(&mut self) {
        self.fill();
        let segments = 2.min(self.flight.len());
        let arrived: Vec<_> = self.flight.range(..segments).copied().collect();
        self.now_us = arrived[segments - 1].1;
        if arrived.iter().any(|(_, _, is_dropped)| *is_dropped) {
            self.recover();
            return;
        }
        self.sample(None);
        let in_flight = u32::try_from(self.flight.len()).unwrap();
        self.flight.drain(..segments);
        let rtt_us = self.now_us - arrived[0].0;
        self.srtt8 = match self.srtt8 {
            0 => rtt_us << 3,
            srtt8 => srtt8 + rtt_us - (srtt8 >> 3),
        };
        self.latest_us = Some(rtt_us);
        self.una += i64::try_from(segments).unwrap();
        let ack = Ack {
            at_us: self.now_us,
            segments: u32::try_from(segments).unwrap(),
            delivered: u32::try_from(segments).unwrap(),
            bytes: segments as u64 * u64::from(SMSS),
            rtt_us: Some(rtt_us),
            srtt_us: self.srtt8 >> 3,
            una: self.una * i64::from(SMSS),
            nxt: self.nxt * i64::from(SMSS),
            in_flight,
            smss_bytes: SMSS,
            marked: 0,
            was_open: true,
            is_open: true,
        };
        self.rule.observe(&ack);
        self.cwnd = self.rule.grow(self.cwnd, &ack).max(2);
        // A lower window lets the flight run empty before new data leaves.
    }

    /// Repairs all losses at once, and reduces the window.
    fn recover(&mut self) {
        self.sample(None);
        let began = at(self.now_us);
        let before = self.cwnd;
        let threshold = self.rule.reduce(before);
        self.cwnd = self.rule.settle(threshold);
        self.sample(Some(self.epochs));
        self.latest_us = None;
        let last_us = self.flight.iter().map(|(_, acked_us, _)| *acked_us).max();
        self.now_us = last_us.unwrap();
        // SACK blocks cover all but the last retransmission.
        self.sample_with(1, Some(self.epochs));
        let segments = u32::try_from(self.flight.len()).unwrap();
        self.una = self.nxt;
        let ack = Ack {
            at_us: self.now_us,
            segments,
            delivered: 1,
            bytes: u64::from(segments * SMSS),
            srtt_us: self.srtt8 >> 3,
            una: self.una * i64::from(SMSS),
            nxt: self.nxt * i64::from(SMSS),
            in_flight: 1,
            smss_bytes: SMSS,
            is_open: true,
            ..Ack::default()
        };
        self.rule.observe(&ack);
        self.rule.begin();
        self.cwnd = self.rule.grow(self.cwnd, &ack);
        self.flight.clear();
        self.free_us = self.now_us;
        self.rows.push(SenderRow::Recovery(RecoveryEpoch {
            flow: FLOW,
            direction: DIRECTION,
            epoch: self.epochs,
            kind: RecoveryKind::Fast,
            began,
            ended: Some(at(self.now_us)),
            high: offset(self.nxt),
            cwnd_before_segments: Some(before),
            ssthresh_segments: Some(threshold),
            seen_ssthresh_segments: Some(self.cwnd),
            was_undone: false,
            lost: None,
        }));
        self.epochs += 1;
    }

    fn named(self, seconds: i64) -> Named {
        self.named_at(None, seconds)
    }

    /// Hides the round-trip times of all rows.
    fn without_times(rows: &mut [SenderRow]) {
        for row in rows {
            if let SenderRow::Sample(sample) = row {
                sample.latest_rtt = None;
            }
        }
    }

    /// The answer for a capture there; one between the ends shows no round-trip times.
    fn named_at(mut self, position: Option<Position>, seconds: i64) -> Named {
        while self.now_us < seconds * 1_000_000 {
            self.step();
        }
        let summary = SenderSummary {
            flow: FLOW,
            direction: DIRECTION,
            position,
            smss_bytes: Some(SMSS),
            has_sack: true,
            window_scale: WindowScale::Known(7),
            retransmitted: 0,
            lost: None,
            recoveries: self.epochs,
            timeouts: 0,
            limited: LimitedTime::default(),
            least_rtt: None,
            greatest_delivery_rate_bps: None,
            model_window_segments: None,
            model_fit: None,
            hint: CongestionHint::default(),
        };
        if position == Some(Position::Between) {
            Self::without_times(&mut self.rows);
        }
        let mut namer = Namer::default();
        assert!(self.rows.iter().all(|row| namer.see(row).is_none()));
        namer.see(&SenderRow::Summary(summary)).unwrap()
    }
}

/// The answer for a sender under each control.
fn answers(path: impl Fn() -> Path, seconds: i64) -> Vec<(Control, Result<Control, Unnamed>)> {
    let senders = all().into_iter();
    senders
        .map(|(control, rule)| {
            let named = Sender::new(rule, path()).named(seconds);
            (control, named.answer)
        })
        .collect()
}

fn is_wrong((control, answer): (Control, Result<Control, Unnamed>)) -> bool {
    // These make no cut of their own here, and then they send what Reno sends.
    let is_reno = matches!(control, Control::Cdg | Control::Lp | Control::Dctcp);
    answer.is_ok_and(|named| named != control && !(is_reno && named == Control::Reno))
}

#[test]
fn no_control_is_named_as_another() {
    for (service_us, rtt_us, queue) in [
        (1_200, 40_000, 60),
        (2_000, 80_000, 30),
        (600, 30_000, 100),
        (6_000, 20_000, 20),
    ] {
        let path = || Path {
            service_us,
            rtt_us,
            queue,
        };
        let answers = answers(path, 30);
        let wrong: Vec<_> = answers.iter().filter(|answer| is_wrong(**answer)).collect();
        assert!(wrong.is_empty(), "{service_us} {rtt_us} {queue}: {wrong:?}");
    }
}

#[test]
fn controls_that_differ_on_a_path_are_named() {
    let path = || Path {
        service_us: 1_200,
        rtt_us: 40_000,
        queue: 90,
    };
    let answers = answers(path, 40);
    for control in [
        Control::Westwood,
        Control::Cubic,
        Control::Scalable,
        Control::Vegas,
    ] {
        assert!(
            answers.contains(&(control, Ok(control))),
            "{control:?}: {answers:?}"
        );
    }
}

#[test]
fn a_control_that_depends_on_delay_is_named_away_from_the_sender_if_round_trip_times_are_seen() {
    let path = || Path {
        service_us: 1_200,
        rtt_us: 40_000,
        queue: 90,
    };
    let answer = |control: Control, position| {
        let (_, rule) = all().into_iter().find(|(of, _)| *of == control).unwrap();
        let sender = Sender::new(rule, path());
        sender.named_at(Some(position), 40).answer
    };
    for control in [Control::Vegas, Control::Westwood] {
        assert_eq!(answer(control, Position::Receiver), Ok(control));
        assert!(answer(control, Position::Between).is_err(), "{control:?}");
    }
}

#[test]
fn without_congestion_echoes_dctcp_is_no_candidate() {
    let path = Path {
        service_us: 1_200,
        rtt_us: 40_000,
        queue: 60,
    };
    let (_, reno) = all().remove(0);
    let named = Sender::new(reno, path).named(30);
    let is_dctcp = |control: &Control| *control == Control::Dctcp;
    assert!(named.fits.iter().all(|fit| !is_dctcp(&fit.control)));
    assert!(named.candidates.contains(&Control::Reno));
}

#[test]
fn short_transfers_have_no_name() {
    let path = || Path {
        service_us: 1_200,
        rtt_us: 40_000,
        queue: 90,
    };
    for (control, answer) in answers(path, 0) {
        assert_eq!(answer, Err(Unnamed::TooShort), "{control:?}");
    }
}
