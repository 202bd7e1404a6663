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
