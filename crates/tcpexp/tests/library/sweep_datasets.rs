//! Datasets of a sweep: one per run directory, and a joint view of the tables of all runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float64Type, Int32Type, TimestampNanosecondType, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;
use tcpexp::{
    AnalyzeOptions, Manifest, RUN_DATASET, SweepColumns, analyze_run, columns_beside, recorded_runs,
};
use tcpexp_table::dataset::DatasetTable;

use crate::common::fixture;

struct Sweep(tempfile::TempDir);

impl Sweep {
    /// Creates a sweep of two runs: one with a bare queue, one with logs of all kinds.
    fn new() -> Self {
        let sweep = Self(tempfile::tempdir().unwrap());
        let reno = sweep.run(
            "0001",
            "reno-2mbit-40ms-50p",
            &json!({"cc": "reno", "rate_mbps": 2.0, "buffer_packets": 50, "ecn": null}),
        );
        fs::copy(
            fixture("reno-2mbit-40ms-50p/probe.csv.gz"),
            reno.join("logs/src1-tcp_probe.csv"),
        )
        .unwrap();
        fs::write(reno.join("logs/rtr-queue.jsonl"), QUEUE_LOG).unwrap();
        fs::write(reno.join("logs/src1-ping.txt"), PING_LOG).unwrap();
        fs::write(reno.join("logs/src1-ss.txt"), "nothing of use\n").unwrap();
        fs::write(reno.join("logs/src1-log-memory.txt"), COLUMN_LOG).unwrap();
        sweep.run(
            "0002",
            "cubic-tso-split-10mbit",
            &json!({"cc": "cubic", "rate_mbps": 10.0, "loss_percent": 1}),
        );
        sweep
    }

