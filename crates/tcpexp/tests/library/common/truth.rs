//! Measurements of simulated captures against the simulator's records.

use std::collections::HashMap;
use std::net::SocketAddr;

use tcpexp::Error;
use tcpexp_flow::Direction as FlowDirection;
use tcpexp_pair::spp::{Point as At, RttSample};
use tcpexp_testkit::{
    Congestion, Direction, PacketId, PacketTruth, Point, Resolution, Scenario, Sightings, TcpLoad,
    Truth, TwoCaptures, UdpLoad, simulate,
};
use tcpexp_units::{TimeDelta, Timestamp};

use super::{Measured, spooled};

/// An upload and a download of `bytes` bytes, with fixed windows that losses do not change.
pub(crate) fn both_ways(bytes: u64, window_segments: u32) -> Vec<TcpLoad> {
    let upload = TcpLoad {
        bytes,
        congestion: Congestion::Fixed(window_segments),
        ..TcpLoad::default()
    };
    let download = TcpLoad {
        direction: Direction::Reverse,
        ..upload
    };
    vec![upload, download]
}

/// An upload and a download that lose packets, with telephony in parallel.
pub(crate) fn mixed() -> Scenario {
    Scenario {
        tcp: both_ways(400_000, 24),
        udp: vec![UdpLoad {
            datagrams: 50,
            ..UdpLoad::default()
        }],
        loss_ppm: 20_000,
        ..Scenario::default()
    }
}

/// A measurement and the simulator's records.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) measured: Measured,
    pub(crate) truth: Truth,
}

/// Simulates, measures, and checks that no sample is wrong.
pub(crate) fn check(scenario: &Scenario) -> Checked {
    try_check(scenario).unwrap()
}

/// Like [`check`], for scenarios in which the measurement may be refused.
pub(crate) fn try_check(scenario: &Scenario) -> Result<Checked, Error> {
    let captures = simulate(scenario);
    let [src, dst] =
        [("src", &captures.src), ("dst", &captures.dst)].map(|(name, file)| spooled(name, file));
    let measured = Measured::of(&src, &dst)?;
    assert_true(scenario, &captures, &measured, &measured.samples);
    Ok(Checked {
        measured,
        truth: captures.truth,
    })
}

impl Checked {
    pub(crate) fn samples(&self) -> usize {
        self.measured.samples.len()
    }

    /// Number of packets lost or dropped on the path, both ways.
    pub(crate) fn truly_lost(&self) -> u64 {
        let summary = &self.truth.summary;
        [summary.forward, summary.reverse]
            .iter()
            .map(|direction| direction.lost + direction.dropped)
            .sum()
    }

    /// Checks that the counted losses equal the true losses.
    ///
    /// A packet lost right before the end of a capture may count as outside it.
    pub(crate) fn assert_losses_are_known(&self) {
        let lost = self.measured.total(|c| c.lost);
        let outside = self.measured.total(|c| c.outside);
        assert_eq!(
            lost + outside,
            self.truly_lost(),
            "{:#?}",
            self.measured.ended
        );
        assert!(outside <= 2, "{:#?}", self.measured.ended);
        assert_eq!(
            self.measured.total(|c| c.ambiguous + c.arrivals_ambiguous),
            0
        );
        assert_eq!(self.measured.total(|c| c.unseen_upstream), 0);
    }
}

/// Checks that all losses are known and that there are many samples.
pub(crate) fn assert_complete(checked: &Checked) {
    checked.assert_losses_are_known();
    assert!(checked.samples() > 500, "{}", checked.samples());
}

/// Checks that the two packets of each sample are real packets.
pub(crate) fn assert_true(
    scenario: &Scenario,
    captures: &TwoCaptures,
    measured: &Measured,
    samples: &[RttSample],
) {
    let records = Records::new(scenario, &captures.truth);
    for sample in samples {
        records.assert_true(measured, sample);
    }
}

/// The records of both captures by point, flow, direction and time.
struct Records<'a> {
    scenario: &'a Scenario,
    truth: &'a Truth,
    by_time: HashMap<(Point, u32, Direction, Timestamp), Vec<usize>>,
    flows: HashMap<(SocketAddr, SocketAddr, u8), u32>,
}

impl<'a> Records<'a> {
    fn new(scenario: &'a Scenario, truth: &'a Truth) -> Self {
        let mut by_time: HashMap<_, Vec<usize>> = HashMap::new();
        for point in [Point::Src, Point::Dst] {
            let sightings = truth.sightings(point);
            for (ordinal, record) in sightings.records().iter().enumerate() {
                let packet = truth.packet(sightings.packets(ordinal)[0]);
                let shown = shown(scenario, point, record.at);
                let key = (point, packet.flow, packet.direction, shown);
                by_time.entry(key).or_default().push(ordinal);
            }
        }
        let flows = truth.summary.flows.iter().zip(0..).map(|(flow, number)| {
            (
                (flow.client.into(), flow.server.into(), flow.protocol),
                number,
            )
        });
        Self {
            scenario,
            truth,
            by_time,
            flows: flows.collect(),
        }
    }

