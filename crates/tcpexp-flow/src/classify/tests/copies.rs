//! Duplicate records of a packet.

use insta::{allow_duplicates, assert_snapshot};

use super::classes;

#[test]
fn packet_captured_twice_is_not_a_retransmission() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 7
        0.001 > 1001:2001(1000) id 8
        0.001 > 1001:2001(1000) id 8
        0.002 > 2001:3001(1000) id 9
        0.090 > 1001:2001(1000) id 8
    "), @r"
    0.000 > New
    0.001 > New
    0.001 > Copy
    0.002 > New
    0.090 > Copy
    ");
}

#[test]
fn duplicate_without_an_identification_is_not_a_retransmission() {
    let stamped = "
        0.0000 > . 1 ack 1 v6
        0.0000 < . 1 ack 1 v6
        0.0000 > 1:1001(1000) v6 ts 10 1
        0.0000 > 1:1001(1000) v6 ts 10 1
        0.0010 > 1001:2001(1000) v6 ts 11 1
        0.0011 > 2001:3001(1000) v6 ts 11 1
        0.0012 > 1001:2001(1000) v6 ts 11 1   // after one more packet
        0.0022 > 3001:4001(1000) v6 ts 12 1
        0.0042 > 1:1001(1000) v6 ts 10 1      // after several
        0.0400 < ack 4001 v6
        0.0500 > 4001:5001(1000) v6 ts 60 41
        0.2500 > 4001:5001(1000) v6 ts 260 41
    ";
    assert_snapshot!(classes(stamped), @r"
    0.000 > New
    0.000 > Copy
    0.001 > New
    0.001 > New
    0.001 > Copy
    0.002 > New
    0.004 > Copy
    0.050 > New
    0.250 > sent Later by Bytes, TailLossProbe
    ");
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0
        0.001 > 1:1001(1000) id 0
        0.002 > 1001:2001(1000) id 0
        0.005 > 1001:2001(1000) id 0
    "), @r"
    0.000 > New
    0.001 > Copy
    0.002 > New
    0.005 > sent Later by Bytes, ReorderingTimer
    ");
}

#[test]
fn smaller_segment_after_a_smaller_path_mtu_is_a_retransmission() {
    assert_snapshot!(classes("
        0.0000 > 1:1441(1440) v6 ts 10 1
        0.0003 > 1:1221(1220) v6 ts 10 1
        0.0004 > 1221:1441(220) v6 ts 10 1
    "), @r"
    0.000 > New
    0.000 > sent Later by Bytes, ReorderingTimer
    0.000 > sent Later by Bytes, FastRetransmit
    ");
}

#[test]
fn packets_of_a_capture_that_has_each_twice_count_once() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 7 ts 10 1
        0.000 > 1:1001(1000) id 7 ts 10 1
        0.001 > 1001:2001(1000) id 8 ts 11 1
        0.001 > 1001:2001(1000) id 8 ts 11 1
        0.040 < ack 1 id 20 ts 50 1
        0.040 < ack 1 id 20 ts 50 1
        0.041 < ack 1 id 21 ts 51 1
        0.041 < ack 1 id 21 ts 51 1
        0.300 > 1:1001(1000) id 9 ts 310 1
        0.300 > 1:1001(1000) id 9 ts 310 1
        0.301 > 1001:2001(1000) id 10 ts 311 1
    "), @r"
    0.000 > New
    0.000 > Copy
    0.001 > New
    0.001 > Copy
    0.041 < duplicate ACK
    0.300 > sent Later by Bytes, Timeout
    0.300 > Copy
    0.301 > sent Later by Bytes, AfterTimeout
    ");
}

#[test]
fn packets_of_a_router_count_once_if_its_queue_separates_their_records() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) ttl 63 v6
        0.001 > 1001:2001(1000) ttl 63 v6
        0.005 > 1:1001(1000) ttl 62 v6
        0.006 > 1001:2001(1000) ttl 62 v6
        0.040 < ack 1 ttl 61 v6
        0.041 < ack 1 ttl 60 v6
        0.050 < ack 1 ttl 61 v6
        0.051 < ack 1 ttl 60 v6
        0.300 > 1:1001(1000) ttl 63 v6
        0.310 > 1:1001(1000) ttl 62 v6
    "), @r"
    0.000 > New
    0.001 > New
    0.005 > Copy
    0.006 > Copy
    0.050 < duplicate ACK
    0.300 > sent Later by Bytes, Timeout
    0.310 > Copy
    ");
}

