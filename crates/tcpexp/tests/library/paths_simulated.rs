//! Packet fates and delays against the simulator's records.

use std::collections::{HashMap, HashSet};

use crate::common::path::Measurement;
use crate::common::spooled;
use tcpexp::Recording;
use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::{Fate, PathDirection};
use tcpexp_testkit::{
    CaptureSpec, ClockStep, Path as SimulatedPath, Point, Scenario, TcpLoad, Truth, UdpLoad,
    script, simulate,
};
use tcpexp_units::{Skew, TimeDelta};

/// Simulates and measures a scenario, and checks the rows against the simulator's records.
fn assert_simulated(scenario: &Scenario) -> Measurement {
    let captures = simulate(scenario);
    let [src, dst] =
        [("src", &captures.src), ("dst", &captures.dst)].map(|(name, file)| spooled(name, file));
    let found = Measurement::of(&src, &dst);
    assert_fates_are_true(&captures.truth, &found);
    assert_delays_are_simulated(&captures.truth, &found);
    assert_order_is_true(&captures.truth, &found);
    found
}

/// Returns the packets in the upstream record of a row.
fn sent<'a>(truth: &'a Truth, row: &PathPacket) -> Option<&'a [u64]> {
    let point = match row.path_direction {
        PathDirection::Out => Point::Src,
        PathDirection::Back => Point::Dst,
    };
    let record = usize::try_from(row.sent_record?).unwrap();
    Some(truth.sightings(point).packets(record))
}

fn received<'a>(truth: &'a Truth, row: &PathPacket) -> Option<&'a [u64]> {
    let point = match row.path_direction {
        PathDirection::Out => Point::Dst,
        PathDirection::Back => Point::Src,
    };
    let record = usize::try_from(row.received_record?).unwrap();
    Some(truth.sightings(point).packets(record))
}

/// Returns the packets of which neither the original nor a copy arrived.
fn never_arrived(truth: &Truth) -> HashSet<u64> {
    let all = 0..truth.packets.len() as u64;
    let originals = all.clone().filter(|id| truth.original(*id) == *id);
    let arrived: HashSet<u64> = all
        .filter(|id| truth.packet(*id).downstream_at.is_some())
        .map(|id| truth.original(id))
        .collect();
    originals.filter(|id| !arrived.contains(id)).collect()
}

fn assert_fates_are_true(truth: &Truth, found: &Measurement) {
    let never_arrived = never_arrived(truth);
    let mut lost = HashSet::new();
    let mut edge = 0;
    for row in &found.packets {
        let (sent, received) = (sent(truth, row), received(truth, row));
        match row.fate {
            Fate::Delivered => {
                let end = truth.original(*received.unwrap().last().unwrap());
                let same = sent.unwrap().iter().any(|id| truth.original(*id) == end);
                assert!(same, "{row:?}");
            }
            Fate::Lost => {
                let gone = sent.unwrap().iter().filter(|id| never_arrived.contains(id));
                assert!(gone.clone().count() as u64 >= row.packets, "{row:?}");
                lost.extend(gone.copied());
            }
            Fate::Outside => edge += row.packets,
            Fate::Duplicate => {
                let original = truth.original(received.unwrap()[0]);
                let is_same = |p: &PathPacket| {
                    p.fate == Fate::Delivered
                        && self::received(truth, p)
                            .unwrap()
                            .iter()
                            .any(|id| truth.original(*id) == original)
                };
                assert!(found.packets.iter().any(is_same), "{row:?}");
            }
            Fate::Missed | Fate::LostOrMissed | Fate::Ambiguous | Fate::Copy | Fate::Unseen => {
                panic!("{row:?}")
            }
        }
    }
    assert!(lost.len() as u64 + edge >= never_arrived.len() as u64);
    assert!(edge <= 2, "{edge}");
}

/// True one-way delay of a delivered packet.
fn true_owd(truth: &Truth, row: &PathPacket) -> TimeDelta {
    let [upstream, downstream] = match row.path_direction {
        PathDirection::Out => [Point::Src, Point::Dst],
        PathDirection::Back => [Point::Dst, Point::Src],
    };
    let at = |point, record: Option<u64>| {
        truth.sightings(point).records()[usize::try_from(record.unwrap()).unwrap()].at
    };
    at(downstream, row.received_record) - at(upstream, row.sent_record)
}

