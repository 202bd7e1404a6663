//! Verdicts on short traces.

use std::convert::Infallible;

use tcpexp_flow::{Direction, FlowId, Holes};
use tcpexp_testkit::scripted::Scripted;
use tcpexp_units::TimeDelta;

use super::{Limits, Verdict};
use crate::sender::{Hindsight, SenderOptions, SenderRow, sender_state};

/// The verdict on the initiator of a script's first flow.
fn verdict(text: &str) -> Verdict {
    let (hindsight, _) = Hindsight::of(&mut Scripted::new(text));
    let mut limits = Limits::new(FlowId(0), Direction::Forward, None, Holes::default(), None);
    let options = SenderOptions::default();
    let measured = sender_state(&mut Scripted::new(text), &hindsight, options, |rows| {
        let of_initiator = |row: &&SenderRow| direction(row) == Direction::Forward;
        rows.iter()
            .filter(of_initiator)
            .for_each(|row| limits.add(row));
        Ok::<(), Infallible>(())
    });
    assert!(measured.is_ok());
    limits.verdict(None).unwrap()
}

fn direction(row: &SenderRow) -> Direction {
    match row {
        SenderRow::Sample(sample) => sample.direction,
        SenderRow::Retransmission(again) => again.direction,
        SenderRow::Recovery(epoch) => epoch.direction,
        SenderRow::Summary(summary) => summary.direction,
    }
}

/// A transfer of ten windows of two segments, one each 50 ms. From the fifth on, the clock has been
/// set back by `back_ms`.
fn transfer(back_ms: u32) -> String {
    let mut lines = vec![
        "1.000 > S 0 mss 1000 sackok wscale 7 ts 1 0".to_owned(),
        "1.040 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7 ts 900 1".to_owned(),
        "1.041 > . 1 ack 1 win 512 ts 41 900".to_owned(),
    ];
    for window in 0..10 {
        let back = if window < 5 { 0 } else { back_ms };
        let at = |ms: u32| f64::from(1_050 + 50 * window + ms - back) / 1e3;
        let (start, stamp) = (1 + 2_000 * window, 50 + 50 * window);
        let (middle, end) = (start + 1_000, start + 2_000);
        let (answer, echo) = (stamp + 900, stamp + 850);
        lines.push(format!(
            "{:.3} > {start}:{middle}(1000) ts {stamp} {echo}",
            at(0)
        ));
        lines.push(format!(
            "{:.3} > {middle}:{end}(1000) ts {stamp} {echo}",
            at(0)
        ));
        lines.push(format!("{:.3} < ack {end} ts {answer} {stamp}", at(40)));
    }
    lines.join("\n")
}

#[test]
fn the_times_of_all_causes_sum_to_the_duration_although_the_clock_was_set_back() {
    for back_ms in [0, 30, 130, 900] {
        let verdict = verdict(&transfer(back_ms));
        let sum: TimeDelta = verdict.times.into_iter().sum();
        assert_eq!(sum, verdict.duration, "{back_ms} ms");
        assert!(sum > TimeDelta::ZERO);
    }
}