#[test]
fn segments_into_which_a_router_cuts_a_packet_count_once() {
    assert_snapshot!(classes("
        0.000000 > 1:101(100) id 1 ttl 64 ts 10 1
        0.000010 > 1:101(100) id 1 ttl 63 ts 10 1
        0.001000 > 101:3101(3000) id 2 ttl 64 ts 11 1
        0.001003 > 101:1101(1000) id 2 ttl 63 ts 11 1
        0.001004 > 1101:2101(1000) id 3 ttl 63 ts 11 1
        0.001005 > 2101:3101(1000) id 4 ttl 63 ts 11 1
        0.001006 > 3101:5101(2000) id 5 ttl 64 ts 11 1
        0.001007 > 3101:4101(1000) id 5 ttl 63 ts 11 1
        0.001008 > 4101:5101(1000) id 6 ttl 63 ts 11 1
        0.300000 > 101:1101(1000) id 7 ttl 64 ts 310 1
        0.300010 > 101:1101(1000) id 7 ttl 63 ts 310 1
    "), @r"
    0.000 > New
    0.000 > Copy
    0.001 > New
    0.001 > Copy
    0.001 > Copy
    0.001 > Copy
    0.001 > New
    0.001 > Copy
    0.001 > Copy
    0.300 > sent Later by Bytes, Timeout
    0.300 > Copy
    ");
}

#[test]
fn late_copy_has_the_identification_of_the_latest_packet() {
    let repeated = |id: u32| {
        classes(&format!(
            "
            0.000 > 1:1001(1000) id 7 ts 10 1
            0.001 > 1001:2001(1000) id 8 ts 11 1
            0.040 < ack 2001
            0.050 > 2001:3001(1000) id 9 ts 60 1
            0.300 > 2001:3001(1000) id {id} ts 60 1
        "
        ))
    };
    assert_snapshot!(repeated(9), @r"
    0.000 > New
    0.001 > New
    0.050 > New
    0.300 > Copy
    ");
    assert_snapshot!(repeated(10), @r"
    0.000 > New
    0.001 > New
    0.050 > New
    0.300 > sent Later by Bytes, TailLossProbe
    ");
}

/// Classes of a duplicate after three newer packets, and of the packet after it. `before` comes between the
/// packets and the duplicate.
fn late_duplicate(ids: [u16; 7], before: &str, at: &str) -> String {
    let [first, others @ .., repeat, last] = ids;
    let [second, third, fourth, fifth] = others;
    classes(&format!(
        "
        0.0000 > 1:1001(1000) id {first}
        0.0400 < ack 1001
        0.0410 > 1001:2001(1000) id {second}
        0.0411 > 2001:3001(1000) id {third}
        0.0412 > 3001:4001(1000) id {fourth}
        0.0413 > 4001:5001(1000) id {fifth}
        {before}
        {at} > 1001:2001(1000) id {repeat}
        {at} > 5001:6001(1000) id {last}
    "
    ))
}

#[test]
fn repeat_that_no_ack_and_no_timer_asks_for_is_undecided() {
    for ids in [[0; 7], [9, 40_000, 7, 30_000, 20_000, 40_000, 12]] {
        let class = |before: &str, at: &str| {
            late_duplicate(ids, before, at)
                .lines()
                .nth(5)
                .unwrap_or_default()
                .to_owned()
        };
        allow_duplicates! {
            assert_snapshot!(class("", "0.0414"), @"0.041 > sent Unknown by Bytes, Spurious");
            assert_snapshot!(class("0.0415 < ack 3001", "0.0416"), @"0.042 > sent Unknown by Bytes, Spurious spurious");
            // A timer, and an ACK that reports a loss.
            assert_snapshot!(class("", "0.3000"), @"0.300 > sent Later by Bytes, Timeout");
        }
    }
    let reported = late_duplicate([0; 7], "0.0414 < ack 1001", "0.0418");
    assert_snapshot!(reported.lines().nth(6).unwrap_or_default(), @"0.042 > sent Later by Bytes, FastRetransmit");
}

#[test]
fn counter_shows_a_duplicate_of_the_path() {
    let duplicate = late_duplicate([1, 2, 3, 4, 5, 2, 6], "", "0.0414");
    assert_snapshot!(duplicate.lines().nth(5).unwrap_or_default(), @"0.041 > Copy");
}

#[test]
fn overtaken_retransmission_after_a_timeout_is_no_duplicate() {
    for ack in ["2001", "3001"] {
        let classes = classes(&format!(
            "
            0.0000 > 1:1001(1000) id 1
            0.0400 < ack 1001
            0.0410 > 1001:2001(1000) id 2
            0.0411 > 2001:3001(1000) id 3
            0.0810 < ack {ack}              // may be lost on its way to the sender
            0.4001 > 3001:4001(1000) id 5
            0.4002 > 2001:3001(1000) id 4
        "
        ));
        let last = classes.lines().last().unwrap_or_default();
        assert!(last.contains("> sent Unknown by Bytes"), "{classes}");
    }
}

#[test]
fn path_duplicate_of_a_retransmission_has_its_random_identification() {
    let repeated = |again: &str, id: u32, at: &str| {
        let all = classes(&format!(
            "
            0.0000 > 1:1001(1000) id 9
            0.0010 > 2001:3001(1000) id 40000
            0.0011 > 3001:4001(1000) id 7
            0.0410 < ack 1001 sack 2001:4001
            {again} > 1001:2001(1000) id 30000
            {at} > 1001:2001(1000) id {id}
        "
        ));
        all.lines().skip(3).collect::<Vec<_>>().join(", ")
    };
    assert_snapshot!(repeated("0.0600", 30_000, "0.0601"), @"0.060 > sent Later by Time, ReorderingTimer, 0.060 > Copy");
    assert_snapshot!(repeated("0.0600", 500, "0.0601"), @"0.060 > sent Later by Time, ReorderingTimer, 0.060 > sent Later by Bytes, FastRetransmit");
}
