//! Data that does not show the window, although it follows an ACK that released some.

use tcpexp_units::TimeDelta;

use super::*;

/// A sender whose window stays at five segments. It has sent all data before 13833, and all before
/// 8893 is acknowledged.
const FIVE_SEGMENTS: &str = "
    0.041000 > 1:989(988) ts 41 900
    0.041001 > 989:1977(988) ts 41 900
    0.041002 > 1977:2965(988) ts 41 900
    0.041003 > 2965:3953(988) ts 41 900
    0.041004 > 3953:4941(988) ts 41 900
    0.081000 < ack 989 ts 940 41
    0.081010 > 4941:5929(988) ts 81 940
    0.082000 < ack 1977 ts 941 41
    0.082010 > 5929:6917(988) ts 82 941
    0.083000 < ack 2965 ts 942 41
    0.083010 > 6917:7905(988) ts 83 942
    0.084000 < ack 3953 ts 943 41
    0.084010 > 7905:8893(988) ts 84 943
    0.122000 < ack 4941 ts 981 81
    0.122010 > 8893:9881(988) ts 122 981
    0.123000 < ack 5929 ts 982 82
    0.123010 > 9881:10869(988) ts 123 982
    0.124000 < ack 6917 ts 983 83
    0.124010 > 10869:11857(988) ts 124 983
    0.125000 < ack 7905 ts 984 84
    0.125010 > 11857:12845(988) ts 125 984
    0.163000 < ack 8893 ts 1022 122
    0.163010 > 12845:13833(988) ts 163 1022
";

/// The rows that `rest` adds to those of [`FIVE_SEGMENTS`].
fn rows_after_five_segments(rest: &str) -> String {
    let before = replay(&format!("{HANDSHAKE}{FIVE_SEGMENTS}"));
    let all = replay(&format!("{HANDSHAKE}{FIVE_SEGMENTS}{rest}"));
    all.strip_prefix(&before).unwrap().to_owned()
}