    /// Returns the simulator's number of a sample's flow, and the direction of the sample's first
    /// packet.
    fn flow(&self, measured: &Measured, sample: &RttSample) -> (u32, Direction) {
        let flow = measured.flow(sample.flow);
        let protocol = flow.protocol.number();
        let (from, to) = match sample.direction {
            FlowDirection::Forward => (flow.initiator, flow.responder),
            FlowDirection::Reverse => (flow.responder, flow.initiator),
        };
        if let Some(&number) = self.flows.get(&(from, to, protocol)) {
            return (number, Direction::Forward);
        }
        (self.flows[&(to, from, protocol)], Direction::Reverse)
    }

    fn assert_true(&self, measured: &Measured, sample: &RttSample) {
        let (flow, direction) = self.flow(measured, sample);
        let near = match sample.reference {
            At::Src => Point::Src,
            At::Dst => Point::Dst,
        };
        assert_eq!(
            direction.upstream(),
            near,
            "{sample:?} goes out from the reference"
        );
        let arrived = sample.time + sample.owd_out;
        let out = self.owd(flow, direction, sample.time, arrived, sample);
        let left = arrived + sample.turnaround;
        let back = self.owd(
            flow,
            direction.opposite(),
            left,
            left + sample.owd_back,
            sample,
        );
        let mut expected = out + back;
        if near == Point::Dst {
            let gained = i128::from(expected.as_nanos()) * i128::from(self.scenario.skew.as_ppt());
            let gained = i64::try_from(gained / 1_000_000_000_000).unwrap();
            expected += TimeDelta::from_nanos(gained);
        }
        // Without a step, the stated error holds. Skew and its removal are rounded to nanoseconds.
        let off = (sample.rtt - expected).abs();
        assert!(
            self.scenario.clock_step.is_some()
                || off <= sample.rtt_error + TimeDelta::from_nanos(4),
            "{sample:?} should be {expected}"
        );
        let skew = measured.report.clock.skew();
        if !skew.detected {
            assert_eq!(sample.rtt, sample.owd_out + sample.owd_back, "{sample:?}");
        }
        if skew.detected || self.scenario.skew.as_ppt() == 0 {
            // Each of the two packets has two times, each truncated to the resolution of its file.
            let rounding = 2 * (self.step(Point::Src) + self.step(Point::Dst));
            let skew_off = skew.skew.as_ppt() - self.scenario.skew.as_ppt();
            let spent = i128::from(sample.turnaround.abs().as_nanos());
            let off = i64::try_from(spent * i128::from(skew_off.abs()) / 1_000_000_000_000);
            let off = (sample.rtt - expected).abs() - TimeDelta::from_nanos(off.unwrap());
            assert!(
                off <= TimeDelta::from_nanos(rounding),
                "{sample:?} should be {expected}"
            );
        }
    }

    /// Returns the true one-way delay of the packet with these departure and arrival times.
    fn owd(
        &self,
        flow: u32,
        direction: Direction,
        departed: Timestamp,
        arrived: Timestamp,
        sample: &RttSample,
    ) -> TimeDelta {
        let at = |point, time| {
            let found = self.by_time.get(&(point, flow, direction, time));
            found.unwrap_or_else(|| {
                panic!("{point:?} captured no {direction:?} at {time:?}: {sample:?}")
            })
        };
        let (departures, arrivals) = (
            at(direction.upstream(), departed),
            at(direction.downstream(), arrived),
        );
        let mut pairs = departures
            .iter()
            .flat_map(|d| arrivals.iter().map(move |a| (*d, *a)));
        let [upstream, downstream] =
            [direction.upstream(), direction.downstream()].map(|point| self.truth.sightings(point));
        // If a record holds several packets, the last one in the stream identifies it.
        let last = |ordinal: usize| *downstream.packets(ordinal).last().unwrap();
        let is_same = |(departure, arrival): &(usize, usize)| {
            let last = self.truth.original(last(*arrival));
            upstream
                .packets(*departure)
                .iter()
                .any(|id| self.truth.original(*id) == last)
        };
        let found = pairs.find(is_same);
        let (departure, arrival) = found.unwrap_or_else(|| {
            let [departed, arrived] = [(upstream, departures), (downstream, arrivals)]
                .map(|(sightings, ordinals)| self.packets(sightings, ordinals));
            panic!("taken for one: {departed:?} and {arrived:?} in {sample:?}")
        });
        downstream.records()[arrival].at - upstream.records()[departure].at
    }

    fn packets(&self, sightings: &Sightings, ordinals: &[usize]) -> Vec<(PacketId, PacketTruth)> {
        let ids = ordinals
            .iter()
            .flat_map(|ordinal| sightings.packets(*ordinal));
        ids.map(|id| (*id, *self.truth.packet(*id))).collect()
    }

    /// Resolution of a point's file in nanoseconds.
    fn step(&self, point: Point) -> i64 {
        step(self.scenario, point)
    }
}

fn step(scenario: &Scenario, point: Point) -> i64 {
    match scenario.capture(point).resolution {
        Resolution::Micros => 1_000,
        Resolution::Nanos => 1,
        other => panic!("the truth knows no {other:?}"),
    }
}

/// Returns a true time as the file of a point shows it.
fn shown(scenario: &Scenario, point: Point, at: Timestamp) -> Timestamp {
    let step = step(scenario, point);
    let shown = scenario.clock(point, at).as_nanos();
    Timestamp::from_nanos(shown.div_euclid(step) * step)
}
