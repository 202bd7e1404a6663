//! Cells of the plan `examples/plans/single-flow-baseline.toml`, in the lab.

use crate::bench::{Bench, has_lab, said};
use crate::planned::tables_are_as_planned;
use tcpexp_testkit::has_minutes;

const PLAN: &str = include_str!("../../../../examples/plans/single-flow-baseline.toml");

/// The duration of the traffic, in which each queue fills several times. The plan's is longer.
const DURATION: &str = "25s";

/// Each value of buffer and congestion control. The real time of a run grows with its packets, so each
/// cell has the lowest rate.
const CELLS: [&str; 3] = [
    "delay_ms=5.0 rate_mbps=2.0 buffer_packets=60 cc=cubic",
    "delay_ms=20.0 rate_mbps=2.0 buffer_packets=30 cc=reno",
    "delay_ms=80.0 rate_mbps=2.0 buffer_packets=90 cc=cubic",
];

#[test]
fn tables_of_baseline_cells_match_the_plan_and_complete_runs_are_not_repeated() {
    if !has_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    let plan = PLAN.replace(r#"duration = "90s""#, &format!("duration = {DURATION:?}"));
    assert_ne!(plan, PLAN, "the plan has another duration");
    bench.write("plan.toml", &plan);
    let output = bench.tcpexp("sweep plan.toml --dry-run");
    let text = String::from_utf8(output.stdout).unwrap();
    let name = |cell: &&str| {
        let line = text.lines().find(|line| line.ends_with(*cell));
        let line = line.unwrap_or_else(|| panic!("no cell has {cell}"));
        line.split(' ').next().unwrap().to_owned()
    };
    let runs = CELLS.iter().map(name).collect::<Vec<_>>().join(",");
    let sweep = format!("sweep plan.toml --lab --only {runs} --jobs 2 -o out");
    let output = bench.tcpexp(&sweep);
    assert!(output.status.success(), "{}", said(&output));
    let records = bench.records("out");
    assert_eq!(records.len(), CELLS.len());
    for (run, record) in &records {
        assert_eq!(record["traffic"][0]["duration_s"], 25.0);
        tables_are_as_planned(&bench, run, record);
    }
    let again = bench.tcpexp(&format!("{sweep} --resume"));
    assert!(again.status.success(), "{}", said(&again));
    let has_nothing_to_do = said(&again)
        .lines()
        .any(|line| line.starts_with("runs remaining: 0 of "));
    assert!(has_nothing_to_do, "{}", said(&again));
    let unasked = bench.tcpexp(&sweep);
    assert!(said(&unasked).contains("--resume"), "{}", said(&unasked));
}
