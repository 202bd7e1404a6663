//! Properties of the connections of any capture.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use tcpexp_testkit::{FrameSpec, Payload, TcpOptions, Transport};
use tcpexp_units::Timestamp;

use super::{Connection, ConnectionSummary, DirectionSummary};
use crate::rtt::{SingleRttMeter, SingleRttRow};
use crate::{Meter, meter, meter_live};
use tcpexp_testkit::scripted::Scripted;

type Capture = Vec<(i64, FrameSpec)>;

/// Enough packets for several chunks.
const MANY_PACKETS: usize = 17_000;

/// A packet between few endpoints, with numbers close to each other and to the wrap: makes gaps,
/// repetitions, probes and ACKs frequent.
fn frame() -> impl Strategy<Value = FrameSpec> {
    let number = || prop_oneof![8 => 0..50_u32, 2 => u32::MAX - 50..=u32::MAX, 1 => any::<u32>()];
    let flags =
        prop_oneof![6 => Just(0x10_u16), 1 => Just(0x02), 1 => Just(0x12), 2 => 0..0x200_u16];
    let window = prop_oneof![Just(0_u16), Just(1000)];
    let options = prop_oneof![
        4 => Just(TcpOptions::NONE),
        4 => (0..9_u32, 0..9_u32).prop_map(|(value, echo)| TcpOptions::NONE.timestamps(value, echo)),
        1 => (number(), number()).prop_map(|block| TcpOptions::NONE.sack(&[block])),
    ];
    let segment = (number(), number(), flags, window, options);
    let segment = segment.prop_map(|(seq, ack, flags, window, options)| Transport::Tcp {
        seq,
        ack,
        flags,
        window,
        options,
    });
    let transport = prop_oneof![9 => segment, 1 => Just(Transport::Udp)];
    let payload_bytes = prop_oneof![Just(0_u16), Just(1), 0..30_u16];
    let fields = (
        any::<bool>(),
        0..3_u16,
        0..20_u16,
        any::<u8>(),
        payload_bytes,
    );
    (transport, fields).prop_map(|(transport, (is_back, port, ip_id, tos, payload_bytes))| {
        let client = (Ipv4Addr::new(10, 0, 0, 1), 1 + port);
        let server = (Ipv4Addr::new(10, 0, 0, 2), 80);
        let (from, to) = if is_back {
            (server, client)
        } else {
            (client, server)
        };
        FrameSpec {
            src: from.0.into(),
            dst: to.0.into(),
            src_port: from.1,
            dst_port: to.1,
            ip_id,
            traffic_class: tos,
            transport,
            payload: Payload::new(0, 0, payload_bytes),
            ..FrameSpec::default()
        }
    })
}

/// Capture times with usual gaps between packets, and at times with gaps that end flows.
fn capture() -> impl Strategy<Value = Capture> {
    const MILLISECOND: i64 = 1_000_000;
    let step = prop_oneof![
        8 => 0..100 * MILLISECOND,
        1 => -100 * MILLISECOND..1000 * MILLISECOND,
        1 => 0..400_000 * MILLISECOND,
    ];
    prop::collection::vec((step, frame()), 1..80)
}

/// The capture repeated, with the ports of one of `clients` each time.
fn repeated(capture: &Capture, clients: u16) -> Capture {
    let mut all = Capture::new();
    for round in 0.. {
        if all.len() >= MANY_PACKETS {
            break;
        }
        let moved = capture.iter().map(|(step, frame)| {
            let mut frame = *frame;
            let port = if frame.src_port == 80 {
                &mut frame.dst_port
            } else {
                &mut frame.src_port
            };
            *port += 100 + 3 * (round % clients);
            (*step, frame)
        });
        all.extend(moved);
    }
    all
}

fn packets(capture: &Capture) -> Scripted {
    let mut now = 0;
    let frames = capture.iter().map(|(step, frame)| {
        now += step;
        (Timestamp::from_nanos(now), frame.to_bytes())
    });
    Scripted::of(frames.collect())
}

fn measured<M: Meter>(
    capture: &Capture,
    begin: impl Fn(&tcpexp_flow::Flow) -> M + Sync,
) -> Vec<M::Row> {
    let mut all = Vec::new();
    meter(&mut packets(capture), begin, |rows| {
        all.extend(rows);
        Ok::<(), ()>(())
    })
    .unwrap();
    all
}

