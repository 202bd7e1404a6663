mod cells;
mod duplicates;
mod gaps;
mod text;
mod written;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tcpexp_metrics::compare::Measure;
use tcpexp_table::compare::{CompareText, compare_text};
use tcpexp_table::dataset::DatasetTable;
use tcpexp_units::TimeDelta;
use written::*;

use super::*;

fn options(warmup: i64) -> CompareOptions {
    CompareOptions {
        measure: Options {
            warmup: TimeDelta::from_seconds(warmup),
            ..Options::default()
        },
        ..CompareOptions::default()
    }
}

fn text(comparison: &Comparison, has_baseline: bool) -> String {
    compare_text(
        &comparison.rows(),
        CompareText {
            width: 80,
            has_baseline,
            order: None,
            most: usize::MAX,
        },
    )
}

fn cubic(run: &str) -> Value {
    record(
        run,
        "c1",
        &json!({"cc": "cubic", "rate_mbps": 8.0}),
        &["cc"],
    )
}

#[test]
fn tables_of_a_run_yield_its_figures() {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 750_000);
    let comparison = Comparison::of(sweep.path(), &options(1)).unwrap();
    let class = comparison
        .classes
        .iter()
        .find(|row| row.class.is_some())
        .unwrap();
    let all = comparison
        .classes
        .iter()
        .find(|row| row.class.is_none())
        .unwrap();
    let marked = all.estimate(Measure::QueueMarked).unwrap();
    assert!((marked.median - 52.0).abs() < 1e-9, "{marked:?}");
    let value = |measure| {
        class
            .estimate(measure)
            .map(|estimate| (estimate.median * 1e4).round() / 1e4)
    };
    let found = [
        Measure::Goodput,
        Measure::Utilisation,
        Measure::BaseRtt,
        Measure::RttMedian,
        Measure::RttP95,
        Measure::InducedRttMedian,
        Measure::LossRatio,
        Measure::RetransmissionRatio,
        Measure::MarkRatio,
        Measure::TransferTimeRatio,
        Measure::BufferDelay,
        Measure::Jain,
    ]
    .map(|measure| format!("{} {:?}", measure.stem(), value(measure)));
    // 6 Mbit/s; with headers, 750 packets of 14 bytes among them, 798 of 1000 kB each second. The
    // full segment is 1448 of 1514 bytes.
    assert_snapshot!(found.join("\n"), @r"
    goodput Some(6000000.0)
    utilisation Some(0.798)
    rtt_base Some(40.0)
    rtt_median Some(70.0)
    rtt_p95 Some(79.0)
    induced_rtt_median Some(30.0)
    loss_ratio Some(0.1)
    retransmission_ratio Some(0.2)
    mark_ratio Some(0.02)
    transfer_time_ratio Some(1.2752)
    buffer_delay Some(75.0)
    jain None
    ");
}

#[test]
fn a_transfer_completes_only_if_its_start_and_its_end_were_captured() {
    let sweep = tempfile::tempdir().unwrap();
    let mut endless = cubic("0001");
    endless["traffic"][0]["duration_s"] = Value::Null;
    endless["traffic"][0]["tool"] = json!("tcpexp-tcp");
    let shown = |ending: &str, known: &str, duration_s: i64| {
        let run = write_record(sweep.path(), &endless);
        let cut = |mut flow: Value| {
            flow["ending"] = json!(ending);
            flow["initiator_known"] = json!(known);
            flow["duration_ns"] = json!(duration_s * 1_000_000_000);
            flow
        };
        let mut other = flow(2, 40_002, "forward", 5);
        other["traffic"] = json!("other");
        other["initiator_known"] = json!("syn");
        let flows = [
            cut(flow(1, 40_001, "forward", 5)),
            cut(flow(1, 40_001, "reverse", 5)),
            other,
        ];
        write_table(&run, DatasetTable::Flows, &flows);
        let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
        let row = comparison.classes.iter().find(|row| row.class.is_some());
        let estimate = row.unwrap().estimate(Measure::CompletionMedian).unwrap();
        match estimate.known() {
            Some(known) => known.to_string(),
            None => format!("at least {}", estimate.least),
        }
    };
    let found = [
        shown("closed", "syn", 2),
        shown("reset_by_responder", "syn", 2),
        shown("open", "syn", 2),
        shown("closed", "first_packet", 2),
        shown("half_closed_by_initiator", "syn", 2),
        // The receiver sends no more; the data may go on.
        shown("half_closed_by_responder", "syn", 2),
        // The capture goes on until 4 s: the next SYN is not due before.
        shown("unanswered", "syn", 1),
        shown("unanswered", "syn", 0),
    ];
    assert_snapshot!(found.join("; "), @"2; 2; at least 2; at least 2; 2; at least 2; at least 1; inf");
}

