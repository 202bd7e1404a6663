//! Senders that fall silent: after a cut of the window, or without data.

use super::*;

/// A sender that fills twelve segments, and sends again once four are in flight.
fn silence_in_twelve_segments() -> String {
    let segment = |at: &str, number: u32, echo: u32| {
        let (from, to) = (1 + number * 988, 1 + (number + 1) * 988);
        format!("{at} > {from}:{to}(988) ts 41 {echo}\n")
    };
    let ack = |at: &str, number: u32| format!("{at} < ack {} ts 940 41\n", 1 + number * 988);
    let mut text = HANDSHAKE.to_owned();
    for number in 0..12 {
        text += &segment(&format!("0.0410{number:02}"), number, 900);
    }
    for number in 1..=8 {
        text += &ack(&format!("0.08{number}000"), number);
        text += &segment(&format!("0.08{number}010"), 11 + number, 940);
    }
    for number in 9..=17 {
        text += &ack(&format!("0.1{number:02}000"), number);
    }
    text += &segment("0.117010", 20, 940);
    text += &segment("0.117011", 21, 940);
    text
}

#[test]
fn window_grows_from_a_cut_until_the_sender_sends_again() {
    let text = silence_in_twelve_segments()
        + "
        0.158000 < ack 17785 ts 940 41
        0.158010 > 21737:22725(988) ts 41 940
        0.159000 < ack 18773 ts 940 41
        0.159010 > 22725:23713(988) ts 41 940
        0.160000 < ack 19761 ts 940 41
        ";
    assert_snapshot!(replay(&text), @r"
    0+11856 pipe 12 cwnd 12 application_limited slow_start
    988+11856 pipe 12 cwnd 13 application_limited slow_start
    1976+11856 pipe 12 cwnd 14 application_limited slow_start
    2964+11856 pipe 12 cwnd 12 filled slow_start
    3952+11856 pipe 12 cwnd 12 filled slow_start
    4940+11856 pipe 12 cwnd 12 filled slow_start
    5928+11856 pipe 12 cwnd 12 filled slow_start
    6916+11856 pipe 12 cwnd 12 filled slow_start
    7904+11856 pipe 12 cwnd 12 filled slow_start
    8892+10868 pipe 11 cwnd 3 filled congestion_avoidance
    9880+9880 pipe 10 cwnd 3 filled congestion_avoidance
    10868+8892 pipe 9 cwnd 4 filled congestion_avoidance
    11856+7904 pipe 8 cwnd 4 filled congestion_avoidance
    12844+6916 pipe 7 cwnd 4 filled congestion_avoidance
    13832+5928 pipe 6 cwnd 4 filled congestion_avoidance
    14820+4940 pipe 5 cwnd 5 filled congestion_avoidance
    15808+3952 pipe 4 cwnd 5 filled congestion_avoidance
    16796+4940 pipe 5 cwnd 5 filled congestion_avoidance
    17784+4940 pipe 5 cwnd 5 filled congestion_avoidance
    18772+4940 pipe 5 cwnd 5 filled congestion_avoidance
    ");
}

#[test]
fn data_after_a_pause_of_the_application_shows_no_cut() {
    let text = silence_in_twelve_segments()
        + "
        0.158000 < ack 17785 ts 940 41
        0.159000 < ack 18773 ts 940 41
        ";
    assert_snapshot!(replay(&text), @r"
    0+11856 pipe 12 cwnd 12 application_limited slow_start
    988+11856 pipe 12 cwnd 13 application_limited slow_start
    1976+11856 pipe 12 cwnd 14 application_limited slow_start
    2964+11856 pipe 12 cwnd 12 filled slow_start
    3952+11856 pipe 12 cwnd 12 filled slow_start
    4940+11856 pipe 12 cwnd 12 filled slow_start
    5928+11856 pipe 12 cwnd 12 filled slow_start
    6916+11856 pipe 12 cwnd 12 filled slow_start
    7904+11856 pipe 12 cwnd 12 filled slow_start
    8892+10868 pipe 11 cwnd 13 application_limited slow_start
    9880+9880 pipe 10 cwnd 14 application_limited slow_start
    10868+8892 pipe 9 cwnd 15 application_limited slow_start
    11856+7904 pipe 8 cwnd 16 application_limited slow_start
    12844+6916 pipe 7 cwnd 17 application_limited slow_start
    13832+5928 pipe 6 cwnd 18 application_limited slow_start
    14820+4940 pipe 5 cwnd 19 application_limited slow_start
    15808+3952 pipe 4 cwnd 20 application_limited slow_start
    16796+4940 pipe 5 cwnd 21 application_limited slow_start
    17784+3952 pipe 4 cwnd 21 application_limited slow_start
    ");
}

/// Two transfers of a sender whose slow start ends at twenty segments, with a second between them.
fn two_transfers() -> String {
    let mut text = HANDSHAKE.to_owned();
    let (mut sent, mut acked) = (0, 0);
    for begin in [41_000, 1_500_000] {
        let mut at = begin;
        let mut window = 10;
        for ack in 0..110 {
            // The second transfer ends with its data.
            let room = if ack < 90 { acked + window } else { sent };
            while sent < room {
                let (from, to) = (1 + sent * 988, 1 + (sent + 1) * 988);
                let (seconds, micros) = (at / 1_000_000, at % 1_000_000 + 10);
                writeln!(text, "{seconds}.{micros:06} > {from}:{to}(988) ts 41 900").unwrap();
                sent += 1;
            }
            if acked == sent {
                break;
            }
            at += if ack == 0 { 40_000 } else { 2_000 };
            acked += 1;
            window = 20.min(window + 1);
            let (seconds, micros) = (at / 1_000_000, at % 1_000_000);
            let end = 1 + acked * 988;
            writeln!(text, "{seconds}.{micros:06} < ack {end} ts 940 41").unwrap();
        }
    }
    text
}

#[test]
fn slow_start_after_an_idle_time_keeps_the_threshold_of_its_end() {
    let rows = rows(&two_transfers(), SenderOptions::default());
    let samples = rows.iter().filter_map(|row| match row {
        SenderRow::Sample(sample) if sample.direction == Direction::Forward => Some(sample),
        _ => None,
    });
    let second = samples.skip(111);
    let second: Vec<_> = second
        .map(|sample| (sample.cwnd_segments, sample.ssthresh_segments))
        .collect();
    assert!(second.contains(&(Some(20), Some(20))), "{second:?}");
    assert!(
        second.iter().all(|(_, ssthresh)| *ssthresh == Some(20)),
        "{second:?}"
    );
}