/// Checks the queueing delays, within the resolution of the captures and the error of the skew.
fn assert_delays_are_simulated(truth: &Truth, found: &Measurement) {
    for path_direction in PathDirection::BOTH {
        let delivered = || found.delivered(path_direction);
        let Some(least) = delivered().map(|row| true_owd(truth, row)).min() else {
            continue;
        };
        for row in delivered() {
            let off = row.queueing_delay.unwrap() - (true_owd(truth, row) - least);
            assert!(off.abs() <= TimeDelta::from_micros(20), "{off} in {row:?}");
        }
    }
    assert_delays_are_within_their_errors(truth, found);
}

/// Checks that the true delays are within the errors of the rows. Rows without a delay have none.
fn assert_delays_are_within_their_errors(truth: &Truth, found: &Measurement) {
    for path_direction in PathDirection::BOTH {
        let delivered = || {
            found
                .delivered(path_direction)
                .filter(|row| row.one_way_delay.is_some())
        };
        let Some(least) = delivered().map(|row| true_owd(truth, row)).min() else {
            continue;
        };
        for row in delivered() {
            let delay = true_owd(truth, row);
            let off = row.queueing_delay.unwrap() - (delay - least);
            let errors = [row.queueing_delay_error, row.one_way_delay_error];
            // One direction alone shows neither the offset of the clocks nor how it changed.
            let [Some(of_queueing), Some(of_one_way)] = errors else {
                assert_eq!(errors, [None; 2], "{row:?}");
                continue;
            };
            assert!(off.abs() <= of_queueing, "{off} > {of_queueing} in {row:?}");
            let off = row.one_way_delay.unwrap() - delay;
            assert!(off.abs() <= of_one_way, "{off} > {of_one_way} in {row:?}");
        }
    }
}

/// Checks the order: a packet is reordered if a later packet of its flow and direction arrived
/// before it.
fn assert_order_is_true(truth: &Truth, found: &Measurement) {
    if found.report.identification.recut {
        return;
    }
    let mut arrived: HashMap<(u32, PathDirection), Vec<(u64, &PathPacket)>> = HashMap::new();
    for row in found
        .packets
        .iter()
        .filter(|row| row.fate == Fate::Delivered)
    {
        let id = truth.original(received(truth, row).unwrap()[0]);
        let key = (truth.packet(id).flow, row.path_direction);
        arrived.entry(key).or_default().push((id, row));
    }
    for arrivals in arrived.values_mut() {
        arrivals.sort_by_key(|(_, row)| row.received_record);
        for (place, (id, row)) in arrivals.iter().enumerate() {
            let left = |id: u64| (truth.packet(id).upstream_at, id);
            let overtaker = arrivals[..place]
                .iter()
                .position(|(other, _)| left(*other) > left(*id));
            let extent = overtaker.map(|other| (place - other) as u64);
            assert_eq!(row.reordered, Some(extent.is_some()), "{row:?}");
            assert_eq!(row.reordering_extent_packets, extent, "{row:?}");
        }
    }
}

fn rough() -> Scenario {
    Scenario {
        tcp: vec![TcpLoad::default()],
        udp: vec![UdpLoad::default()],
        loss_ppm: 20_000,
        duplicate_ppm: 10_000,
        jitter: TimeDelta::from_millis(2),
        reorders: true,
        ..Scenario::default()
    }
}

#[test]
fn fates_of_simulated_packets_match_the_truth() {
    let found = assert_simulated(&rough());
    let out = found.path_direction(PathDirection::Out);
    assert!(
        out.lost() > 10 && out.duplicated() > 3 && out.reordered > 10,
        "{out:?}"
    );
}

#[test]
fn fates_match_the_truth_on_other_clocks() {
    for (hours, ppm) in [(-3, -200), (3, 200)] {
        assert_simulated(&Scenario {
            offset: TimeDelta::from_seconds(hours * 3600),
            skew: Skew::from_ppt(ppm * 1_000_000),
            tcp: vec![TcpLoad {
                bytes: 10_000_000,
                ..TcpLoad::default()
            }],
            loss_ppm: 1_000,
            ..Scenario::default()
        });
    }
}

