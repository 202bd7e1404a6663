//! Incomplete captures: begun late, or with holes.

use insta::assert_snapshot;

use super::*;

/// A connection whose start the capture missed.
const BEGUN_LATE: &str = "
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

#[test]
fn window_is_unknown_until_captured_data_is_acknowledged() {
    assert_snapshot!(replay(BEGUN_LATE), @r"
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
fn timeout_is_unknown_before_the_first_round_trip_time() {
    let options = SenderOptions {
        position: Some(Position::Sender),
        ..SenderOptions::default()
    };
    let timers = rows(BEGUN_LATE, options).into_iter();
    let timers = timers.filter_map(|row| match row {
        SenderRow::Sample(sample) => Some((sample.srtt, sample.rto)),
        _ => None,
    });
    let timers: Vec<_> = timers.collect();
    assert_eq!(timers.first(), Some(&(None, None)));
    assert!(timers.last().is_some_and(|(_, rto)| rto.is_some()));
    for (srtt, rto) in timers {
        assert_eq!(srtt.is_some(), rto.is_some());
    }
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
    - pipe - cwnd - not_seen -
    0+988 pipe 1 cwnd - undecided -
    ");
}

#[test]
fn an_ack_of_more_segments_than_any_window_has_is_invalid() {
    let rows = replay(
        "
        0.000000 > S mss 48 sackok
        0.040000 < S. mss 48 sackok
        0.041000 > 1:49(48)
        0.041001 > 49:97(48)
        0.041002 > 97:145(48)
        0.041003 > 145:193(48)
        0.081000 < ack 97
        0.082000 < ack 60000001
        0.083000 < ack 193
    ",
    );
    assert_snapshot!(rows, @r"
    0+192 pipe 4 cwnd 10 application_limited slow_start
    96+96 pipe 2 cwnd 10 application_limited slow_start
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
fn a_capture_that_begins_in_a_recovery_gives_no_time_of_data_behind_a_hole() {
    for oldest_ack in ["ack 9001", "ack 12001", "ack 20001"] {
        let text = format!(
            "
            5.000 > 20001:21001(1000)       // earlier data was lost
            5.001 > 21001:22001(1000)
            5.040 < {oldest_ack}
            5.600 > 12001:13001(1000)       // its first transmission is before the capture
            5.640 < {oldest_ack}
            8.000 > 19001:20001(1000)
            8.040 < ack 22001               // fills the last hole
            8.050 > 22001:23001(1000)
            8.090 < ack 23001
            8.100 > 23001:24001(1000)
            8.140 < ack 24001
        "
        );
        let options = SenderOptions {
            position: Some(Position::Sender),
            ..SenderOptions::default()
        };
        let rows = rows(&text, options);
        let srtts = rows.iter().filter_map(|row| match row {
            SenderRow::Sample(sample) => sample.srtt,
            _ => None,
        });
        let srtts: Vec<i64> = srtts.map(|srtt| srtt.as_nanos() / 1_000_000).collect();
        assert_eq!(srtts, [40], "{oldest_ack}");
    }
}

#[test]
fn sender_drops_an_ack_of_data_never_sent() {
    let text = |unsent: &str| {
        format!(
            "
            1.000 > 10001:11001(1000)
            1.040 < ack 11001
            1.040 > 11001:12001(1000)
            1.040 > 12001:13001(1000)
            {unsent}
            1.080 < ack 13001
            1.080 > 13001:14001(1000)
            1.080 > 14001:15001(1000)
            1.080 > 15001:16001(1000)
            1.120 < ack 16001
        "
        )
    };
    let without = replay(&text(""));
    assert_eq!(
        replay(&text("1.045 < ack 60001\n1.047 < ack 90001")),
        without
    );
}
