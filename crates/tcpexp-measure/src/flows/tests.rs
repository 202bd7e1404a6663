//! What is told of the connections of a script.

use std::fmt::Write;

use insta::assert_snapshot;
use tcpexp_flow::{Cause, Direction};

use super::{Connection, ConnectionSummary, DirectionSummary};
use crate::meter;
use crate::scripted::Scripted;

/// A handshake over 40 ms, captured where the connection is opened.
const AT_INITIATOR: &str = "
    0.000 > S
    0.040 < S.
    0.040 > .
";
/// The same, captured where it is accepted.
const AT_RESPONDER: &str = "
    0.000 > S
    0.000 < S.
    0.040 > .
";

fn connections(text: &str) -> Vec<ConnectionSummary> {
    let mut all = Vec::new();
    let metered = meter(
        &mut Scripted::new(text),
        |_| Connection::default(),
        |rows| {
            all.extend(rows);
            Ok::<(), ()>(())
        },
    );
    assert_eq!(metered.unwrap().flows as usize, all.len());
    all
}

/// A line for each connection and one for each of its directions; what was not seen is left out.
fn told(text: &str) -> String {
    let mut lines = String::new();
    for connection in connections(text) {
        writeln!(lines, "{}", about(&connection)).unwrap();
        for direction in Direction::BOTH {
            let of = &connection.directions[direction.index()];
            if of.packets > 0 {
                writeln!(lines, "{direction}: {}", counts(of)).unwrap();
            }
        }
    }
    lines
}

fn about(connection: &ConnectionSummary) -> String {
    let mut text = format!(
        "{} {} {:.0}",
        connection.protocol,
        connection.ending.name(),
        connection.duration
    );
    if let Some(vantage) = connection.vantage {
        write!(text, ", at {}", vantage.name()).unwrap();
    }
    if let Some(rtt) = connection.handshake_rtt {
        write!(text, ", handshake {rtt:.0}").unwrap();
    }
    let agreed = [
        ("sack", connection.sack),
        ("timestamps", connection.timestamps),
        ("scaling", connection.window_scaling),
        ("ecn", connection.ecn),
    ];
    for (what, _) in agreed.iter().filter(|(_, agreed)| *agreed == Some(true)) {
        write!(text, ", {what}").unwrap();
    }
    text
}

fn counts(of: &DirectionSummary) -> String {
    let by_cause = Cause::ALL.map(|cause| of.retransmitted[cause.index()].packets);
    let counts = [
        ("sent", of.packets),
        ("with data", of.data_packets),
        ("bytes", of.payload_bytes),
        ("unique", of.unique_bytes),
        ("resent fast", by_cause[0]),
        ("by timeout", by_cause[1]),
        ("as probe", by_cause[2]),
        ("bytes again", of.retransmissions().bytes),
        ("needless", of.needless_packets),
        ("reordered", of.reordered_packets),
        ("undecided", of.undecided_packets),
        ("copied", of.copied_packets),
        ("keep-alive", of.keep_alive_packets),
        ("window probes", of.window_probe_packets),
        ("duplicate ACKs", of.duplicate_ack_packets),
        ("zero windows", of.zero_window_packets),
        ("D-SACKs", of.duplicate_sack_packets),
        ("marked", of.congestion_experienced_packets),
    ];
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    if let Some(rtt) = of.rtt {
        parts.push(format!("RTT {:.0}..{:.0}", rtt.min, rtt.max));
    }
    parts.join(", ")
}

/// What is told of the direction from the initiator behind a handshake at its end.
fn sent(text: &str) -> String {
    direction(AT_INITIATOR, text, Direction::Forward)
}

/// The same where it is received.
fn received(text: &str) -> String {
    direction(AT_RESPONDER, text, Direction::Forward)
}

/// What is told of the direction to the initiator behind a handshake at its end.
fn answered(text: &str) -> String {
    direction(AT_INITIATOR, text, Direction::Reverse)
}

fn direction(handshake: &str, text: &str, direction: Direction) -> String {
    let connections = connections(&format!("{handshake}{text}"));
    assert_eq!(connections.len(), 1);
    counts(&connections[0].directions[direction.index()])
}