/// Few packets show a step near an end, so it may be unknown or misplaced.
#[test]
fn delays_are_within_their_errors_wherever_a_clock_steps() {
    let clean = simulate(&rough()).truth;
    let records = clean.sightings(Point::Src).records();
    let lasted = records[records.len() - 1].at - records[0].at;
    for point in [Point::Src, Point::Dst] {
        for permille in [10, 60, 500, 940, 990] {
            for by_micros in [-5_000, -300, 300, 5_000] {
                let scenario = Scenario {
                    clock_step: Some(ClockStep {
                        point,
                        at: TimeDelta::from_nanos(lasted.as_nanos() / 1_000 * permille),
                        by: TimeDelta::from_micros(by_micros),
                    }),
                    ..rough()
                };
                let captures = simulate(&scenario);
                let [src, dst] = [("src", &captures.src), ("dst", &captures.dst)]
                    .map(|(name, file)| spooled(name, file));
                let found = Measurement::of(&src, &dst);
                assert_delays_are_within_their_errors(&captures.truth, &found);
            }
        }
    }
}

#[test]
fn fates_match_the_truth_for_parts_of_super_packets() {
    let found = assert_simulated(&Scenario {
        src: CaptureSpec {
            tso_segments: 8,
            ..CaptureSpec::default()
        },
        loss_ppm: 20_000,
        ..Scenario::default()
    });
    assert!(found.report.identification.recut);
    assert!(found.path_direction(PathDirection::Out).lost() > 5);
}

#[test]
fn rate_of_the_simulated_bottleneck_is_found_in_each_direction() {
    let found = assert_simulated(&Scenario {
        tcp: vec![TcpLoad {
            bytes: 3_000_000,
            ..TcpLoad::default()
        }],
        rate_bps: 5_000_000,
        queue_bytes: 60_000,
        reverse: Some(SimulatedPath {
            rate_bps: 1_000_000_000,
            ..SimulatedPath::default()
        }),
        ..Scenario::default()
    });
    let rate = found
        .path_direction(PathDirection::Out)
        .bottleneck_bps
        .unwrap();
    assert!(rate.abs_diff(5_000_000) < 100_000, "{rate}");
    assert_eq!(
        found.path_direction(PathDirection::Back).bottleneck_bps,
        None
    );
}

#[test]
fn without_reverse_packets_the_offset_has_no_bound() {
    let found = assert_simulated(&Scenario {
        tcp: Vec::new(),
        udp: vec![UdpLoad {
            reverse: false,
            ..UdpLoad::default()
        }],
        ..Scenario::default()
    });
    assert_eq!(found.report.clock.offset().error(), None);
    assert_eq!(found.flows.len(), found.ended.len());
}

#[test]
fn a_mark_stands_beside_the_queueing_delay_of_its_packet() {
    // Every fourth packet waits 20 ms in a queue, which marks it.
    let is_queued = |number: u32| number % 4 == 3;
    let capture = |is_at_dst: bool| {
        let mut lines = Vec::new();
        for number in 0..40 {
            let is_marked = is_at_dst && is_queued(number);
            let delay = if is_at_dst { 10 } else { 0 } + if is_marked { 20 } else { 0 };
            let (start, ecn) = (1 + 1000 * number, if is_marked { 3 } else { 2 });
            let at = f64::from(50 * number + delay) / 1e3;
            // An IP ID of 0 identifies nothing.
            let (end, id) = (start + 1000, number + 1);
            lines.push(format!("{at:.3} > {start}:{end}(1000) id {id} tos {ecn}"));
        }
        let file = script::capture(&lines.join("\n"));
        Recording::spool("capture".into(), file.as_slice()).unwrap()
    };
    let found = Measurement::of(&capture(false), &capture(true));
    for packet in &found.packets {
        let number = u32::try_from(packet.sent_record.unwrap()).unwrap();
        assert_eq!(packet.ce_marked, Some(is_queued(number)), "{packet:?}");
        let queued = TimeDelta::from_millis(if is_queued(number) { 20 } else { 0 });
        assert_eq!(packet.queueing_delay, Some(queued), "{packet:?}");
    }
    assert_eq!(found.path_direction(PathDirection::Out).ce_marked, 10);
}
