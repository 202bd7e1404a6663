use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::json::ReaderBuilder;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tcpexp_metrics::compare::Measure;
use tcpexp_table::compare::{CompareText, compare_text};
use tcpexp_table::dataset::DatasetTable;
use tcpexp_table::{Format, TableWriter};
use tcpexp_units::TimeDelta;

use super::cells::{baselines, cells, fault};
use super::*;

const T0_NS: i64 = 1_767_225_600_000_000_000;

/// Milliseconds after the start of traffic.
fn ms(millis: i64) -> i64 {
    T0_NS + millis * 1_000_000
}

fn record(run: &str, cell: &str, parameters: &Value, varied: &[&str]) -> Value {
    json!({
        "schema": 1, "run": run, "cell": cell, "repetition": 1, "seed": 7, "plan_hash": "ab",
        "status": "complete", "reason": null, "parameters": parameters, "varied": varied,
        "t0_ns": T0_NS, "bottleneck": {"forward": {"rate": "8mbit", "delay": "20ms"}},
        "calibration": null, "queue": null, "started_ns": 1, "finished_ns": 2,
        "traffic": [{
            "name": "bulk", "class": "bulk", "tool": "iperf3", "from": "10.0.0.1",
            "to": "10.0.0.2", "port": 5201, "start_s": 0.0, "duration_s": 4.0, "cc": null,
        }],
    })
}

fn write_record(sweep: &Path, record: &Value) -> PathBuf {
    let run = sweep.join(RUNS).join(record["run"].as_str().unwrap());
    std::fs::create_dir_all(run.join(DATASET)).unwrap();
    std::fs::write(run.join(FILE_NAME), record.to_string()).unwrap();
    run
}

