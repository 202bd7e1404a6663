//! The lines of the text table.

use super::*;

/// Writes a run of a cell with a transfer of this duration, which ended or which the capture cuts off.
fn write_transfer(sweep: &Path, cell: &str, duration_s: i64, ending: &str) {
    let mut record = record(cell, cell, &json!({"cc": cell}), &["cc"]);
    record["traffic"][0]["duration_s"] = Value::Null;
    record["traffic"][0]["tool"] = json!("tcpexp-tcp");
    let run = write_record(sweep, &record);
    let flows = ["forward", "reverse"].map(|direction| {
        let mut flow = flow(1, 40_001, direction, 5);
        flow["ending"] = json!(ending);
        flow["initiator_known"] = json!("syn");
        flow["duration_ns"] = json!(duration_s * 1_000_000_000);
        flow
    });
    write_table(&run, DatasetTable::Flows, &flows);
}

#[test]
fn a_median_with_a_lower_bound_only_ranks_below_known_ones() {
    let sweep = tempfile::tempdir().unwrap();
    write_transfer(sweep.path(), "bbr", 2, "closed");
    write_transfer(sweep.path(), "cubic", 3, "open");
    write_transfer(sweep.path(), "reno", 4, "closed");
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let text = compare_text(
        &comparison.rows(),
        CompareText {
            width: 80,
            has_baseline: false,
            order: Some(Measure::CompletionMedian),
            most: 4,
        },
    );
    assert_snapshot!(text, @r"
    cc   class runs  FCT s
    reno all   1     4.000
    reno bulk  1     4.000
    bbr  all   1     2.000
    bbr  bulk  1     2.000
    and 2 more
    ");
}

#[test]
fn a_median_over_fewer_runs_than_its_row_is_named() {
    let sweep = tempfile::tempdir().unwrap();
    for run in ["0001", "0002", "0003"] {
        write_run(sweep.path(), &cubic(run), 500_000);
    }
    let rtt = |run: &str| {
        let data = sweep.path().join(RUNS).join(run).join(DATASET);
        data.join("rtt.parquet")
    };
    std::fs::remove_file(rtt("0001")).unwrap();
    std::fs::remove_file(rtt("0003")).unwrap();
    // A class of one run.
    let mut other = cubic("0002");
    let mut probe = other["traffic"][0].clone();
    (probe["name"], probe["class"]) = (json!("probe"), json!("probe"));
    probe["tool"] = json!("ping");
    other["traffic"].as_array_mut().unwrap().push(probe);
    write_record(sweep.path(), &other);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    assert_snapshot!(text(&comparison, false), @r"
    cc    class runs Mbit/s util % RTT ms    p95 loss % retx %
    cubic bulk  3     4.000  53.20  60.00  78.00  13.30  15.79
    cubic probe 1/3       -      -      -      -      -      -
    cubic bulk: RTT ms, p95 over 1 of 3 runs
    ");
}