    fn run(&self, name: &str, pair: &str, parameters: &serde_json::Value) -> PathBuf {
        let dir = self.0.path().join("runs").join(name);
        for folder in ["captures", "logs"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        for (point, host) in [("src", "src1"), ("dst", "dst1")] {
            let to = dir.join(format!("captures/{host}.pcap"));
            fs::copy(fixture(&format!("{pair}/{point}.pcap.gz")), to).unwrap();
        }
        let log = |host: &str, kind: &str, file: &str| json!({"host": host, "kind": kind, "file": format!("logs/{file}"), "traffic": null});
        let logs = if name == "0001" {
            vec![
                log("src1", "tcp_probe", "src1-tcp_probe.csv"),
                log("rtr", "queue", "rtr-queue.jsonl"),
                log("src1", "ping", "src1-ping.txt"),
                log("src1", "ss", "src1-ss.txt"),
                log("src1", "columns", "src1-log-memory.txt"),
                log("src1", "tool of another kind", "nowhere.txt"),
            ]
        } else {
            Vec::new()
        };
        let record = json!({
            "schema": 1, "run": name, "cell": format!("c{name}"), "repetition": 1, "seed": 7,
            "plan_hash": "ab", "status": "complete", "reason": null, "parameters": parameters,
            "varied": ["rate_mbps", "cc"],
            "captures": [
                {"host": "src1", "role": "source", "file": "captures/src1.pcap", "packets_dropped": 0},
                {"host": "dst1", "role": "sink", "file": "captures/dst1.pcap", "packets_dropped": 0},
            ],
            "logs": logs,
            "traffic": [{"name": "upload", "class": "bulk", "tool": "iperf3", "from": "172.16.10.3",
                "to": "172.16.11.2", "port": 5201, "start_s": 0.0, "duration_s": 30.0, "cc": "reno"}],
            "t0_ns": 1_767_225_609_000_000_000_i64, "bottleneck": {}, "calibration": null,
            "queue": null,
            "changes": [{"at_s": 10.0, "executed_ns": null, "what": "rate = 1mbit"}],
            "started_ns": 1, "finished_ns": 2,
        });
        fs::write(dir.join("run.json"), record.to_string()).unwrap();
        dir
    }

    /// Analyses all runs.
    fn analysed(&self) -> Vec<(PathBuf, Manifest)> {
        let runs = recorded_runs(self.0.path()).unwrap();
        let columns = SweepColumns::of_records(runs.iter().map(|(_, record)| record));
        let analyse =
            |dir: &PathBuf| analyze_run(dir, &columns, &AnalyzeOptions::default()).unwrap();
        runs.iter()
            .map(|(dir, _)| (dir.clone(), analyse(dir)))
            .collect()
    }
}

const QUEUE_LOG: &str = r#"{"time_ns":1767225610000000000,"interface":"right","qdiscs":[{"kind":"htb","handle":"1:","root":true,"bytes":100,"packets":1,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0},{"kind":"pfifo","handle":"10:","parent":"1:1","bytes":100,"packets":1,"drops":2,"overlimits":0,"requeues":0,"backlog":3028,"qlen":2}]}
{"time_ns":1767225611000000000,"interface":"right","qdiscs":[{"kind":"pfifo","handle":"10:","parent":"1:1","bytes":200,"packets":2,"drops":3,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]}
"#;

const PING_LOG: &str = "PING 172.16.11.2 (172.16.11.2) 56(84) bytes of data.
[1767225610.250000] 64 bytes from 172.16.11.2: icmp_seq=1 ttl=63 time=40.1 ms
[1767225611.250000] 64 bytes from 172.16.11.2: icmp_seq=2 ttl=63 time=339 ms
";

const COLUMN_LOG: &str = r#"{"name":"memory","separator":"whitespace","columns":["-","total","state"]}
1767225610250000000 Mem: 2048 fine
1767225610250000000 Swap:
1767225611250000000 Mem: 1e3 nan
"#;

fn table(run: &Path, table: DatasetTable) -> RecordBatch {
    let path = run
        .join(RUN_DATASET)
        .join(format!("{}.parquet", table.name()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Vec<Option<&'a str>> {
    let column = batch.column_by_name(name).unwrap();
    let texts = column.as_dictionary::<Int32Type>();
    let texts = texts.downcast_dict::<StringArray>().unwrap();
    texts.into_iter().collect()
}

#[test]
fn the_tables_of_all_runs_have_the_same_columns() {
    let sweep = Sweep::new();
    let runs = sweep.analysed();
    for which in DatasetTable::ALL {
        let [first, second] = [0, 1].map(|run: usize| table(&runs[run].0, which));
        assert_eq!(first.schema(), second.schema(), "{which:?}");
        let names: Vec<String> = first.schema().fields()[..8]
            .iter()
            .map(|field| format!("{}: {}", field.name(), field.data_type()))
            .collect();
        // Varied parameters come first, in plan order. A parameter named like a table's column gets
        // the prefix `param_`. A parameter without any value is text.
        assert_eq!(
            names,
            [
                "run: Dictionary(Int32, Utf8)",
                "cell: Dictionary(Int32, Utf8)",
                "repetition: Int64",
                "rate_mbps: Float64",
                "cc: Dictionary(Int32, Utf8)",
                "buffer_packets: Int64",
                "param_ecn: Dictionary(Int32, Utf8)",
                "loss_percent: Int64"
            ]
        );
    }
    let rtt = table(&runs[1].0, DatasetTable::Rtt);
    assert!(texts(&rtt, "cc").iter().all(|cc| *cc == Some("cubic")));
    let buffer = rtt.column_by_name("buffer_packets").unwrap();
    assert_eq!(buffer.null_count(), rtt.num_rows());
}

#[test]
fn one_run_by_itself_has_the_columns_of_its_sweep() {
    let sweep = Sweep::new();
    let all: Vec<String> = sweep
        .analysed()
        .iter()
        .map(|(run, _)| format!("{:?}", table(run, DatasetTable::Loss).schema()))
        .collect();
    let run = sweep.0.path().join("runs/0001");
    let columns = columns_beside(&run).unwrap();
    analyze_run(&run, &columns, &AnalyzeOptions::default()).unwrap();
    assert_eq!(
        format!("{:?}", table(&run, DatasetTable::Loss).schema()),
        all[0]
    );
    assert_eq!(all[0], all[1]);
}

#[test]
fn flows_are_named_after_the_traffic_that_they_belong_to() {
    let sweep = Sweep::new();
    let (run, _) = &sweep.analysed()[0];
    let flows = table(run, DatasetTable::Flows);
    let bytes = flows.column_by_name("payload_bytes").unwrap();
    let bytes = bytes.as_primitive::<UInt64Type>();
    for (row, class) in texts(&flows, "traffic_class").into_iter().enumerate() {
        assert_eq!(texts(&flows, "traffic")[row], Some("upload"));
        // The control connection of iperf3 carries almost no data.
        let is_control = class == Some("control");
        assert!(is_control || class == Some("bulk"));
        assert!(!is_control || bytes.value(row) < 1_000);
    }
    assert_eq!(flows.num_rows(), 4);
}

#[test]
fn times_count_from_the_start_of_the_traffic() {
    let sweep = Sweep::new();
    let (run, manifest) = &sweep.analysed()[0];
    assert_eq!(manifest.origin_ns, 1_767_225_609_000_000_000);
    let bins = table(run, DatasetTable::Throughput);
    let nanos = bins
        .column_by_name("time")
        .unwrap()
        .as_primitive::<TimestampNanosecondType>();
    let captures = texts(&bins, "capture");
    assert!(captures.contains(&Some("src")) && captures.contains(&Some("dst")));
    // Both captures have the same bins.
    let is_bin = |nanos: i64| (nanos - manifest.origin_ns) % 100_000_000 == 0;
    assert!(nanos.values().iter().all(|nanos| is_bin(*nanos)));
    let changes = table(run, DatasetTable::Events);
    let at = texts(&changes, "event")
        .iter()
        .position(|event| *event == Some("path_change"))
        .unwrap();
    assert_eq!(texts(&changes, "detail")[at], Some("rate = 1mbit"));
    let seconds = changes
        .column_by_name("time_s")
        .unwrap()
        .as_primitive::<Float64Type>();
    assert!((seconds.value(at) - 10.0).abs() < 1e-9);
}

#[test]
fn logs_fill_their_tables_and_unusable_logs_are_reported() {
    let sweep = Sweep::new();
    let runs = sweep.analysed();
    let (run, manifest) = &runs[0];
    let queue = table(run, DatasetTable::Queue);
    assert_eq!(texts(&queue, "source"), [Some("log"); 3]);
    assert_eq!(
        texts(&queue, "kind"),
        [Some("htb"), Some("pfifo"), Some("pfifo")]
    );
    let without = table(&runs[1].0, DatasetTable::Queue);
    assert!(
        texts(&without, "source")
            .iter()
            .all(|source| *source == Some("packets"))
    );
    let logs = table(run, DatasetTable::Logs);
    let of = |kind: &str| {
        texts(&logs, "kind")
            .iter()
            .filter(|k| **k == Some(kind))
            .count()
    };
    assert_eq!(of("ping"), 2);
    // Rows of the kernel's log belong to the captured flows.
    let kernel = of("tcp_probe");
    assert!(kernel > 1_000);
    let ends = texts(&logs, "initiator").iter().flatten().count();
    assert_eq!(ends, kernel);
    let readings = table(run, DatasetTable::Readings);
    assert_eq!(texts(&readings, "name"), [Some("memory"); 4]);
    let columns = texts(&readings, "column");
    assert_eq!(columns, ["total", "state", "total", "state"].map(Some));
    assert_eq!(
        texts(&readings, "text"),
        [None, Some("fine"), None, Some("nan")]
    );
    let values = readings
        .column_by_name("value")
        .unwrap()
        .as_primitive::<Float64Type>();
    assert_eq!(
        values.iter().collect::<Vec<_>>(),
        [Some(2048.0), None, Some(1000.0), None]
    );
    assert_eq!(manifest.logs.len(), 4);
    assert_eq!(manifest.logs[2].used, 2);
    assert_eq!(
        (manifest.logs[3].used, manifest.logs[3].not_used.len()),
        (2, 1)
    );
    let [left_out, cut] = manifest.warnings.as_slice() else {
        panic!("{:?}", manifest.warnings);
    };
    assert!(left_out.contains("src1-ss.txt: none of 1 line can be used"));
    assert_eq!(
        cut,
        "logs/src1-log-memory.txt: 1 of 4 lines not used: fewer columns than names"
    );
}

#[test]
fn a_page_lists_unfinished_runs() {
    let sweep = Sweep::new();
    fs::create_dir_all(sweep.0.path().join("runs/0003")).unwrap();
    let page = tcpexp::report(sweep.0.path(), &tcpexp::Only::default()).unwrap();
    let runs: Vec<_> = page
        .runs
        .iter()
        .map(|run| (run.name.as_str(), run.status.as_str()))
        .collect();
    assert_eq!(
        runs,
        [
            ("0001", "not analyzed"),
            ("0002", "not analyzed"),
            ("0003", "unfinished")
        ]
    );
    let names: Vec<_> = page
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .collect();
    assert_eq!(names, ["rate_mbps", "cc"]);
    assert_eq!(page.summary, "3 runs of 2 cells.");
}
