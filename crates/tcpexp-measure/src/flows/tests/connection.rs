//! Summaries of whole connections.

use insta::assert_snapshot;

use super::*;

#[test]
fn whole_connection_has_three_lines() {
    assert_snapshot!(rendered("
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
fn options_are_offered_per_direction_and_agreed_by_both() {
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
fn without_both_syns_no_option_is_known_to_be_agreed() {
    let unknown = [None; 3];
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
        assert_eq!([*sack, *timestamps, *window_scaling], unknown, "{text}");
        assert_eq!(*ecn, None, "{text}");
        assert_eq!(connection.handshake_rtt, None, "{text}");
    }
}

#[test]
fn ecn_mode_follows_from_both_syns() {
    let ecn = |text| connections(text)[0].ecn;
    assert_eq!(ecn("0.0 > SEW\n0.1 < S.E"), Some(EcnMode::Classic));
    assert_eq!(ecn("0.0 > SEW\n0.1 < S."), Some(EcnMode::NotEcn));
    assert_eq!(ecn("0.0 > S\n0.1 < S.E"), Some(EcnMode::NotEcn));
    assert_eq!(ecn("0.0 > SAEW\n0.1 < S.W"), Some(EcnMode::Accurate));
    assert_eq!(ecn("0.0 > SAEW\n0.1 < S.A"), Some(EcnMode::Accurate));
    // A server that supports RFC 3168 only, and a middlebox that clears the flags.
    assert_eq!(ecn("0.0 > SAEW\n0.1 < S.E"), Some(EcnMode::Classic));
    assert_eq!(ecn("0.0 > SAEW\n0.1 < S."), Some(EcnMode::NotEcn));
    assert_eq!(ecn("0.0 > SAEW\n0.1 < S.AEW"), Some(EcnMode::NotEcn));
    assert_eq!(ecn("0.1 < S.E"), None);
    // An end that reflects the flags does not support them (RFC 3168, section 6.1.1.1).
    assert_eq!(ecn("0.0 > SEW\n0.1 < S.EW"), Some(EcnMode::NotEcn));
}

#[test]
fn handshake_yields_the_whole_round_trip_at_any_capture_point() {
    assert_snapshot!(rendered(AT_INITIATOR), @r"
    tcp open 40 ms, at initiator, handshake 40 ms
    forward: 2 sent, RTT 40 ms..40 ms
    reverse: 1 sent, RTT 0 ns..0 ns
    ");
    assert_snapshot!(rendered(AT_RESPONDER), @r"
    tcp open 40 ms, at responder, handshake 40 ms
    forward: 2 sent, RTT 0 ns..0 ns
    reverse: 1 sent, RTT 40 ms..40 ms
    ");
    assert_snapshot!(rendered("
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
fn retransmitted_handshake_yields_no_round_trip() {
    assert_snapshot!(rendered("
        0.000 > S
        1.000 > S
        1.040 < S.
        1.040 > .
    "), @r"
    tcp open 1 s
    forward: 3 sent, 1 by timeout
    reverse: 1 sent, RTT 0 ns..0 ns
    ");
    assert_snapshot!(rendered("
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
fn data_instead_of_the_last_ack_of_the_handshake_yields_no_round_trip() {
    // At the responder, after an ACK that was lost.
    let answers = [
        "2.020 > 1:101(100) ack 1",
        "0.001 < 1:101(100)\n2.020 > . 1 ack 101",
    ];
    for answer in answers {
        let text = format!("0.000 > S\n0.000 < S.\n{answer}");
        let connection = &connections(&text)[0];
        assert_eq!(connection.handshake_rtt, None, "{answer}");
    }
}

#[test]
fn vantage_is_inferred_from_data_and_acks_without_a_handshake() {
    assert_snapshot!(rendered("
        0.000 > 1:101(100)
        0.040 < 1:101(100)
        0.041 > .
    "), @r"
    tcp open 41 ms, at initiator
    forward: 2 sent, 1 with data, 100 bytes, 100 unique, RTT 40 ms..40 ms
    reverse: 1 sent, 1 with data, 100 bytes, 100 unique, RTT 1 ms..1 ms
    ");
    assert_snapshot!(rendered("
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
fn ending_is_determined_by_fin_and_rst() {
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
fn fin_outside_the_window_closes_nothing() {
    let ending = |text: &str| connections(text)[0].ending.name();
    let handshake = "
        0.000 > S wscale 0
        0.040 < S. win 8000 wscale 0
        0.040 > .
    ";
    let forged = "0.1 > F 300000 ack 1\n0.14 < . 1 ack 1 win 8000\n";
    let later = "0.2 > 1:101(100) ack 1\n0.24 < . 1 ack 101 win 8000\n";
    assert_eq!(ending(&format!("{handshake}{forged}{later}")), "open");
    let fin = "0.3 > F 101 ack 1";
    assert_eq!(
        ending(&format!("{handshake}{forged}{later}{fin}")),
        "half_closed_by_initiator"
    );
    // The capture missed the data before it.
    assert_eq!(
        ending(&format!("{handshake}{forged}0.15 < . 1 ack 300001")),
        "half_closed_by_initiator"
    );
}

#[test]
fn data_at_the_number_of_a_fin_shows_that_the_connection_goes_on() {
    let after = |text: &str| {
        let connection = &connections(&format!("{AT_INITIATOR}{text}"))[0];
        let sent = &connection.directions[0];
        let retransmitted = sent.rare().retransmitted;
        (
            connection.ending.name(),
            retransmitted
                .iter()
                .map(|by_cause| by_cause.packets)
                .sum::<u64>(),
            sent.unique_bytes,
        )
    };
    // The FIN acknowledges data that was never sent.
    let dropped = "0.1 > F 1 ack 9999\n0.11 > 1:1001(1000) ack 1\n0.15 < . 1 ack 1001";
    assert_eq!(after(dropped), ("open", 0, 1000));
    let later = format!("{dropped}\n0.2 > F 1001 ack 1\n0.24 < . 1 ack 1002");
    assert_eq!(after(&later), ("half_closed_by_initiator", 0, 1000));
    let keep_alive = "0.1 > F 1 ack 1\n0.14 < . 1 ack 2\n9.0 > . 1:2(1) ack 1";
    assert_eq!(after(keep_alive), ("half_closed_by_initiator", 0, 0));
}

#[test]
fn options_of_a_syn_ack_after_data_are_known() {
    let connection = &connections(
        "
        0.000 > S 0:1000(1000) sackok mss 1460 wscale 7
        0.010 < . 1:1401(1400) ack 1001
        1.000 > S 0 sackok mss 1460 wscale 7
        1.010 < S. 0 ack 1001 sackok mss 1040 wscale 6
        1.011 > . 1001 ack 1
    ",
    )[0];
    let offers = connection.directions.each_ref().map(|d| d.offer.unwrap());
    assert_eq!(offers.map(|offer| offer.mss), [Some(1460), Some(1040)]);
    assert_eq!(offers.map(|offer| offer.window_scale), [Some(7), Some(6)]);
    assert_eq!(connection.sack, Some(true));
    assert_eq!(connection.handshake_rtt, None);
}

#[test]
fn ignored_rst_does_not_end_a_connection() {
    let ending = |text: &str| {
        connections(&format!("{AT_INITIATOR}{text}"))[0]
            .ending
            .name()
    };
    let forged = "0.1 < R 9000000\n0.11 > 1:101(100) ack 1\n";
    assert_eq!(ending(&format!("{forged}0.15 < . 1 ack 101")), "open");
    let closing = "0.2 > F. 101 ack 1\n0.24 < F. 1 ack 102\n0.24 > . 102 ack 2";
    assert_eq!(
        ending(&format!("{forged}0.15 < . 1 ack 101\n{closing}")),
        "closed"
    );
    // The end that seems to have sent the RST sends on.
    let forged_of_sender = "0.1 > R 9000000\n0.11 > 1:101(100) ack 1\n0.15 < . 1 ack 101\n";
    assert_eq!(ending(forged_of_sender), "reset_by_initiator");
    assert_eq!(
        ending(&format!("{forged_of_sender}0.16 > 101:201(100) ack 1")),
        "open"
    );
    // Data on its way to a host that has reset the connection.
    assert_eq!(ending(forged), "reset_by_responder");
    assert_eq!(
        ending(&format!("{forged}0.15 < . 1 ack 1")),
        "reset_by_responder"
    );
}

#[test]
fn lone_syn_is_unanswered_and_a_refused_one_is_reset() {
    let ending = |text| connections(text)[0].ending.name();
    assert_eq!(ending("0 > S\n1 > S\n3 > S"), "unanswered");
    assert_eq!(ending("0 > S\n0.04 < R. 0 ack 1"), "reset_by_responder");
}

#[test]
fn one_captured_direction_of_a_working_connection_is_open() {
    let ending = |text| connections(text)[0].ending.name();
    assert_eq!(ending("0 > 1:101(100)\n1 > 101:201(100)"), "open");
    // The reverse direction takes another path, without a capture.
    assert_eq!(
        ending("0 > S\n0.04 > . 1 ack 1\n0.05 > 1:101(100) ack 1"),
        "open"
    );
    assert_eq!(ending("0 < S. 0 ack 1\n0.1 < 1:101(100) ack 1"), "open");
}

#[test]
fn datagrams_are_only_counted() {
    assert_snapshot!(rendered("
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
fn concurrent_connections_do_not_mix() {
    assert_snapshot!(rendered("
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
