//! Acknowledged data that the capture missed.

use tcpexp_units::TimeDelta;

use super::*;

/// SRTT by the latest sample of the forward direction.
fn latest_srtt(trace: &str) -> Option<TimeDelta> {
    let latest = rows(trace).into_iter().rev().find_map(|row| match row {
        SingleRttRow::Sample(sample) if sample.method == RttMethod::SequenceAck => Some(sample),
        _ => None,
    });
    latest.and_then(|sample| sample.rfc6298).map(|at| at.srtt)
}

/// Segments that are acknowledged after 40 ms; the capture missed those between the numbers in `missed`, and
/// their ACKs.
fn exchanges(count: u32, missed: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for number in (0..count).filter(|number| !missed.contains(number)) {
        let (start, end) = (1 + number * 1000, 1001 + number * 1000);
        writeln!(text, "{number}.000 > {start}:{end}(1000)").unwrap();
        if number + 1 != missed.start {
            writeln!(text, "{number}.040 < ack {end}").unwrap();
        }
    }
    text
}

#[test]
fn ack_of_data_that_the_capture_missed_yields_no_sample() {
    // The capture misses the answers to the first segments, and the data behind these segments.
    let text = "
        0.000 > 1:1001(1000)
        0.001 > 1001:2001(1000)
        1.040 < ack 9001
        1.041 > 9001:10001(1000)
        1.042 > 10001:11001(1000)
        1.081 < ack 9001 sack 10001:12001
        1.090 < ack 12001
    ";
    assert_snapshot!(samples(text), @"none");
    let text = "
        0.000 > 1:1001(1000)
        0.040 < ack 1002                      // a FIN
    ";
    assert_snapshot!(samples(text), @"0.040 forward 1 40 ms by sequence_ack, cumulative");
}

#[test]
fn srtt_is_unknown_until_missed_samples_hardly_matter() {
    let missing = |count| {
        let text = exchanges(count, 10..20) + "1000.0 > 1:2(1)";
        latest_srtt(&text.replace("20.000 >", "19.500 < ack 20001\n20.000 >"))
    };
    // (7/8)^22 is 5.3 %, and (7/8)^23 is 4.6 %.
    assert_eq!(missing(20 + 22), None);
    assert_eq!(missing(20 + 23), Some(TimeDelta::from_millis(40)));
    let whole = exchanges(20, 0..0);
    assert_eq!(latest_srtt(&whole), Some(TimeDelta::from_millis(40)));
}

#[test]
fn ack_of_an_earlier_copy_leaves_the_sample_of_its_sack_block_selective() {
    assert_snapshot!(samples("
        0.000 > 1:1001(1000) ts 100 1
        0.001 > 1001:2001(1000) ts 101 1
        0.002 > 2001:3001(1000) ts 102 1
        0.040 < ack 1001 sack 2001:3001 ts 500 50   // the capture missed the first copy
    "), @"0.040 forward 2001 38 ms by sequence_ack, selective");
}

#[test]
fn sack_block_of_a_fin_or_beyond_any_window_shows_no_missed_data() {
    for block in ["4001:5002", "1600000001:1600001001"] {
        let text = exchanges(3, 0..0)
            + &format!(
                "
                3.000 > 3001:4001(1000)
                3.001 > 4001:5001(1000)
                3.040 < ack 4001 sack {block}
                3.041 < ack 5001
                4.000 > 5001:6001(1000)
                4.040 < ack 6001
                "
            );
        assert_eq!(
            latest_srtt(&text),
            Some(TimeDelta::from_millis(40)),
            "{block}"
        );
    }
}

#[test]
fn missed_ack_may_have_timed_each_segment_of_a_long_packet() {
    // The capture missed an ACK of a part of the 40 segments at 100 ms.
    let text = |count| {
        let mut text = "
            0.000 > S 0 mss 1460 wscale 7 ts 1 0
            0.040 < S. 0 ack 1 win 65535 mss 1460 wscale 7 ts 900 1
            0.040 > . 1 ack 1 ts 41 900
            0.050 > 1:1001(1000) ts 50 900
            0.090 < ack 1001 win 512 ts 950 50
            0.100 > 1001:59401(58400) ts 100 950
            0.145 > 59401:60401(1000) ts 145 1002
            0.146 < ack 59401 win 512 ts 1005 100
            0.185 < ack 60401 win 512 ts 1045 145
        "
        .to_owned();
        for number in 1..count {
            let (start, stamp) = (60401 + (number - 1) * 1000, number * 1000);
            let (end, answer) = (start + 1000, stamp + 940);
            let echo = answer - 1000;
            writeln!(text, "{number}.000 > {start}:{end}(1000) ts {stamp} {echo}").unwrap();
            writeln!(text, "{number}.040 < ack {end} win 512 ts {answer} {stamp}").unwrap();
        }
        text
    };
    // The first samples after the gap leave the missing ones a weight of 5.2 % and of 4.6 %.
    assert_eq!(latest_srtt(&text(22)), None);
    assert!(latest_srtt(&text(23)).is_some());
}
