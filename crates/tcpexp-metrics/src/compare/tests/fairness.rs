//! Shares of several senders.

use super::*;

#[test]
fn a_late_sender_is_measured_over_its_own_time() {
    let run = run(vec![
        sender("bulk", 0, &[20, 20, 10, 10]),
        sender("bulk", 2, &[10, 6]),
    ]);
    check(
        &values(&run, 0, "bulk"),
        &[
            (Measure::Goodput, Some(76e6 / 4.0)),
            // 60 in 4 s and 16 in 2 s.
            (Measure::FlowGoodput, Some(11.5e6)),
            // While both were there: 10 and 8 Mbit/s.
            (Measure::Jain, Some(18.0 * 18.0 / (2.0 * 164.0))),
            (Measure::MaxMinRatio, Some(1.25)),
            (Measure::Epsilon, Some(0.2)),
            (Measure::JainWindowMin, Some(256.0 / (2.0 * 136.0))),
            (Measure::JainWindowFairShare, Some(1.0)),
        ],
    );
}

#[test]
fn a_starved_sender_has_no_max_min_ratio() {
    let mut starved = sender("bulk", 0, &[0, 0]);
    starved.arrived.clear();
    let run = run(vec![sender("bulk", 0, &[10, 10]), starved]);
    check(
        &values(&run, 0, "bulk"),
        &[
            (Measure::Jain, Some(0.5)),
            (Measure::MaxMinRatio, None),
            (Measure::Epsilon, Some(1.0)),
            (Measure::FlowGoodput, Some(5e6)),
        ],
    );
}

#[test]
fn one_sender_has_no_fairness() {
    let run = run(vec![sender("bulk", 0, &[10, 10])]);
    let none = [
        Measure::Jain,
        Measure::Convergence,
        Measure::ShareRatio,
        Measure::Friendliness,
    ]
    .map(|measure| (measure, None));
    check(&values(&run, 0, "bulk"), &none);
}

#[test]
fn convergence_is_measured_from_the_last_start_even_within_the_warm_up() {
    let first = sender("bulk", 0, &[20, 20, 18, 15, 10, 11, 10]);
    let second = sender("bulk", 2, &[2, 5, 10, 9, 10]);
    let run = run(vec![first, second]);
    for warmup in [0, 5] {
        check(
            &values(&run, warmup, "bulk"),
            &[(Measure::Convergence, Some(2.0))],
        );
    }
}

#[test]
fn flows_with_unequal_shares_never_converge() {
    let run = run(vec![
        sender("bulk", 0, &[18; 5]),
        sender("bulk", 0, &[2; 5]),
    ]);
    check(
        &values(&run, 0, "bulk"),
        &[(Measure::Convergence, Some(f64::INFINITY))],
    );
}

#[test]
fn fairness_among_all_classes_covers_bulk_senders() {
    let mut stream = sender("voice", 0, &[1, 1]);
    stream.is_bulk = false;
    let run = run(vec![
        sender("new", 0, &[12, 12]),
        sender("legacy", 0, &[4, 4]),
        stream,
    ]);
    let all = values(&run, 0, "all");
    check(
        &all,
        &[
            (Measure::Jain, Some(256.0 / (2.0 * 160.0))),
            (Measure::Goodput, Some(17e6)),
            (Measure::Utilisation, Some(17.0 * 1.05 / 20.0)),
            (Measure::ShareRatio, None),
        ],
    );
    check(&values(&run, 0, "new"), &[(Measure::ShareRatio, Some(3.0))]);
    check(
        &values(&run, 0, "legacy"),
        &[(Measure::ShareRatio, Some(1.0 / 3.0))],
    );
    check(&values(&run, 0, "voice"), &[(Measure::ShareRatio, None)]);
}
