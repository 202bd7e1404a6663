//! Congestion echoes: RFC 3168, Accurate ECN, and flags without negotiation.

use super::*;

/// Recoveries of a sender of ten segments, with these flags in the handshake and in the ACKs.
fn recoveries(syn: &str, answer: &str, echoes: [&str; 10]) -> u32 {
    let mut text = format!(
        "
        0.000 > {syn} 0 mss 1000 sackok ts 1 0
        0.040 < {answer} 0 ack 1 mss 1000 sackok ts 900 1
        0.0402 > AW. 1 ack 1 ts 41 900
        "
    );
    echo(&mut text, &echoes);
    summary(&text).recoveries
}

/// One segment per round trip, and the flags of its ACK.
fn echo(text: &mut String, echoes: &[&str]) {
    for (index, flags) in (0..).zip(echoes) {
        let (start, at) = (1 + 988 * index, 100 + 50 * index);
        let (end, later) = (start + 988, at + 40);
        writeln!(
            text,
            "0.{at} > A.E {start}:{end}(988) ack 1 tos 2 ts {at} 900"
        )
        .unwrap();
        writeln!(
            text,
            "0.{later} < {flags} ack {end} ts {} {at}",
            900 + later
        )
        .unwrap();
    }
}

const NO_MARK: [&str; 10] = ["AE."; 10];

#[test]
fn unchanged_counter_is_no_congestion() {
    assert_eq!(recoveries("SAEW", "S.W", NO_MARK), 0);
}

#[test]
fn each_counter_increment_is_a_reduction_across_a_wrap() {
    let mut steps = NO_MARK;
    // ACE counts 5, 6, 7, 0, 1: from the fourth ACK on, one mark per round trip.
    for (place, count) in ["AW.", "AWE.", ".", "E.", "E.", "E.", "E."]
        .iter()
        .enumerate()
    {
        steps[3 + place] = count;
    }
    assert_eq!(recoveries("SAEW", "S.W", steps), 4);
}

#[test]
fn classic_syn_ack_selects_rfc_3168_flags() {
    let mut marked = ["."; 10];
    marked[4] = "E.";
    assert_eq!(recoveries("SAEW", "S.E", marked), 1);
    assert_eq!(recoveries("SEW", "S.E", marked), 1);
    // Without negotiation, the flags have no meaning.
    assert_eq!(recoveries("S", "S.", marked), 0);
    assert_eq!(recoveries("SAEW", "S.AEW", marked), 0);
}

#[test]
fn without_a_handshake_the_highest_bit_reveals_the_counter() {
    let mut text = String::new();
    let mut marked = NO_MARK;
    marked[6..].fill("AW.");
    echo(&mut text, &marked);
    assert_eq!(summary(&text).recoveries, 1);
}
