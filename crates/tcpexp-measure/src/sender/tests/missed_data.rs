//! Captures that missed data which the receiver acknowledged.

use tcpexp_units::TimeDelta;

use super::*;

/// Segments of 988 bytes that are acknowledged after 100 ms; the capture missed the data of those with the numbers
/// in `missed`.
fn exchanges(count: u32, missed: std::ops::Range<u32>) -> String {
    let mut text = HANDSHAKE.to_owned();
    for number in 0..count {
        let (start, end) = (1 + number * 988, 989 + number * 988);
        let millis = 300 * (number + 1);
        let time = |millis: u32| format!("{}.{:03}", millis / 1000, millis % 1000);
        let (sent, acked) = (time(millis), time(millis + 100));
        if !missed.contains(&number) {
            writeln!(text, "{sent} > {start}:{end}(988) ts {millis} 900").unwrap();
        }
        let stamp = 900 + millis;
        writeln!(text, "{acked} < ack {end} ts {stamp} {millis}").unwrap();
    }
    text
}

#[test]
fn data_that_the_capture_missed_gives_no_round_trip_time() {
    let text = exchanges(60, 10..14);
    let srtts: Vec<_> = rows(&text, SenderOptions::default())
        .iter()
        .filter_map(|row| match row {
            SenderRow::Sample(sample) => Some(sample.srtt),
            _ => None,
        })
        .collect();
    assert_eq!(srtts.len(), 60);
    let known: Vec<_> = (0..60).filter(|row| srtts[*row].is_some()).collect();
    // Four missing samples have a weight of 41 %, and 5 % after 16 others.
    let expected: Vec<_> = (0..10).chain(14 + 16..60).collect();
    assert_eq!(known, expected);
    let least = srtts.iter().flatten().skip(1).min();
    assert!(least >= Some(&TimeDelta::from_millis(40)), "{least:?}");
    let least = summary(&text.replace("0.040000 <", "0.000001 <")).least_rtt;
    assert!(least >= Some(TimeDelta::from_millis(99)), "{least:?}");
}

#[test]
fn flight_and_window_are_unknown_where_the_capture_missed_data() {
    assert_snapshot!(replay(&exchanges(6, 2..4)), @r"
    0+988 pipe 1 cwnd 10 application_limited slow_start
    - pipe - cwnd - not_seen slow_start
    - pipe - cwnd - not_seen -
    - pipe - cwnd - not_seen -
    3952+988 pipe 1 cwnd - undecided -
    4940+988 pipe 1 cwnd - undecided -
    ");
}

#[test]
fn flight_stays_unknown_until_the_next_captured_data() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.081000 < ack 5929 ts 940 41
        0.082000 < ack 5929 win 400 ts 941 41
        0.090000 > 9881:10869(988) ts 90 941
        0.090001 > 10869:11857(988) ts 90 941
        0.130000 < ack 6917 ts 981 85
        "
    );
    assert_snapshot!(replay(&text), @r"
    - pipe - cwnd - not_seen -
    - pipe - cwnd - not_seen -
    0+5928 pipe 6 cwnd - undecided -
    ");
}

#[test]
fn accepted_byte_of_a_window_probe_hides_no_flight() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.081000 < ack 989 win 0 ts 940 41
        0.400000 > 989:990(1) ts 400 940
        0.440000 < ack 990 win 500 ts 1300 400
        0.440100 > 990:1978(988) ts 440 1300
        0.441000 > 1978:2966(988) ts 441 1300
        0.480100 < ack 1978 win 500 ts 1340 440
        0.481100 < ack 2966 win 500 ts 1341 441
        "
    );
    let shown = replay(&text);
    let lines = shown.lines().count();
    assert!(lines == 4 && !shown.contains("not_seen"), "{shown}");
}

#[test]
fn echo_of_an_earlier_copy_is_not_timed_by_the_captured_copy() {
    // The capture begins with retransmissions; the receiver acknowledges their originals.
    let text = "
        0.210000 > 1:989(988) ts 510 90
        0.211000 < ack 989 ts 310 300
        0.212000 > 989:1977(988) ts 512 310
        0.252000 < ack 1977 ts 352 512
        0.253000 > 1977:2965(988) ts 553 352
        0.293000 < ack 2965 ts 393 553
        0.294000 > 2965:3953(988) ts 594 393
        0.334000 < ack 3953 ts 434 594
        0.335000 > 3953:4941(988) ts 635 434
        0.375000 < ack 4941 ts 475 635
    ";
    let least = summary(text).least_rtt;
    assert!(least >= Some(TimeDelta::from_millis(40)), "{least:?}");
}

