//! Traces and their bins, and properties of the bins of any trace.

mod rates;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_testkit::script;
use tcpexp_units::{TimeDelta, Timestamp};

use super::*;
use tcpexp_testkit::scripted::Scripted;

fn run(
    frames: Vec<(Timestamp, Vec<u8>)>,
    options: &ThroughputOptions,
) -> (Vec<ThroughputRow>, ThroughputTotals) {
    let mut rows = Vec::new();
    let Ok(totals) = throughput(&mut Scripted::of(frames), options, |row| {
        rows.push(row);
        Ok::<(), Infallible>(())
    });
    (rows, totals)
}

fn millis(width: i64) -> ThroughputOptions {
    ThroughputOptions::new(BinWidth::new(TimeDelta::from_millis(width)).unwrap())
}

/// One line per bin: start, flow, packets, and bytes on the wire, of IP and of new payload. The
/// last line reports packets in no bin, if any.
fn bins_with(trace: &str, options: &ThroughputOptions) -> String {
    let (rows, totals) = run(script::packets(trace), options);
    let mut lines = String::new();
    for row in rows {
        let ThroughputRow::Bin(bin) = row else {
            continue;
        };
        let start = bin.start.as_nanos() as f64 / 1e9;
        let flow = bin.flow.map_or("all".into(), |flow| format!("flow {flow}"));
        let direction = bin.direction.map_or("both", Direction::name);
        let Volume {
            packets,
            wire_bytes,
            ip_bytes,
            goodput_bytes,
            ce_packets: _,
        } = bin.volume;
        write!(lines, "{start:.3} {flow} {direction}: ").unwrap();
        writeln!(lines, "{packets} {wire_bytes} {ip_bytes} {goodput_bytes}").unwrap();
    }
    if totals.late.packets > 0 {
        writeln!(lines, "{} late", totals.late.packets).unwrap();
    }
    lines
}

/// The one-second bins of the first flow's forward direction.
fn forward(trace: &str) -> String {
    let all = bins_with(trace, &millis(1000));
    let is_wanted = |line: &&str| line.contains("flow 0 forward") || line.contains("late");
    all.lines().filter(is_wanted).collect::<Vec<_>>().join("\n")
}

