//! Tests of samples from timestamps and their echoes.

use insta::assert_snapshot;

use super::{samples, summaries};

#[test]
fn retransmitted_syn_yields_only_a_timestamp_sample() {
    let trace = "
        0.000 > S ts 100 0
        1.000 > S ts 1100 0
        1.040 < S. ts 70 1100
        1.041 > . ts 1141 70
    ";
    assert_snapshot!(samples(trace), @r"
    1.040 forward 0 40 ms by timestamps, handshake
    1.041 reverse 0 1 ms by sequence_ack, handshake
    1.041 reverse 0 1 ms by timestamps, handshake
    ");
    assert_snapshot!(summaries(trace), @r"
    forward: 0 by sequence, 1 by timestamps, 0 unasked, 1 ambiguous, handshake 40 ms, srtt 40.0 ms rto 240 ms
    reverse: 1 by sequence, 1 by timestamps, 0 unasked, 0 ambiguous, handshake 1 ms, srtt 1.0 ms rto 204 ms
    ");
}

#[test]
fn timestamp_is_measured_to_its_first_echo() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000) ts 100 0
        0.000 > 1001:2001(1000) ts 100 0
        0.003 > 2001:3001(1000) ts 103 0
        0.040 < ack 2001 ts 900 100
        0.041 < ack 2001 win 60000 ts 901 100
        0.045 < ack 3001 ts 905 103
    "), @r"
    0.040 forward 1 40 ms by sequence_ack, cumulative
    0.040 forward 1 40 ms by timestamps, cumulative
    0.045 forward 2001 42 ms by sequence_ack, cumulative
    0.045 forward 2001 42 ms by timestamps, cumulative
    ");
}

#[test]
fn timestamp_identifies_the_acknowledged_copy() {
    let trace = "
        0.000 > 1:1001(1000) ts 100 0
        0.300 > 1:1001(1000) ts 400 0
        0.340 < ack 1001 ts 900 400
    ";
    assert_snapshot!(samples(trace), @"0.340 forward 1 40 ms by timestamps, cumulative");
    assert_snapshot!(summaries(trace), @r"
    forward: 0 by sequence, 1 by timestamps, 0 unasked, 1 ambiguous, srtt 40.0 ms rto 240 ms
    reverse: 0 by sequence, 0 by timestamps, 0 unasked, 0 ambiguous
    ");
}

#[test]
fn bare_ack_starts_no_timestamp_sample() {
    assert_snapshot!(samples("
        0.000 < 1:101(100) ts 500 10
        0.001 > ack 101 ts 20 500
        5.000 < 101:201(100) ts 5500 20     // five seconds of silence, not of round trip
    "), @r"
    0.001 forward 1 1 ms by sequence_ack, cumulative
    0.001 forward 1 1 ms by timestamps, cumulative
    5.000 reverse 1 5 s by timestamps, unasked
    ");
}

#[test]
fn data_in_the_tick_of_a_bare_ack_starts_a_timestamp_sample() {
    assert_snapshot!(samples("
        0.0000 < 1:101(100) ts 500 10
        0.0010 > ack 101 ts 20 500
        0.0018 > 1:51(50) ack 101 ts 20 500
        0.0400 < ack 51 ts 540 20
    "), @r"
    0.001 forward 1 1 ms by sequence_ack, cumulative
    0.001 forward 1 1 ms by timestamps, cumulative
    0.040 reverse 1 38 ms by sequence_ack, cumulative
    0.040 reverse 1 38 ms by timestamps, cumulative
    ");
}

#[test]
fn ack_that_echoes_an_earlier_copy_yields_no_sample() {
    // The capture begins with a retransmission whose original the receiver has acknowledged.
    assert_snapshot!(samples("
        0.210 > 1:1001(1000) ts 510 90
        0.211 < ack 1001 ts 310 300
        0.220 > 1001:2001(1000) ts 520 310
        0.221 > 2001:3001(1000) ts 521 310
        0.260 < ack 3001 ts 360 520           // a delayed ACK echoes its oldest segment
    "), @r"
    0.220 reverse 1 9 ms by timestamps, unasked
    0.260 forward 1001 40 ms by sequence_ack, cumulative
    0.260 forward 1001 40 ms by timestamps, cumulative
    ");
}
