//! Traces and their round-trip times.

mod missed_acks;
mod missed_data;
mod timestamps;

use std::convert::Infallible;
use std::fmt::Write;

use insta::assert_snapshot;

use super::*;
use crate::meter_live;
use tcpexp_testkit::scripted::Scripted;

/// All rows of a trace.
pub(super) fn rows(trace: &str) -> Vec<SingleRttRow> {
    let mut rows = Vec::new();
    let Ok(_) = meter_live(&mut Scripted::new(trace), SingleRttMeter::new, |row| {
        rows.push(row);
        Ok::<(), Infallible>(())
    });
    rows
}

/// One line per sample: time, direction, answered sequence number, round-trip time and method.
fn samples(trace: &str) -> String {
    let mut lines = String::new();
    for row in rows(trace) {
        if let SingleRttRow::Sample(sample) = row {
            writeln!(
                lines,
                "{:.3} {} {} {:.0} by {}, {}",
                sample.at.as_nanos() as f64 / 1e9,
                sample.direction,
                sample.offset.map_or(0, |offset| offset.seq().0),
                sample.rtt,
                sample.method.name(),
                sample.ack_class.name(),
            )
            .unwrap();
        }
    }
    if lines.is_empty() {
        "none".to_owned()
    } else {
        lines
    }
}

/// One line per flow and direction.
fn summaries(trace: &str) -> String {
    let mut lines = String::new();
    for row in rows(trace) {
        if let SingleRttRow::Ended(flow) = row {
            for (name, direction) in ["forward", "reverse"].iter().zip(flow.directions) {
                let count =
                    |rtt: Option<tcpexp_metrics::RttSummary>| rtt.map_or(0, |rtt| rtt.samples);
                let [sequence, timestamps, unasked] = [
                    direction.sequence_ack,
                    direction.timestamps,
                    direction.unasked,
                ]
                .map(count);
                write!(
                    lines,
                    "{name}: {sequence} by sequence, {timestamps} by timestamps, "
                )
                .unwrap();
                write!(
                    lines,
                    "{unasked} unasked, {} ambiguous",
                    direction.ambiguous_acks
                )
                .unwrap();
                if let Some(handshake) = direction.handshake {
                    write!(lines, ", handshake {handshake:.0}").unwrap();
                }
                if let Some(timer) = direction.linux {
                    write!(lines, ", srtt {:.1} rto {:.0}", timer.srtt, timer.rto).unwrap();
                }
                lines.push('\n');
            }
        }
    }
    lines
}

