//! Senders that answer an ACK of many segments with a burst.

use super::*;

/// Slow start to 40 segments in flight, of 60 that were sent.
fn slow_start() -> String {
    [
        OPEN.to_owned(),
        burst(101_000, 0, 10),
        "0.201000 < ack 10001".to_owned(),
        burst(201_010, 10, 30),
        "0.301000 < ack 20001".to_owned(),
        burst(301_010, 30, 50),
        "0.310000 < ack 30001".to_owned(),
        burst(310_010, 50, 70),
    ]
    .join("\n")
}

/// The same, and a loss that an ACK of ten new segments shows, in a recovery that sends its last data at
/// 28 segments.
fn recovered() -> String {
    [
        slow_start(),
        "0.401000 < ack 40001 sack 41001:50001".to_owned(),
        "0.401010 > 40001:41001(1000)".to_owned(),
        burst(401_020, 70, 77),
        "0.420000 < ack 40001 sack 41001:70001".to_owned(),
        burst(420_010, 77, 97),
        "0.501000 < ack 77001".to_owned(),
        burst(501_010, 97, 105),
    ]
    .join("\n")
}

#[test]
fn the_ack_that_shows_a_loss_does_not_grow_the_window() {
    let rows = rows(
        &recovered(),
        SenderOptions {
            position: Some(Position::Sender),
            ..SenderOptions::default()
        },
    );
    let before = rows.iter().find_map(|row| match row {
        SenderRow::Recovery(recovery) => recovery.cwnd_before_segments,
        _ => None,
    });
    assert_eq!(before, Some(40));
}
