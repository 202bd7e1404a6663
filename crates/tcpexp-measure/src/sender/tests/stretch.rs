//! Senders that answer an ACK of many segments with a burst.

use super::*;

/// Slow start: 70 segments were sent, and the last 40 of them are in flight.
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

/// The same, then a loss that an ACK of ten new segments reports. The recovery ends with 28 segments in flight.
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

/// The rows that `rest` adds to those of a text.
fn rows_after(text: &str, rest: &[String]) -> String {
    let before = replay(text);
    let all = replay(&format!("{text}\n{}", rest.join("\n")));
    let shared = before.lines().zip(all.lines());
    let shared = shared.take_while(|(before, all)| before == all).count();
    let added: Vec<_> = all.lines().skip(shared).collect();
    added.join("\n")
}

#[test]
fn the_rest_of_a_write_in_full_segments_is_no_smaller_window() {
    let text = recovered();
    let rest = [
        "0.601000 < ack 105001".to_owned(),
        burst(601_010, 105, 136),
        "0.701000 < ack 136001".to_owned(),
        burst(701_010, 136, 157),
        "0.801000 < ack 157001".to_owned(),
        "0.901000 < ack 157001".to_owned(),
    ];
    assert_snapshot!(rows_after(&text, &rest), @r"
    recovery 0 fast to Some(28)
    77000+28000 pipe 28 cwnd 28 filled congestion_avoidance
    105000+31000 pipe 31 cwnd 31 filled congestion_avoidance
    136000+21000 pipe 21 cwnd 32 application_limited congestion_avoidance
    157000+0 pipe 0 cwnd 32 application_limited congestion_avoidance
    ");
}

/// Answers of 31 segments and then of 21, which continue [`recovered`].
fn shrinking() -> Vec<String> {
    vec![
        "0.601000 < ack 105001".to_owned(),
        burst(601_010, 105, 136),
        "0.701000 < ack 136001".to_owned(),
        burst(701_010, 136, 157),
        "0.801000 < ack 157001".to_owned(),
        burst(801_010, 157, 178),
        "0.901000 < ack 178001".to_owned(),
        burst(901_010, 178, 199),
        "1.001000 < ack 199001".to_owned(),
    ]
}

#[test]
fn a_window_that_shrinks_while_each_ack_is_answered_is_filled() {
    assert_snapshot!(rows_after(&recovered(), &shrinking()), @r"
    recovery 0 fast to Some(28)
    77000+28000 pipe 28 cwnd 28 filled congestion_avoidance
    105000+31000 pipe 31 cwnd 31 filled congestion_avoidance
    136000+21000 pipe 21 cwnd 21 filled congestion_avoidance
    157000+21000 pipe 21 cwnd 21 filled congestion_avoidance
    178000+21000 pipe 21 cwnd 21 filled congestion_avoidance
    ");
}

/// The threshold of the recovery does not outlast a reduction that the capture shows only by the flight.
#[test]
fn a_window_that_shrinks_while_each_ack_is_answered_has_no_known_threshold() {
    let text = [vec![recovered()], shrinking()].concat();
    let options = SenderOptions {
        position: Some(Position::Sender),
        ..SenderOptions::default()
    };
    let rows = rows(&text.join("\n"), options);
    let samples = rows.iter().filter_map(|row| match row {
        SenderRow::Sample(sample) => Some((sample.pipe_segments, sample.ssthresh_segments)),
        _ => None,
    });
    let last: Vec<_> = samples.collect();
    let expected = [
        (Some(31), Some(28)),
        (Some(21), None),
        (Some(21), None),
        (Some(21), None),
    ];
    assert!(last.ends_with(&expected), "{last:?}");
}

#[test]
fn acks_that_arrive_together_while_the_window_shrinks_show_one_window() {
    let together = "0.801000 < ack 147001\n0.801001 < ack 157001";
    let rest = shrinking().into_iter();
    let rest: Vec<_> = rest
        .map(|line| line.replace("0.801000 < ack 157001", together))
        .collect();
    assert_snapshot!(rows_after(&recovered(), &rest), @r"
    recovery 0 fast to Some(28)
    77000+28000 pipe 28 cwnd 28 filled congestion_avoidance
    105000+31000 pipe 31 cwnd 31 filled congestion_avoidance
    136000+21000 pipe 21 cwnd 21 filled congestion_avoidance
    147000+10000 pipe 10 cwnd 21 filled congestion_avoidance
    157000+21000 pipe 21 cwnd 21 filled congestion_avoidance
    178000+21000 pipe 21 cwnd 21 filled congestion_avoidance
    ");
}

/// A sender of super-packets in slow start.
#[test]
fn the_rest_of_a_write_does_not_end_the_growth_of_slow_start() {
    let text = format!(
        "{OPEN}
        0.101000 > 1:10001(10000)
        0.201000 < ack 5001
        0.201010 > 10001:20001(10000)
        0.203000 < ack 10001
        0.203010 > 20001:30001(10000)
        0.301000 < ack 20001
        0.301010 > 30001:50001(20000)
        0.303000 < ack 30001
        0.303010 > 50001:52001(2000)
        0.403000 < ack 40001
        0.405000 < ack 52001
        0.505000 > 52001:112001(60000)
        0.605000 < ack 112001
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+10000 pipe 10 cwnd 10 application_limited slow_start
    5000+15000 pipe 15 cwnd 15 application_limited slow_start
    10000+20000 pipe 20 cwnd 20 application_limited slow_start
    20000+30000 pipe 30 cwnd 30 filled slow_start
    30000+22000 pipe 22 cwnd 40 application_limited slow_start
    40000+12000 pipe 12 cwnd 50 application_limited slow_start
    52000+60000 pipe 60 cwnd 62 application_limited slow_start
    ");
}
