//! Traces and what their packets show.

use insta::assert_snapshot;
use tcpexp_testkit::scripted::Scripted;

use super::*;
use crate::{Position, meter};

/// The packets of the first flow, one per line.
fn packets(script: &str) -> String {
    let mut lines = Vec::new();
    let sink = |rows: Vec<FlowPacketRow>| {
        lines.extend(rows.iter().map(line));
        Ok::<(), ()>(())
    };
    let begin = |flow: &tcpexp_flow::Flow| PacketMeter::new(flow, |_| Some(Position::Sender));
    meter(&mut Scripted::new(script), begin, sink).unwrap();
    lines.join("\n")
}

fn line(row: &FlowPacketRow) -> String {
    let Some(tcp) = row.tcp else {
        return format!("{} udp {}", row.record, row.payload_bytes);
    };
    let (direction, class) = (row.direction.name(), tcp.class.name());
    let mut parts = vec![
        format!("{} {direction}", row.record),
        format!("{} {} bytes {class}", tcp.relative_start, row.payload_bytes),
    ];
    let window = tcp.window_bytes;
    parts.extend(
        tcp.relative_ack
            .map(|ack| format!("ack {ack} window {window:?}")),
    );
    let blocks = tcp.sack.iter().flatten();
    parts.extend(blocks.map(|(start, end)| format!("sack {start}:{end}")));
    parts.extend(tcp.is_duplicate_ack.then(|| "duplicate".to_owned()));
    parts.extend(tcp.rtt.map(|rtt| format!("rtt {}", rtt.rtt)));
    parts.join(" ")
}

#[test]
fn a_repaired_loss_shows_duplicate_acks_and_a_retransmission() {
    assert_snapshot!(packets("
        0.000 > S wscale 3
        0.040 < S wscale 7 win 65535
        0.040 > ack 1
        0.041 > 1:1461(1460)
        0.042 > 1461:2921(1460)
        0.043 > 2921:4381(1460)
        0.081 < ack 1461 win 500
        0.083 < ack 1461 win 500 sack 2921:4381
        0.090 > 1461:2921(1460)
        0.130 < ack 4381 win 0
        0.140 > udp 100 flow 1
    "), @r"
    0 forward 0 0 bytes new
    1 reverse 0 0 bytes new
    2 forward 1 0 bytes empty ack 1 window Some(524280) rtt 0 ns
    3 forward 1 1460 bytes new ack 1 window Some(524280)
    4 forward 1461 1460 bytes new ack 1 window Some(524280)
    5 forward 2921 1460 bytes new ack 1 window Some(524280)
    6 reverse 1 0 bytes empty ack 1461 window Some(64000) rtt 81.000 ms
    7 reverse 1 0 bytes empty ack 1461 window Some(64000) sack 2921:4381 duplicate rtt 40.000 ms
    8 forward 1461 1460 bytes retransmitted ack 1 window Some(524280)
    9 reverse 1 0 bytes empty ack 4381 window Some(0)
    10 udp 100
    ");
}

#[test]
fn a_stream_without_its_first_packet_begins_at_one() {
    assert_snapshot!(packets("
        0.000 > 5000:6460(1460)
        0.040 < ack 6460 win 500
        0.050 > 9380:10840(1460)
    "), @r"
    0 forward 1 1460 bytes new ack 1 window None
    1 reverse 1 0 bytes empty ack 1461 window None rtt 40.000 ms
    2 forward 4381 1460 bytes after_gap ack 1 window None
    ");
}

#[test]
fn a_repeat_that_nothing_asks_for_is_undecided_as_in_the_table_of_flows() {
    let packets = packets(
        "
        0.000 > S mss 1000 id 0
        0.040 < S. mss 1000 id 0
        0.040 > ack 1 id 0
        0.041 > 1:1001(1000) id 0
        0.081 < ack 1001 id 0
        0.0820 > 1001:2001(1000) id 0
        0.0821 > 2001:3001(1000) id 0
        0.0822 > 3001:4001(1000) id 0
        0.0823 > 4001:5001(1000) id 0
        0.0825 > 1001:2001(1000) id 0
    ",
    );
    let last = packets.lines().last().unwrap_or_default();
    assert!(last.contains(PacketClass::Behind.name()), "{packets}");
}
