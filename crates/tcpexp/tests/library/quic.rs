//! A QUIC connection of a real implementation, captured at both ends and in the middle of the path.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use tcpexp::{CaptureOptions, Error, Recording, flows, single_rtt};
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_measure::quic::SpinState;
use tcpexp_measure::rtt::{RttMethod, SingleRttRow, SingleRttSample};
use tcpexp_units::TimeDelta;
use tcpexp_wire::QuicVersion;

use crate::common::fixture;
use crate::common::path::Measurement;

fn capture(point: &str) -> Recording {
    Recording::open(&fixture("quic-v2-10mbit-40ms").join(format!("{point}.pcap.gz"))).unwrap()
}

fn samples(point: &str) -> Vec<SingleRttSample> {
    let mut all = Vec::new();
    single_rtt(&capture(point), &CaptureOptions::default(), |rows| {
        all.extend(rows.into_iter().filter_map(|row| match row {
            SingleRttRow::Sample(sample) => Some(sample),
            SingleRttRow::Began(_) | SingleRttRow::Ended(_) => None,
        }));
        Ok::<(), Error>(())
    })
    .unwrap();
    all
}

fn connections(point: &str) -> Vec<ConnectionSummary> {
    let mut all = Vec::new();
    flows(&capture(point), &CaptureOptions::default(), |rows| {
        all.extend(rows);
        Ok::<(), Error>(())
    })
    .unwrap();
    all.sort_by_key(|connection| connection.flow);
    all
}

/// The bytes of a capture's packets with their times in nanoseconds. All packets are different.
fn packets(point: &str) -> Vec<(i64, Vec<u8>)> {
    let file = fixture("quic-v2-10mbit-40ms").join(format!("{point}.pcap.gz"));
    let mut bytes = Vec::new();
    MultiGzDecoder::new(File::open(file).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    let mut packets = Vec::new();
    let mut rest = &bytes[24..];
    while !rest.is_empty() {
        let word = |place: usize| {
            let word = rest[4 * place..4 * place + 4].try_into().unwrap();
            u32::from_le_bytes(word)
        };
        let (seconds, nanos, len) = (word(0), word(1), word(2) as usize);
        let at = i64::from(seconds) * 1_000_000_000 + i64::from(nanos);
        packets.push((at, rest[16..16 + len].to_vec()));
        rest = &rest[16 + len..];
    }
    packets
}

#[test]
fn waiting_times_of_the_spin_bit_are_within_their_bounds() {
    // The first of the packets that pass at one time is kept.
    let in_middle: HashMap<i64, Vec<u8>> = packets("mid").into_iter().rev().collect();
    let at_end = |point: &str| -> HashMap<Vec<u8>, i64> {
        let swapped = packets(point).into_iter().map(|(at, bytes)| (bytes, at));
        swapped.collect()
    };
    // The answering end, by the direction of the answered packet.
    let ends = [at_end("server"), at_end("client")];
    let samples = samples("mid");
    let spins = samples
        .iter()
        .filter(|sample| sample.method == RttMethod::SpinBit);
    let mut count = 0;
    for sample in spins {
        let end = &ends[sample.direction.index()];
        let answered_at = sample.at.as_nanos();
        let arrived = end[&in_middle[&(answered_at - sample.rtt.as_nanos())]];
        let left = end[&in_middle[&answered_at]];
        let error = sample.error.unwrap().as_nanos();
        assert!((0..=error).contains(&(left - arrived)), "{sample:?}");
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn handshake_is_measured_from_each_point() {
    // 20 ms each way, and 0.98 ms on the link of 10 Mbit/s.
    let whole = TimeDelta::from_nanos(41_964_800);
    for (point, halves) in [
        ("client", [41_964_800, 0]),
        ("mid", [20_982_400, 20_982_400]),
        ("server", [0, 41_964_800]),
    ] {
        let connections = connections(point);
        assert_eq!(connections[0].handshake_rtt, Some(whole), "{point}");
        let samples = samples(point);
        let of_handshake = samples
            .iter()
            .filter(|sample| sample.method == RttMethod::QuicHandshake);
        let found: Vec<_> = of_handshake.map(|sample| sample.rtt.as_nanos()).collect();
        assert_eq!(found, halves, "{point}");
    }
}

#[test]
fn connection_is_followed_to_another_port() {
    let connections = connections("mid");
    let quic: Vec<_> = connections
        .iter()
        .map(|connection| connection.quic.unwrap())
        .collect();
    assert_eq!(quic.len(), 2);
    assert_eq!(quic[0].version, Some(QuicVersion::V2));
    assert_eq!(quic[0].spin, SpinState::Spinning);
    assert_eq!(quic[1].first_flow, connections[0].flow);
}

#[test]
fn packets_are_matched_at_two_points_like_udp_packets() {
    let between = Measurement::of(&capture("client"), &capture("server"));
    let sent = packets("server").len() + packets("client").len();
    let [out, back] = between.report.totals.path_directions;
    // The queue drops packets towards the client.
    assert_eq!((out.lost(), back.lost()), (0, 24));
    let delivered = usize::try_from(out.delivered() + back.delivered()).unwrap();
    assert_eq!(2 * delivered + 24, sent);
    let rate_bps = back.bottleneck_bps.unwrap();
    assert!((9_900_000..10_100_000).contains(&rate_bps), "{rate_bps}");
}
