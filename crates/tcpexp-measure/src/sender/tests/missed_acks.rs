//! Captures that missed ACKs which the sender answered.

use tcpexp_units::TimeDelta;

use super::*;

/// A sender with enough data for its window, whose ACKs at 82 and 83 ms the capture missed.
fn gap() -> String {
    format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.081000 < ack 989 ts 940 41
        0.081010 > 3953:4941(988) ts 81 940
        0.081011 > 4941:5929(988) ts 81 940
        0.082010 > 5929:6917(988) ts 82 941
        0.083010 > 6917:7905(988) ts 83 942
        0.084000 < ack 3953 ts 943 41
        0.084010 > 7905:8893(988) ts 84 943
        0.125000 < ack 8893 ts 984 84
        "
    )
}

#[test]
fn ack_behind_missed_acks_shows_no_window() {
    assert_snapshot!(replay(&gap()), @r"
    0+3952 pipe 4 cwnd 10 application_limited slow_start
    - pipe - cwnd - not_seen -
    3952+4940 pipe 5 cwnd - undecided -
    ");
}

#[test]
fn ack_behind_missed_acks_gives_no_round_trip_time() {
    let samples = rows(&gap(), SenderOptions::default());
    let known: Vec<_> = samples
        .iter()
        .filter_map(|row| match row {
            SenderRow::Sample(sample) => Some((
                sample.follows_missed_packets(),
                sample.srtt.map(|srtt| srtt.as_nanos() / 1_000),
                sample.usable_window_bytes.is_some(),
            )),
            _ => None,
        })
        .collect();
    let round_trip = Some(40_000);
    assert_eq!(
        known,
        [
            (false, round_trip, true),
            (true, None, false),
            // The sender has samples of the missed ACKs too.
            (false, None, true)
        ]
    );
}

#[test]
fn missed_acks_count_as_one_gap() {
    let (hindsight, _) = Hindsight::of(&mut Scripted::new(&gap()));
    assert_eq!(hindsight.missed().ack_gaps, 1);
    let (hindsight, _) = Hindsight::of(&mut Scripted::new(&lossy("")));
    assert_eq!(hindsight.missed().ack_gaps, 0);
}

#[test]
fn data_beyond_the_captured_window_is_not_limited_by_this_window() {
    // Without timestamps, the window of 2000 bytes shows that ACKs are missing.
    let mut text = "
        0.000 > S 0 mss 1000
        0.040 < S. 0 ack 1 win 2000 mss 1000
        0.040 > . 1 ack 1
    "
    .to_owned();
    for segment in 0..8_u32 {
        let from = 1 + segment * 1000;
        let (millis, end) = (100 + segment * 100, from + 1000);
        writeln!(text, "0.{millis} > {from}:{end}(1000)").unwrap();
    }
    text += "0.950 < . 1 ack 8001 win 2000";
    let limits = rows(&text, SenderOptions::default())
        .into_iter()
        .filter_map(|row| match row {
            SenderRow::Sample(sample) => Some((sample.limit, sample.usable_window_bytes)),
            _ => None,
        });
    assert_eq!(limits.collect::<Vec<_>>(), [(None, None)]);
    let limited = summary(&text).limited;
    assert_eq!(limited.receiver_window, Some(TimeDelta::ZERO));
}

#[test]
fn sack_blocks_in_missed_acks_leave_the_flight_unknown_until_its_end() {
    // The capture missed the duplicate ACKs at 83 and 84 ms.
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.082000 < ack 1 sack 989:1977 ts 941 41
        0.084010 > 1:989(988) ts 84 943
        0.085000 < ack 1 sack 3953:4941 ts 944 41
        0.085010 > 4941:5929(988) ts 85 944
        0.125000 < ack 4941 ts 984 84
        0.125010 > 5929:6917(988) ts 125 984
        0.126000 < ack 5929 ts 985 85
        0.126010 > 6917:7905(988) ts 126 985
        0.166000 < ack 6917 ts 1025 125
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+4940 pipe 5 cwnd 10 application_limited slow_start
    retransmitted reordering_timer
    - pipe - cwnd - not_seen -
    - pipe - cwnd - not_seen -
    recovery 0 fast to None
    4940+1976 pipe 2 cwnd - undecided -
    5928+1976 pipe 2 cwnd - undecided -
    ");
}

/// A sender in congestion avoidance with a window of four segments, which has data for `answers` ACKs. The
/// capture missed ACK 9.
fn steady(answers: u32) -> String {
    let mut text = HANDSHAKE.to_owned();
    let data = |number: u32, millis: u32, echo: u32| {
        let start = 1 + number * 988;
        let end = start + 988;
        format!("0.{millis:03}010 > {start}:{end}(988) ts {millis} {echo}\n")
    };
    for number in 0..4 {
        text += &data(number, 41 + number, 900);
    }
    for number in 0..answers + 4 {
        let sent = 41 + number % 4 + 40 * (number / 4);
        let (millis, ack) = (sent + 40, 1 + (number + 1) * 988);
        if number != 9 {
            writeln!(
                text,
                "0.{millis:03}000 < ack {ack} ts {} {sent}",
                859 + millis
            )
            .unwrap();
        }
        if number < answers {
            text += &data(number + 4, millis, 859 + millis);
        }
    }
    text
}

/// The latest four rows.
fn latest_rows(text: &str) -> String {
    let rows = replay(text);
    let rows: Vec<_> = rows.lines().collect();
    rows[rows.len() - 4..].join("\n")
}

#[test]
fn window_of_a_silent_sender_is_unknown_until_a_round_trip_behind_missed_acks_shows_its_growth() {
    assert_snapshot!(latest_rows(&steady(14)), @r"
    13832+3952 pipe 4 cwnd 4 filled -
    14820+2964 pipe 3 cwnd 4 application_limited -
    15808+1976 pipe 2 cwnd - undecided -
    16796+988 pipe 1 cwnd - undecided -
    ");
    let later = latest_rows(&steady(26));
    let is_known = |row: &str| row.ends_with(" congestion_avoidance") && !row.contains("cwnd -");
    assert!(later.lines().all(is_known), "{later}");
}

#[test]
fn window_filled_before_missed_acks_is_not_the_limit_behind_them() {
    // The sender fills its window before the capture misses the ACK at 122 ms.
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.081000 < ack 989 ts 940 41
        0.081010 > 3953:4941(988) ts 81 940
        0.081011 > 4941:5929(988) ts 81 940
        0.082000 < ack 1977 ts 941 41
        0.082010 > 5929:6917(988) ts 82 941
        0.083000 < ack 2965 ts 942 41
        0.083010 > 6917:7905(988) ts 83 942
        0.084000 < ack 3953 ts 943 41
        0.084010 > 7905:8893(988) ts 84 943
        0.122010 > 8893:9881(988) ts 122 981
        0.123000 < ack 6917 ts 982 82
        0.223000 < ack 9881 ts 1082 122
        "
    );
    let limited = summary(&text).limited;
    assert_eq!(limited.congestion_window, Some(TimeDelta::ZERO));
}

#[test]
fn at_a_receiver_data_that_echoes_an_uncaptured_ack_shows_where_acks_are_missing() {
    let text = |missed: Option<u32>| {
        let mut text = "
            0.000000 > S 0 mss 1000 sackok ts 1 0
            0.000010 < S. 0 ack 1 mss 1000 sackok ts 900 1
            0.040000 > . 1 ack 1 ts 41 900
        "
        .to_owned();
        // A segment every 2 ms, and a round trip of 40 ms.
        for segment in 0..60_u32 {
            let (millis, from) = (42 + segment * 2, 1 + segment * 988);
            let (end, stamp) = (from + 988, 900 + millis);
            let echo = if segment < 20 { 900 } else { 860 + millis };
            writeln!(
                text,
                "0.{millis:03}000 > {from}:{end}(988) ts {millis} {echo}"
            )
            .unwrap();
            if missed != Some(segment) {
                writeln!(
                    text,
                    "0.{millis:03}010 < ack {end} win 65535 ts {stamp} {millis}"
                )
                .unwrap();
            }
        }
        text
    };
    for (missed, gaps) in [(None, 0), (Some(12), 1)] {
        let text = text(missed);
        let (hindsight, _) = Hindsight::of(&mut Scripted::new(&text));
        assert_eq!(hindsight.missed().ack_gaps, gaps);
        let behind = rows(&text, SenderOptions::default())
            .iter()
            .filter(
                |row| matches!(row, SenderRow::Sample(sample) if sample.follows_missed_packets()),
            )
            .count();
        assert_eq!(behind as u64, gaps);
    }
}