#[test]
fn data_missed_by_a_capture_at_the_receiver_is_not_in_flight() {
    let mut text = HANDSHAKE
        .replace("0.040010 > . 1", "0.040020 > . 1")
        .replace("0.040000 <", "0.000010 <");
    text += "
        0.041000 > 1:989(988) ts 41 900
        0.041010 < ack 989 ts 941 41
        0.081000 > 989:1977(988) ts 81 941
        0.081010 < ack 1977 ts 981 81
        0.121000 > 1977:2965(988) ts 121 981
        0.121010 < ack 2965 ts 1021 121
        0.201010 < ack 102965 ts 1101 201
        0.202000 > 102965:103953(988) ts 162 1062
        0.202010 < ack 103953 ts 1102 162
        0.241000 > 103953:104941(988) ts 201 1102
        0.241010 < ack 104941 ts 1141 201
    ";
    let receiver = SenderOptions {
        position: Some(Position::Receiver),
        ..SenderOptions::default()
    };
    let flights = rows(&text, receiver)
        .into_iter()
        .filter_map(|row| match row {
            SenderRow::Sample(sample) => sample.flight_size_bytes,
            _ => None,
        });
    let most = flights.max();
    assert!(most.is_some_and(|most| most <= 2 * 988), "{most:?}");
}

#[test]
fn ack_of_an_earlier_copy_leaves_the_smoothed_round_trip_time_unknown_for_a_while() {
    // The timestamps never advance, so that no echo shows a time. That of one first copy was earlier.
    let mut text = HANDSHAKE
        .replace("ts 1 0", "ts 41 0")
        .replace("900 1\n", "900 41\n");
    for number in 0..30_u32 {
        let (start, end) = (1 + number * 988, 989 + number * 988);
        let echo = if number == 10 { 40 } else { 41 };
        writeln!(text, "{}.0 > {start}:{end}(988) ts 41 900", number + 1).unwrap();
        writeln!(text, "{}.1 < ack {end} ts 901 {echo}", number + 1).unwrap();
    }
    let samples = rows(&text, SenderOptions::default());
    let srtts = samples.iter().filter_map(|row| match row {
        SenderRow::Sample(sample) => Some(sample.srtt),
        _ => None,
    });
    let unknown = (0..).zip(srtts).filter(|(_, srtt)| srtt.is_none());
    let unknown: Vec<u32> = unknown.map(|(number, _)| number).collect();
    // One missing sample has a weight of 12.5 %, and of 5 % after seven others.
    assert_eq!(unknown, (11..18).collect::<Vec<_>>());
}

#[test]
fn rows_between_missed_data_and_its_evidence_have_no_flight() {
    // The answer to an ACK is missing; the answer to the next ACK shows it.
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.081000 < ack 989 ts 940 41
        0.082000 < ack 1977 ts 941 41
        0.082010 > 2965:3953(988) ts 82 941
        0.121000 < ack 2965 ts 980 81
        0.121010 > 3953:4941(988) ts 121 980
        0.122000 < ack 3953 ts 981 82
        0.161000 < ack 4941 ts 1020 121
        "
    );
    assert_snapshot!(replay(&text), @r"
    - pipe - cwnd - not_seen slow_start
    - pipe - cwnd - not_seen slow_start
    0+1976 pipe 2 cwnd 10 application_limited slow_start
    988+1976 pipe 2 cwnd 10 application_limited slow_start
    1976+988 pipe 1 cwnd 10 application_limited slow_start
    ");
}

#[test]
fn idle_time_before_missed_data_ends_the_flight_before_it() {
    // Nothing is in flight in the silence of two seconds.
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.081000 < ack 989 ts 940 41
        0.082000 < ack 1977 ts 941 41
        2.082001 > 2965:3953(988) ts 2082 941
        2.122000 < ack 3953 ts 2981 2082
        2.122010 > 3953:4941(988) ts 2122 2981
        2.162000 < ack 4941 ts 3021 2122
        "
    );
    let shown = replay(&text);
    let lines = shown.lines().count();
    assert!(lines == 4 && !shown.contains("not_seen"), "{shown}");
}
