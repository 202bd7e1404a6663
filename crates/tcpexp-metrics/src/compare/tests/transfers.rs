//! Tests of the completion times of transfers.

use super::*;

#[test]
fn a_failed_transfer_ranks_as_the_longest() {
    let mut files = sender("web", 0, &[8, 8, 8]);
    let transfer = |millis, completion: Option<i64>| Transfer {
        at: at(millis),
        bytes: 1_000_000,
        completion: completion.map_or(Completion::Never, |millis| {
            Completion::Took(TimeDelta::from_millis(millis))
        }),
    };
    files.transfers = vec![
        transfer(500, Some(9_000)),
        transfer(1000, Some(1_000)),
        transfer(1500, Some(2_000)),
        transfer(2000, None),
    ];
    let run = run(vec![files]);
    // 8 Mbit at 20 Mbit/s less headers, and two round trips of 40 ms.
    let ideal = 8e6 / (20e6 * 1448.0 / 1514.0) + 0.08;
    check(
        &values(&run, 1, "web"),
        &[
            (Measure::CompletionMedian, Some(2.0)),
            (Measure::CompletionP95, Some(f64::INFINITY)),
            (Measure::SlowdownMedian, Some(2.0 / ideal)),
        ],
    );
    let all = measure_run(&run, &options(1));
    assert_eq!(all[1].transfers, [4, 3]);
}

#[test]
fn transfer_cut_off_by_the_capture_leaves_unknown_what_its_end_decides() {
    let measured = |completions: &[Completion]| {
        let mut files = sender("web", 0, &[8, 8, 8]);
        let transfer = |completion: &Completion| Transfer {
            at: at(0),
            bytes: 1_000_000,
            completion: *completion,
        };
        files.transfers = completions.iter().map(transfer).collect();
        measure_run(&run(vec![files]), &options(0)).swap_remove(1)
    };
    let took = |millis| Completion::Took(TimeDelta::from_millis(millis));
    let at_least = |millis| Completion::AtLeast(TimeDelta::from_millis(millis));
    // The capture has 1.2 s of the third transfer, which takes 2.13 s.
    let early = measured(&[took(4_170), took(24_620), at_least(1_200)]);
    let unknown = [
        (Measure::CompletionMedian, None),
        (Measure::CompletionP95, None),
        (Measure::SlowdownMedian, None),
        (Measure::LoadTime, None),
    ];
    check(&early.values, &unknown);
    assert_eq!(early.transfers, [3, 2]);
    let bounds = early.values.bounds(Measure::CompletionMedian);
    let (least, most) = (4.17, 24.62);
    assert_eq!(bounds, Some(crate::Bounds { least, most }));
    // Captured for longer than the median, its end changes only what lies above.
    let late = measured(&[took(4_170), took(2_000), at_least(5_000)]);
    check(
        &late.values,
        &[
            (Measure::CompletionMedian, Some(4.17)),
            (Measure::CompletionP95, None),
        ],
    );
}