#[test]
fn window_of_five_segments_is_filled() {
    let rows = replay(&format!("{HANDSHAKE}{FIVE_SEGMENTS}"));
    assert_snapshot!(rows, @r"
    0+4940 pipe 5 cwnd 10 application_limited slow_start
    988+4940 pipe 5 cwnd 10 application_limited slow_start
    1976+4940 pipe 5 cwnd 10 application_limited slow_start
    2964+4940 pipe 5 cwnd 5 filled slow_start
    3952+4940 pipe 5 cwnd 5 filled slow_start
    4940+4940 pipe 5 cwnd 5 filled slow_start
    5928+4940 pipe 5 cwnd 5 filled slow_start
    6916+4940 pipe 5 cwnd 5 filled slow_start
    7904+4940 pipe 5 cwnd 5 filled congestion_avoidance
    ");
}

#[test]
fn tail_loss_probe_of_new_data_does_not_raise_the_window() {
    let rows = rows_after_five_segments(
        "
        0.255000 > 13833:14821(988) ts 255 1022
        0.296000 < ack 8893 sack 13833:14821 ts 1155 255
        ",
    );
    assert_snapshot!(rows, @"8892+5928 pipe 6 cwnd 5 filled congestion_avoidance");
}

#[test]
fn last_data_of_the_application_does_not_lower_the_window() {
    let rows = rows_after_five_segments(
        "
        0.164000 < ack 10869 ts 1023 123
        0.164010 > 13833:13864(31) ts 164 1023
        0.205000 < ack 13864 ts 1064 164
        ",
    );
    assert_snapshot!(rows, @r"
    8892+4940 pipe 5 cwnd 5 filled congestion_avoidance
    10868+2995 pipe 4 cwnd 5 application_limited congestion_avoidance
    ");
}

#[test]
fn overtaken_segment_does_not_update_the_receive_window() {
    let text = "
        0.000 > S 0 mss 1000 sackok wscale 0
        0.040 < S. 0 ack 1 mss 1000 sackok wscale 0
        0.040 > . 1 ack 1
        0.050 > 1:1001(1000) ack 1
        0.050 > 1001:2001(1000) ack 1
        0.050 > 2001:3001(1000) ack 1
        0.050 > 3001:4001(1000) ack 1
        0.090 < 1:101(100) ack 4001 win 5000
        0.091 < 201:301(100) ack 4001 win 1000
        0.092 < 101:201(100) ack 4001 win 4000   // sent before the one above
        0.100 > 4001:4501(500) ack 301
        0.140 < . 301 ack 4501 win 700
    ";
    let usable: Vec<_> = rows(text, SenderOptions::default())
        .iter()
        .filter_map(|row| match row {
            SenderRow::Sample(s) if s.direction == Direction::Forward => s.usable_window_bytes,
            _ => None,
        })
        .collect();
    assert_eq!(usable[1..], [5000, 1000, 500]);
}

#[test]
fn pipe_of_small_segments_is_their_bytes() {
    let text = "
        0.000 > S 0 mss 1000 sackok
        0.040 < S. 0 ack 1 mss 1000 sackok
        0.040 > . 1 ack 1
        0.050 > 1:1001(1000) ack 1
        0.050 > 1001:2001(1000) ack 1
        0.090 < . 1 ack 2001
        0.100 > 2001:2101(100) ack 1
        0.100 > 2101:2201(100) ack 1
        0.140 < . 1 ack 2101
        0.141 < . 1 ack 2201
    ";
    let pipes: Vec<_> = rows(text, SenderOptions::default())
        .iter()
        .filter_map(|row| match row {
            SenderRow::Sample(s) if s.direction == Direction::Forward => {
                Some((s.pipe_segments, s.pipe_bytes))
            }
            _ => None,
        })
        .collect();
    let expected = [(2, 2000), (2, 200), (1, 100)];
    let expected = expected.map(|(segments, bytes)| (Some(segments), Some(bytes)));
    assert_eq!(pipes, expected);
}

#[test]
fn packets_of_several_segments_count_as_segments() {
    let text = "
        0.000000 > S 0 mss 1000 sackok wscale 7
        0.040000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
        0.040010 > . 1 ack 1
        0.041000 > 1:10001(10000)
        0.081000 < ack 10001
        0.081010 > 10001:30001(20000)
        0.121000 < ack 30001
    ";
    assert_snapshot!(replay(text), @r"
    0+10000 pipe 10 cwnd 10 application_limited slow_start
    10000+20000 pipe 20 cwnd 20 application_limited slow_start
    ");
}

#[test]
fn end_of_a_write_in_full_segments_lowers_no_window_in_slow_start() {
    let text = "
        0.000000 > S 0 mss 1000 sackok wscale 7
        0.040000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
        0.040010 > . 1 ack 1
        0.041000 > 1:1001(1000)
        0.041001 > 1001:2001(1000)
        0.041002 > 2001:3001(1000)
        0.041003 > 3001:4001(1000)
        0.041004 > 4001:5001(1000)
        0.041005 > 5001:6001(1000)
        0.041006 > 6001:7001(1000)
        0.041007 > 7001:8001(1000)
        0.041008 > 8001:9001(1000)
        0.041009 > 9001:10001(1000)
        0.081000 < ack 1001
        0.081010 > 10001:11001(1000)
        0.081011 > 11001:12001(1000)
        0.084000 < ack 2001
        0.084010 > 12001:13001(1000)
        0.084011 > 13001:14001(1000)
        0.087000 < ack 3001
        0.087010 > 14001:15001(1000)
        0.087011 > 15001:16001(1000)
        0.090000 < ack 5001
        0.090010 > 16001:17001(1000)
        0.093000 < ack 6001
        0.096000 < ack 7001
    ";
    assert_snapshot!(replay(text), @r"
    0+10000 pipe 10 cwnd 10 application_limited slow_start
    1000+11000 pipe 11 cwnd 11 application_limited slow_start
    2000+12000 pipe 12 cwnd 12 application_limited slow_start
    3000+13000 pipe 13 cwnd 13 filled slow_start
    5000+12000 pipe 12 cwnd 15 application_limited slow_start
    6000+11000 pipe 11 cwnd 16 application_limited slow_start
    ");
}

/// Ten segments, and `acks` ACKs of a segment each, which release two: the window doubles in a round
/// trip. The slow link makes the round trip three times as long as that of the handshake.
fn slow_start_into_a_queue(acks: u32) -> String {
    let segment = |at: u32, number: u32| {
        let (from, to) = (1 + number * 988, 1 + (number + 1) * 988);
        format!("0.{at:06} > {from}:{to}(988) ts 41 900\n")
    };
    let answer = |at: u32, number: u32| format!("0.{at:06} < ack {} ts 940 41\n", 1 + number * 988);
    let mut text = HANDSHAKE.to_owned();
    for number in 0..10 {
        text += &segment(41_000 + number, number);
    }
    for ack in 1..=acks {
        let at = 69_000 + 12_000 * ack;
        text += &answer(at, ack);
        text += &segment(at + 10, 8 + 2 * ack);
        text += &segment(at + 11, 9 + 2 * ack);
    }
    text
}

#[test]
fn slow_start_goes_on_while_each_round_trip_doubles_the_window() {
    let rows = replay(&slow_start_into_a_queue(70));
    assert!(!rows.contains("congestion_avoidance"), "{rows}");
    let last = rows.lines().last().unwrap();
    assert!(
        last.ends_with("pipe 79 cwnd 79 filled slow_start"),
        "{last}"
    );
}

/// The sender answers each ACK of `segments` segments with as many at once, ten in flight.
fn answered_at_once(window_bytes: u32, segments: u32) -> String {
    let mut text = format!(
        "
        0.000 > S 0 mss 1000 sackok wscale 0
        0.040 < S. 0 ack 1 win {window_bytes} mss 1000 sackok wscale 0
        0.040 > . 1 ack 1
        ",
    );
    let segment = |at: u32, number: u32| {
        let (from, to) = (1 + number * 1_000, 1 + (number + 1) * 1_000);
        format!("0.{at:06} > {from}:{to}(1000) ack 1\n")
    };
    let ack = |at: u32, acked: u32| {
        let ack = 1 + 1_000 * acked;
        format!("0.{at:06} < . 1 ack {ack} win {window_bytes}\n")
    };
    for number in 0..10 {
        text += &segment(50_000 + number, number);
    }
    for answer in 1..=8 {
        let at = 90_000 + 8_000 * answer;
        text += &ack(at, segments * answer);
        for number in 0..segments {
            text += &segment(at + 10 + number, 10 + segments * (answer - 1) + number);
        }
    }
    text
}

/// Ten segments in flight leave room for less than two in the receiver's window.
#[test]
fn window_without_room_for_as_much_as_the_sender_sends_at_once_limits_it() {
    assert_snapshot!(replay(&answered_at_once(11_900, 2)), @r"
    0+10000 pipe 10 cwnd 10 application_limited slow_start
    2000+10000 pipe 10 cwnd 12 receiver_limited slow_start
    4000+10000 pipe 10 cwnd 14 receiver_limited slow_start
    6000+10000 pipe 10 cwnd 16 receiver_limited slow_start
    8000+10000 pipe 10 cwnd 18 receiver_limited slow_start
    10000+10000 pipe 10 cwnd 20 receiver_limited slow_start
    12000+10000 pipe 10 cwnd 20 receiver_limited slow_start
    14000+10000 pipe 10 cwnd 20 receiver_limited slow_start
    ");
}

/// Ten segments in flight leave room for nine in the receiver's window.
#[test]
fn window_with_room_for_a_third_of_it_is_not_blamed_for_a_silence() {
    let rows = replay(&answered_at_once(19_000, 10));
    assert!(!rows.contains("receiver_limited"), "{rows}");
    assert!(
        rows.ends_with("pipe 10 cwnd - undecided slow_start\n"),
        "{rows}"
    );
}

#[test]
fn timestamp_shows_which_syn_an_ack_answers() {
    // 50 ticks and more show the length of a tick.
    let text = "
        0.000000 > S 0 mss 1000 sackok wscale 7 ts 1000 0
        1.004000 > S 0 mss 1000 sackok wscale 7 ts 2004 0
        1.018010 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7 ts 900 2004
        1.018020 > . 1 ack 1 win 512 ts 2018 900
        1.020000 > 1:989(988) ts 2020 900
        1.020001 > 989:1977(988) ts 2020 900
        1.020002 > 1977:2965(988) ts 2020 900
        1.020003 > 2965:3953(988) ts 2020 900
        1.034200 < ack 3953 ts 916 2020
    ";
    let first = |text: &str| {
        let rows = rows(text, SenderOptions::default());
        rows.into_iter().find_map(|row| match row {
            SenderRow::Sample(sample) if sample.direction == Direction::Forward => sample.srtt,
            _ => None,
        })
    };
    assert_eq!(first(text), Some(TimeDelta::from_millis(14)));
    // The answer to the first SYN.
    let late = text.replace("900 2004", "900 1000");
    assert_eq!(first(&late), Some(TimeDelta::from_millis(1_018)));
    let blind = text.replace(" ts ", " // ts ");
    assert_eq!(first(&blind), None);
}

/// The application writes 600 bytes every 40 ms, and then 1,600. Nagle's algorithm holds each short segment back until
/// the segments before it are acknowledged.
#[test]
fn a_sender_that_nagle_delays_does_not_fill_its_window() {
    let mut text = HANDSHAKE.to_owned();
    let mut sent = 1;
    for number in 0..6 {
        let at = 41 + 40 * number;
        writeln!(
            text,
            "0.{at:03}010 > {sent}:{}(600) ts {at} 900",
            sent + 600
        )
        .unwrap();
        sent += 600;
        writeln!(text, "0.{:03}000 < ack {sent} ts 900 {at}", at + 40).unwrap();
    }
    write!(
        text,
        "
        0.281010 > {sent}:{}(600) ts 281 900
        0.301000 > {}:{}(988) ts 301 900
        0.321000 < ack {} ts 900 281
        ",
        sent + 600,
        sent + 600,
        sent + 1_588,
        sent + 600
    )
    .unwrap();
    let rows = replay(&text);
    assert!(!rows.contains("filled"), "{rows}");
    let last = rows.lines().last().unwrap();
    assert!(
        last.ends_with("pipe 2 cwnd 10 application_limited slow_start"),
        "{last}"
    );
}
