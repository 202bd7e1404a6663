//! Compares a measurement with the truth.

use std::collections::{HashMap, HashSet};

use tcpexp::{Error, PathOptions, PathReport, Recording, path};
use tcpexp_pair::path::{CaptureLoss, PathPacket};
use tcpexp_pair::spp::{Fate, Point, RttSample};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::clock::Clock;
use crate::pair::{PacketId, Pair, Record, Side};
use crate::verdict::{Fault, Rates, Verdict};

/// Tolerance of a round-trip time beyond its stated bound: four packet times truncated to
/// microseconds.
const RTT_ROUNDING: TimeDelta = TimeDelta::from_micros(4);
/// Tolerance of the offset: two packet times truncated to microseconds.
const OFFSET_ROUNDING: TimeDelta = TimeDelta::from_micros(2);
/// Tolerance of a bottleneck rate, relative to the clean captures, in percent.
const RATE_PERCENT: u64 = 10;
/// Maximum distance of a reported clock step from its true time.
const STEP_DISTANCE: TimeDelta = TimeDelta::from_seconds(2);

/// Measures two files and compares the results with the truth; `rates` are the bottleneck rates of
/// the clean captures.
pub(crate) fn judge(
    files: &[Vec<u8>; 2],
    pair: &Pair,
    clocks: &[Clock; 2],
    rates: Rates,
    is_numbered: bool,
) -> Verdict {
    let recordings = [("src", &files[0]), ("dst", &files[1])]
        .map(|(name, bytes)| Recording::spool(name.into(), &bytes[..]));
    let [Ok(src), Ok(dst)] = recordings else {
        panic!("a temporary file takes a capture");
    };
    let (mut packets, mut samples) = (Vec::new(), Vec::new());
    let measured = path(&src, &dst, &PathOptions::default(), |batch| {
        packets.extend(batch.packets);
        samples.extend(batch.samples);
        Ok::<(), Error>(())
    });
    let mut verdict = Verdict::default();
    match measured {
        Ok(report) => {
            let judge = Judge {
                pair,
                clocks,
                report: &report,
                places: pair.sides.each_ref().map(Side::by_time),
                ids: pair.sides.each_ref().map(Side::ids),
            };
            judge.totals(&mut verdict, rates, &packets);
            if is_numbered {
                judge.clocks(&mut verdict, &packets);
                for packet in &packets {
                    judge.packet(&mut verdict, packet);
                }
                judge.losses(&mut verdict, &packets);
                judge.queueing(&mut verdict, &packets);
                for sample in &samples {
                    judge.sample(&mut verdict, sample);
                }
            }
            verdict.samples = samples.len() as u64;
        }
        Err(error) => verdict.refusal = Some(chain(&error)),
    }
    verdict
}

struct Judge<'a> {
    pair: &'a Pair,
    clocks: &'a [Clock; 2],
    report: &'a PathReport,
    /// Record indices by their timestamps.
    places: [HashMap<Timestamp, Vec<usize>>; 2],
    /// The packets in each capture.
    ids: [HashSet<PacketId>; 2],
}

