//! Captures at the receiver, where timestamps show which ACKs the sender knew.

use insta::assert_snapshot;

use super::*;

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
    assert_snapshot!(rendered, @"- pipe - cwnd - not_seen -");
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
        // Data on its way to the capture is in flight too.
        assert_eq!(sample.flight_size_bytes, None);
        assert_eq!(sample.usable_window_bytes, None);
    }
}

/// Recoveries of a sender of twelve segments in each round trip of 40 ms, one every 2 ms. In the third round, the
/// first segment is lost, and so are all from the fifth up to segment `end`.
fn recoveries_of_a_burst(end: u32) -> Vec<(RecoveryKind, Option<u32>)> {
    let start = |segment: u32| 1 + segment * 988;
    let mut text = "
        0.000000 > S 0 mss 1000 sackok ts 1 0
        0.000010 < S. 0 ack 1 mss 1000 sackok ts 900 1
        0.040000 > . 1 ack 1 ts 41 900
    "
    .to_owned();
    for segment in 0..28 {
        let millis = 41 + segment / 12 * 40 + segment % 12 * 2;
        let echo = if segment < 12 { 900 } else { 860 + millis };
        let (from, to) = (start(segment), start(segment + 1));
        // ACKs that arrive together release the third round at once.
        let lines = match segment {
            0..24 => format!(
                "0.{millis:03}000 > {from}:{to}(988) ts {millis} {echo}
                0.{millis:03}010 < ack {to} ts {} {millis}\n",
                900 + millis
            ),
            24 => String::new(),
            _ => format!(
                "0.1440{segment} > {from}:{to}(988) ts 144 {echo}
                0.1441{segment} < ack {} sack {}:{to} ts 1044 144\n",
                start(24),
                start(25)
            ),
        };
        text += &lines;
    }
    let (lost, seen, next, after) = (start(24), start(28), start(end), start(end + 1));
    let repair = format!(
        "0.184400 > {lost}:{}(988) ts 184 1044   // the first loss again
        0.184410 < ack {seen} ts 1084 184
        0.184500 > {next}:{after}(988) ts 184 1044   // the end of the burst shows
        0.184510 < ack {seen} sack {next}:{after} ts 1084 184\n",
        start(25)
    );
    text += &repair;
    for segment in 28..end {
        let (from, to) = (start(segment), start(segment + 1));
        writeln!(text, "0.2246{segment} > {from}:{to}(988) ts 224 1084").unwrap();
    }
    let rest = format!(
        "0.224690 < ack {after} ts 1124 224
        0.264700 > {after}:{}(988) ts 264 1124
        0.264710 < ack {} ts 1164 264",
        start(end + 2),
        start(end + 2)
    );
    text += &rest;
    let rows = rows(&text, SenderOptions::default());
    let recoveries = rows.iter().filter_map(|row| match row {
        SenderRow::Recovery(epoch) => Some((epoch.kind, epoch.cwnd_before_segments)),
        _ => None,
    });
    recoveries.collect()
}

#[test]
fn at_a_receiver_one_recovery_repairs_a_burst_of_losses_at_its_end() {
    let expected = [(RecoveryKind::Fast, Some(12))];
    assert_eq!(recoveries_of_a_burst(36), expected);
}

#[test]
fn at_a_receiver_the_window_before_a_recovery_holds_the_burst_of_losses() {
    let expected = [(RecoveryKind::Fast, Some(20))];
    assert_eq!(recoveries_of_a_burst(44), expected);
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
    - pipe - cwnd - not_seen -
    - pipe - cwnd - not_seen -
    - pipe - cwnd - not_seen -
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

/// A capture at the receiver. The application writes a segment every 15 ms, and the seventh segment is lost.
fn slow_writer_at_the_receiver() -> String {
    const LOST: u32 = 6;
    // Half of the round-trip time.
    const PATH: u32 = 20;
    let sent = |segment: u32| 41 + 15 * segment;
    let range = |segment: u32| (1 + segment * 988, 1 + (segment + 1) * 988);
    // The timestamp of the latest ACK that reached the sender.
    let heard = |at: u32| {
        let heard = (0..30).filter(|segment| *segment != LOST && sent(*segment) + 2 * PATH <= at);
        heard
            .max()
            .map_or(900, |segment| 900 + sent(segment) + PATH)
    };
    let mut lines = Vec::new();
    // The ACK of the segment three behind the lost one makes the sender repair it.
    let repaired = sent(LOST + 3) + 2 * PATH;
    for segment in 0..30 {
        let (from, end) = range(segment);
        let stamp = if segment == LOST {
            repaired
        } else {
            sent(segment)
        };
        let (at, echo) = (stamp + PATH, heard(stamp));
        lines.push((at, 0, format!("> {from}:{end}(988) ts {stamp} {echo}")));
        let is_gap = segment > LOST && at < repaired + PATH;
        let answer = if is_gap {
            let (first, last) = (range(LOST).0, range(LOST).1);
            format!(
                "< ack {first} sack {last}:{end} ts {} {}",
                900 + at,
                sent(LOST - 1)
            )
        } else {
            let arrived = (0..30).filter(|other| sent(*other) + PATH <= at);
            let end = range(arrived.max().unwrap_or(0)).1;
            format!("< ack {end} ts {} {stamp}", 900 + at)
        };
        lines.push((at, 10, answer));
    }
    lines.sort();
    let mut text = "
        0.000000 > S 0 mss 1000 sackok wscale 7 ts 1 0
        0.000010 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7 ts 900 1
        0.040000 > . 1 ack 1 win 512 ts 41 900
    "
    .to_owned();
    for (millis, micros, line) in lines {
        writeln!(text, "0.{millis:03}{micros:03} {line}").unwrap();
    }
    text
}

#[test]
fn at_a_receiver_less_data_than_the_initial_window_shows_no_window() {
    let rows = rows(&slow_writer_at_the_receiver(), SenderOptions::default());
    let windows = rows.iter().map_while(|row| match row {
        SenderRow::Sample(sample) => Some((sample.cwnd_source, sample.cwnd_segments)),
        _ => None,
    });
    let windows: Vec<_> = windows.collect();
    assert_eq!(windows.len(), 9);
    let expected = (CwndSource::ApplicationLimited, Some(10));
    assert!(
        windows.iter().all(|window| *window == expected),
        "{windows:?}"
    );
}

#[test]
fn at_a_receiver_the_recovery_of_a_slow_application_shows_no_threshold() {
    let rows = rows(&slow_writer_at_the_receiver(), SenderOptions::default());
    let thresholds = rows.iter().filter_map(|row| match row {
        SenderRow::Recovery(epoch) => Some(epoch.ssthresh_segments),
        _ => None,
    });
    assert_eq!(thresholds.collect::<Vec<_>>(), [None]);
    let last = rows.iter().rev().find_map(|row| match row {
        SenderRow::Sample(sample) => Some(sample),
        _ => None,
    });
    let last = last.unwrap();
    assert_eq!((last.cwnd_segments, last.ssthresh_segments), (None, None));
}
