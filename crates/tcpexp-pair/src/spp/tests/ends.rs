//! Packets in flight when a capture begins or ends.

use std::fmt::Write;

use tcpexp_flow::Direction;

use super::{fates, measured};

#[test]
fn packets_that_overtake_each_other_at_the_ends_of_a_capture_are_not_lost() {
    // The destination captures arrivals from 1.4 s to 1.6 s. Each third packet takes 30 ms longer.
    let mut text = String::new();
    for number in 0..400_u32 {
        let at = 1.3 + 0.000_987 * f64::from(number);
        let (start, id) = (501 + 100 * number, 1 + number);
        let (end, ack) = (start + 100, 701);
        let late = if number % 3 == 0 { 0.030 } else { 0.0 };
        writeln!(text, "src {at:.6} > {start}:{end}(100) ack {ack} id {id}").unwrap();
        if (1.4..1.6).contains(&(at + 0.010 + late)) {
            let at = at + 0.010 + late;
            writeln!(text, "dst {at:.6} > {start}:{end}(100) ack {ack} id {id}").unwrap();
        }
        if (1.4..1.6).contains(&at) {
            for (point, at) in [("dst", at), ("src", at + 0.010)] {
                writeln!(text, "{point} {at:.6} < {ack}:{ack}(0) ack 501 id {id}").unwrap();
            }
        }
    }
    let fates = fates(&text);
    assert!(fates.matches("delivered").count() > 300, "{fates}");
    assert!(!fates.contains("lost"), "{fates}");
}

#[test]
fn arrival_that_may_have_left_after_the_upstream_capture_ended_is_outside() {
    // One-way delays of 1 ms; the capture at the source ends at 1.300 s.
    let mut text = String::new();
    for number in 0..40_u32 {
        let at = 0.9 + 0.009_871 * f64::from(number);
        let (start, id) = (501 + 100 * number, 1 + number);
        let (end, ack) = (start + 100, 701);
        for (point, at) in [("src", at), ("dst", at + 0.001)] {
            writeln!(
                text,
                "{point} {at:.6} > {start}:{end}(100) ack {ack} id {id}"
            )
            .unwrap();
        }
        for (point, at) in [("dst", at + 0.002), ("src", at + 0.003)] {
            writeln!(text, "{point} {at:.6} < {ack}:{ack}(0) ack {end} id {id}").unwrap();
        }
    }
    text += "
        src 1.3000 > 9001:9101(100) ack 701 id 99
        dst 1.3002 > 9101:9201(100) ack 701 id 100
        dst 1.3050 > 9201:9301(100) ack 701 id 101
    ";
    let fates = fates(&text);
    assert!(fates.contains("unseen - 300.2"), "{fates}");
    assert!(fates.contains("outside - 305.0"), "{fates}");
}

#[test]
fn syn_sent_before_the_capture_began_is_outside_although_its_retransmission_is_captured() {
    // The capture at the source begins at 1.4 s.
    let mut text = String::new();
    for number in 0..50_u32 {
        let (at, start) = (1.4 + 0.009_871 * f64::from(number), 501 + 100 * number);
        let (end, id) = (start + 100, 1 + number);
        for line in [
            format!("{at:.6} > {start}:{end}(100) ack 701 id {id}"),
            format!("{:.6} < 701:701(0) ack {end} id {id}", at + 0.011),
        ] {
            writeln!(text, "both {line}").unwrap();
        }
    }
    text += "
        dst 1.000 > S id 7 flow 2
        dst 1.001 < S. id 8 flow 2
        both 1.500 > S id 9 flow 2
        dst 1.600 > S id 10 flow 2
        both 1.700 > 1:101(100) ack 1 id 11 flow 2
    ";
    let fates = fates(&text);
    assert!(fates.contains("outside - 0.0"), "{fates}");
    assert!(fates.contains("unseen - 600.0"), "{fates}");
}

#[test]
fn packets_queued_when_the_downstream_capture_ends_are_not_lost() {
    // One-way delays of 10 ms. Then 20 segments leave at once and arrive 2 ms apart, and both captures
    // end: the source's with the last segment, the destination's while segments wait in the queue.
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").unwrap();
    for number in 0..30_u32 {
        let at = 1.0 + 0.009_871 * f64::from(number);
        let (start, id) = (501 + 100 * number, 1 + number);
        let (end, ack) = (start + 100, 701);
        for (point, at) in [("src", at), ("dst", at + 0.010)] {
            line(format!(
                "{point} {at:.6} > {start}:{end}(100) ack {ack} id {id}"
            ));
        }
        for (point, at) in [("dst", at + 0.010_02), ("src", at + 0.020_02)] {
            line(format!(
                "{point} {at:.6} < {ack}:{ack}(0) ack {end} id {id}"
            ));
        }
    }
    for number in 0..20_u32 {
        let (start, id) = (3501 + 100 * number, 31 + number);
        let segment = format!("> {start}:{}(100) ack 701 id {id}", start + 100);
        line(format!(
            "src {:.6} {segment}",
            1.4 + 0.000_01 * f64::from(number)
        ));
        if number < 15 {
            line(format!(
                "dst {:.6} {segment}",
                1.41 + 0.002 * f64::from(number)
            ));
        }
    }
    let fates = fates(&text);
    assert_eq!(fates.matches("delivered").count(), 75, "{fates}");
    assert_eq!(fates.matches("outside").count(), 5, "{fates}");
}

