//! Incomplete captures: taken at the receiver, begun late, or with holes.

use insta::assert_snapshot;

use super::*;

#[test]
fn window_is_unknown_until_captured_data_is_acknowledged() {
    let text = "
        1.000 > 10001:11001(1000)
        1.001 < ack 9001
        1.001 > 11001:12001(1000)
        1.002 < ack 10001
        1.002 > 12001:13001(1000)
        1.040 < ack 11001
        1.040 > 13001:14001(1000)
        1.041 < ack 12001
        1.041 > 14001:15001(1000)
        1.042 < ack 13001
        1.042 > 15001:16001(1000)
        1.043 < ack 14001
        1.043 > 16001:17001(1000)
        1.044 < ack 15001
    ";
    assert_snapshot!(replay(text), @r"
    - pipe - cwnd - warm_up -
    - pipe - cwnd - warm_up -
    0+3000 pipe 3 cwnd - warm_up -
    1000+3000 pipe 3 cwnd 3 filled -
    2000+3000 pipe 3 cwnd 3 filled -
    3000+3000 pipe 3 cwnd 3 filled -
    4000+3000 pipe 3 cwnd 3 filled congestion_avoidance
    ");
}

#[test]
fn unknown_window_scale_leaves_the_receive_window_unknown() {
    let text = "
        1.000 > 1:1001(1000)
        1.001 < ack 1 win 2
        1.001 > 1001:2001(1000)
        1.001 > 2001:3001(1000)
        1.001 > 3001:4001(1000)
        1.040 < ack 4001 win 2
    ";
    for row in rows(text, SenderOptions::default()) {
        if let SenderRow::Sample(sample) = row {
            assert_eq!(sample.usable_window_bytes, None);
        }
    }
}

#[test]
fn gap_of_a_gigabyte_resets_the_state() {
    let text = "
        1.000 > 1:1001(1000)
        1.001 > 1001:2001(1000)
        1.040 < ack 2001
        1.041 > 1000000001:1000001001(1000)
        1.042 > 1000001001:1000002001(1000)
        1.081 < ack 1000002001
        1.082 > 1000002001:1000003001(1000)
        1.121 < ack 1000003001
    ";
    assert_snapshot!(replay(text), @r"
    - pipe - cwnd - warm_up -
    - pipe - cwnd - warm_up -
    0+1000 pipe 1 cwnd - warm_up -
    ");
}

#[test]
fn uncaptured_window_scale_has_a_lower_bound_from_the_flight_size() {
    let text = "
        1.000 > 1:1001(1000)
        1.001 < ack 1 win 1000
        1.001 > 1001:2001(1000)
        1.001 > 2001:3001(1000)
        1.001 > 3001:4001(1000)         // four times as much as is written in the header
        1.040 < ack 4001 win 1000
    ";
    assert_eq!(summary(text).window_scale, WindowScale::AtLeast(2));
}

#[test]
fn packets_missed_by_the_capture_count_as_sent() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900   // one is missing before it
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.081000 < ack 5929 ts 940 41         // and one behind
        0.081010 > 5929:6917(988) ts 81 940
        0.121000 < ack 6917 ts 980 81
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+5928 pipe 6 cwnd 10 application_limited slow_start
    5928+988 pipe 1 cwnd 16 application_limited slow_start
    ");
}

#[test]
fn at_a_receiver_without_timestamps_the_window_is_unknown() {
    let text = "
        0.000000 > S 0 mss 1000 sackok
        0.000010 < S. 0 ack 1 mss 1000 sackok
        0.040000 > . 1 ack 1
        0.041000 > 1:1001(1000)
        0.041001 > 1001:2001(1000)
        0.041002 > 2001:3001(1000)
        0.041003 > 3001:4001(1000)
        0.041010 < ack 4001
    ";
    let rendered = render(rows(text, SenderOptions::default()));
    assert_snapshot!(rendered, @"0+4000 pipe - cwnd - not_seen -");
}

#[test]
fn at_a_receiver_the_window_is_unknown_if_the_data_does_not_echo_acks() {
    let mut text = "
        0.000000 > S 0 mss 1000 sackok ts 1 0
        0.000010 < S. 0 ack 1 win 9000 mss 1000 sackok ts 900 1
        0.040000 > . 1 ack 1 ts 41 900
    "
    .to_owned();
    // RFC 1323, section 3.4, to the letter: only data of the other end changes the echo.
    for segment in 0..30_u32 {
        let (millis, from) = (41 + segment * 10, 1 + segment * 988);
        let end = from + 988;
        writeln!(text, "0.{millis:03}000 > {from}:{end}(988) ts {millis} 900").unwrap();
        writeln!(
            text,
            "0.{millis:03}010 < ack {end} win 9000 ts {} {millis}",
            900 + millis
        )
        .unwrap();
    }
    let samples = rows(&text, SenderOptions::default());
    let samples = samples.iter().filter_map(|row| match row {
        SenderRow::Sample(sample) => Some(sample),
        _ => None,
    });
    let samples: Vec<_> = samples.collect();
    assert_eq!(samples.len(), 30);
    for sample in samples {
        assert_eq!(sample.cwnd_source, CwndSource::NotSeen);
        assert_eq!((sample.cwnd_segments, sample.srtt), (None, None));
    }
}

#[test]
fn at_a_receiver_one_recovery_repairs_a_burst_of_losses_at_its_end() {
    let mut text = "
        0.000000 > S 0 mss 1000 sackok ts 1 0
        0.000010 < S. 0 ack 1 mss 1000 sackok ts 900 1
        0.040000 > . 1 ack 1 ts 41 900
    "
    .to_owned();
    // Eight segments in each round trip of 40 ms, one every 2 ms. Of the third round, the first and
    // the last four are lost.
    for segment in 0..24_u32 {
        let (round, place) = (segment / 8, segment % 8);
        let (millis, from) = (41 + round * 40 + place * 2, 1 + segment * 988);
        let end = from + 988;
        let echo = if round == 0 { 900 } else { 860 + millis };
        // ACKs that arrive together release the third round at once.
        let (at, stamp) = match round {
            2 => (format!("0.136{place}00"), 136),
            _ => (format!("0.{millis:03}000"), millis),
        };
        if round < 2 {
            let stamp_of_ack = 900 + millis;
            writeln!(text, "{at} > {from}:{end}(988) ts {stamp} {echo}").unwrap();
            writeln!(
                text,
                "0.{millis:03}010 < ack {end} ts {stamp_of_ack} {stamp}"
            )
            .unwrap();
        } else if (1..4).contains(&place) {
            writeln!(text, "{at} > {from}:{end}(988) ts {stamp} {echo}").unwrap();
            writeln!(
                text,
                "0.136{place}10 < ack 15809 sack 16797:{end} ts 1036 136"
            )
            .unwrap();
        }
    }
    text += "
        0.176400 > 15809:16797(988) ts 176 1036   // the first loss again
        0.176410 < ack 19761 ts 1076 176
        0.176500 > 23713:24701(988) ts 176 1036   // the end of the burst shows
        0.176510 < ack 19761 sack 23713:24701 ts 1076 176
        0.216600 > 19761:20749(988) ts 216 1076
        0.216610 > 20749:21737(988) ts 216 1076
        0.216620 > 21737:22725(988) ts 216 1076
        0.216630 > 22725:23713(988) ts 216 1076
        0.216640 < ack 24701 ts 1116 216
        0.256700 > 24701:25689(988) ts 256 1116
        0.256710 < ack 25689 ts 1156 256
    ";
    let rows = rows(&text, SenderOptions::default());
    let recoveries = rows.iter().filter_map(|row| match row {
        SenderRow::Recovery(epoch) => Some((epoch.kind, epoch.cwnd_before_segments)),
        _ => None,
    });
    let recoveries: Vec<_> = recoveries.collect();
    assert_eq!(recoveries, [(RecoveryKind::Fast, Some(10))]);
}

#[test]
fn at_a_receiver_timestamps_reveal_which_acks_reached_the_sender() {
    let text = "
        0.000000 > S 0 mss 1000 sackok ts 1 0
        0.000010 < S. 0 ack 1 mss 1000 sackok ts 900 1
        0.040000 > . 1 ack 1 ts 41 900
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041010 < ack 989 ts 941 41
        0.042000 < ack 1977 ts 942 41
        0.041002 > 1977:2965(988) ts 41 900     // left before either ACK was heard
        0.041003 > 2965:3953(988) ts 41 900
        0.081010 > 3953:4941(988) ts 81 941
        0.082000 > 4941:5929(988) ts 82 942
        0.082010 < ack 5929 ts 982 82
    ";
    let rendered = render(rows(text, SenderOptions::default()));
    assert_snapshot!(rendered, @r"
    0+3952 pipe 4 cwnd 10 application_limited slow_start
    988+3952 pipe 4 cwnd 10 application_limited slow_start
    1976+3952 pipe 4 cwnd 10 application_limited slow_start
    ");
}

#[test]
fn at_a_receiver_timestamps_that_no_data_echoes_show_no_window() {
    // A middlebox changes the timestamps of one direction.
    let text = "
        0.000000 > S 0 mss 1000 sackok ts 1 0
        0.000010 < S. 0 ack 1 mss 1000 sackok ts 900 1
        0.040000 > . 1 ack 1 ts 41 70900
        0.041000 > 1:989(988) ts 41 70900
        0.041001 > 989:1977(988) ts 41 70900
        0.041002 > 1977:2965(988) ts 41 70900
        0.041010 < ack 989 ts 941 41
        0.042000 < ack 1977 ts 942 41
        0.081010 > 2965:3953(988) ts 81 70941
        0.081020 < ack 2965 ts 981 81
    ";
    let rendered = render(rows(text, SenderOptions::default()));
    assert_snapshot!(rendered, @r"
    0+2964 pipe - cwnd - not_seen -
    988+1976 pipe - cwnd - not_seen -
    1976+1976 pipe - cwnd - not_seen -
    ");
}

#[test]
fn at_a_receiver_data_before_the_first_ack_that_it_echoes_has_a_time() {
    // The first data left before the first captured ACK came, and waited in a queue.
    let text = "
        0.000000 < ack 1001 ts 900 1
        0.050000 > 1001:2001(1000) ts 41 800
        0.050010 > 2001:3001(1000) ts 41 800
        0.050020 > 3001:4001(1000) ts 41 800
        0.050030 < ack 2001 ts 950 41
        0.050040 < ack 3001 ts 950 41
        0.090040 > 4001:5001(1000) ts 91 950
        0.090050 < ack 4001 ts 990 91
    ";
    let options = SenderOptions {
        position: Some(Position::Receiver),
        ..SenderOptions::default()
    };
    let times = rows(text, options).into_iter().filter_map(|row| match row {
        SenderRow::Sample(sample) => Some(sample.srtt?.as_nanos() / 1_000_000),
        _ => None,
    });
    let times: Vec<_> = times.collect();
    assert!(!times.is_empty());
    assert!(
        times.iter().all(|millis| (40..=50).contains(millis)),
        "{times:?}"
    );
}

/// A capture at the receiver that begins while ten segments are in flight, which the bottleneck forwards every 20 ms,
/// and after `slow` segments every 19 ms: the queue is never shorter than at the end.
fn begun_behind_a_queue(slow: u32) -> String {
    const WINDOW: u32 = 10;
    let arrives_ms =
        |segment: u32| 1_000 + 20 * segment.min(slow) + 19 * segment.saturating_sub(slow);
    let mut text = String::new();
    for segment in WINDOW..WINDOW + 80 {
        let (at, answered) = (arrives_ms(segment), arrives_ms(segment - WINDOW));
        let (from, end) = (1 + segment * 1_000, 1 + (segment + 1) * 1_000);
        let second = |millis: u32| format!("{}.{:03}", millis / 1_000, millis % 1_000);
        // The sender answers each ACK when it comes, 20 ms after it left.
        let (stamp, echo) = (7_000 + answered, 3_000 + answered);
        let (at, stamp_of_ack) = (second(at), 3_000 + at);
        writeln!(text, "{at}000 > {from}:{end}(1000) ts {stamp} {echo}").unwrap();
        writeln!(
            text,
            "{at}010 < ack {end} win 60000 ts {stamp_of_ack} {stamp}"
        )
        .unwrap();
    }
    text
}

#[test]
fn at_a_receiver_a_capture_that_begins_behind_a_queue_shows_the_window() {
    for slow in [40, 80] {
        let options = SenderOptions {
            position: Some(Position::Receiver),
            ..SenderOptions::default()
        };
        let samples = rows(&begun_behind_a_queue(slow), options);
        let windows = samples.iter().filter_map(|row| match row {
            SenderRow::Sample(sample) => Some((sample.cwnd_source, sample.cwnd_segments)),
            _ => None,
        });
        let windows: Vec<_> = windows.collect();
        let known = windows
            .iter()
            .filter(|(source, _)| *source != CwndSource::WarmUp);
        let known: Vec<_> = known.copied().collect();
        assert!(known.len() > 60, "{windows:?}");
        // No data follows the last ACKs.
        let filled = &known[..known.len() - 10];
        assert!(
            filled
                .iter()
                .all(|window| *window == (CwndSource::Filled, Some(10))),
            "{windows:?}"
        );
        // The threshold was set before the capture began.
        let thresholds = samples.iter().filter_map(|row| match row {
            SenderRow::Sample(sample) => sample.ssthresh_segments,
            _ => None,
        });
        assert_eq!(thresholds.count(), 0);
    }
}

#[test]
fn an_ack_of_more_segments_than_any_window_has_is_invalid() {
    let rows = replay(
        "
        0.000000 > S mss 20 sackok
        0.040000 < S. mss 20 sackok
        0.041000 > 1:21(20)
        0.041001 > 21:41(20)
        0.041002 > 41:61(20)
        0.041003 > 61:81(20)
        0.081000 < ack 41
        0.082000 < ack 50000001
        0.083000 < ack 81
    ",
    );
    assert_snapshot!(rows, @r"
    0+80 pipe 4 cwnd 10 application_limited slow_start
    40+40 pipe 2 cwnd 10 application_limited slow_start
    ");
}

/// Without timestamps, only the handshake shows the position. The timer of the responder sends its
/// SYN-ACK again after a second, which is no answer time.
#[test]
fn retransmitted_syn_ack_does_not_move_the_capture() {
    let handshakes = [
        // At the responder.
        (
            "0.000020 < S. 0 ack 1 mss 1460
             1.000020 < S. 0 ack 1 mss 1460
             1.005000 > . 1 ack 1",
            Position::Receiver,
        ),
        // At the initiator, whose first ACK of the SYN-ACK is lost.
        (
            "0.005000 < S. 0 ack 1 mss 1460
             0.005020 > . 1 ack 1
             1.005000 < S. 0 ack 1 mss 1460
             1.005020 > . 1 ack 1",
            Position::Sender,
        ),
    ];
    for (handshake, expected) in handshakes {
        let text = format!(
            "0.000000 > S 0 mss 1460
             {handshake}
             2.000000 > 1:1461(1460)
             2.000001 > 1461:2921(1460)
             2.000002 > 2921:4381(1460)
             2.000003 > 4381:5841(1460)
             2.006000 < ack 5841"
        );
        assert_eq!(summary(&text).position, Some(expected), "{handshake}");
    }
}

#[test]
fn acks_behind_a_gap_in_the_receivers_data_give_no_round_trip_time() {
    // Seen at the server, whose second segment is lost: until it arrives again, the client echoes the
    // first, whatever ACKs it has received since.
    let text = "
        0.000000 > S 0 mss 1000 sackok wscale 7 ts 1 0
        0.000010 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7 ts 900 1
        0.040010 > . 1 ack 1 win 512 ts 41 900
        0.040020 > 1:101(100) ack 1 ts 41 900
        0.040030 < 1:101(100) ack 101 ts 940 41
        0.080040 > 101:201(100) ack 101 ts 81 940
        0.080050 < 101:201(100) ack 201 ts 980 81
        0.080060 < 201:301(100) ack 201 ts 980 81
        0.380000 > 201:301(100) ack 101 sack 201:301 ts 381 940
        0.380010 < . 301 ack 301 ts 1280 381
        0.420020 > 301:401(100) ack 101 sack 201:301 ts 421 940
        0.420030 < . 301 ack 401 ts 1320 421
        0.430000 < 101:201(100) ack 401 ts 1330 421
        0.470010 > 401:501(100) ack 301 ts 471 1330
        0.470020 < . 301 ack 501 ts 1370 471
        0.510030 > 501:601(100) ack 301 ts 511 1370
        0.510040 < . 301 ack 601 ts 1410 511
    ";
    let options = SenderOptions {
        position: Some(Position::Receiver),
        ..SenderOptions::default()
    };
    let srtts: Vec<_> = rows(text, options)
        .into_iter()
        .filter_map(|row| match row {
            SenderRow::Sample(sample) if sample.direction == Direction::Forward => sample.srtt,
            _ => None,
        })
        .collect();
    let most = tcpexp_units::TimeDelta::from_millis(41);
    assert!(
        !srtts.is_empty() && srtts.iter().all(|srtt| *srtt < most),
        "{srtts:?}"
    );
}
