//! The way of traffic in one direction.

use super::*;

/// Requests and answers between two hosts, and segments of two other hosts (IPv6) that only the source
/// sends, one of them lost. All packets leave with a TTL of 64, and arrive with `ttl`.
fn one_way_beside_both_ways(ttl: u8) -> String {
    let mut text = String::new();
    for number in 0..10_u32 {
        let at = 1.0 + 0.020 * f64::from(number);
        let (start, end) = (1 + number * 100, 101 + number * 100);
        let mut pass = |points: [&str; 2], at: f64, packet: String| {
            for (point, at, ttl) in [(points[0], at, 64), (points[1], at + 0.010, ttl)] {
                writeln!(text, "{point} {at:.4} {packet} ttl {ttl}").unwrap();
            }
        };
        pass(
            ["src", "dst"],
            at,
            format!("> {start}:{end}(100) ack {start}"),
        );
        pass(
            ["dst", "src"],
            at + 0.011,
            format!("< {start}:{end}(100) ack {end}"),
        );
        let one_way = format!("> {start}:{end}(100) ack 1 ts {end} 1 v6");
        if number == 5 {
            writeln!(text, "src {:.4} {one_way} ttl 64", at + 0.005).unwrap();
        } else {
            pass(["src", "dst"], at + 0.005, one_way);
        }
    }
    text
}

#[test]
fn ttl_that_a_path_raises_does_not_turn_one_way_traffic_around() {
    let [decremented, raised] = [63, 65].map(|ttl| fates(&one_way_beside_both_ways(ttl)));
    assert_eq!(raised, decremented);
    // The first segment may have been sent before.
    assert!(decremented.contains("delivered 25.0 35.0"), "{decremented}");
    assert!(decremented.contains("lost 105.0 -"), "{decremented}");
}
