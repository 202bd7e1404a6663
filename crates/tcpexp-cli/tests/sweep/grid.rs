//! A grid in the lab, measured against its plan.

use crate::bench::{Bench, has_lab, said};
use crate::planned::tables_are_as_planned;
use tcpexp_testkit::has_minutes;

/// Two rates with two congestion controls each.
const PLAN: &str = r#"kind = "lab"

[matrix]
rate = ["2mbit", "4mbit"]
cc = ["cubic", "reno"]

[path.forward]
delay = "20ms"
buffer = "30p"

[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "10s"
"#;

#[test]
fn tables_of_a_grid_match_the_plan() {
    if !has_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    let output = bench.tcpexp("sweep plan.toml -o out --jobs 2");
    assert!(output.status.success(), "{}", said(&output));
    let records = bench.records("out");
    assert_eq!(records.len(), 4);
    for (run, record) in &records {
        tables_are_as_planned(&bench, run, record);
    }
    // All runs are complete, so `--resume` has nothing to do.
    let again = bench.tcpexp("sweep plan.toml -o out --resume");
    assert!(again.status.success(), "{}", said(&again));
    assert!(
        said(&again).contains("0 of 4 runs remain"),
        "{}",
        said(&again)
    );
    let unasked = bench.tcpexp("sweep plan.toml -o out");
    assert!(said(&unasked).contains("--resume"), "{}", said(&unasked));
}