fn measured_live<M: Meter>(
    capture: &Capture,
    begin: impl Fn(&tcpexp_flow::Flow) -> M,
) -> Vec<M::Row> {
    let mut all = Vec::new();
    meter_live(&mut packets(capture), begin, |row| {
        all.push(row);
        Ok::<(), ()>(())
    })
    .unwrap();
    all
}

fn summaries(capture: &Capture) -> Vec<ConnectionSummary> {
    measured(capture, |_| Connection::default())
}

/// The round-trip times among the rows, in order.
fn samples(rows: Vec<SingleRttRow>) -> String {
    let samples = rows
        .into_iter()
        .filter(|row| matches!(row, SingleRttRow::Sample(_)));
    format!("{:?}", samples.collect::<Vec<_>>())
}

fn by_flow(mut summaries: Vec<ConnectionSummary>) -> String {
    summaries.sort_by_key(|summary| summary.flow);
    format!("{summaries:?}")
}

proptest! {
    #[test]
    fn every_packet_and_byte_is_in_one_direction_of_one_connection(capture in capture()) {
        let summaries = summaries(&capture);
        let total = |of: fn(&DirectionSummary) -> u64| -> u64 {
            summaries.iter().flat_map(|summary| &summary.directions).map(of).sum()
        };
        let sent = |of: fn(&FrameSpec) -> u64| -> u64 {
            capture.iter().map(|(_, frame)| of(frame)).sum()
        };
        let payload_bytes = |frame: &FrameSpec| u64::from(frame.payload.len);
        prop_assert_eq!(total(|d| d.packets), capture.len() as u64);
        prop_assert_eq!(total(|d| d.payload_bytes), sent(payload_bytes));
        prop_assert_eq!(total(|d| d.wire_bytes), sent(|frame| u64::from(frame.wire_len())));
        prop_assert_eq!(total(|d| d.data_packets), sent(|frame| u64::from(frame.payload.len > 0)));
        prop_assert_eq!(
            total(|d| d.rare().ce_packets),
            sent(|frame| u64::from(frame.traffic_class & 3 == 3))
        );
    }

    #[test]
    fn partial_counts_never_exceed_the_total(capture in capture()) {
        for d in summaries(&capture).iter().flat_map(|summary| &summary.directions) {
            let retransmitted = d.retransmissions();
            let known = [
                retransmitted.packets,
                d.rare().reordered_packets,
                d.rare().undecided_packets,
                d.rare().duplicate_packets,
                d.rare().keep_alive_packets,
                d.rare().window_probe_packets,
            ];
            prop_assert!(known.iter().sum::<u64>() <= d.packets, "{d:?}");
            prop_assert!(d.unique_bytes <= d.payload_bytes, "{d:?}");
            prop_assert!(retransmitted.bytes <= d.payload_bytes, "{d:?}");
            prop_assert!(d.rare().spurious_packets <= retransmitted.packets, "{d:?}");
            let duplicate_acks = d.rare().duplicate_ack_packets;
            prop_assert!(duplicate_acks <= Some(d.packets - d.data_packets), "{d:?}");
            prop_assert!(d.ip_bytes <= d.wire_bytes && d.payload_bytes <= d.ip_bytes, "{d:?}");
            prop_assert_eq!(d.span.is_some(), d.packets > 0);
            prop_assert_eq!(d.largest_payload_bytes.is_some(), d.data_packets > 0);
        }
    }
}

proptest! {
    // Each case is a capture of many packets.
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn rows_are_the_same_on_any_number_of_threads(capture in capture(), clients in 1..2_000_u16) {
        let capture = repeated(&capture, clients);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let rows = measured(&capture, SingleRttMeter::new);
                format!("{:?} {rows:?}", summaries(&capture))
            })
        };
        let alone = on(1);
        for threads in [2, 5] {
            prop_assert!(on(threads) == alone, "{threads} threads");
        }
    }

    #[test]
    fn chunk_size_does_not_change_the_rows(
        capture in capture(),
        clients in 1..2_000_u16,
    ) {
        let capture = repeated(&capture, clients);
        let live = measured_live(&capture, |_| Connection::default());
        prop_assert!(by_flow(summaries(&capture)) == by_flow(live));
        let live = measured_live(&capture, SingleRttMeter::new);
        prop_assert!(samples(measured(&capture, SingleRttMeter::new)) == samples(live));
    }
}
