//! Identical packets between captures with the times of one clock.

use super::super::*;
use super::{CONNECTION, fates_with};

/// Data segments without IP ID: a queue delays the first by 12 ms more than the fastest packets, and
/// a retransmission of the second arrives in its place.
const QUEUED_AND_RETRANSMITTED: &str = "
    src 1.0000 > 501:1501(1000) ack 501 id 0
    dst 1.0220 > 501:1501(1000) ack 501 id 0
    src 1.1000 > 1501:2501(1000) ack 501 id 0
    dst 1.3210 > 1501:2501(1000) ack 501 id 0
";

#[test]
fn packets_without_ip_id_are_matched_with_one_clock_as_with_separate_clocks() {
    let text = format!("{CONNECTION}{QUEUED_AND_RETRANSMITTED}");
    let [one, separate] = [Clocks::One, Clocks::Separate].map(|clocks| fates_with(&text, clocks));
    insta::assert_snapshot!(one, @r"
    delivered 0.0 22.0
    ambiguous - 321.0
    ambiguous 100.0 -
    ");
    assert_eq!(one, separate);
}

#[test]
fn one_clock_leaves_the_first_answer_on_a_slower_way_back_matched() {
    // The way out takes 10 ms and the way back 30 ms; no earlier answer of a flow shows that delay.
    let mut text = String::new();
    for flow in 0..10 {
        let at = 1.0 + 0.07 * f64::from(flow);
        for (point, after, packet) in [
            ("src", 0.0, "> S"),
            ("dst", 0.010, "> S"),
            ("dst", 0.011, "< S."),
            ("src", 0.041, "< S."),
        ] {
            let line = format!("{point} {:.4} {packet} id 0 flow {flow}\n", at + after);
            text.push_str(&line);
        }
    }
    text.push_str("both 0.100 > S flow 20\nboth 4.000 > S flow 21\n");
    let fates = fates_with(&text, Clocks::One);
    assert_eq!(fates.matches("delivered").count(), 20, "{fates}");
}
