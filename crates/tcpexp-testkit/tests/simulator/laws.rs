//! Laws of random scenarios.

use std::collections::HashMap;

use proptest::prelude::*;
use tcpexp_testkit::{CaptureSpec, Fate, IpVersion, Point, Scenario, simulate};
use tcpexp_units::TimeDelta;

use super::{DIRECTIONS, cut, mixed, sightings};

fn any_scenario() -> impl Strategy<Value = Scenario> {
    let path = (0..30_000_u32, 0..20_000_u32, 0..3_000_i64, any::<bool>());
    let offload = (1..50_u32, 1..50_u32);
    let host = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (any::<u64>(), path, offload, host).prop_map(
        |(
            seed,
            (loss_ppm, duplicate_ppm, jitter, reorders),
            (tso, gro),
            (v6, nat, sack, timestamps),
        )| {
            let mut scenario = Scenario {
                seed,
                loss_ppm,
                duplicate_ppm,
                jitter: TimeDelta::from_micros(jitter),
                reorders,
                nat,
                src: CaptureSpec {
                    tso_segments: tso,
                    ..CaptureSpec::default()
                },
                dst: CaptureSpec {
                    gro_segments: gro,
                    ..CaptureSpec::default()
                },
                ..mixed()
            };
            for load in &mut scenario.tcp {
                load.ip = if v6 { IpVersion::V6 } else { IpVersion::V4 };
                load.sack = sack;
                load.timestamps = timestamps;
            }
            scenario
        },
    )
}

fn assert_fates(scenario: &Scenario) -> Result<(), TestCaseError> {
    let captures = simulate(scenario);
    let truth = &captures.truth;
    for direction in DIRECTIONS {
        let totals = truth.summary.direction(direction);
        let packets = truth
            .packets
            .iter()
            .filter(|packet| packet.direction == direction);
        let fates: Vec<Fate> = packets.map(|packet| packet.fate).collect();
        let count = |fate| fates.iter().filter(|one| **one == fate).count() as u64;
        prop_assert_eq!(totals.sent + totals.duplicated, fates.len() as u64);
        prop_assert_eq!(
            [totals.arrived, totals.dropped, totals.lost, 0],
            [Fate::Arrived, Fate::Dropped, Fate::Lost, Fate::OnTheWay].map(count)
        );
        let flows = &truth.summary.flows;
        let way = direction as usize;
        prop_assert_eq!(
            flows.iter().map(|flow| flow.sent[way]).sum::<u64>(),
            totals.sent
        );
        let lost: u64 = flows.iter().map(|flow| flow.lost[way]).sum();
        prop_assert_eq!(lost, totals.dropped + totals.lost);
    }
    prop_assert!(
        truth.summary.flows[..3].iter().all(|flow| flow.completed),
        "{:?}",
        truth.summary.flows
    );
    for packet in &truth.packets {
        let late = packet.downstream_at.map(|at| at - packet.upstream_at);
        prop_assert!(late.is_none_or(|late| late > scenario.path(packet.direction).delay));
    }
    Ok(())
}

fn assert_records(scenario: &Scenario) -> Result<(), TestCaseError> {
    let captures = simulate(scenario);
    for point in [Point::Src, Point::Dst] {
        let seen = sightings(&captures, point);
        prop_assert!(seen.is_sorted_by_key(|(record, _)| record.at));
        for (record, ids) in &seen {
            prop_assert!(record.checksums_are_valid());
            let inside: u32 = ids
                .iter()
                .map(|id| captures.truth.packet(*id).payload_bytes)
                .sum();
            prop_assert_eq!(inside as usize, record.payload().len());
        }
    }
    Ok(())
}

fn assert_pieces(scenario: &Scenario) -> Result<(), TestCaseError> {
    let captures = simulate(scenario);
    let mut sent = HashMap::new();
    let mut arrived = Vec::new();
    for point in [Point::Src, Point::Dst] {
        for (record, ids) in sightings(&captures, point) {
            for (id, bytes) in cut(&captures, &record, &ids) {
                if captures.truth.packet(id).direction.upstream() == point {
                    sent.insert(id, bytes);
                } else {
                    arrived.push((id, bytes));
                }
            }
        }
    }
    for (id, bytes) in arrived {
        prop_assert!(sent[&captures.truth.original(id)] == bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_arrives_or_is_lost_and_every_flow_completes(scenario in any_scenario()) {
        assert_fates(&scenario)?;
    }

    #[test]
    fn every_record_is_ordered_valid_and_matches_the_truth(scenario in any_scenario()) {
        assert_records(&scenario)?;
    }

    #[test]
    fn segments_carry_exactly_the_bytes_of_their_super_segment(scenario in any_scenario()) {
        assert_pieces(&scenario)?;
    }
}

/// Scenarios of earlier random failures of the simulator.
#[test]
fn the_laws_hold_for_past_counterexamples() {
    let plain = |seed, ip| {
        let mut scenario = Scenario { seed, ..mixed() };
        for load in &mut scenario.tcp {
            (load.ip, load.sack, load.timestamps) = (ip, false, false);
        }
        scenario
    };
    let mut offloaded = Scenario {
        loss_ppm: 4254,
        duplicate_ppm: 596,
        jitter: TimeDelta::from_micros(910),
        reorders: true,
        ..plain(4_012_133_613_855_827_648, IpVersion::V6)
    };
    offloaded.src.tso_segments = 21;
    offloaded.dst.gro_segments = 2;
    for scenario in [plain(0, IpVersion::V4), offloaded] {
        assert_fates(&scenario).unwrap();
        assert_records(&scenario).unwrap();
        assert_pieces(&scenario).unwrap();
    }
}
