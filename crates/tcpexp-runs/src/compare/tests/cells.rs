//! Cells and their baselines.

use tcpexp_table::compare::ExpectedRow;

use super::super::cells::{baselines, cells, fault};
use super::*;

#[test]
fn baseline_differs_from_its_cell_only_in_the_named_parameters() {
    let sweep = tempfile::tempdir().unwrap();
    let mut number = 0;
    for (delay, bytes) in [(20.0, [800_000, 600_000]), (80.0, [400_000, 600_000])] {
        for (cc, bytes) in ["reno", "cubic"].into_iter().zip(bytes) {
            number += 1;
            let parameters = json!({"new_cc": cc, "cc": if cc == "reno" { json!(cc) } else { Value::Null }, "delay_ms": delay});
            let cell = format!("{cc}{delay}");
            let record = record(
                &format!("{number:04}"),
                &cell,
                &parameters,
                &["new_cc", "delay_ms", "cc"],
            );
            write_run(sweep.path(), &record, bytes);
        }
    }
    let mut options = options(0);
    options.baseline = vec![("new_cc".to_owned(), "reno".to_owned())];
    let comparison = Comparison::of(sweep.path(), &options).unwrap();
    assert_snapshot!(text(&comparison, true), @r"
    new_cc delay_ms cc   class runs Mbit/s util % RTT ms    p95 loss % friend
    cubic  20       -    bulk  1     4.800  63.84  60.00  78.00  13.30  0.750
    cubic  80       -    bulk  1     4.800  63.84  60.00  78.00  13.30  1.500
    reno   20       reno bulk  1     6.400  85.12  60.00  78.00  13.30  1.000
    reno   80       reno bulk  1     3.200  42.56  60.00  78.00  13.30  1.000
    ");

    options.baseline[0].0 = "cc_new".to_owned();
    let error = Comparison::of(sweep.path(), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no cell has a parameter cc_new; the parameters are new_cc, delay_ms, cc"
    );
    options.baseline[0] = ("new_cc".to_owned(), "vegas".to_owned());
    let error = Comparison::of(sweep.path(), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no cell has new_cc=vegas, so there is no baseline"
    );
}

#[test]
fn cell_without_a_counterpart_has_no_baseline() {
    let grid = [
        ("reno", 20),
        ("cubic", 20),
        ("cubic", 80),
        ("reno", 160),
        ("cubic", 160),
    ];
    let runs: Vec<RunDir> = grid
        .iter()
        .map(|(cc, delay)| {
            let parameters = json!({"cc": cc, "delay_ms": delay});
            let record = record(
                "0001",
                &format!("{cc}{delay}"),
                &parameters,
                &["cc", "delay_ms"],
            );
            let record: RunRecord = serde_json::from_value(record).unwrap();
            RunDir {
                data: PathBuf::new(),
                has_plan: true,
                fault: fault(&record),
                is_damaged: false,
                gaps: Vec::new(),
                record,
            }
        })
        .collect();
    let (cells, cell_of) = cells(&runs);
    let wanted = [("cc".to_owned(), "reno".to_owned())];
    let baselines = baselines(&cells, &wanted).unwrap();
    let found: Vec<String> = cell_of
        .iter()
        .map(|cell| {
            let base = baselines[*cell].map(|base| cells[base].hash.as_str());
            format!("{} against {base:?}", cells[*cell].hash)
        })
        .collect();
    assert_snapshot!(found.join("\n"), @r#"
    reno20 against Some("reno20")
    cubic20 against Some("reno20")
    cubic80 against None
    reno160 against Some("reno160")
    cubic160 against Some("reno160")
    "#);
}

#[test]
fn a_cell_over_another_bottleneck_is_no_baseline() {
    let sweep = tempfile::tempdir().unwrap();
    let run = |number: u32, cc: &str, rate: f64, delay: u32| {
        let parameters = json!({"cc": cc, "delay_ms": delay, "rate_mbps": rate});
        let name = format!("{number:04}");
        let cell = format!("{cc}{rate}{delay}");
        // As in two versions of a plan, each with one rate.
        write_run(
            sweep.path(),
            &record(&name, &cell, &parameters, &["cc"]),
            500_000,
        );
    };
    run(1, "reno", 2.0, 20);
    run(2, "cubic", 10.0, 20);
    let mut options = options(0);
    options.baseline = vec![("cc".to_owned(), "reno".to_owned())];
    let compared = || Comparison::of(sweep.path(), &options).unwrap();
    let found = compared();
    assert_eq!(found.baselines, [None, Some(1)]);
    assert_eq!(found.without_baseline, ["rate_mbps"]);
    // Two cells of each rate show that the rate belongs to the congestion control.
    run(3, "reno", 2.0, 80);
    run(4, "cubic", 10.0, 80);
    let found = compared();
    assert_eq!(found.baselines, [Some(2), Some(3), Some(2), Some(3)]);
    assert!(found.without_baseline.is_empty());
}

#[test]
fn planned_cells_without_a_run_have_an_unknown_verdict() {
    let sweep = tempfile::tempdir().unwrap();
    let parameters = |cc: &str| json!({"cc": cc, "rate_mbps": 3.0});
    write_run(
        sweep.path(),
        &record("0001-r01", "c1", &parameters("cubic"), &["cc"]),
        500_000,
    );
    let planned = |(run, cell, cc): (&str, &str, &str)| PlannedRun {
        run: run.to_owned(),
        cell: cell.to_owned(),
        parameters: serde_json::from_value(parameters(cc)).unwrap(),
    };
    let runs = [
        ("0001-r01", "c1", "cubic"),
        ("0002-r01", "c2", "reno"),
        ("0001-r02", "c1", "cubic"),
        ("0002-r02", "c2", "reno"),
    ];
    let expected = Expected::parse("goodput_bps > 1").unwrap();
    let checked = |runs: &[(&str, &str, &str)], only: &str| {
        let only = only.parse().unwrap_or_default();
        let found = Comparison::of(sweep.path(), &options(0)).unwrap();
        let runs: Vec<PlannedRun> = runs.iter().copied().map(planned).collect();
        let found = found.with_planned(&runs, &only);
        let rows = found.check(std::slice::from_ref(&expected), None).unwrap();
        let row = |row: &ExpectedRow| {
            format!(
                "{} {}: {}",
                row.verdict().name(),
                row.cell_name(),
                row.found()
            )
        };
        let missing: Vec<String> = found.not_run.into_iter().map(|run| run.run).collect();
        let rows: Vec<String> = rows.iter().map(row).collect();
        format!("{}; without {}", rows.join(", "), missing.join(" "))
    };
    assert_snapshot!(checked(&runs, ""), @"met cc=cubic: 4 000 000, unknown cc=reno: no value; not run yet; without 0002-r01 0001-r02 0002-r02");
    assert_snapshot!(checked(&runs, "cc=cubic"), @"met cc=cubic: 4 000 000; without 0001-r02");
    assert_snapshot!(checked(&runs[..1], ""), @"met cc=cubic: 4 000 000; without ");
    // The run is not of this plan.
    assert_snapshot!(checked(&runs[1..2], ""), @"met cc=cubic: 4 000 000; without ");
}

#[test]
fn cells_of_two_plans_are_told_apart_by_what_each_plan_keeps_constant() {
    let sweep = tempfile::tempdir().unwrap();
    let run = |number: u32, cell: &str, rate: f64| {
        let parameters = json!({"cc": "reno", "rate_mbps": rate});
        let mut record = record(&format!("{number:04}"), cell, &parameters, &[]);
        record["kernels"] = json!({"src1": format!("6.{number}")});
        write_run(sweep.path(), &record, 500_000);
    };
    run(1, "c1", 3.0);
    run(2, "c2", 6.0);
    let found = Comparison::of(sweep.path(), &options(0)).unwrap();
    assert_snapshot!(text(&found, false), @r"
    rate_mbps class runs Mbit/s util % RTT ms    p95 loss % retx %
    3         bulk  1     4.000  53.20  60.00  78.00  13.30  15.79
    6         bulk  1     4.000  53.20  60.00  78.00  13.30  15.79
    ");
    let expected = Expected::parse("goodput_bps > 1e6").unwrap();
    let rows = found.check(&[expected], None).unwrap();
    let names: Vec<String> = rows.iter().map(ExpectedRow::cell_name).collect();
    assert_eq!(names, ["rate_mbps=3", "rate_mbps=6"]);
    assert_eq!(found.kernels, 0);
    // A setting that is no parameter differs.
    run(3, "c3", 6.0);
    run(4, "c3", 6.0);
    let found = Comparison::of(sweep.path(), &options(0)).unwrap();
    assert_snapshot!(text(&found, false), @r"
    rate_mbps cell_hash class runs Mbit/s util % RTT ms    p95 loss % retx %
    3         c1        bulk  1     4.000  53.20  60.00  78.00  13.30  15.79
    6         c2        bulk  1     4.000  53.20  60.00  78.00  13.30  15.79
    6         c3        bulk  2     4.000  53.20  60.00  78.00  13.30  15.79
    ");
    assert_eq!(found.kernels, 1);
}

#[test]
fn a_cell_with_other_parameters_is_no_baseline_of_a_check() {
    let of = |cc: &str| {
        let sweep = tempfile::tempdir().unwrap();
        let parameters = json!({"cc": cc, "rate_mbps": 8});
        write_run(sweep.path(), &record("0001", cc, &parameters, &[]), 500_000);
        Comparison::of(sweep.path(), &options(0)).unwrap()
    };
    let expected = Expected::parse("goodput_bps >= 1 * baseline").unwrap();
    let verdict = |before: &str| {
        let rows = of("reno").check(std::slice::from_ref(&expected), Some(&of(before)));
        rows.unwrap()[0].verdict().name()
    };
    assert_eq!(verdict("reno"), "met");
    assert_eq!(verdict("cubic"), "unknown");
}

#[test]
fn a_parameter_has_the_name_of_its_column_too() {
    let sweep = tempfile::tempdir().unwrap();
    for (number, class) in ["a", "b"].into_iter().enumerate() {
        let record = record(
            &number.to_string(),
            class,
            &json!({"class": class}),
            &["class"],
        );
        write_run(sweep.path(), &record, 500_000);
    }
    for name in ["class", "param_class"] {
        let mut options = options(0);
        options.baseline = vec![(name.to_owned(), "a".to_owned())];
        options.only = format!("{name}=a,b").parse().unwrap();
        let found = Comparison::of(sweep.path(), &options).unwrap();
        assert_eq!(found.baselines, [Some(0), Some(0)], "{name}");
    }
}

#[test]
fn cells_that_differ_in_a_parameter_of_the_name_cell_are_not_baselines_of_each_other() {
    let sweep = tempfile::tempdir().unwrap();
    let grid = [("reno", 3), ("cubic", 3), ("reno", 4), ("cubic", 5)];
    for (number, (cc, cell)) in grid.into_iter().enumerate() {
        let parameters = json!({"cc": cc, "cell": cell});
        let record = record(
            &number.to_string(),
            &format!("{cc}{cell}"),
            &parameters,
            &["cc"],
        );
        write_run(sweep.path(), &record, 500_000);
    }
    let mut options = options(0);
    options.baseline = vec![("cc".to_owned(), "reno".to_owned())];
    let found = Comparison::of(sweep.path(), &options).unwrap();
    let names: Vec<_> = found.cells.iter().map(|cell| cell.hash.as_str()).collect();
    let base = |place: &Option<usize>| place.map(|place| found.cells[place].hash.as_str());
    let pairs: Vec<_> = names
        .iter()
        .copied()
        .zip(found.baselines.iter().map(base))
        .collect();
    assert_eq!(
        pairs,
        [
            ("cubic3", Some("reno3")),
            ("cubic5", None),
            ("reno3", Some("reno3")),
            ("reno4", Some("reno4")),
        ]
    );
}
