//! Properties of every simulated path.
#![allow(clippy::unwrap_used, reason = "a panic is a failed test")]

mod laws;
mod reader;

use std::collections::{HashMap, HashSet};

use reader::{Record, records};
use tcpexp_testkit::{
    CaptureSpec, ClockStep, Congestion, Direction, Framing, IpId, Point, Scenario, TcpLoad,
    TwoCaptures, UdpLoad, UdpPayload, flag, simulate, simulate_into,
};
use tcpexp_units::{Skew, TimeDelta};

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Reverse];

/// Two uploads, a download and a telephone call.
fn mixed() -> Scenario {
    let upload = TcpLoad {
        flows: 2,
        bytes: 300_000,
        ..TcpLoad::default()
    };
    let download = TcpLoad {
        flows: 1,
        direction: Direction::Reverse,
        sack: false,
        ..upload
    };
    Scenario {
        tcp: vec![upload, download],
        udp: vec![UdpLoad {
            datagrams: 30,
            ..UdpLoad::default()
        }],
        rate_bps: 20_000_000,
        queue_bytes: 60_000,
        ..Scenario::default()
    }
}

/// Returns the records of a capture with the ids of their packets.
fn sightings(captures: &TwoCaptures, point: Point) -> Vec<(Record, Vec<u64>)> {
    let bytes = if point == Point::Src {
        &captures.src
    } else {
        &captures.dst
    };
    let sightings = captures.truth.sightings(point);
    let records = records(bytes);
    assert_eq!(records.len(), sightings.records().len());
    let ids = (0..records.len()).map(|ordinal| sightings.packets(ordinal).to_vec());
    records.into_iter().zip(ids).collect()
}

/// Splits a record into its packets: id, sequence number and payload of each.
fn cut(captures: &TwoCaptures, record: &Record, ids: &[u64]) -> Vec<(u64, (u32, Vec<u8>))> {
    let (mut seq, mut rest) = (record.seq(), record.payload());
    let mut pieces = Vec::new();
    for id in ids {
        let len = captures.truth.packet(*id).payload_bytes;
        let (piece, left) = rest.split_at(len as usize);
        pieces.push((*id, (seq, piece.to_vec())));
        (seq, rest) = (seq.wrapping_add(len), left);
    }
    pieces
}

#[test]
fn same_seed_gives_same_bytes_in_memory_and_in_a_stream() {
    let scenario = Scenario {
        loss_ppm: 20_000,
        ..mixed()
    };
    let (first, second) = (simulate(&scenario), simulate(&scenario));
    assert_eq!((&first.src, &first.dst), (&second.src, &second.dst));
    assert_eq!(first.truth, second.truth);
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    let summary = simulate_into(&scenario, &mut src, &mut dst).unwrap();
    assert_eq!((src, dst), (first.src, first.dst));
    assert_eq!(summary, first.truth.summary);
    let other = simulate(&Scenario {
        seed: 2,
        ..scenario
    });
    assert_ne!(other.src, second.src);
}

#[test]
fn a_super_segment_becomes_packets_with_counting_ids_and_one_push() {
    let scenario = Scenario {
        src: CaptureSpec {
            tso_segments: 44,
            ..CaptureSpec::default()
        },
        ..Scenario::default()
    };
    let captures = simulate(&scenario);
    let mut at_dst = HashMap::new();
    for (record, ids) in sightings(&captures, Point::Dst) {
        at_dst.insert(ids[0], record);
    }
    let mut longest = 0;
    for (record, ids) in sightings(&captures, Point::Src) {
        longest = longest.max(ids.len());
        for (number, id) in ids.iter().enumerate().filter(|_| ids.len() > 1) {
            // Packets dropped at the queue are absent at DST.
            let Some(piece) = at_dst.get(id) else {
                continue;
            };
            assert_eq!(
                usize::from(piece.ip_id().wrapping_sub(record.ip_id())),
                number
            );
            assert_eq!(
                u16::from(piece.flags()) & flag::PSH != 0,
                number + 1 == ids.len()
            );
        }
    }
    assert!(longest > 20, "{longest}");
}

#[test]
fn lost_segments_are_retransmitted_with_the_same_bytes() {
    for sack in [true, false] {
        for congestion in [Congestion::Aimd, Congestion::Fixed(40)] {
            let load = TcpLoad {
                sack,
                congestion,
                timestamps: sack,
                ..TcpLoad::default()
            };
            let scenario = Scenario {
                tcp: vec![load],
                loss_ppm: 20_000,
                ..Scenario::default()
            };
            let captures = simulate(&scenario);
            let flow = captures.truth.summary.flows[0];
            assert!(flow.completed && flow.lost[0] > 5 && flow.retransmitted[0] >= flow.lost[0]);
            // Without SACK, a timeout retransmits the whole window.
            assert!(
                !sack || flow.retransmitted[0] < 2 * flow.lost[0],
                "{flow:?}"
            );
            let mut sent = HashMap::new();
            for (record, _) in sightings(&captures, Point::Src) {
                if record.is_from_client() && !record.payload().is_empty() {
                    let before = sent
                        .entry(record.seq())
                        .or_insert_with(|| record.payload().to_vec());
                    assert_eq!(before, record.payload());
                }
            }
        }
    }
}

