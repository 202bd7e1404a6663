//! Connections that open simultaneously or again.

use insta::assert_snapshot;

use super::classes;

#[test]
fn syn_acks_of_a_simultaneous_open_are_not_retransmissions() {
    assert_snapshot!(classes("
        0.000 > S 0
        0.010 < S 0
        0.010 > S. 0 ack 1
        0.020 < S. 0 ack 1
        0.021 > 1:1001(1000) ack 1
        1.020 < S. 0 ack 1
    "), @r"
    0.000 > New
    0.010 < New
    0.021 > New
    1.020 < sent Later by Bytes, Timeout spurious
    ");
}

#[test]
fn half_open_recovery_is_no_disorder() {
    let after = |earlier: &str| {
        classes(&format!(
            "
            0.000 > S 5000
            0.020 < . {earlier}
            0.020 > R 101
            1.000 > S 5000
            1.020 < S. 59000 ack 5001
            1.020 > . 5001 ack 59001
            1.030 > 5001:5201(200) ack 59001
            1.050 < 59001:60001(1000) ack 5201
        "
        ))
    };
    let expected = after("9101 ack 101");
    assert_snapshot!(expected, @r"
    0.000 > New
    1.000 > sent Later by Bytes, Timeout
    1.020 < New
    1.030 > New
    1.050 < New
    ");
    assert_eq!(after("70000 ack 101"), expected);
    assert_eq!(after("9101 ack 90101"), expected);
}

/// The listener answers both copies of a SYN, which reach it together.
#[test]
fn syn_acks_that_differ_in_timestamp_or_identification_are_two_packets() {
    let second = |first: &str, second: &str| {
        let classes = classes(&format!(
            "
            0.0000 > S 0 ts 1 0
            1.0000 > S 0 ts 1001 0
            1.0060 < S. 0 ack 1 {first}
            1.0061 < S. 0 ack 1 {second}
        "
        ));
        classes.lines().last().unwrap_or_default().to_owned()
    };
    let retransmission = "1.006 < sent Later by Bytes, Timeout";
    assert_eq!(second("id 0 ts 900 1", "id 0 ts 1912 1"), retransmission);
    assert_eq!(second("id 7", "id 8"), retransmission);
    assert_eq!(second("id 0 ts 900 1", "id 0 ts 900 1"), "1.006 < Copy");
    assert_eq!(second("id 0", "id 0"), "1.006 < Copy");
}