/// Writes a table of a dataset with the columns that the rows name, of the types they have there.
fn write_table(run: &Path, table: DatasetTable, rows: &[Value]) {
    let known = table.schema();
    let names = rows[0].as_object().unwrap().keys();
    let schema = |plain: bool| {
        let field = |name: &String| {
            let (_, field) = known.column_with_name(name).unwrap();
            // The JSON reader has neither dictionaries nor time zones by name.
            let data_type = match field.data_type() {
                DataType::Dictionary(..) if plain => DataType::Utf8,
                DataType::Timestamp(..) if plain => DataType::Int64,
                other => other.clone(),
            };
            Field::new(name, data_type, true)
        };
        Arc::new(Schema::new(names.clone().map(field).collect::<Vec<_>>()))
    };
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let text = lines.join("\n");
    let reader = ReaderBuilder::new(schema(true))
        .build(text.as_bytes())
        .unwrap();
    let schema = schema(false);
    let file = File::create(run.join(DATASET).join(format!("{}.parquet", table.name()))).unwrap();
    let mut writer = TableWriter::new(Format::Parquet, &schema, file).unwrap();
    for batch in reader {
        let batch = batch.unwrap();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap();
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
}

fn flow(id: u32, port: u16, direction: &str, start_ms: i64) -> Value {
    let is_forward = direction == "forward";
    json!({
        "flow_id": id, "protocol": "tcp", "initiator": format!("10.0.0.1:{port}"),
        "responder": "10.0.0.2:5201", "traffic": "bulk", "direction": direction,
        "capture": if is_forward { "src" } else { "dst" },
        "way": if is_forward { "out" } else { "back" },
        "time": ms(start_ms), "duration_ns": 4_000_000_000_i64, "ending": "closed",
        "timestamps": true, "mss_bytes": 1460, "unique_bytes": 1_000_000,
        "recoveries": 1, "path_sent_packets": 100,
    })
}

fn bin(capture: &str, id: u32, direction: &str, second: i64, bytes: u64) -> Value {
    json!({
        "capture": capture, "flow_id": id, "direction": direction, "time": ms(second * 1000),
        "width_ns": 1_000_000_000, "packets": bytes / 1000, "ip_bytes": bytes + bytes / 20,
        "goodput_bytes": bytes, "ce_packets": if capture == "dst" { bytes / 50_000 } else { 0 },
    })
}

fn packet(second: i64, packets: u64) -> Value {
    json!({"flow_id": 1, "direction": "forward", "time": ms(second * 1000), "packets": packets})
}

/// A run that sends `bytes` in each of four seconds.
fn write_run(sweep: &Path, record: &Value, bytes: u64) {
    let run = write_record(sweep, record);
    let flows = [
        // The control connection of iperf3.
        flow(0, 40_000, "forward", -10),
        flow(0, 40_000, "reverse", -10),
        flow(1, 40_001, "forward", 5),
        flow(1, 40_001, "reverse", 5),
    ];
    write_table(&run, DatasetTable::Flows, &flows);
    let mut bins = Vec::new();
    for second in 0..4 {
        for capture in ["src", "dst"] {
            bins.push(bin(capture, 1, "forward", second, bytes));
            bins.push(bin(capture, 0, "forward", second, 1_000));
            bins.push(bin(capture, 1, "reverse", second, 5_000));
        }
    }
    write_table(&run, DatasetTable::Throughput, &bins);
    let rtt = |second: i64, reference: &str, millis: i64| {
        json!({
            "flow_id": 1, "direction": "forward", "time": ms(second * 1000 + 500),
            "rtt_ns": millis * 1_000_000, "method": "packet_pairs", "reference": reference,
            "ack_class": null,
        })
    };
    let rtts = [
        rtt(0, "src", 40),
        rtt(1, "src", 60),
        rtt(2, "src", 80),
        rtt(1, "dst", 5),
    ];
    write_table(&run, DatasetTable::Rtt, &rtts);
    let retransmitted = |capture: &str| {
        json!({
            "flow_id": 1, "direction": "forward", "time": ms(2000), "event": "retransmission",
            "capture": capture, "start_seq": u32::MAX - 99, "end_seq": bytes * 3 / 4 - 100,
        })
    };
    write_table(
        &run,
        DatasetTable::Events,
        &[retransmitted("src"), retransmitted("dst")],
    );
    write_table(
        &run,
        DatasetTable::Owd,
        &[packet(0, 9), packet(1, 90), packet(2, 90)],
    );
    write_table(&run, DatasetTable::Loss, &[packet(0, 9), packet(2, 20)]);
    let reading = |at_ms: i64, interface: &str, kind: &str, marked: Option<u64>| {
        json!({
            "source": "log", "log": "rtr-queue.jsonl", "time": ms(at_ms), "interface": interface,
            "handle": "1:", "kind": kind, "ecn_marked_packets": marked,
        })
    };
    // The reading at 500 ms is the last before a window from 1 to 4 s.
    let readings = [
        reading(-500, "right", "fq_codel", Some(7)),
        reading(500, "right", "fq_codel", Some(9)),
        reading(500, "right", "htb", None),
        reading(500, "left", "cake", Some(100)),
        reading(2500, "right", "fq_codel", Some(20)),
        reading(4500, "right", "fq_codel", Some(54)),
        reading(4500, "left", "cake", Some(101)),
        reading(4900, "right", "fq_codel", Some(60)),
    ];
    write_table(&run, DatasetTable::Queue, &readings);
}

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
    left out: 0003 invalid (the router sent 7.1 Mbit/s); 0005 invalid (it has no
        dataset in data: see tcpexp analyze)
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
        "no cell has a parameter cc_new; there are new_cc, delay_ms, cc"
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
fn directory_without_runs_is_an_error() {
    let sweep = tempfile::tempdir().unwrap();
    let error = |folder: &Path| Comparison::of(folder, &options(0)).unwrap_err().to_string();
    assert!(error(&sweep.path().join("absent")).starts_with("cannot read "));
    let expected = "expected runs/<run>/run.json, or datasets of tcpexp analyze";
    assert!(error(sweep.path()).ends_with(expected));
    std::fs::create_dir_all(sweep.path().join(RUNS)).unwrap();
    assert!(error(sweep.path()).ends_with(expected));
}