#[test]
fn record_times_differ_from_true_time_only_by_the_configured_clock() {
    let scenario = Scenario {
        offset: TimeDelta::from_seconds(3 * 3600),
        skew: Skew::from_ppt(50_000_000),
        clock_step: Some(ClockStep {
            point: Point::Src,
            at: TimeDelta::from_millis(200),
            by: TimeDelta::from_millis(-70),
        }),
        ..Scenario::default()
    };
    let captures = simulate(&scenario);
    for point in [Point::Src, Point::Dst] {
        let truth = captures.truth.sightings(point).records();
        for ((record, ids), sighting) in sightings(&captures, point).iter().zip(truth) {
            assert_eq!(record.at, scenario.clock(point, sighting.at));
            assert_eq!(captures.truth.packet(ids[0]).at(point), Some(sighting.at));
        }
    }
}

#[test]
fn translation_changes_the_client_and_nothing_else() {
    let captures = simulate(&Scenario {
        nat: true,
        ..Scenario::default()
    });
    let flow = captures.truth.summary.flows[0];
    assert_ne!(flow.client, flow.client_at_dst);
    for (point, client) in [(Point::Src, flow.client), (Point::Dst, flow.client_at_dst)] {
        for (record, _) in sightings(&captures, point) {
            assert_eq!(record.client(), client);
        }
    }
}

#[test]
fn a_capture_may_start_late_end_early_and_duplicate_records() {
    let whole = simulate(&Scenario::default());
    let partial = CaptureSpec {
        starts_after: TimeDelta::from_millis(50),
        stops_after: Some(TimeDelta::from_millis(100)),
        twice: true,
        snaplen: 70,
        framing: Framing::Sll2,
        ..CaptureSpec::default()
    };
    let scenario = Scenario {
        dst: partial,
        ..Scenario::default()
    };
    let captures = simulate(&scenario);
    let within = |at| {
        let since = at - scenario.start;
        since >= TimeDelta::from_millis(50) && since < TimeDelta::from_millis(100)
    };
    let expected = whole
        .truth
        .dst
        .records()
        .iter()
        .filter(|record| within(record.at))
        .count();
    let kept = captures.truth.dst.records();
    assert_eq!(kept.len(), 2 * expected);
    assert!(expected > 0 && kept.iter().all(|record| within(record.at)));
    assert_eq!(captures.truth.summary.dst_records, kept.len() as u64);
}

#[test]
fn ip_id_follows_its_configuration() {
    let ids = |ip_id| -> Vec<u16> {
        let captures = simulate(&Scenario {
            ip_id,
            ..Scenario::default()
        });
        let seen = sightings(&captures, Point::Src);
        let sent = seen.iter().filter(|(record, _)| record.is_from_client());
        sent.map(|(record, _)| record.ip_id()).collect()
    };
    assert!(ids(IpId::Zero).iter().all(|id| *id == 0));
    assert!(ids(IpId::Wrapping(16)).iter().all(|id| *id < 16));
    assert!(
        ids(IpId::Counter)
            .windows(2)
            .all(|pair| pair[1] == pair[0].wrapping_add(1))
    );
}

#[test]
fn constant_datagrams_are_identical_and_numbered_ones_are_not() {
    let distinct = |payload| {
        let load = UdpLoad {
            payload,
            reverse: false,
            ..UdpLoad::default()
        };
        let scenario = Scenario {
            tcp: Vec::new(),
            udp: vec![load],
            ..Scenario::default()
        };
        let captures = simulate(&scenario);
        let payloads: HashSet<Vec<u8>> = sightings(&captures, Point::Dst)
            .iter()
            .map(|(record, _)| record.payload().to_vec())
            .collect();
        payloads.len()
    };
    assert_eq!(
        (
            distinct(UdpPayload::Constant),
            distinct(UdpPayload::Numbered)
        ),
        (1, 500)
    );
}

#[test]
fn silence_after_n_packets_lets_the_rest_arrive() {
    let scenario = Scenario {
        max_packets: Some(300),
        ..mixed()
    };
    let summary = simulate(&scenario).truth.summary;
    let [forward, reverse] = DIRECTIONS.map(|direction| *summary.direction(direction));
    assert!((300..310).contains(&(forward.sent + reverse.sent)));
    assert_eq!(forward.sent, forward.arrived + forward.dropped);
}
