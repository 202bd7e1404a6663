//! Tests of datagrams that differ in nothing but an IP ID that recurs.

use super::*;

/// 100 identical datagrams, 10 ms apart, whose IP IDs repeat after `period` datagrams. The
/// datagrams numbered `lost` are lost; those numbered `missed` are not captured at the source.
fn like_datagrams(period: u32, lost: &[u32], missed: &[u32]) -> String {
    let mut text = String::new();
    for number in 0..100 {
        let at = 1.0 + f64::from(number) / 100.0;
        let place = match (lost.contains(&number), missed.contains(&number)) {
            (true, _) => "src",
            (_, true) => "dst",
            _ => "both",
        };
        let at = if place == "dst" { at + 0.010 } else { at };
        let id = 1 + number % period;
        writeln!(text, "{place} {at:.4} > udp 100 num 7 id {id} flow 3").unwrap();
    }
    text
}

#[test]
fn recurring_datagrams_are_not_used_for_the_clocks() {
    let found = aligned(&like_datagrams(16, &[], &[3, 40]));
    assert!(
        matches!(found, Err(NothingInCommon::AllAlike { alike: 16 })),
        "{found:?}"
    );
}

#[test]
fn recurring_datagrams_are_matched_if_their_period_exceeds_all_delays() {
    // Datagram 8 is lost, and the one a period later is missing in the source capture.
    let fates = fates_within_connection(&like_datagrams(32, &[8], &[40]));
    // The last datagram arrives after the reported time range.
    assert_eq!(fates.matches("delivered").count(), 97, "{fates}");
    assert!(fates.contains("lost 80.0 -"), "{fates}");
    assert!(fates.contains("ambiguous - 410.0"), "{fates}");
}

#[test]
fn recurring_datagrams_faster_than_all_packets_that_show_the_clocks_are_matched() {
    let mut text = String::new();
    for number in 0..100 {
        let (at, id) = (1.0 + f64::from(number) / 100.0, 1 + number % 32);
        for (point, at) in [("src", at), ("dst", at + 0.001)] {
            writeln!(text, "{point} {at:.4} > udp 100 num 7 id {id} flow 3").unwrap();
        }
    }
    let fates = fates_within_connection(&text);
    assert_eq!(fates.matches("delivered").count(), 100, "{fates}");
}

#[test]
fn datagrams_recurring_within_the_delays_are_ambiguous() {
    let fates = fates_within_connection(&like_datagrams(3, &[8], &[40]));
    assert!(!fates.contains("delivered"), "{fates}");
    assert!(!fates.contains("lost"), "{fates}");
}