#[test]
fn whole_connection_is_told_in_three_lines() {
    assert_snapshot!(told("
        0.000 > S sackok ts 1 0 mss 1460 wscale 7
        0.040 < S. sackok ts 9 1 mss 1400 wscale 2
        0.041 > . ts 42 9
        0.050 > 1:101(100) ts 51 9
        0.091 < 1:1001(1000) ts 60 51
        0.092 > . ts 93 60
        0.100 > F
        0.140 < F
        0.140 > .
    "), @r"
    tcp closed 140 ms, at initiator, handshake 41 ms, sack, timestamps, scaling
    forward: 6 sent, 1 with data, 100 bytes, 100 unique, RTT 40 ms..41 ms
    reverse: 3 sent, 1 with data, 1000 bytes, 1000 unique, RTT 0 ns..1 ms
    ");
}

#[test]
fn offers_are_kept_by_direction_and_agreed_by_both() {
    let connections = connections(
        "
        0.000 > S sackok mss 1460 wscale 7
        0.040 < S. ts 9 0 mss 1400 wscale 2
    ",
    );
    let offers = connections[0]
        .directions
        .each_ref()
        .map(|d| d.offer.unwrap());
    assert_eq!(offers.map(|offer| offer.mss), [Some(1460), Some(1400)]);
    assert_eq!(offers.map(|offer| offer.window_scale), [Some(7), Some(2)]);
    assert_eq!(offers.map(|offer| offer.sack_permitted), [true, false]);
    assert_eq!(offers.map(|offer| offer.timestamps), [false, true]);
    assert_eq!(connections[0].sack, Some(false));
    assert_eq!(connections[0].timestamps, Some(false));
    assert_eq!(connections[0].window_scaling, Some(true));
}

#[test]
fn nothing_is_known_to_be_agreed_without_both_syns() {
    let unknown = [None; 4];
    for text in [
        "0.0 > S sackok",
        "0.0 < S. sackok\n0.1 > .",
        "0.0 > 1:101(100)",
    ] {
        let connection = &connections(text)[0];
        let ConnectionSummary {
            sack,
            timestamps,
            window_scaling,
            ecn,
            ..
        } = connection;
        assert_eq!(
            [*sack, *timestamps, *window_scaling, *ecn],
            unknown,
            "{text}"
        );
        assert_eq!(connection.handshake_rtt, None, "{text}");
    }
}

#[test]
fn ecn_is_agreed_by_its_two_different_requests() {
    let ecn = |text| connections(text)[0].ecn;
    assert_eq!(ecn("0.0 > SEW\n0.1 < S.E"), Some(true));
    assert_eq!(ecn("0.0 > SEW\n0.1 < S."), Some(false));
    assert_eq!(ecn("0.0 > S\n0.1 < S.E"), Some(false));
    // An end that reflects the flags does not know what they mean (RFC 3168, section 6.1.1.1).
    assert_eq!(ecn("0.0 > SEW\n0.1 < S.EW"), Some(false));
}

#[test]
fn handshake_gives_the_whole_round_trip_wherever_it_is_captured() {
    assert_snapshot!(told(AT_INITIATOR), @r"
    tcp open 40 ms, at initiator, handshake 40 ms
    forward: 2 sent, RTT 40 ms..40 ms
    reverse: 1 sent, RTT 0 ns..0 ns
    ");
    assert_snapshot!(told(AT_RESPONDER), @r"
    tcp open 40 ms, at responder, handshake 40 ms
    forward: 2 sent, RTT 0 ns..0 ns
    reverse: 1 sent, RTT 40 ms..40 ms
    ");
    assert_snapshot!(told("
        0.000 > S
        0.025 < S.
        0.040 > .
    "), @r"
    tcp open 40 ms, at between, handshake 40 ms
    forward: 2 sent, RTT 25 ms..25 ms
    reverse: 1 sent, RTT 15 ms..15 ms
    ");
}

#[test]
fn handshake_of_which_a_part_was_sent_twice_gives_no_round_trip() {
    assert_snapshot!(told("
        0.000 > S
        1.000 > S
        1.040 < S.
        1.040 > .
    "), @r"
    tcp open 1 s
    forward: 3 sent, 1 by timeout
    reverse: 1 sent, RTT 0 ns..0 ns
    ");
    assert_snapshot!(told("
        0.000 > S
        0.040 < S.
        1.040 < S. 0
        1.040 > .
    "), @r"
    tcp open 1 s
    forward: 2 sent, RTT 40 ms..40 ms
    reverse: 2 sent, 1 by timeout
    ");
}

#[test]
fn vantage_is_told_by_data_and_acks_where_the_handshake_was_not_captured() {
    assert_snapshot!(told("
        0.000 > 1:101(100)
        0.040 < 1:101(100)
        0.041 > .
    "), @r"
    tcp open 41 ms, at initiator
    forward: 2 sent, 1 with data, 100 bytes, 100 unique, RTT 40 ms..40 ms
    reverse: 1 sent, 1 with data, 100 bytes, 100 unique, RTT 1 ms..1 ms
    ");
    assert_snapshot!(told("
        0.000 > 1:101(100)
        0.001 < 1:101(100)
        0.041 > .
    "), @r"
    tcp open 41 ms, at responder
    forward: 2 sent, 1 with data, 100 bytes, 100 unique, RTT 1 ms..1 ms
    reverse: 1 sent, 1 with data, 100 bytes, 100 unique, RTT 40 ms..40 ms
    ");
}

#[test]
fn ending_is_told_by_fin_and_rst() {
    let ending = |text: &str| {
        connections(&format!("{AT_INITIATOR}{text}"))[0]
            .ending
            .name()
    };
    assert_eq!(ending("0.1 > F\n0.2 < F\n0.2 > ."), "closed");
    assert_eq!(ending("0.1 > F\n0.2 < ."), "half_closed_by_initiator");
    assert_eq!(ending("0.1 < F\n0.2 > ."), "half_closed_by_responder");
    assert_eq!(ending("0.1 > R"), "reset_by_initiator");
    assert_eq!(ending("0.1 < R."), "reset_by_responder");
    assert_eq!(ending("0.1 > F\n0.2 < R"), "reset_by_responder");
    assert_eq!(ending("0.1 > F\n0.2 < F\n0.2 > R"), "closed");
    assert_eq!(ending("0.1 > 1:101(100)"), "open");
}

#[test]
fn syn_alone_is_unanswered_and_a_refusal_is_a_reset() {
    let ending = |text| connections(text)[0].ending.name();
    assert_eq!(ending("0 > S\n1 > S\n3 > S"), "unanswered");
    assert_eq!(ending("0 > S\n0.04 < R. 0 ack 1"), "reset_by_responder");
}

#[test]
fn one_way_of_a_connection_that_works_is_open() {
    let ending = |text| connections(text)[0].ending.name();
    assert_eq!(ending("0 > 1:101(100)\n1 > 101:201(100)"), "open");
    // Its other way takes another path, where nobody captures.
    assert_eq!(
        ending("0 > S\n0.04 > . 1 ack 1\n0.05 > 1:101(100) ack 1"),
        "open"
    );
    assert_eq!(ending("0 < S. 0 ack 1\n0.1 < 1:101(100) ack 1"), "open");
}

#[test]
fn retransmissions_are_counted_by_what_set_them_off() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.102 > 2001:3001(1000)
        0.103 > 3001:4001(1000)
        0.140 < ack 1
        0.141 < ack 1
        0.142 < ack 1
        0.142 > 1:1001(1000)      // asked for
        0.180 < ack 4001
        0.200 > 4001:5001(1000)
        0.280 > 4001:5001(1000)   // a probe
        0.600 > 4001:5001(1000)   // a timeout
        1.200 > 4001:5001(1000)   // and one more
    "), @"11 sent, 9 with data, 9000 bytes, 5000 unique, 1 resent fast, 2 by timeout, 1 as probe, 4000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn what_had_been_acknowledged_is_sent_again_needlessly() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.140 < ack 1001
        0.400 > 1:1001(1000)
        0.401 > 1001:2001(1000)
    "), @"6 sent, 4 with data, 4000 bytes, 2000 unique, 2 by timeout, 2000 bytes again, 1 needless, RTT 40 ms..40 ms");
}

#[test]
fn part_of_a_segment_that_is_new_is_not_sent_again() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.400 > 1:1501(1500)
    "), @"4 sent, 2 with data, 2500 bytes, 1500 unique, 1 by timeout, 1000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn at_the_sender_all_that_is_behind_its_place_was_sent_again() {
    // The capture missed 1001:2001 when it was sent first; its counters say nothing.
    let gap = "
        0.100 > 1:1001(1000) id 0
        0.101 > 2001:3001(1000) id 0
        0.102 > 1001:2001(1000) id 0
    ";
    assert_snapshot!(sent(gap), @"5 sent, 3 with data, 3000 bytes, 3000 unique, 1 resent fast, 1000 bytes again, RTT 40 ms..40 ms");
    assert_snapshot!(received(gap), @"5 sent, 3 with data, 3000 bytes, 3000 unique, 1 reordered, RTT 0 ns..0 ns");
}

#[test]
fn at_the_receiver_counters_tell_what_was_overtaken_from_what_was_sent_again() {
    let text = "
        0.100 > 1:1001(1000) id 4 ts 10 1
        0.101 > 2001:3001(1000) id 6 ts 10 1
        0.102 > 1001:2001(1000) id 5 ts 10 1   // overtaken
        0.103 > 4001:5001(1000) id 8 ts 11 1
        0.160 > 3001:4001(1000) id 9 ts 60 1   // lost, and sent again
    ";
    assert_snapshot!(received(text), @"7 sent, 5 with data, 5000 bytes, 5000 unique, 1 resent fast, 1000 bytes again, 1 reordered, RTT 0 ns..0 ns");
    // The same at the sender cannot have been overtaken.
    assert_snapshot!(sent(text), @"7 sent, 5 with data, 5000 bytes, 5000 unique, 2 resent fast, 2000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn what_nothing_tells_about_is_undecided() {
    // No identification, no timestamps, no round trip.
    assert_snapshot!(told("
        0.100 > 1:1001(1000) id 0
        0.101 > 2001:3001(1000) id 0
        0.102 > 1001:2001(1000) id 0
    "), @r"
    tcp open 2 ms
    forward: 3 sent, 3 with data, 3000 bytes, 3000 unique, 1 undecided
    ");
}

#[test]
fn bytes_captured_before_were_sent_again_whatever_else_comes_with_them() {
    // Two segments sent as one.
    assert_snapshot!(received("
        0.100 > 1:1001(1000) id 0
        0.400 > 1:2001(2000) id 0
    "), @"4 sent, 2 with data, 3000 bytes, 2000 unique, 1 by timeout, 1000 bytes again, RTT 0 ns..0 ns");
}

#[test]
fn copies_are_neither_sent_again_nor_unique() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000) id 4
        0.100 > 1:1001(1000) id 4
        0.101 > 1001:2001(1000) id 5
        0.101 > 1001:2001(1000) id 5
    "), @"6 sent, 4 with data, 4000 bytes, 2000 unique, 2 copied, RTT 40 ms..40 ms");
}

#[test]
fn probes_of_an_idle_connection_and_of_a_closed_window_are_counted_apart() {
    let text = "
        0.100 > 1:1001(1000)
        0.140 < ack 1001 win 0
        0.500 > 1000:1001(1) ack 1   // asks with an old byte
        0.540 < ack 1001 win 0
        1.500 > 1001:1002(1)         // asks with a new one
        1.540 < ack 1002 win 9000
        9.000 > . 1001 ack 1
        9.040 < ack 1002 win 9000
    ";
    assert_snapshot!(sent(text), @"6 sent, 3 with data, 1002 bytes, 1001 unique, 1 keep-alive, 2 window probes, RTT 40 ms..40 ms");
    assert_snapshot!(answered(text), @"5 sent, 2 zero windows, RTT 0 ns..0 ns");
}

#[test]
fn duplicate_acks_and_duplicate_sacks_belong_to_the_way_they_go() {
    let text = "
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.102 > 2001:3001(1000)
        0.140 < ack 1 sack 1001:2001
        0.141 < ack 1 sack 1001:3001
        0.142 > 1:1001(1000)
        0.180 < ack 3001
        0.181 < ack 3001 sack 1:1001            // below the ACK
        0.200 > 3001:4001(1000)
        0.201 > 4001:5001(1000)
        0.240 < ack 3001 sack 4001:5001
        0.241 < ack 3001 sack 4001:4501,4001:5001  // within the next block
    ";
    assert_snapshot!(answered(text), @"7 sent, 4 duplicate ACKs, 2 D-SACKs, RTT 0 ns..0 ns");
    assert_snapshot!(sent(text), @"8 sent, 6 with data, 6000 bytes, 5000 unique, 1 resent fast, 1000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn only_congestion_experienced_is_a_mark() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000) tos 2
        0.101 > 1001:2001(1000) tos 3
        0.102 > 2001:3001(1000) tos 1
        0.103 > 3001:4001(1000) tos 187
    "), @"6 sent, 4 with data, 4000 bytes, 4000 unique, 2 marked, RTT 40 ms..40 ms");
}

#[test]
fn bytes_that_were_never_captured_are_not_unique_bytes() {
    // 1001:3001 is missing in the capture.
    assert_snapshot!(received("
        0.100 > 1:1001(1000)
        0.101 > 3001:4001(1000)
        0.102 > 4001:5001(1000)
    "), @"5 sent, 3 with data, 3000 bytes, 3000 unique, RTT 0 ns..0 ns");
}

#[test]
fn retransmission_ends_what_acks_tell_of_round_trips() {
    // The ACK may be due to either copy, and may have waited for the first segment.
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.400 > 1:1001(1000)
        0.440 < ack 2001
        0.450 > 2001:3001(1000)
        0.500 < ack 3001
    "), @"6 sent, 4 with data, 4000 bytes, 3000 unique, 1 by timeout, 1000 bytes again, RTT 40 ms..50 ms");
}

#[test]
fn datagrams_are_counted_and_nothing_else_is_told_of_them() {
    assert_snapshot!(told("
        0.000 > udp 100
        0.010 > udp 100 tos 3
        0.020 < udp 20
    "), @r"
    udp open 20 ms
    forward: 2 sent, 2 with data, 200 bytes, 200 unique, 1 marked
    reverse: 1 sent, 1 with data, 20 bytes, 20 unique
    ");
}

#[test]
fn bytes_of_each_layer_are_counted() {
    let connection = &connections("0 > 1:101(100)\n1 > . 101 ack 1\n2 > 101:102(1)")[0];
    let of = &connection.directions[0];
    assert_eq!(
        [of.wire_bytes, of.ip_bytes, of.payload_bytes],
        [3 * 54 + 101, 3 * 40 + 101, 101]
    );
    assert_eq!(of.largest_payload_bytes, Some(100));
    assert_eq!(connection.directions[1].largest_payload_bytes, None);
    assert_eq!(connection.directions[1].span, None);
}

#[test]
fn connections_side_by_side_do_not_mix() {
    assert_snapshot!(told("
        0.000 > S flow 1
        0.001 > S flow 2
        0.040 < S. flow 1
        0.041 < S. flow 2
        0.041 > . flow 1
        0.042 > . flow 2
        0.100 > 1:101(100) flow 1
        0.100 > 1:201(200) flow 2
        0.400 > 1:101(100) flow 1
        0.500 > R flow 2
    "), @r"
    tcp open 400 ms, at initiator, handshake 41 ms
    forward: 4 sent, 2 with data, 200 bytes, 100 unique, 1 by timeout, 100 bytes again, RTT 40 ms..40 ms
    reverse: 1 sent, RTT 1 ms..1 ms
    tcp reset_by_initiator 499 ms, at initiator, handshake 41 ms
    forward: 4 sent, 1 with data, 200 bytes, 200 unique, RTT 40 ms..40 ms
    reverse: 1 sent, RTT 1 ms..1 ms
    ");
}
