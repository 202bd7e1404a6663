//! Writes the records and tables of runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::json::ReaderBuilder;
use serde_json::{Value, json};
use tcpexp_table::dataset::DatasetTable;
use tcpexp_table::{Format, TableWriter};

use super::*;

const T0_NS: i64 = 1_767_225_600_000_000_000;

/// Milliseconds after the start of traffic.
pub(super) fn ms(millis: i64) -> i64 {
    T0_NS + millis * 1_000_000
}

pub(super) fn record(run: &str, cell: &str, parameters: &Value, varied: &[&str]) -> Value {
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

pub(super) fn write_record(sweep: &Path, record: &Value) -> PathBuf {
    let run = sweep.join(RUNS).join(record["run"].as_str().unwrap());
    std::fs::create_dir_all(run.join(DATASET)).unwrap();
    std::fs::write(run.join(FILE_NAME), record.to_string()).unwrap();
    run
}

/// Writes a table of a dataset with the columns that the rows name, of the types they have there.
pub(super) fn write_table(run: &Path, table: DatasetTable, rows: &[Value]) {
    write_rows(run, table.name(), &table.schema(), rows);
}

/// Writes a table of Flent's series.
pub(super) fn write_series(run: &Path, rows: &[Value]) {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let columns = [
        ("series", DataType::Utf8),
        ("time", time),
        ("value", DataType::Float64),
        ("unit", DataType::Utf8),
        ("tool_mean", DataType::Float64),
    ];
    let fields = columns.map(|(name, data_type)| Field::new(name, data_type, true));
    write_rows(run, "series", &Schema::new(fields.to_vec()), rows);
}

fn write_rows(run: &Path, name: &str, known: &Schema, rows: &[Value]) {
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
    let file = File::create(run.join(DATASET).join(format!("{name}.parquet"))).unwrap();
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

pub(super) fn flow(id: u32, port: u16, direction: &str, start_ms: i64) -> Value {
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

pub(super) fn bin(capture: &str, id: u32, direction: &str, second: i64, bytes: u64) -> Value {
    json!({
        "capture": capture, "flow_id": id, "direction": direction, "time": ms(second * 1000),
        "width_ns": 1_000_000_000, "packets": bytes / 1000, "ip_bytes": bytes + bytes / 20,
        "goodput_bytes": bytes, "ce_packets": if capture == "dst" { bytes / 50_000 } else { 0 },
    })
}

pub(super) fn packet(second: i64, packets: u64) -> Value {
    json!({"flow_id": 1, "direction": "forward", "time": ms(second * 1000), "packets": packets})
}

/// A run that sends `bytes` in each of four seconds.
pub(super) fn write_run(sweep: &Path, record: &Value, bytes: u64) {
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
