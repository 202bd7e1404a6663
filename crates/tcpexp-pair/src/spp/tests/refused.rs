//! Pairs of captures that are refused as a whole.

use std::fmt::Write;

use tcpexp_units::TimeDelta;

use super::super::*;
use super::{captures, survey};

/// Data out and acknowledgments back in 10 ms each; the clock of the destination is `ahead` by seconds.
fn exchange(ahead: f64) -> String {
    let mut text = String::new();
    for number in 0..20_u32 {
        // Round times would look like those of a coarse clock.
        let at = 10.0 + 0.1 * f64::from(number) + 0.0007 * f64::from(number % 7);
        let id = number + 1;
        let (start, end) = (501 + 100 * number, 601 + 100 * number);
        let (arrived, answered) = (at + 0.010 + ahead, at + 0.020);
        writeln!(text, "src {at:.4} > {start}:{end}(100) ack 1 id {id}").unwrap();
        writeln!(text, "dst {arrived:.4} > {start}:{end}(100) ack 1 id {id}").unwrap();
        writeln!(text, "dst {arrived:.4} < ack {end} id {id}").unwrap();
        writeln!(text, "src {answered:.4} < ack {end} id {id}").unwrap();
    }
    text
}

#[test]
fn captures_with_different_clocks_do_not_have_the_times_of_one() {
    let aligned = |ahead| {
        let [src, dst] = captures(&exchange(ahead));
        Alignment::with_clocks(survey(src), survey(dst), Clocks::One)
    };
    assert!(aligned(0.0).is_ok());
    for (ahead, expected) in [(5.0, PathDirection::Back), (-5.0, PathDirection::Out)] {
        let refused = aligned(ahead).map(|_| ());
        let early = TimeDelta::from_millis(4_990);
        assert_eq!(
            refused,
            Err(NothingInCommon::SeveralClocks {
                path_direction: expected,
                early
            })
        );
    }
}

#[test]
fn captures_without_a_packet_within_the_longest_delay_are_refused() {
    let within = |ahead, clocks, longest| {
        let [src, dst] = captures(&exchange(ahead));
        let alignment = Alignment::with_clocks(survey(src), survey(dst), clocks);
        let within = alignment.and_then(|alignment| alignment.within(longest));
        within.map(|_| ())
    };
    for (ahead, clocks) in [
        (0.0, Clocks::One),
        (0.0, Clocks::Separate),
        (60.0, Clocks::Separate),
    ] {
        assert_eq!(within(ahead, clocks, TimeDelta::from_millis(11)), Ok(()));
        let nine = TimeDelta::from_millis(9);
        let Err(NothingInCommon::AllTooSlow { least, longest }) = within(ahead, clocks, nine)
        else {
            panic!("{ahead} {clocks:?}");
        };
        assert_eq!(longest, nine);
        let off = (least - TimeDelta::from_millis(10)).abs();
        assert!(off < TimeDelta::from_micros(100), "{least}");
    }
}
