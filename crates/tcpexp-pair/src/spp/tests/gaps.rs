//! Clock steps while few packets are proven to be originals.

use std::fmt::Write;

use tcpexp_units::TimeDelta;

use super::aligned;

/// Packets of both directions for six seconds, without IP IDs, timestamps and SYNs, spread over as many flows.
/// The destination clock is set forward by 50 ms after 3.5 s. Only ten packets of another flow have IP IDs.
fn stepped(flows: u32) -> String {
    let mut text = String::new();
    for number in 0..300_u32 {
        let at = 0.2 + 0.020 * f64::from(number);
        let ahead = if at < 3.5 { 0.0 } else { 0.050 };
        let (start, flow) = (1 + 100 * number, 10 + number * flows / 300);
        let end = start + 100;
        for (point, at) in [("src", at), ("dst", at + 0.010 + ahead)] {
            writeln!(
                text,
                "{point} {at:.4} > {start}:{end}(100) ack 1 id 0 flow {flow}"
            )
            .unwrap();
        }
        for (point, at) in [("dst", at + 0.011 + ahead), ("src", at + 0.021)] {
            writeln!(text, "{point} {at:.4} < 1 ack {end} id 0 flow {flow}").unwrap();
        }
    }
    for number in 1..6_u32 {
        let (at, start) = (1.0 + 0.005 * f64::from(number), 1 + 100 * number);
        let end = start + 100;
        writeln!(
            text,
            "both {at:.4} > {start}:{end}(100) ack 1 id {number} flow 1"
        )
        .unwrap();
        writeln!(text, "both {at:.4} < 1 ack {end} id {number} flow 1").unwrap();
    }
    text
}

#[test]
fn clock_step_long_after_the_proven_packets_is_found() {
    // Packets of long flows advance; those of short flows do not show enough progress.
    for flows in [1, 30] {
        let clock = aligned(&stepped(flows)).unwrap().clock;
        let [step] = clock.steps() else {
            panic!("{flows}: {:?}", clock.steps());
        };
        let off = (step.size - TimeDelta::from_millis(50)).abs();
        assert!(off < TimeDelta::from_millis(1), "{flows}: {step:?}");
    }
}