#[test]
fn handshake_yields_a_sample_of_each_half() {
    let trace = "
        0.000 > S
        0.030 < S.
        0.031 > .
    ";
    assert_snapshot!(samples(trace), @r"
    0.030 forward 0 30 ms by sequence_ack, handshake
    0.031 reverse 0 1 ms by sequence_ack, handshake
    ");
    assert_snapshot!(summaries(trace), @r"
    forward: 1 by sequence, 0 by timestamps, 0 unasked, 0 ambiguous, handshake 30 ms, srtt 30.0 ms rto 232 ms
    reverse: 1 by sequence, 0 by timestamps, 0 unasked, 0 ambiguous, handshake 1 ms, srtt 1.0 ms rto 204 ms
    ");
}

#[test]
fn retransmitted_segment_yields_no_sample() {
    assert_snapshot!(samples("
        0.000 > 1:1461(1460)
        0.300 > 1:1461(1460)   // same bytes again: whose ACK is it?
        0.340 < ack 1461
    "), @"none");
}

#[test]
fn cumulative_ack_yields_one_sample_of_the_oldest_segment() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000)
        0.010 > 1001:2001(1000)
        0.020 > 2001:3001(1000)
        0.040 < ack 2001
        0.060 < ack 3001
    "), @r"
    0.040 forward 1 40 ms by sequence_ack, cumulative
    0.060 forward 2001 40 ms by sequence_ack, cumulative
    ");
}

#[test]
fn ack_that_covers_a_retransmission_yields_no_sample() {
    let trace = "
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.040 < ack 1
        0.300 > 1:1001(1000)
        0.340 < ack 2001
    ";
    assert_snapshot!(samples(trace), @"none");
    assert_snapshot!(summaries(trace), @r"
    forward: 0 by sequence, 0 by timestamps, 0 unasked, 1 ambiguous
    reverse: 0 by sequence, 0 by timestamps, 0 unasked, 0 ambiguous
    ");
}

#[test]
fn sack_yields_a_sample_and_the_following_ack_yields_no_sample() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.002 > 2001:3001(1000)
        0.041 < ack 1 sack 1001:2001
        0.042 < ack 1 sack 1001:3001
        0.300 > 1:1001(1000)
        0.340 < ack 3001
        0.341 > 3001:4001(1000)
        0.381 < ack 4001
    "), @r"
    0.041 forward 1001 40 ms by sequence_ack, selective
    0.042 forward 2001 40 ms by sequence_ack, selective
    0.381 forward 3001 40 ms by sequence_ack, cumulative
    ");
}

#[test]
fn ack_behind_missed_acks_yields_no_sample() {
    let text = "
        0.000 > S 0 mss 1000 ts 1 0
        0.040 < S. 0 ack 1 win 9000 mss 1000 ts 900 1
        0.040 > . 1 ack 1 win 9000 ts 41 900
        0.041 > 1:1001(1000) ts 41 900
        0.085 > 1001:2001(1000) ts 85 941     // answers an ACK that is not here
        0.125 < . 1 ack 2001 win 9000 ts 981 85
        0.126 > 2001:3001(1000) ts 126 981
        0.166 < . 1 ack 3001 win 9000 ts 1022 126
    ";
    assert_snapshot!(samples(text), @r"
    0.040 forward 0 40 ms by sequence_ack, handshake
    0.040 forward 0 40 ms by timestamps, handshake
    0.040 reverse 0 0 ns by sequence_ack, handshake
    0.040 reverse 0 0 ns by timestamps, handshake
    0.126 reverse 1 1 ms by timestamps, unasked
    0.166 forward 2001 40 ms by sequence_ack, cumulative
    0.166 forward 2001 40 ms by timestamps, cumulative
    ");
    let missed = rows(text).into_iter().find_map(|row| match row {
        SingleRttRow::Ended(flow) => Some(flow.directions[0].missed.ack_gaps),
        _ => None,
    });
    assert_eq!(missed, Some(1));
}

#[test]
fn data_in_flight_at_missed_sack_blocks_yields_no_sample() {
    let text = "
        0.000 > S 0 mss 1000 ts 1 0
        0.040 < S. 0 ack 1 win 9000 mss 1000 ts 900 1
        0.040 > . 1 ack 1 win 9000 ts 41 900
        0.041 > 1:1001(1000) ts 41 900
        0.041 > 1001:2001(1000) ts 41 900
        0.041 > 2001:3001(1000) ts 41 900
        0.041 > 3001:4001(1000) ts 41 900
        0.085 > 1:1001(1000) ts 85 943        // answers SACK blocks that are not here
        0.125 < . 1 ack 1001 win 9000 ts 981 85 sack 3001:4001
        0.180 < . 1 ack 4001 win 9000 ts 1036 85
    ";
    assert_snapshot!(samples(text), @r"
    0.040 forward 0 40 ms by sequence_ack, handshake
    0.040 forward 0 40 ms by timestamps, handshake
    0.040 reverse 0 0 ns by sequence_ack, handshake
    0.040 reverse 0 0 ns by timestamps, handshake
    ");
}

#[test]
fn late_segment_yields_a_sample_marked_as_reordered() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.041 < ack 1 sack 1001:2001
        0.055 < ack 2001
        0.060 > 2001:3001(1000)
        0.100 < ack 3001
    "), @r"
    0.041 forward 1001 40 ms by sequence_ack, selective
    0.055 forward 1 55 ms by sequence_ack, after_reordering
    0.100 forward 2001 40 ms by sequence_ack, cumulative
    ");
}

#[test]
fn without_sack_duplicate_acks_indicate_reordering() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.041 < ack 1
        0.042 < ack 1
        0.055 < ack 2001
        0.060 > 2001:3001(1000)
        0.100 < ack 3001
    "), @r"
    0.055 forward 1 55 ms by sequence_ack, after_reordering
    0.100 forward 2001 40 ms by sequence_ack, cumulative
    ");
}

#[test]
fn parts_of_a_large_segment_are_timed_from_its_departure() {
    assert_snapshot!(samples("
        0.000 > 1:10001(10000)
        0.040 < ack 2001
        0.041 < ack 4001
        0.042 < ack 4001 sack 6001:10001
        0.050 > 10001:20001(10000)
        0.060 > 4001:6001(2000)     // only this part was sent again
        0.091 < ack 4001 sack 6001:12001
        0.100 < ack 12001
        0.101 < ack 20001
    "), @r"
    0.040 forward 1 40 ms by sequence_ack, cumulative
    0.041 forward 2001 41 ms by sequence_ack, cumulative
    0.042 forward 6001 42 ms by sequence_ack, selective
    0.091 forward 10001 41 ms by sequence_ack, selective
    0.101 forward 12001 51 ms by sequence_ack, cumulative
    ");
}

#[test]
fn late_segment_that_fills_a_hole_is_not_a_retransmission() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000)
        0.001 > 2001:3001(1000)
        0.005 > 1001:2001(1000)     // overtaken before the capture point
        0.045 < ack 3001
    "), @"0.045 forward 1 45 ms by sequence_ack, cumulative");
}

#[test]
fn packet_captured_twice_is_not_a_retransmission() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000) id 7
        0.000 > 1:1001(1000) id 7
        0.001 > 1001:2001(1000) id 8
        0.001 > 1001:2001(1000) id 8
        0.040 < ack 1001 id 3
        0.040 < ack 1001 id 3
        0.041 < ack 2001 id 4
        0.041 < ack 2001 id 4
    "), @r"
    0.040 forward 1 40 ms by sequence_ack, cumulative
    0.041 forward 1001 40 ms by sequence_ack, cumulative
    ");
}

