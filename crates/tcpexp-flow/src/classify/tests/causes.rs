//! The causes of retransmissions.

use insta::assert_snapshot;

use super::classes;

#[test]
fn third_duplicate_ack_triggers_a_fast_retransmission() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.002 > 2001:3001(1000)
        0.003 > 3001:4001(1000)
        0.040 < ack 1
        0.041 < ack 1
        0.042 < ack 1
        0.043 < ack 1
        0.043 > 1:1001(1000)
    "), @r"
    0.000 > New
    0.001 > New
    0.002 > New
    0.003 > New
    0.041 < duplicate ACK
    0.042 < duplicate ACK
    0.043 < duplicate ACK
    0.043 > sent Later by Bytes, FastRetransmit
    ");
}

#[test]
fn timeout_starts_a_recovery_and_classifies_its_retransmissions() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.002 > 2001:3001(1000)
        0.240 > 1:1001(1000)
        0.280 < ack 1001
        0.280 > 1001:2001(1000)
        0.320 < ack 3001
        0.321 > 3001:4001(1000)
    "), @r"
    0.000 > New
    0.001 > New
    0.002 > New
    0.240 > sent Later by Bytes, Timeout
    0.280 > sent Later by Bytes, AfterTimeout
    0.321 > New
    ");
}

#[test]
fn timer_shorter_than_the_replayed_one_is_a_timeout_if_no_ack_shows_a_loss() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.040 < ack 1001
        0.041 > 1001:2001(1000)
        0.042 > 2001:3001(1000)
        0.190 > 1001:2001(1000)
        0.230 < ack 2001
        0.230 > 2001:3001(1000)
    "), @r"
    0.000 > New
    0.041 > New
    0.042 > New
    0.190 > sent Later by Bytes, Timeout
    0.230 > sent Later by Bytes, AfterTimeout
    ");
}

#[test]
fn shorter_segments_within_a_round_trip_follow_from_a_smaller_path_mtu() {
    assert_snapshot!(classes("
        0.000 > 1:1461(1460)
        0.040 < ack 1461
        0.041 > 1461:2921(1460)
        0.041 > 2921:4381(1460)
        0.051 > 1461:2621(1160)
        0.051 > 2621:2921(300)
        0.051 > 2921:4081(1160)
    "), @r"
    0.000 > New
    0.041 > New
    0.041 > New
    0.051 > sent Later by Bytes, PathMtu
    0.051 > sent Later by Bytes, PathMtu
    0.051 > sent Later by Bytes, PathMtu
    ");
}

#[test]
fn data_of_a_syn_that_the_responder_refuses_is_sent_again_without_a_loss() {
    assert_snapshot!(classes("
        0.000 > S 0:1000(1000)
        0.040 < S. 0 ack 1
        0.041 > 1:1001(1000)
        0.041 > 1001:2001(1000)
        0.290 > 1:1001(1000)
        0.330 < ack 1001
        0.331 > 1001:2001(1000)
    "), @r"
    0.000 > New
    0.040 < New
    0.041 > sent Later by Bytes, RefusedSynData
    0.041 > New
    0.290 > sent Later by Bytes, Timeout
    0.331 > sent Later by Bytes, AfterTimeout
    ");
}

#[test]
fn tail_sent_again_before_the_lost_head_is_a_probe() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.000 < ack 1
        0.000 > 1001:2001(1000)
        0.000 > 2001:3001(1000)
        0.000 > 3001:4001(1000)
        0.040 < ack 1 sack 4000:4001   // a part of the tail
        0.080 > 3001:4001(1000)
    "), @r"
    0.000 > New
    0.000 > New
    0.000 > New
    0.000 > New
    0.040 < duplicate ACK
    0.080 > sent Later by Bytes, TailLossProbe
    ");
}

#[test]
fn lone_tail_is_probed_before_the_timeout() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.040 < ack 1001
        0.120 > 1001:2001(1000)
        0.500 > 1001:2001(1000)
    "), @r"
    0.000 > New
    0.001 > New
    0.120 > sent Later by Bytes, TailLossProbe
    0.500 > sent Later by Bytes, Timeout
    ");
}

#[test]
fn retransmission_of_acknowledged_bytes_is_spurious() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        0.040 < ack 2001
        0.300 > 1:1001(1000)
    "), @r"
    0.000 > New
    0.001 > New
    0.300 > sent Later by Bytes, Timeout spurious
    ");
}

#[test]
fn handshake_is_retransmitted_by_timeout() {
    assert_snapshot!(classes("
        0.000 > S 0
        1.000 > S 0
        1.040 < S. 0 ack 1
    "), @r"
    0.000 > New
    1.000 > sent Later by Bytes, Timeout
    1.040 < New
    ");
}

#[test]
fn refused_data_of_a_syn_is_lost_if_it_is_sent_yet_again() {
    let classes = classes(
        "
        0.000 > S 0:1000(1000)
        0.040 < S. 0 ack 1
        0.041 > 1:1001(1000)
        0.041 > 1001:2001(1000)
        0.041 > 2001:3001(1000)
        0.041 > 3001:4001(1000)
        0.081 < ack 1 sack 1001:2001
        0.081 < ack 1 sack 1001:3001
        0.081 < ack 1 sack 1001:4001
        0.0813 > 1:1001(1000)
    ",
    );
    let causes = ["RefusedSynData", "FastRetransmit"].map(|cause| classes.matches(cause).count());
    assert_eq!(causes, [1, 1], "{classes}");
}