#[test]
fn faulty_runs_are_listed_and_excluded_from_figures() {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 750_000);
    write_run(sweep.path(), &cubic("0002"), 500_000);
    let mut invalid = cubic("0003");
    invalid["status"] = json!("invalid");
    invalid["reason"] = json!("the router sent 7.1 Mbit/s");
    write_run(sweep.path(), &invalid, 1_000);
    let mut failed = record(
        "0004",
        "c2",
        &json!({"cc": "reno", "rate_mbps": 8.0}),
        &["cc"],
    );
    failed["status"] = json!("failed");
    write_record(sweep.path(), &failed);
    write_record(sweep.path(), &cubic("0005"));
    std::fs::create_dir_all(sweep.path().join("runs/0006")).unwrap();

    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    assert_eq!(comparison.unfinished, [sweep.path().join("runs/0006")]);
    assert_snapshot!(text(&comparison, false), @r"
    cc    class runs Mbit/s util % RTT ms    p95 loss % retx %
    cubic bulk  2/4   5.000  66.50  60.00  78.00  13.30  15.79
    reno  -     0/1       -      -      -      -      -      -
    left out: 0003 invalid (the router sent 7.1 Mbit/s); 0005 (it has no dataset in
        data: see tcpexp analyze)
    left out: 0004 failed (no reason given)
    ");
    let runs: Vec<String> = comparison
        .run_rows()
        .iter()
        .map(|row| format!("{} {} {:?}", row.run, row.status, row.reason))
        .collect();
    assert_snapshot!(runs.join("\n"), @r#"
    0001 complete None
    0001 complete None
    0002 complete None
    0002 complete None
    0003 invalid Some("the router sent 7.1 Mbit/s")
    0004 failed Some("no reason given")
    0005 complete Some("it has no dataset in data: see tcpexp analyze")
    "#);
}

#[test]
fn run_whose_captures_have_no_flow_of_its_traffic_names_this_cause() {
    let sweep = tempfile::tempdir().unwrap();
    let mut other = cubic("0001");
    other["traffic"][0]["from"] = json!("10.0.0.10");
    write_run(sweep.path(), &other, 750_000);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let rows = comparison.run_rows();
    let reasons: Vec<_> = rows.iter().map(|row| row.reason.as_deref()).collect();
    let reason = "its captures have no flow of its traffic";
    assert_eq!(reasons, [Some(reason)]);
}

#[test]
fn packets_of_unknown_fate_bound_the_loss_ratio() {
    let sweep = tempfile::tempdir().unwrap();
    let loss_with = |outside: u64| {
        write_run(sweep.path(), &cubic("0001"), 750_000);
        let run = sweep.path().join(RUNS).join("0001");
        let mut data = flow(1, 40_001, "forward", 5);
        data["path_outside_packets"] = json!(outside);
        write_table(&run, DatasetTable::Flows, &[data]);
        let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
        let expected = Expected::parse("loss_ratio < 0.14").unwrap();
        let verdict = comparison.check(&[expected], None).unwrap()[0]
            .verdict()
            .name();
        let class = comparison.classes.iter().find(|row| row.class.is_some());
        let loss = class.unwrap().estimate(Measure::LossRatio).unwrap();
        (verdict, loss)
    };
    // Of 218 packets, 29 were lost.
    let (verdict, known) = loss_with(1);
    assert_eq!((verdict, known.known()), ("met", Some(29.0 / 218.0)));
    let (verdict, bounded) = loss_with(10);
    assert_eq!((verdict, bounded.known()), ("unknown", None));
    let bounds = (29.0 / 228.0, 39.0 / 228.0);
    assert_eq!((bounded.least, bounded.most), bounds);
}

#[test]
fn the_base_rtt_of_a_flow_is_the_smallest_of_both_its_directions() {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 750_000);
    let rtt = |direction: &str, reference: &str, millis: i64| {
        json!({
            "flow_id": 1, "direction": direction, "time": ms(500), "rtt_ns": millis * 1_000_000,
            "method": "packet_pairs", "reference": reference, "ack_class": null,
        })
    };
    let run = sweep.path().join(RUNS).join("0001");
    let rtts = [rtt("forward", "src", 60), rtt("reverse", "dst", 20)];
    write_table(&run, DatasetTable::Rtt, &rtts);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let class = comparison.classes.iter().find(|row| row.class.is_some());
    let median = |measure| class?.estimate(measure).map(|estimate| estimate.median);
    let found = [Measure::BaseRtt, Measure::RttMin, Measure::InducedRttMedian].map(median);
    assert_eq!(found, [Some(20.0), Some(60.0), Some(40.0)]);
}

