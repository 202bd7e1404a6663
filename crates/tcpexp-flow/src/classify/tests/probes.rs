//! Keep-alives and window probes.

use insta::assert_snapshot;
use tcpexp_testkit::script;
use tcpexp_wire::{LinkType, Tunnels, decode};

use super::classes;
use crate::cause::PathTimes;
use crate::{Arrival, Class, Classifier, Direction, FlowPacket, FlowTable};

#[test]
fn probes_are_not_retransmissions() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.040 < ack 1001 win 0
        0.300 > 1000:1001(1)
        0.600 > 1001:1002(1)
        0.900 < ack 1002 win 500
        9.000 > . 1001
        9.040 < ack 1002 win 500
    "), @r"
    0.000 > New
    0.300 > WindowProbe
    0.600 > WindowProbe
    9.000 > KeepAlive
    ");
}

#[test]
fn repeated_zero_window_probe_is_never_a_retransmission() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000)
        0.040 < ack 1001 win 0
        0.300 > 1001:1002(1)
        0.340 < ack 1001 win 0
        0.900 > 1001:1002(1)
        0.940 < ack 1001 win 0
        2.100 > 1001:1002(1)
        2.140 < ack 1001 win 5000
        2.141 > 1001:2001(1000)
        2.181 < ack 2001 win 0
        2.500 > 2001:2002(1)
        2.540 < ack 2002 win 0
        3.000 > 2002:2003(1)
        3.040 < ack 2003 win 5000
        3.041 > 2003:3003(1000)
    "), @r"
    0.000 > New
    0.300 > WindowProbe
    0.900 > WindowProbe
    2.100 > WindowProbe
    2.141 > New
    2.500 > WindowProbe
    3.000 > WindowProbe
    3.041 > New
    ");
}

#[test]
fn repeated_unacknowledged_last_byte_is_a_retransmission() {
    assert_snapshot!(classes("
        0.000 > 1:2(1)
        0.300 > 1:2(1)
        0.340 < ack 2
        0.600 > P. 1:2(1) ack 1
    "), @r"
    0.000 > New
    0.300 > sent Later by Bytes, TailLossProbe
    0.600 > sent Later by Bytes, TailLossProbe spurious
    ");
}

/// The classes after a segment of 1000 bytes, an ACK of them, `data`, and `empty`, which carries the sequence
/// number before the next one.
fn before_next(id: [u32; 2], data: &str, answer: &str, empty: &str) -> String {
    let [first, second] = id;
    classes(&format!(
        "
        0.000 > 1:1001(1000) id 1
        0.001 > 1001:2001(1000) id 2
        0.040 < ack 2001
        0.050 > {data} id {first}
        {answer}
        {empty} ack 1 id {second}
    "
    ))
    .lines()
    .skip(3)
    .collect()
}

#[test]
fn ack_that_its_own_fin_or_a_byte_overtook_is_no_keep_alive() {
    for data in ["F. 2001", "P. 2001:2002(1)"] {
        // Neither the end of an acknowledgment nor a counter.
        assert_eq!(before_next([0, 0], data, "", "0.051 > . 2001"), "");
        assert_eq!(
            before_next([4, 3], data, "0.052 < ack 2002", "0.053 > . 2001"),
            ""
        );
        assert_eq!(
            before_next([0, 0], data, "0.052 < ack 2002", "0.053 > . 2001"),
            ""
        );
        // Outstanding data.
        assert_eq!(before_next([0, 0], data, "", "9.051 > . 2001"), "");
        let acked = "0.090 < ack 2002";
        assert_eq!(
            before_next([3, 4], data, acked, "9.051 > . 2001"),
            "9.051 > KeepAlive"
        );
        assert_eq!(
            before_next([0, 0], data, acked, "9.051 > . 2001"),
            "9.051 > KeepAlive"
        );
        // The counter may have wrapped.
        assert_eq!(
            before_next([40_000, 3], data, acked, "9.051 > . 2001"),
            "9.051 > KeepAlive"
        );
    }
}

#[test]
fn ack_after_refused_data_of_a_syn_is_no_keep_alive() {
    let classes = classes(
        "
        0.000 > S 0:1(1)
        0.040 < S. 0 ack 1
        0.041 > . 1 ack 1
        0.042 > P. 1:2(1) ack 1
        0.082 < ack 2
        9.000 > . 1 ack 1
    ",
    );
    assert!(!classes.contains("0.041"), "{classes}");
    assert!(classes.ends_with("9.000 > KeepAlive\n"), "{classes}");
}

#[test]
fn keep_alive_at_the_number_of_the_syn_brings_no_byte() {
    let mut classifier = Classifier::default();
    let mut table = FlowTable::default();
    let mut fresh = Vec::new();
    let text = "
        0.000 > S 0
        0.040 < S. 0 ack 1
        0.040 > . 1 ack 1
        9.000 > 0:1(1) ack 1
        9.500 > 1:101(100) ack 1
    ";
    for (at, frame) in script::packets(text) {
        let packet = decode(LinkType::ETHERNET, &frame, 0, Tunnels::Closed).unwrap();
        let mut arrival = Arrival::new(0, at, 0, &packet);
        table.place(&mut arrival);
        if let FlowPacket::Tcp(segment) = arrival.packet()
            && segment.seen.direction == Direction::Forward
        {
            fresh.push(classifier.segment(segment, PathTimes::default));
        }
    }
    assert_eq!(fresh[2..], [(Class::KeepAlive, 0), (Class::New, 100)]);
}