#[test]
fn ack_of_data_never_sent_yields_no_sample() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000) ts 100 0
        0.010 < ack 2000000000 ts 900 70000
        0.020 < R 77 ack 1001
        0.040 < ack 1001 ts 901 100
    "), @r"
    0.040 forward 1 40 ms by sequence_ack, cumulative
    0.040 forward 1 40 ms by timestamps, cumulative
    ");
}

#[test]
fn samples_continue_across_a_sequence_number_wrap() {
    assert_snapshot!(samples("
        0.000 > 4294966296:460(1460) ts 4294967295 0
        0.001 > 460:1920(1460) ts 0 0
        0.040 < ack 460 ts 1 4294967295
        0.041 < ack 1920 ts 2 0
    "), @r"
    0.040 forward 4294966296 40 ms by sequence_ack, cumulative
    0.040 forward 4294966296 40 ms by timestamps, cumulative
    0.041 forward 460 40 ms by sequence_ack, cumulative
    0.041 forward 460 40 ms by timestamps, cumulative
    ");
}

#[test]
fn datagrams_yield_no_samples() {
    assert_eq!(rows("0.0 > udp 10\n0.1 < udp 10").len(), 0);
}

#[test]
fn each_flow_begins_before_its_samples_and_ends_after_them() {
    let trace = "
        0.000 > S
        0.001 > S flow 1
        0.030 < S.
        0.031 < S. flow 1
    ";
    let kinds = rows(trace).into_iter().map(|row| match row {
        SingleRttRow::Began(flow) => format!("{} begins", flow.id),
        SingleRttRow::Sample(sample) => format!("{} sample", sample.flow),
        SingleRttRow::Ended(ended) => format!("{} ends", ended.flow.id),
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            "0 begins", "1 begins", "0 sample", "1 sample", "0 ends", "1 ends"
        ]
    );
}