impl Judge<'_> {
    fn totals(&self, verdict: &mut Verdict, rates: Rates, packets: &[PathPacket]) {
        for capture in &self.report.captures {
            let skipped: u64 = capture.tally.skipped().map(|(_, count)| count).sum();
            if capture.tally.used() + skipped != capture.tally.records() {
                verdict.blame(Fault::Unbalanced, || format!("{:?}", capture.tally));
            }
        }
        for packet in packets {
            match packet.fate {
                Fate::Delivered => verdict.delivered += packet.packets,
                Fate::Lost => verdict.lost += packet.packets,
                Fate::Missed | Fate::LostOrMissed | Fate::Ambiguous | Fate::Outside => {
                    verdict.unknown += packet.packets;
                }
                _ => {}
            }
        }
        let path_directions = &self.report.totals.path_directions;
        verdict.bottleneck_bps = [
            path_directions[0].bottleneck_bps,
            path_directions[1].bottleneck_bps,
        ];
        for (path_direction, (found, truth)) in
            verdict.bottleneck_bps.into_iter().zip(rates).enumerate()
        {
            if let (Some(found), Some(truth)) = (found, truth)
                && found.abs_diff(truth) > truth / 100 * RATE_PERCENT
            {
                verdict.blame(Fault::WrongRate, || {
                    format!("{found} bit/s instead of {truth}, direction {path_direction}")
                });
            }
        }
    }

    fn clocks(&self, verdict: &mut Verdict, packets: &[PathPacket]) {
        for step in self.report.clock.steps() {
            if !self.is_true_step(step.point, step.size, [step.src_place, step.dst_place]) {
                verdict.blame(Fault::InventedStep, || format!("{step:?}"));
            }
        }
        let Some(error) = self.report.clock.offset().error() else {
            return;
        };
        if error < TimeDelta::ZERO {
            verdict.blame(Fault::NegativeBound, || format!("± {error}"));
        }
        let first = packets
            .iter()
            .filter_map(|packet| Some((packet, packet.sent_record?, packet.received_record?)))
            .filter_map(|(packet, sent, _)| self.record(packet.path_direction.upstream(), sent))
            .min_by_key(|record| record.true_at);
        if let Some(first) = first {
            let truth = self.clocks[1].ahead(first.true_at) - self.clocks[0].ahead(first.true_at);
            let found = self.report.clock.offset().middle;
            if (found - truth).abs() > error.abs() + OFFSET_ROUNDING + self.coarseness() {
                verdict.blame(Fault::OffsetOutsideBound, || {
                    format!("{found} ± {error} where the truth is {truth}")
                });
            }
        }
    }

    /// True if a clock was stepped by `size` near one of `records`. Setting one clock back is
    /// equivalent to setting the other forward.
    fn is_true_step(&self, point: Point, size: TimeDelta, records: [u64; 2]) -> bool {
        let clocks = [(point, size), (point.opposite(), -size)];
        let near = |(at, by): &(Timestamp, TimeDelta), size: TimeDelta| {
            let is_near = Point::BOTH.iter().any(|point| {
                self.record(*point, records[point.index()])
                    .is_some_and(|record| (record.true_at - *at).abs() <= STEP_DISTANCE)
            });
            is_near && (*by - size).abs() <= TimeDelta::from_millis(1) + self.coarseness()
        };
        clocks.iter().any(|(point, size)| {
            let steps = self.clocks[point.index()].steps();
            steps.iter().any(|step| near(step, *size))
        })
    }

    fn packet(&self, verdict: &mut Verdict, packet: &PathPacket) {
        let upstream = packet.path_direction.upstream();
        let [sent, received] = self.records(packet);
        match (packet.fate, sent, received) {
            (Fate::Lost, Some(sent), _) if self.is_captured(packet, sent) => {
                verdict.blame(Fault::FalseLoss, || {
                    format!("record {:?} of {upstream}", packet.sent_record)
                });
            }
            (_, Some(sent), Some(received)) => {
                if !Pair::is_same(sent, received) {
                    let fault = match packet.fate {
                        Fate::Duplicate => Fault::FalseDuplicate,
                        _ => Fault::FalseMatch,
                    };
                    verdict.blame(fault, || Self::words(packet, sent, received));
                } else if let (Some(delay), Some(error)) =
                    (packet.one_way_delay, packet.one_way_delay_error)
                {
                    let truth = received.true_at - sent.true_at;
                    if (delay - truth).abs() > error + self.drift(truth) {
                        verdict.blame(Fault::DelayOutsideBound, || {
                            format!(
                                "{delay} ± {error} where the truth is {truth}: {}",
                                Self::words(packet, sent, received)
                            )
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// True if all of a departure is in the capture of the point where it arrives.
    fn is_captured(&self, packet: &PathPacket, sent: &Record) -> bool {
        let there = &self.ids[packet.path_direction.upstream().opposite().index()];
        self.pair.arrived(sent) && sent.ids.iter().all(|id| there.contains(id))
    }

    /// Compares the packets called lost that a capture missed with the bound of their number.
    fn losses(&self, verdict: &mut Verdict, packets: &[PathPacket]) {
        let bounds = CaptureLoss::of(&self.report.totals);
        for bound in bounds {
            let missed = packets.iter().filter(|packet| {
                let is_towards = packet.path_direction.upstream() == bound.point.opposite();
                let [sent, _] = self.records(packet);
                let arrived = sent
                    .is_some_and(|sent| self.pair.arrived(sent) && !self.is_captured(packet, sent));
                is_towards && packet.fate == Fate::Lost && arrived
            });
            let count: u64 = missed.clone().map(|packet| packet.packets).sum();
            verdict.missed_called_lost += count;
            if count > bound.possibly_missed {
                let first = missed.clone().next().and_then(|packet| packet.sent_record);
                verdict.blame(Fault::CaptureLossBeyondBound, || {
                    format!(
                        "{count} packets towards {} where the bound is {}, the first in record {first:?}",
                        bound.point, bound.possibly_missed
                    )
                });
            }
        }
    }

    /// Compares the queueing delays with the true delays above the smallest one of each way.
    fn queueing(&self, verdict: &mut Verdict, packets: &[PathPacket]) {
        let delays = packets.iter().filter_map(|packet| {
            let [Some(sent), Some(received)] = self.records(packet) else {
                return None;
            };
            packet.one_way_delay?;
            Pair::is_same(sent, received).then(|| (packet, received.true_at - sent.true_at))
        });
        let mut least: [Option<TimeDelta>; 2] = [None; 2];
        for (packet, delay) in delays.clone() {
            let least = &mut least[packet.path_direction.index()];
            *least = Some(least.map_or(delay, |least| least.min(delay)));
        }
        for (packet, delay) in delays {
            let least = least[packet.path_direction.index()].unwrap_or(delay);
            let truth = delay - least;
            if let (Some(found), Some(error)) = (packet.queueing_delay, packet.queueing_delay_error)
                && (found - truth).abs() > error + self.drift(delay)
            {
                verdict.blame(Fault::QueueingOutsideBound, || {
                    format!("{found} ± {error} where the truth is {truth}: {packet:?}")
                });
            }
        }
    }

    fn sample(&self, verdict: &mut Verdict, sample: &RttSample) {
        let near = sample.reference;
        let far = near.opposite();
        let arrived = sample.time + sample.owd_out;
        let departed = arrived + sample.turnaround;
        let returned = departed + sample.owd_back;
        let out = self.packets_of([(near, sample.time), (far, arrived)]);
        let back = self.packets_of([(far, departed), (near, returned)]);
        let truths = out
            .iter()
            .flat_map(|out| back.iter().map(|back| *out + *back));
        let rtt = sample.rtt;
        let Some(error) = truths.map(|truth| (rtt - truth).abs()).min() else {
            verdict.blame(Fault::FalseSample, || format!("{sample:?}"));
            return;
        };
        if error > sample.rtt_error + RTT_ROUNDING + self.drift(rtt) {
            verdict.blame(Fault::WrongRtt, || format!("off by {error}: {sample:?}"));
        }
    }

    /// True one-way delays of the packets recorded at both points at these times.
    fn packets_of(&self, [sent, received]: [(Point, Timestamp); 2]) -> Vec<TimeDelta> {
        let at = |(point, time): (Point, Timestamp)| {
            let side = &self.pair.sides[point.index()];
            let places = self.places[point.index()].get(&time);
            places
                .into_iter()
                .flatten()
                .map(|place| &side.records[*place])
        };
        let pairs = at(sent).flat_map(|sent| at(received).map(move |received| (sent, received)));
        pairs
            .filter(|(sent, received)| Pair::is_same(sent, received))
            .map(|(sent, received)| received.true_at - sent.true_at)
            .collect()
    }

    /// The records of a packet at the first and the second point on its way.
    fn records(&self, packet: &PathPacket) -> [Option<&Record>; 2] {
        let upstream = packet.path_direction.upstream();
        [
            packet
                .sent_record
                .and_then(|record| self.record(upstream, record)),
            packet
                .received_record
                .and_then(|record| self.record(upstream.opposite(), record)),
        ]
    }

    fn record(&self, point: Point, number: u64) -> Option<&Record> {
        let place = usize::try_from(number).ok()?;
        self.pair.sides[point.index()].records.get(place)
    }

    fn coarseness(&self) -> TimeDelta {
        self.clocks.iter().map(Clock::resolution).sum()
    }

    /// Maximum error of a time span because the rate of the clock itself is unknown: results are in
    /// time of a clock.
    fn drift(&self, span: TimeDelta) -> TimeDelta {
        let drift_ppm: i64 = self.clocks.iter().map(Clock::drift_ppm).sum();
        let drift_ns = i128::from(drift_ppm) * i128::from(span.as_nanos());
        TimeDelta::from_nanos((drift_ns / 1_000_000).unsigned_abs() as i64)
    }

    fn words(packet: &PathPacket, sent: &Record, received: &Record) -> String {
        format!(
            "{} of flow {:?}, record {:?} (true {}) and record {:?} (true {}), way {}",
            packet.fate.name(),
            packet.flow,
            packet.sent_record,
            sent.true_at.as_nanos(),
            packet.received_record,
            received.true_at.as_nanos(),
            packet.path_direction.name(),
        )
    }
}

/// The message of an error followed by the messages of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}
