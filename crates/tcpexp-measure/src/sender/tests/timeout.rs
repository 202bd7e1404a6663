//! The window after a timeout, needless or not.

use super::*;

#[test]
fn the_ack_that_undoes_a_reduction_grows_the_window_by_the_copy_too() {
    let text = [
        OPEN.to_owned(),
        burst(101_000, 0, 10),
        "0.501000 > 1:1001(1000)".to_owned(),
        "0.511000 < ack 1001 sack 1:1001".to_owned(),
        "0.541000 < ack 10001".to_owned(),
        burst(541_010, 10, 31),
        "0.641000 < ack 31001".to_owned(),
    ];
    assert_snapshot!(replay(&text.join("\n")), @r"
    retransmitted timeout
    0+10000 pipe 1 cwnd 1 recovery loss_recovery
    recovery 0 timeout to None undone
    1000+9000 pipe 9 cwnd 12 application_limited slow_start
    10000+21000 pipe 21 cwnd 21 application_limited slow_start
    ");
}

#[test]
fn the_ack_that_undoes_a_reduction_and_begins_another_does_not_grow_the_window() {
    let text = [
        "
        0.000000 > SEW 0 mss 1000 sackok wscale 7
        0.100000 < S.E 0 ack 1 win 65535 mss 1000 sackok wscale 7
        0.100010 > . 1 ack 1
        "
        .to_owned(),
        burst(101_000, 0, 10),
        "0.501000 > 1:1001(1000)".to_owned(),
        "0.511000 < E. ack 1001 sack 1:1001".to_owned(),
        "0.541000 < E. ack 10001".to_owned(),
    ];
    let options = SenderOptions {
        position: Some(Position::Sender),
        ..SenderOptions::default()
    };
    let rows = rows(&text.join("\n"), options);
    let recoveries = rows.iter().filter_map(|row| match row {
        SenderRow::Recovery(epoch) => Some((epoch.kind, epoch.cwnd_before_segments)),
        _ => None,
    });
    let expected = [
        (RecoveryKind::Timeout, Some(10)),
        (RecoveryKind::CongestionEcho, Some(10)),
    ];
    assert_eq!(recoveries.collect::<Vec<_>>(), expected);
}

#[test]
fn a_d_sack_for_one_of_two_copies_does_not_undo_a_timeout() {
    let text = [
        OPEN.to_owned(),
        burst(101_000, 0, 10),
        "0.321000 > 9001:10001(1000)".to_owned(),
        "0.651000 > 1:1001(1000)".to_owned(),
        "0.661000 < ack 1001 sack 1:1001".to_owned(),
        burst(661_010, 1, 3),
        "0.761000 < ack 3001".to_owned(),
    ];
    let rows = replay(&text.join("\n"));
    assert!(
        rows.starts_with("retransmitted tail_loss_probe\nretransmitted timeout\n"),
        "{rows}"
    );
    assert!(!rows.contains("undone"), "{rows}");
}

/// A sender repairs eight lost segments after a timeout and has nothing more to send at once. Its window has
/// reached the threshold by then, or seven segments.
#[test]
fn a_sender_that_has_repaired_all_after_a_timeout_shows_no_window() {
    let text = [
        OPEN.to_owned(),
        burst(101_000, 0, 8),
        "0.601000 > 1:1001(1000)".to_owned(),
        "0.701000 < ack 1001".to_owned(),
        burst(701_010, 1, 3),
        "0.801000 < ack 3001".to_owned(),
        burst(801_010, 3, 7),
        "0.901000 < ack 7001".to_owned(),
        burst(901_010, 7, 8),
        "1.001000 < ack 8001".to_owned(),
        burst(1_101_010, 8, 9),
        "1.201000 < ack 9001".to_owned(),
        burst(1_301_010, 9, 10),
        "1.401000 < ack 10001".to_owned(),
    ];
    assert_snapshot!(replay(&text.join("\n")), @r"
    retransmitted timeout
    0+8000 pipe 1 cwnd 1 recovery loss_recovery
    retransmitted after_timeout
    retransmitted after_timeout
    1000+7000 pipe 2 cwnd 2 recovery loss_recovery
    retransmitted after_timeout
    retransmitted after_timeout
    retransmitted after_timeout
    retransmitted after_timeout
    3000+5000 pipe 4 cwnd 4 recovery loss_recovery
    retransmitted after_timeout
    7000+1000 pipe 1 cwnd - undecided loss_recovery
    8000+1000 pipe 1 cwnd - undecided -
    9000+1000 pipe 1 cwnd - undecided -
    recovery 0 timeout to None
    ");
}

/// The sender goes on with new data, at a threshold that nothing has shown yet.
#[test]
fn phase_is_unknown_where_the_window_may_have_reached_the_threshold_of_a_timeout() {
    let mut text = vec![
        OPEN.to_owned(),
        burst(101_000, 0, 10),
        "0.601000 > 1:1001(1000)".to_owned(),
        "0.701000 < ack 1001".to_owned(),
    ];
    let mut sent = 1;
    for (round, window) in [2, 4, 7, 7, 7].into_iter().enumerate() {
        let at = 701_010 + 100_000 * u64::try_from(round).unwrap();
        text.push(burst(at, sent, sent + window));
        sent += window;
        let at = at + 99_990;
        text.push(format!(
            "{}.{:06} < ack {}",
            at / 1_000_000,
            at % 1_000_000,
            1 + 1000 * sent
        ));
    }
    let rows = replay(&text.join("\n"));
    assert!(
        rows.contains("3000+7000 pipe 4 cwnd 4 recovery loss_recovery"),
        "{rows}"
    );
    assert!(rows.contains("14000+7000 pipe 7 cwnd 7 filled -"), "{rows}");
}

/// No threshold is below two segments (RFC 5681, equation 4), so a window of one segment is in slow start.
#[test]
fn a_window_of_one_segment_after_a_timeout_is_in_slow_start() {
    let text = [
        OPEN.to_owned(),
        burst(101_000, 0, 1),
        "0.901000 > 1:1001(1000)".to_owned(),
        "1.001000 < ack 1001".to_owned(),
        burst(1_001_010, 1, 2),
        "1.101000 < ack 2001".to_owned(),
        burst(1_101_010, 2, 3),
        "1.201000 < ack 3001".to_owned(),
    ];
    let options = SenderOptions {
        position: Some(Position::Sender),
        profile: Profile::FreeBsd,
    };
    assert_snapshot!(render(rows(&text.join("\n"), options)), @r"
    retransmitted timeout
    0+1000 pipe 1 cwnd 1 recovery loss_recovery
    1000+1000 pipe 1 cwnd 1 filled slow_start
    2000+1000 pipe 1 cwnd 1 filled slow_start
    recovery 0 timeout to None
    ");
}
