//! ACKs that a capture at the receiver missed.

use super::*;

/// Forward samples by sequence number in microseconds, with the answered sequence number, and the summary.
fn forward(trace: &str) -> (Vec<(u32, i64)>, SingleRttDirection) {
    let mut samples = Vec::new();
    let mut summary = None;
    for row in rows(trace) {
        match row {
            SingleRttRow::Sample(sample) if sample.method == RttMethod::SequenceAck => {
                let seq = sample.offset.unwrap().seq().0;
                samples.push((seq, sample.rtt.as_nanos() / 1_000));
            }
            SingleRttRow::Ended(flow) => summary = Some(flow.directions[0]),
            _ => {}
        }
    }
    (samples, summary.unwrap())
}

#[test]
fn ack_that_echoes_a_later_segment_than_its_oldest_yields_no_sample() {
    let trace = "
        0.0000 > 1:1001(1000) ts 100 1
        0.0001 < ack 1001 ts 900 100
        0.0100 > 1001:2001(1000) ts 110 1
        0.0200 > 2001:3001(1000) ts 120 1       // the capture missed the ACK before
        0.0201 < ack 3001 ts 920 120
        0.0400 > 3001:4001(1000) ts 140 900
        0.0401 < ack 4001 ts 940 140
    ";
    let (samples, summary) = forward(trace);
    assert_eq!(samples, [(1, 100), (3001, 100)]);
    assert_eq!((summary.ambiguous_acks, summary.missed.ack_gaps), (1, 0));
    assert_eq!(summary.rfc6298, None);
}

#[test]
fn data_that_echoes_an_ack_between_two_captured_ones_shows_a_gap() {
    // The capture missed an ACK with the timestamp 910, and the sender's clock is too coarse to show it.
    let trace = "
        0.0000 > 1:1001(1000) ts 100 1
        0.0001 < ack 1001 ts 900 100
        0.0100 > 1001:2001(1000) ts 110 1
        0.0200 > 2001:3001(1000) ts 110 1
        0.0201 < ack 3001 ts 920 110
        0.0400 > 3001:4001(1000) ts 140 900
        0.0401 < ack 4001 ts 940 140
    ";
    assert_eq!(forward(trace).1.missed.ack_gaps, 0);
    let echoes = "
        0.0500 > 4001:5001(1000) ts 150 910
        0.0501 < ack 5001 ts 950 150
        0.0502 > 5001:6001(1000) ts 150 910
        0.0503 < ack 6001 ts 950 150
    ";
    let (_, summary) = forward(&format!("{trace}{echoes}"));
    assert_eq!(summary.missed.ack_gaps, 1);
    assert_eq!(summary.rfc6298, None);
    // A packet without data may echo missed data of the other end.
    let bare = "0.0500 > . ack 1 ts 150 910";
    assert_eq!(forward(&format!("{trace}{bare}")).1.missed.ack_gaps, 0);
}

#[test]
fn receiver_that_always_echoes_the_latest_timestamp_keeps_its_samples() {
    let mut trace = String::new();
    for number in 0..20 {
        let (from, stamp) = (1 + number * 2000, 100 + number * 10);
        let (middle, end, later) = (from + 1000, from + 2000, stamp + 1);
        writeln!(trace, "{number}.000 > {from}:{middle}(1000) ts {stamp} 1").unwrap();
        writeln!(trace, "{number}.001 > {middle}:{end}(1000) ts {later} 1").unwrap();
        writeln!(trace, "{number}.041 < ack {end} ts {stamp} {later}").unwrap();
    }
    let (samples, summary) = forward(&trace);
    assert_eq!(samples.len(), 19);
    assert_eq!(summary.ambiguous_acks, 1);
}