#[test]
fn packets_that_cannot_be_held_back_take_the_first_numbers_and_are_counted() {
    const ALONE: u32 = 5_000;
    let mut text = String::new();
    for number in 0..ALONE + 20 {
        let place = if number < ALONE { "src" } else { "both" };
        let (at, seq) = (1.0 + 0.0001 * f64::from(number), 1 + number);
        writeln!(
            text,
            "{place} {at:.4} > {seq}:{}(1) ack 1 id {seq}",
            seq + 1
        )
        .unwrap();
        if place == "both" {
            writeln!(text, "both {:.4} < 1 ack {} id {seq}", at + 0.02, seq + 1).unwrap();
        }
    }
    let (outcomes, flows, totals) = measured(&text);
    assert!(
        totals.not_held[0] > 500 && totals.not_held[1] == 0,
        "{totals:?}"
    );
    assert_eq!(flows[0].counts[0].seen, u64::from(ALONE) + 20);
    let forward = outcomes
        .iter()
        .filter(|one| one.direction == Direction::Forward);
    let mut numbers: Vec<u64> = forward.filter_map(|one| one.number).collect();
    numbers.sort_unstable();
    let expected: Vec<u64> = (totals.not_held[0]..u64::from(ALONE) + 20).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn packets_after_an_idle_time_in_which_the_clocks_drifted_are_found() {
    // The clock of the destination loses 30 ppm in half an hour. Data queues in each burst.
    const IDLE_SECONDS: f64 = 1_800.0;
    let mut text = String::new();
    for (burst, data) in [(1.0, '>'), (1.0 + IDLE_SECONDS, '<')] {
        for number in 0..40_u32 {
            let id = number + 1 + 100 * u32::from(data == '<');
            let sent = burst + 0.0004 * f64::from(number);
            let arrived = sent + 0.0035 + 0.0008 * f64::from(number);
            let (seq, ack) = (1 + number, 2 + number);
            let answer = if data == '>' { '<' } else { '>' };
            let packets = [
                (data, sent, arrived, format!("{seq}:{ack}(1) ack 1 id {id}")),
                (
                    answer,
                    arrived,
                    arrived + 0.0035,
                    format!("1 ack {ack} id {id}"),
                ),
            ];
            for (way, left, came, packet) in packets {
                let [src, dst] = if way == '>' {
                    [left, came]
                } else {
                    [came, left]
                };
                let shown = dst - 30e-6 * (burst - 1.0);
                writeln!(text, "src {src:.6} {way} {packet}").unwrap();
                writeln!(text, "dst {shown:.6} {way} {packet}").unwrap();
            }
        }
    }
    let (_, flows, totals) = measured(&text);
    assert_eq!(totals.unseen, [0, 0]);
    for counts in flows[0].counts {
        assert_eq!(counts.not_found(), 0, "{counts:?}");
        assert!(counts.matched >= 78, "{counts:?}");
    }
}

#[test]
fn packets_from_before_a_capture_are_not_lost_if_all_packets_go_one_way() {
    // The destination's capture begins with packet 10, which is faster than all later packets. These
    // alone bound the offset, so the capture seems to begin 20 ms before this packet left.
    let mut text = String::new();
    for number in 0..80_u32 {
        let sent = 1.0 + 0.005 * f64::from(number);
        let owd = match number {
            10 => 0.020,
            _ => 0.040 + 0.001 * f64::from(number * 7 % 21),
        };
        let (start, end) = (501 + 100 * number, 601 + 100 * number);
        let line = format!("> {start}:{end}(100) ack 1 id {}", number + 1);
        writeln!(text, "src {sent:.4} {line}").unwrap();
        if number >= 10 && number != 40 {
            writeln!(text, "dst {:.4} {line}", sent + owd).unwrap();
        }
    }
    let fates = fates(&text);
    assert!(fates.contains("lost 200.0 -"), "{fates}");
    assert_eq!(fates.matches("lost").count(), 1, "{fates}");
}