#[test]
fn packets_are_counted_by_flow_and_direction_and_in_total() {
    assert_snapshot!(bins_with("
        0.000 > 1:1001(1000)
        0.040 < ack 1001
        0.050 > 1:101(100) flow 1
    ", &millis(1000)), @r"
    0.000 flow 0 forward: 1 1054 1040 1000
    0.000 flow 0 reverse: 1 54 40 0
    0.000 flow 1 forward: 1 154 140 100
    0.000 flow 1 reverse: 0 0 0 0
    0.000 all forward: 2 1208 1180 1100
    0.000 all reverse: 1 54 40 0
    0.000 all both: 3 1262 1220 1100
    ");
}

#[test]
fn marked_packets_are_counted_in_their_bins() {
    let trace = "
        0.0 > 1:101(100) tos 2
        0.1 > 101:201(100) tos 3
        0.2 > 201:301(100) tos 1
        1.0 > 301:401(100) tos 3
        1.1 > 401:501(100) tos 7
    ";
    let (rows, _) = run(script::packets(trace), &millis(1000));
    let marked: Vec<u64> = rows
        .into_iter()
        .filter_map(|row| match row {
            ThroughputRow::Bin(bin) if bin.flow.is_none() && bin.direction.is_none() => {
                Some(bin.volume.ce_packets)
            }
            _ => None,
        })
        .collect();
    assert_eq!(marked, [1, 2]);
}

#[test]
fn bins_without_packets_are_zero() {
    assert_snapshot!(forward("
        0.000 > 1:1001(1000)
        3.500 > 1001:2001(1000)
    "), @r"
    0.000 flow 0 forward: 1 1054 1040 1000
    1.000 flow 0 forward: 0 0 0 0
    2.000 flow 0 forward: 0 0 0 0
    3.000 flow 0 forward: 1 1054 1040 1000
    ");
}

#[test]
fn flow_has_no_bins_before_its_first_and_after_its_last_packet() {
    assert_snapshot!(bins_with("
        0.000 > udp 100
        1.000 > udp 100 flow 1
        2.000 > udp 100
    ", &millis(1000)).lines().filter(|line| line.contains("flow 1") || line.contains("both")).collect::<Vec<_>>().join("\n"), @r"
    1.000 flow 1 forward: 1 142 128 100
    1.000 flow 1 reverse: 0 0 0 0
    0.000 all both: 1 142 128 100
    1.000 all both: 1 142 128 100
    2.000 all both: 1 142 128 100
    ");
}

#[test]
fn goodput_counts_bytes_once() {
    assert_snapshot!(forward("
        0.000 > S
        0.100 > 1:1001(1000)
        0.200 > 2001:3001(1000)     // leaves a gap
        1.000 > 1001:2001(1000)     // fills it
        2.000 > 2001:3001(1000)     // again
        3.000 > 2501:3501(1000)     // half of it again
        4.000 > F 3501
        5.000 > R 3502
    "), @r"
    0.000 flow 0 forward: 3 2162 2120 2000
    1.000 flow 0 forward: 1 1054 1040 1000
    2.000 flow 0 forward: 1 1054 1040 0
    3.000 flow 0 forward: 1 1054 1040 500
    4.000 flow 0 forward: 1 54 40 0
    5.000 flow 0 forward: 1 54 40 0
    ");
}

#[test]
fn all_datagram_payload_is_goodput() {
    assert_snapshot!(forward("
        0.000 > udp 100
        0.001 > udp 100
    "), @"0.000 flow 0 forward: 2 284 256 200");
}

#[test]
fn bins_start_at_the_given_origin() {
    let trace = "
        10.300 > udp 100
        11.100 > udp 100
    ";
    assert_snapshot!(forward(trace), @"10.300 flow 0 forward: 2 284 256 200");
    let mut options = millis(1000);
    options.origin = Origin::At(Timestamp::from_nanos(100_250_000_000));
    assert_snapshot!(bins_with(trace, &options), @r"
    10.250 flow 0 forward: 2 284 256 200
    10.250 flow 0 reverse: 0 0 0 0
    10.250 all forward: 2 284 256 200
    10.250 all reverse: 0 0 0 0
    10.250 all both: 2 284 256 200
    ");
}

#[test]
fn packets_slightly_out_of_order_are_in_the_right_bin() {
    assert_snapshot!(forward("
        0.000 > udp 100
        1.010 > udp 200
        1.030 > udp 200
        0.995 > udp 100
        2.000 > udp 300
    "), @r"
    0.000 flow 0 forward: 2 284 256 200
    1.000 flow 0 forward: 2 484 456 400
    2.000 flow 0 forward: 1 342 328 300
    ");
}

#[test]
fn packet_later_than_its_bin_is_counted_separately() {
    assert_snapshot!(forward("
        0.000 > udp 100
        1.200 > udp 200
        1.300 > udp 200
        0.999 > udp 100
        1.400 > udp 200
    "), @r"
    0.000 flow 0 forward: 1 142 128 100
    1.000 flow 0 forward: 3 726 684 600
    1 late
    ");
}

#[test]
fn one_implausible_time_moves_no_bin() {
    for nonsense in ["0", "900000", "9000000000"] {
        let trace = format!(
            "
            500000.0 > udp 100
            500000.5 > udp 100
            {nonsense} > udp 100
            500001.0 > udp 100
            500001.5 > udp 100
        "
        );
        assert_eq!(
            forward(&trace),
            "500000.000 flow 0 forward: 2 284 256 200\n500001.000 flow 0 forward: 2 284 256 200\n1 late",
            "{nonsense}"
        );
    }
}

#[test]
fn first_time_may_be_implausible() {
    assert_snapshot!(forward("
        0.0 > udp 100
        500000.0 > udp 100
        500001.0 > udp 100
        500002.0 > udp 100
    "), @r"
    0.000 flow 0 forward: 1 142 128 100
    500001.000 flow 0 forward: 1 142 128 100
    500002.000 flow 0 forward: 1 142 128 100
    1 late
    ");
}

#[test]
fn joined_captures_have_no_bins_in_the_gap() {
    let days_apart = "
        0.0 > udp 100
        1.0 > udp 100
        500000.0 > udp 100 flow 1
        500001.0 > udp 100 flow 1
        500002.0 > udp 100 flow 1
    ";
    let lines = bins_with(days_apart, &millis(1000));
    let both = lines
        .lines()
        .filter(|line| line.contains("both") || line.contains("late"));
    assert_snapshot!(both.collect::<Vec<_>>().join("\n"), @r"
    0.000 all both: 1 142 128 100
    1.000 all both: 1 142 128 100
    500001.000 all both: 1 142 128 100
    500002.000 all both: 1 142 128 100
    1 late
    ");
}

/// Random packets of a few flows: start, length and time of each packet.
fn traffic() -> impl Strategy<Value = Vec<(u16, bool, u32, u16, u32)>> {
    let packet = (
        0_u16..3,
        any::<bool>(),
        0_u32..5_000,
        0_u16..1_400,
        0_u32..4_000_000,
    );
    prop::collection::vec(packet, 1..60)
}

fn frames(packets: &[(u16, bool, u32, u16, u32)]) -> Vec<(Timestamp, Vec<u8>)> {
    let line = |&(flow, forward, start, bytes, micros): &(u16, bool, u32, u16, u32)| {
        let arrow = if forward { '>' } else { '<' };
        let end = start + u32::from(bytes);
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        format!("{seconds}.{fraction:06} {arrow} {start}:{end}({bytes}) ack 1 flow {flow}\n")
    };
    script::packets(&packets.iter().map(line).collect::<String>())
}

proptest! {
    #[test]
    fn bins_sum_to_the_totals(packets in traffic(), width in 1_i64..2_000, origin in any::<i32>()) {
        let mut options = millis(width);
        options.origin = Origin::At(Timestamp::from_nanos(i64::from(origin) * 1_000));
        let frames = frames(&packets);
        let wire_bytes: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
        let (rows, totals) = run(frames, &options);
        let mut in_bins: HashMap<(Option<FlowId>, Option<Direction>), Volume> = HashMap::new();
        let mut of_flows = Volume::default();
        for row in rows {
            match row {
                ThroughputRow::Bin(bin) => *in_bins.entry((bin.flow, bin.direction)).or_default() += bin.volume,
                ThroughputRow::Ended(flow) => flow.directions.into_iter().for_each(|volume| of_flows += volume),
                ThroughputRow::Began(_) => {}
            }
        }
        let mut all = totals.binned;
        all += totals.late;
        prop_assert_eq!((all.packets, all.wire_bytes), (packets.len() as u64, wire_bytes as u64));
        prop_assert_eq!(of_flows, all);
        prop_assert_eq!(in_bins[&(None, None)], totals.binned);
        for direction in Direction::BOTH {
            let mut flows = Volume::default();
            for (_, volume) in in_bins.iter().filter(|((flow, of), _)| flow.is_some() && *of == Some(direction)) {
                flows += *volume;
            }
            prop_assert_eq!(flows, in_bins[&(None, Some(direction))]);
        }
    }

    #[test]
    fn goodput_never_exceeds_throughput_nor_throughput_the_wire_rate(packets in traffic(), width in 1_i64..2_000) {
        let mut bins = 0;
        for row in run(frames(&packets), &millis(width)).0 {
            if let ThroughputRow::Bin(bin) = row {
                bins += 1;
                prop_assert!(bin.goodput_bps() <= bin.throughput_bps());
                prop_assert!(bin.throughput_bps() <= bin.wire_rate_bps());
            }
        }
        prop_assert!(bins > 0);
    }

    #[test]
    fn bins_are_contiguous(packets in traffic(), width in 1_i64..2_000) {
        let mut latest: HashMap<(Option<FlowId>, Option<Direction>), Timestamp> = HashMap::new();
        for row in run(frames(&packets), &millis(width)).0 {
            if let ThroughputRow::Bin(bin) = row {
                let before = latest.insert((bin.flow, bin.direction), bin.start);
                prop_assert!(before.is_none_or(|before| bin.start - before == bin.width));
            }
        }
        prop_assert!(!latest.is_empty());
    }

    #[test]
    fn order_of_the_packets_within_the_tolerance_does_not_matter(packets in traffic(), width in 1_i64..2_000) {
        let mut options = millis(width);
        options.origin = Origin::At(Timestamp::from_nanos(0));
        options.tolerance = TimeDelta::from_seconds(4);
        let mut sorted = packets.clone();
        sorted.sort_by_key(|packet| packet.4);
        let of_all = |packets| {
            let (rows, totals) = run(frames(packets), &options);
            let volume = |row| match row {
                // Goodput depends on the order of duplicates, so leave it out.
                ThroughputRow::Bin(bin) if bin.flow.is_none() && bin.direction.is_none() => {
                    Some((bin.start, bin.volume.packets, bin.volume.wire_bytes, bin.volume.ip_bytes))
                }
                _ => None,
            };
            (rows.into_iter().filter_map(volume).collect::<Vec<_>>(), totals.late.packets)
        };
        prop_assert_eq!(of_all(&packets), of_all(&sorted));
    }
}
