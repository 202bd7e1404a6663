//! Packets that seem to arrive before they leave.

use std::convert::Infallible;
use std::fmt::Write;

use tcpexp_units::TimeDelta;

use super::*;

/// Packets with IP IDs of both directions, each 10 ms on its way. The capture at the source ends after 2 s; its
/// clock is set forward by one second before the last `after` departures.
fn stepped(after: u32) -> String {
    let mut text = String::new();
    for number in 0..300_u32 {
        let at = 0.1 + 0.010 * f64::from(number);
        let start = 1 + 100 * number;
        let (end, id) = (start + 100, 1 + number);
        let shown = if number + after < 190 { at } else { at + 1.0 };
        if number < 190 {
            writeln!(text, "src {shown:.4} > {start}:{end}(100) ack 1 id {id}").unwrap();
        }
        writeln!(
            text,
            "dst {:.4} > {start}:{end}(100) ack 1 id {id}",
            at + 0.010
        )
        .unwrap();
        writeln!(text, "dst {:.4} < 1 ack {end} id {id}", at + 0.011).unwrap();
        if number + after < 189 {
            writeln!(text, "src {:.4} < 1 ack {end} id {id}", at + 0.021).unwrap();
        }
    }
    text
}

#[test]
fn packet_that_seems_to_arrive_before_it_leaves_is_neither_lost_nor_missed() {
    let run = |text: &str, times| {
        let alignment = aligned(text).unwrap().contradicted_at(times);
        assert_eq!(alignment.clock.steps(), []);
        let options = Options {
            outcomes: true,
            ..Options::default()
        };
        let [mut src, mut dst] = captures(text);
        let mut fates = Vec::new();
        let Ok(totals) = measure(&mut src, &mut dst, alignment, options, |batch| {
            fates.extend(batch.outcomes.iter().map(|outcome| outcome.fate));
            Ok::<(), Infallible>(())
        });
        let fates = [Fate::Lost, Fate::Unseen].map(|fate| {
            let of_fate = fates.iter().filter(|one| **one == fate);
            of_fate.count()
        });
        (fates, totals)
    };
    let stepped = stepped(4);
    let (_, first) = run(&stepped, None);
    let (from, to) = first.contradicted.unwrap();
    assert_eq!(first.unseen, [0, 0]);
    assert!(to - from > TimeDelta::from_millis(900), "{from:?} {to:?}");
    let (fates, totals) = run(&stepped, first.contradicted);
    assert_eq!((fates, totals.unseen), ([0, 0], [0, 0]));
    assert_eq!(totals.contradicted, first.contradicted);
    assert!(totals.contradiction_warning().is_some());
}

#[test]
fn packets_that_a_capture_misses_do_not_contradict_the_clocks() {
    let text = stepped(0);
    let is_kept = |line: &&str| {
        let missed = ["src 0.6000 >", "dst 0.7100 >"];
        !missed.iter().any(|missed| line.starts_with(missed))
    };
    let text: Vec<&str> = text.lines().filter(is_kept).collect();
    let (_, _, totals) = measured(&text.join("\n"));
    assert_eq!((totals.unseen, totals.contradicted), ([1, 0], None));
}
