//! Senders whose SYNs are lost.

use super::*;

/// The windows of a sender after a handshake, whose flights double.
fn windows(handshake: &str) -> Vec<Option<u32>> {
    let text = [
        handshake.to_owned(),
        "3.100010 > . 1 ack 1".to_owned(),
        burst(3_101_000, 0, 1),
        "3.201000 < ack 1001".to_owned(),
        burst(3_201_010, 1, 3),
        "3.301000 < ack 3001".to_owned(),
        burst(3_301_010, 3, 7),
        "3.401000 < ack 7001".to_owned(),
    ];
    let rows = rows(
        &text.join("\n"),
        SenderOptions {
            position: Some(Position::Sender),
            ..SenderOptions::default()
        },
    );
    let windows = rows.into_iter().filter_map(|row| match row {
        SenderRow::Sample(s) if s.direction == Direction::Forward => Some(s.cwnd_segments),
        _ => None,
    });
    windows.collect()
}

#[test]
fn window_begins_at_one_segment_after_two_lost_syns() {
    let lost = "
        0.000000 > S 0 mss 1000 sackok wscale 7
        1.000000 > S 0 mss 1000 sackok wscale 7
        3.000000 > S 0 mss 1000 sackok wscale 7
        3.100000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
    ";
    assert_eq!(windows(lost), [Some(1), Some(2), Some(4)]);
}

#[test]
fn one_lost_syn_or_copies_of_a_syn_do_not_lower_the_initial_window() {
    let once = "
        2.000000 > S 0 mss 1000 sackok wscale 7
        3.000000 > S 0 mss 1000 sackok wscale 7
        3.000001 > S 0 mss 1000 sackok wscale 7
        3.000002 > S 0 mss 1000 sackok wscale 7
        3.100000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
    ";
    assert_eq!(windows(once)[0], Some(10));
}

#[test]
fn an_echo_of_the_first_syn_keeps_the_initial_window() {
    let late = |echo: u32| {
        format!(
            "
            0.000000 > S 0 mss 1012 sackok wscale 7 ts 5000 0
            1.000000 > S 0 mss 1012 sackok wscale 7 ts 6000 0
            3.000000 > S 0 mss 1012 sackok wscale 7 ts 8000 0
            3.100000 < S. 0 ack 1 win 65535 mss 1012 sackok wscale 7 ts 900 {echo}
            "
        )
    };
    assert_eq!(windows(&late(5000))[0], Some(10));
    assert_eq!(windows(&late(8000))[0], Some(1));
}
