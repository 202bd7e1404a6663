//! Losses and delays along several points against the simulator's records.

mod along;

use std::collections::{BTreeMap, HashMap};

use crate::common::spooled;
use along::{along, direction};
use tcpexp::PathSegment;
use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::{Fate, PathDirection};
use tcpexp_testkit::{CaptureSpec, Direction, Middle, Path, Scenario, TcpLoad, UdpLoad, simulate};
use tcpexp_units::{Skew, TimeDelta, Timestamp};

fn hop(delay_ms: i64, loss_ppm: u32) -> Path {
    Path {
        delay: TimeDelta::from_millis(delay_ms),
        loss_ppm,
        ..Path::default()
    }
}

/// Uploads, downloads and telephone calls over three hops that all lose packets.
fn three_hops() -> Scenario {
    Scenario {
        tcp: vec![
            TcpLoad {
                flows: 3,
                bytes: 1_500_000,
                ..TcpLoad::default()
            },
            TcpLoad {
                flows: 2,
                bytes: 400_000,
                direction: Direction::Reverse,
                ..TcpLoad::default()
            },
        ],
        udp: vec![UdpLoad {
            flows: 2,
            ..UdpLoad::default()
        }],
        delay: TimeDelta::from_millis(2),
        loss_ppm: 4_000,
        middles: vec![
            Middle {
                path: Path {
                    rate_bps: 20_000_000,
                    queue_bytes: 40_000,
                    ..hop(11, 9_000)
                },
                reverse: Some(hop(11, 2_000)),
                ..Middle::default()
            },
            Middle {
                path: hop(5, 15_000),
                ..Middle::default()
            },
        ],
        ..Scenario::default()
    }
}

#[test]
fn each_loss_is_on_its_segment_at_three_and_four_points() {
    for points in [3, 4] {
        let mut scenario = three_hops();
        scenario.middles.truncate(points - 2);
        let found = along(&scenario);
        assert_eq!(found.points, points);
        for segment in found.segments() {
            assert!(found.lost(segment, PathDirection::Out) > 10, "{segment}");
        }
        found.assert_losses_are_true();
        for way in PathDirection::BOTH {
            let sum: u64 = found.segments().map(|s| found.totals(s, way).lost()).sum();
            let outside: u64 = found
                .segments()
                .chain([found.whole()])
                .map(|s| found.totals(s, way).unknown())
                .sum();
            let whole = found.totals(found.whole(), way).lost();
            assert!(
                sum.abs_diff(whole) <= outside,
                "{way:?} {sum} {whole} {outside}"
            );
        }
        assert!(found.assert_delays_sum() > 2_000);
        found.assert_delays_are_true();
    }
}

#[test]
fn delays_sum_though_clocks_differ_by_seconds_and_drift() {
    let mut scenario = three_hops();
    (scenario.offset, scenario.skew) = (TimeDelta::from_seconds(-9), Skew::from_ppt(30_000_000));
    let clocks = [(7_000, 80), (-123_456, -120)];
    for (middle, (offset_ms, ppm)) in scenario.middles.iter_mut().zip(clocks) {
        middle.offset = TimeDelta::from_millis(offset_ms);
        middle.skew = Skew::from_ppt(ppm * 1_000_000);
    }
    let found = along(&scenario);
    found.assert_losses_are_true();
    assert!(found.assert_delays_sum() > 2_000);
    found.assert_delays_are_true();
}

#[test]
fn clocks_of_the_whole_path_are_the_sum_of_its_segments() {
    let found = along(&three_hops());
    let offset = |report: &tcpexp::SegmentReport| report.report.clock.offset().error().unwrap();
    let parts: TimeDelta = found.report.segments.iter().map(offset).sum();
    // A segment's first and last packet are not those of the whole path: its skew may drift in between.
    let more = offset(found.report.whole.as_ref().unwrap()) - parts;
    let most = TimeDelta::from_micros(1);
    assert!((TimeDelta::ZERO..most).contains(&more), "{more}");
}