#[test]
fn directory_without_runs_is_an_error() {
    let sweep = tempfile::tempdir().unwrap();
    let error = |folder: &Path| Comparison::of(folder, &options(0)).unwrap_err().to_string();
    assert!(error(&sweep.path().join("absent")).starts_with("cannot read "));
    let expected = "expected runs/<run>/run.json, or datasets of tcpexp analyze";
    assert!(error(sweep.path()).ends_with(expected));
    std::fs::create_dir_all(sweep.path().join(RUNS)).unwrap();
    assert!(error(sweep.path()).ends_with(expected));
}

#[test]
fn a_run_without_a_listed_table_enters_no_figure_and_no_check() {
    let sweep = tempfile::tempdir().unwrap();
    write_run(sweep.path(), &cubic("0001"), 750_000);
    write_run(sweep.path(), &cubic("0002"), 500_000);
    let data = sweep.path().join("runs/0002").join(DATASET);
    let flows = std::fs::metadata(data.join("flows.parquet")).unwrap().len();
    let manifest = json!({"kind": "tcpexp dataset", "tables": [
        {"name": "flows", "file": "flows.parquet", "rows": 4, "bytes": flows},
        {"name": "loss", "file": "loss.parquet", "rows": 1, "bytes": 2_000},
    ]});
    std::fs::write(data.join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::remove_file(data.join("loss.parquet")).unwrap();
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    assert_snapshot!(text(&comparison, false), @r"
    cc    class runs Mbit/s util % RTT ms    p95 loss % retx %
    cubic bulk  1/2   6.000  79.80  60.00  78.00  13.30  15.79
    left out: 0002 (its dataset is damaged: the manifest lists loss.parquet, which
        is missing)
    ");
    let expected = Expected::parse("loss_ratio <= 0.001").unwrap();
    let error = comparison.check(&[expected], None).unwrap_err();
    assert_snapshot!(error, @"cannot check run 0002: its dataset is damaged: the manifest lists loss.parquet, which is missing");
}

#[test]
fn the_last_packet_of_a_flow_counts_as_lost_or_received() {
    let sweep = tempfile::tempdir().unwrap();
    let mut endless = cubic("0001");
    endless["traffic"][0]["duration_s"] = Value::Null;
    write_run(sweep.path(), &endless, 750_000);
    let run = sweep.path().join(RUNS).join("0001");
    // The flow's last packet leaves 4 s after its first.
    let mut last = packet(4, 1);
    last["time"] = json!(ms(4005));
    write_table(&run, DatasetTable::Loss, &[last]);
    let comparison = Comparison::of(sweep.path(), &options(0)).unwrap();
    let class = comparison.classes.iter().find(|row| row.class.is_some());
    let loss = class.unwrap().estimate(Measure::LossRatio).unwrap();
    assert!((loss.median - 1.0 / 190.0).abs() < 1e-9, "{loss:?}");
}