#[test]
fn packets_that_a_middle_capture_missed_are_not_lost() {
    let mut scenario = three_hops();
    scenario.middles[0].missed_ppm = 20_000;
    let found = along(&scenario);
    let [first, second, _] = [0, 1, 2].map(|from| PathSegment { from, to: from + 1 });
    let at_middle: HashMap<u64, Timestamp> = found.times(1);
    for (segment, way) in [(first, PathDirection::Out), (second, PathDirection::Back)] {
        let totals = found.totals(segment, way);
        // Every packet that a later point shows passed the middle one.
        let beyond = if way == PathDirection::Out { 2 } else { 0 };
        let passed = found.times(beyond);
        let missed = passed.keys().filter(|packet| {
            found.truth.packet(**packet).direction == direction(way)
                && !at_middle.contains_key(packet)
        });
        let missed = missed.count() as u64;
        assert!(missed > 10, "{missed}");
        let most = missed + found.lost(segment, way);
        assert!(
            (missed..=most).contains(&totals.missed()),
            "{missed} {totals:?}"
        );
        let lost = found.lost(segment, way);
        let most = totals.lost() + totals.lost_or_missed() + totals.counts.outside;
        assert!((totals.lost()..=most).contains(&lost), "{lost} {totals:?}");
    }
    for row in &found.rows[&first] {
        let (Fate::Lost, PathDirection::Out) = (row.fate, row.path_direction) else {
            continue;
        };
        let packet = found
            .truth
            .packet(found.packet(0, row.sent_record.unwrap()));
        assert_eq!(packet.lost_on, Some(0), "{row:?}");
    }
    for way in PathDirection::BOTH {
        let whole = found.totals(found.whole(), way);
        assert_eq!(whole.missed(), 0);
        let lost = found.lost(found.whole(), way);
        assert!(
            lost - whole.lost() <= whole.counts.outside,
            "{lost} {whole:?}"
        );
    }
    assert!(found.assert_delays_sum() > 2_000);
}

#[test]
fn losses_of_super_packets_are_within_their_bounds_on_each_segment() {
    for missed_ppm in [0, 10_000] {
        let mut scenario = three_hops();
        scenario.src.tso_segments = 8;
        scenario.dst.gro_segments = 4;
        scenario.middles[1].missed_ppm = missed_ppm;
        let found = along(&scenario);
        for way in PathDirection::BOTH {
            for segment in found.segments().chain([found.whole()]) {
                let (totals, lost) = (found.totals(segment, way), found.lost(segment, way));
                // What a capture missed at one end may be lost behind it.
                let most = totals.lost() + totals.unknown() + totals.missed();
                assert!(totals.lost() <= lost, "{segment} {way:?} {lost} {totals:?}");
                let is_certain = missed_ppm == 0;
                assert!(
                    !is_certain || lost <= most,
                    "{segment} {way:?} {lost} {totals:?}"
                );
            }
        }
    }
}

#[test]
fn counts_of_each_flow_are_those_of_its_rows() {
    let mut scenario = three_hops();
    scenario.middles[1].missed_ppm = 10_000;
    let found = along(&scenario);
    for (segment, flows) in &found.flows {
        let mut expected: BTreeMap<_, u64> = BTreeMap::new();
        for row in &found.rows[segment] {
            *expected
                .entry((row.flow, row.direction, row.fate))
                .or_default() += row.packets;
        }
        for flow in flows {
            for way in tcpexp::Direction::BOTH {
                let summary = &flow.directions[way.index()];
                for (fate, packets) in [
                    (Fate::Delivered, summary.delivered()),
                    (Fate::Lost, summary.lost()),
                    (Fate::Missed, summary.missed()),
                    (Fate::LostOrMissed, summary.lost_or_missed()),
                ] {
                    let key = (flow.summary.flow.flow, way, fate);
                    assert_eq!(expected.get(&key).copied().unwrap_or(0), packets, "{key:?}");
                }
            }
        }
    }
}

#[test]
fn a_flow_has_one_number_and_one_initiator_in_all_segments() {
    let mut scenario = three_hops();
    // The last capture begins in the middle of the transfers, and takes some ends for initiators.
    scenario.dst = CaptureSpec {
        starts_after: TimeDelta::from_millis(400),
        ..CaptureSpec::default()
    };
    scenario.nat = true;
    let found = along(&scenario);
    let mut flows = HashMap::new();
    for (segment, ended) in &found.flows {
        assert_eq!(ended.len(), 7, "{segment}");
        for flow in ended {
            let pair = &flow.summary.flow;
            let ends = (pair.protocol, pair.initiator, pair.responder);
            let before = *flows.entry(pair.flow).or_insert(ends);
            assert_eq!(before, ends);
            let is_last = segment.to == found.points - 1;
            assert_eq!(pair.translated.is_some(), is_last, "{segment} {pair:?}");
            assert_eq!(flow.forward, Some(PathDirection::Out));
        }
    }
    assert_eq!(flows.len(), 7);
}

#[test]
fn two_points_have_one_segment_and_the_rows_of_two_captures() {
    let scenario = Scenario {
        middles: Vec::new(),
        offset: TimeDelta::from_seconds(3),
        ..three_hops()
    };
    let captures = simulate(&scenario);
    let points = [&captures.src, &captures.dst].map(|file| spooled("point", file));
    let found = along(&scenario);
    assert!(found.report.whole.is_none());
    let expected = crate::common::path::Measurement::of(&points[0], &points[1]);
    let of_rows = |rows: &[PathPacket]| {
        let mut rows: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.sent_record,
                    row.received_record,
                    row.fate,
                    row.queueing_delay,
                )
            })
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(
        of_rows(&found.rows[&PathSegment { from: 0, to: 1 }]),
        of_rows(&expected.packets)
    );
}
