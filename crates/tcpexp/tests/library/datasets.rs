//! The tables of a dataset agree with the separate measurements.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{
    Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use tcpexp::{
    AnalyzeInputs, AnalyzeOptions, CaptureOptions, CwndOptions, DatasetDir, Error, Manifest,
    PathOptions, Recording, ThroughputOptions, analyze, cwnd, path, single_rtt, throughput,
};
use tcpexp_measure::sender::SenderRow;
use tcpexp_measure::throughput::{BinWidth, ThroughputRow};
use tcpexp_pair::spp::Fate;
use tcpexp_table::dataset::{DatasetTable, RunColumn, RunColumns, RunValue};
use tcpexp_units::TimeDelta;

use crate::common::{captures_in, fixture, fixture_folders, known_drops, shared_folders};

struct Dataset {
    folder: tempfile::TempDir,
    manifest: Manifest,
}

impl Dataset {
    fn of(src: &Recording, dst: Option<&Recording>, options: &AnalyzeOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = DatasetDir::create(&folder.path().join("data")).unwrap();
        let manifest = analyze(AnalyzeInputs::new(src, dst), options, dir).unwrap();
        Self { folder, manifest }
    }

    fn of_pair(src: &Path, dst: &Path) -> Self {
        let [src, dst] = [src, dst].map(|path| Recording::open(path).unwrap());
        Self::of(&src, Some(&dst), &AnalyzeOptions::default())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn table(&self, table: DatasetTable) -> RecordBatch {
        read(&self.path().join(format!("{}.parquet", table.name())))
    }
}

fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a dyn Array {
    batch.column_by_name(name).unwrap().as_ref()
}

fn sum(batch: &RecordBatch, name: &str) -> u64 {
    column(batch, name)
        .as_primitive::<UInt64Type>()
        .iter()
        .flatten()
        .sum()
}

/// The values of a column of times or spans.
fn nanos(batch: &RecordBatch, name: &str) -> Vec<i64> {
    let column = column(batch, name);
    match column.as_primitive_opt::<TimestampNanosecondType>() {
        Some(times) => times.values().to_vec(),
        None => column.as_primitive::<Int64Type>().values().to_vec(),
    }
}

fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Vec<Option<&'a str>> {
    let column = column(batch, name);
    let texts = column.as_dictionary::<Int32Type>();
    let texts = texts.downcast_dict::<StringArray>().unwrap();
    texts.into_iter().collect()
}

/// Source and destination captures of the pairs in the repository.
fn pairs() -> Vec<(&'static str, [PathBuf; 2])> {
    [
        ("adsl-udp-upload", "src", "dst"),
        ("cubic-tso-split-10mbit", "src", "dst"),
        ("reno-2mbit-40ms-50p", "src", "dst"),
        ("short-cubic-15-percent-loss", "snd", "rcv"),
        ("short-cubic-reordering", "snd", "rcv"),
    ]
    .map(|(folder, src, dst)| {
        let files = [src, dst].map(|point| fixture(&format!("{folder}/{point}.pcap.gz")));
        (folder, files)
    })
    .to_vec()
}

#[test]
fn tables_of_a_pair_equal_the_separate_measurements() {
    for (folder, [src, dst]) in pairs() {
        let dataset = Dataset::of_pair(&src, &dst);
        let [src, dst] = [src, dst].map(|path| Recording::open(&path).unwrap());
        let (mut rtts, mut arrived, mut lost) = (Vec::new(), 0, 0);
        let mut bottleneck = Vec::new();
        path(&src, &dst, &PathOptions::default(), |batch| {
            rtts.extend(batch.samples.iter().map(|sample| sample.rtt.as_nanos()));
            let of = |fate| batch.packets.iter().filter(|p| p.fate == fate).count();
            arrived += of(Fate::Delivered);
            lost += of(Fate::Lost);
            let rates = batch.ended.iter().flat_map(|flow| &flow.directions);
            bottleneck.extend(rates.filter_map(|direction| direction.bottleneck_bps));
            Ok::<(), Error>(())
        })
        .unwrap();
        let mut states = Vec::new();
        let options = CwndOptions::default();
        cwnd(&src, Some(&dst), &options, |rows| {
            states.extend(rows.iter().filter_map(|row| match row.row {
                SenderRow::Sample(sample) => Some(sample.cwnd_segments),
                _ => None,
            }));
            Ok::<(), Error>(())
        })
        .unwrap();
        let mut reported = nanos(&dataset.table(DatasetTable::Rtt), "rtt_ns");
        reported.sort_unstable();
        rtts.sort_unstable();
        assert_eq!(reported, rtts, "{folder}");
        assert_eq!(
            dataset.table(DatasetTable::Owd).num_rows(),
            arrived,
            "{folder}"
        );
        assert_eq!(
            dataset.table(DatasetTable::Loss).num_rows(),
            lost,
            "{folder}"
        );
        let sender = dataset.table(DatasetTable::Sender);
        let windows = column(&sender, "cwnd_segments").as_primitive::<UInt32Type>();
        let mut windows: Vec<_> = windows.iter().collect();
        windows.sort_unstable();
        states.sort_unstable();
        assert_eq!(windows, states, "{folder}");
        let flows = dataset.table(DatasetTable::Flows);
        let mut rates: Vec<u64> = column(&flows, "bottleneck_bps")
            .as_primitive::<UInt64Type>()
            .iter()
            .flatten()
            .collect();
        rates.sort_unstable();
        bottleneck.sort_unstable();
        assert_eq!(rates, bottleneck, "{folder}");
    }
}

#[test]
fn bins_match_throughput_and_sum_to_the_flows() {
    for (folder, [src, dst]) in pairs() {
        let dataset = Dataset::of_pair(&src, &dst);
        let table = dataset.table(DatasetTable::Throughput);
        for (point, capture) in [("src", &src), ("dst", &dst)] {
            let mut goodput = 0;
            let bin = BinWidth::new(TimeDelta::from_millis(100)).unwrap();
            let recording = Recording::open(capture).unwrap();
            throughput(&recording, &ThroughputOptions::new(bin), |row| {
                if let ThroughputRow::Bin(bin) = row
                    && bin.flow.is_some()
                {
                    goodput += bin.volume.goodput_bytes;
                }
                Ok::<(), Error>(())
            })
            .unwrap();
            let captures = texts(&table, "capture");
            let flows = column(&table, "flow_id");
            let bytes = column(&table, "goodput_bytes").as_primitive::<UInt64Type>();
            let reported: u64 = (0..table.num_rows())
                .filter(|&row| captures[row] == Some(point) && flows.is_valid(row))
                .map(|row| bytes.value(row))
                .sum();
            assert_eq!(reported, goodput, "{folder} {point}");
        }
    }
}

#[test]
fn flows_have_one_number_and_one_timeline_in_all_tables() {
    for (folder, [src, dst]) in pairs() {
        let dataset = Dataset::of_pair(&src, &dst);
        let of = |batch: &RecordBatch| -> std::collections::BTreeSet<(u32, String)> {
            let ids = column(batch, "flow_id").as_primitive::<UInt32Type>();
            let ends = texts(batch, "initiator")
                .into_iter()
                .zip(texts(batch, "responder"));
            let ends = ends.map(|(a, b)| Some(format!("{} > {}", a?, b?)));
            ids.iter()
                .zip(ends)
                .filter_map(|(id, ends)| Some((id?, ends?)))
                .collect()
        };
        let flows = dataset.table(DatasetTable::Flows);
        let known = of(&flows);
        let origin = dataset.manifest.origin_ns;
        for table in DatasetTable::ALL {
            let batch = dataset.table(table);
            if !matches!(table, DatasetTable::Queue | DatasetTable::Readings) {
                assert!(of(&batch).is_subset(&known), "{folder} {table:?}");
            }
            // All captures here are shorter than two minutes.
            let seconds = column(&batch, "time_s").as_primitive::<Float64Type>();
            for (nanos, seconds) in nanos(&batch, "time").into_iter().zip(seconds.values()) {
                assert!(
                    (-1.0..120.0).contains(seconds),
                    "{folder} {table:?} {seconds}"
                );
                let exact = (nanos - origin) as f64 / 1e9;
                assert!((exact - seconds).abs() < 1e-12, "{folder} {table:?}");
            }
        }
        assert_eq!(flows.num_rows(), 2 * known.len(), "{folder}");
    }
}

#[test]
fn one_capture_yields_the_tables_of_one_end() {
    let src = Recording::open(&fixture("reno-2mbit-40ms-50p/src.pcap.gz")).unwrap();
    let dataset = Dataset::of(&src, None, &AnalyzeOptions::default());
    let mut answers = 0;
    single_rtt(&src, &CaptureOptions::default(), |rows| {
        let is_sample = |row: &_| matches!(row, tcpexp_measure::rtt::SingleRttRow::Sample(_));
        answers += rows.iter().filter(|row| is_sample(row)).count();
        Ok::<(), Error>(())
    })
    .unwrap();
    let rtt = dataset.table(DatasetTable::Rtt);
    assert_eq!(rtt.num_rows(), answers);
    assert!(
        texts(&rtt, "method")
            .iter()
            .all(|method| *method != Some("packet_pairs"))
    );
    for table in [DatasetTable::Owd, DatasetTable::Loss, DatasetTable::Queue] {
        assert_eq!(dataset.table(table).num_rows(), 0, "{table:?}");
    }
    let flows = dataset.table(DatasetTable::Flows);
    assert_eq!(
        column(&flows, "path_sent_packets").null_count(),
        flows.num_rows()
    );
    assert_eq!(dataset.manifest.comparison, None);
}

#[test]
fn all_tables_of_any_run_have_the_documented_columns() {
    let [src, dst] = ["src", "dst"].map(|point| {
        Recording::open(&fixture(&format!("adsl-udp-upload/{point}.pcap.gz"))).unwrap()
    });
    let pair = Dataset::of(&src, Some(&dst), &AnalyzeOptions::default());
    let single = Dataset::of(&dst, None, &AnalyzeOptions::default());
    for table in DatasetTable::ALL {
        assert_eq!(pair.table(table).schema(), table.schema(), "{table:?}");
        assert_eq!(single.table(table).schema(), table.schema(), "{table:?}");
    }
}

fn parameter(name: &str, value: RunValue) -> RunColumn {
    RunColumn {
        name: name.to_owned(),
        description: "A parameter.".to_owned(),
        value,
    }
}

#[test]
fn runs_with_different_parameters_have_the_same_columns() {
    let src = Recording::open(&fixture("short-cubic-reordering/snd.pcap.gz")).unwrap();
    let taken = DatasetTable::has_column;
    let first = vec![
        parameter("cc", RunValue::Text(Some("cubic".to_owned()))),
        parameter("rate_mbps", RunValue::Count(Some(10))),
        parameter("packets", RunValue::Flag(Some(true))),
    ];
    let second = vec![
        parameter("cc", RunValue::Text(Some("reno".to_owned()))),
        parameter("rate_mbps", RunValue::Number(Some(2.5))),
        parameter("buffer_packets", RunValue::Count(Some(50))),
    ];
    let mut runs = [first, second].map(|columns| RunColumns::new(columns, taken));
    RunColumns::unify(&mut runs);
    let datasets = runs.map(|run| {
        let options = AnalyzeOptions {
            run,
            ..AnalyzeOptions::default()
        };
        Dataset::of(&src, None, &options)
    });
    for table in DatasetTable::ALL {
        let [first, second] = [0, 1].map(|run: usize| datasets[run].table(table));
        assert_eq!(first.schema(), second.schema());
        let schema = first.schema();
        let names: Vec<_> = schema.fields()[..4]
            .iter()
            .map(|f| f.name().as_str())
            .collect();
        assert_eq!(
            names,
            ["cc", "rate_mbps", "param_packets", "buffer_packets"]
        );
    }
    let rtt = datasets[0].table(DatasetTable::Rtt);
    let rates = column(&rtt, "rate_mbps").as_primitive::<Float64Type>();
    assert!(rates.iter().all(|rate| rate == Some(10.0)));
    assert_eq!(column(&rtt, "buffer_packets").null_count(), rtt.num_rows());
}

#[test]
fn the_same_input_yields_the_same_bytes() {
    let files = || {
        let [src, dst] =
            ["src", "dst"].map(|point| fixture(&format!("reno-2mbit-40ms-50p/{point}.pcap.gz")));
        let dataset = Dataset::of_pair(&src, &dst);
        let mut names: Vec<_> = fs::read_dir(dataset.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort();
        let files: Vec<_> = names.iter().map(|path| fs::read(path).unwrap()).collect();
        files
    };
    let (one, other) = (files(), files());
    assert_eq!(one.len(), DatasetTable::ALL.len() + 1);
    assert!(one == other);
}

#[test]
fn times_are_sorted_and_each_row_group_has_statistics() {
    let [src, dst] =
        ["src", "dst"].map(|point| fixture(&format!("reno-2mbit-40ms-50p/{point}.pcap.gz")));
    let dataset = Dataset::of_pair(&src, &dst);
    for table in [DatasetTable::Rtt, DatasetTable::Owd, DatasetTable::Loss] {
        assert!(
            nanos(&dataset.table(table), "time").is_sorted(),
            "{table:?}"
        );
        let path = dataset.path().join(format!("{}.parquet", table.name()));
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        for group in reader.metadata().row_groups() {
            assert!(
                group
                    .columns()
                    .iter()
                    .all(|column| column.statistics().is_some())
            );
        }
    }
}

#[test]
fn losses_match_the_queue_counters_and_flows_sum_to_the_tables() {
    let mut compared = 0;
    for folder in fixture_folders().into_iter().chain(shared_folders()) {
        let (src, dst) = captures_in(&folder).unwrap();
        let dataset = Dataset::of_pair(&src, &dst);
        let name = folder.display();
        let flows = dataset.table(DatasetTable::Flows);
        let lost = sum(&dataset.table(DatasetTable::Loss), "packets");
        assert_eq!(sum(&flows, "path_lost_packets"), lost, "{name}");
        if let Some(drops) = known_drops(&folder) {
            assert_eq!(lost, drops, "{name}");
            compared += 1;
        }
        let arrived = sum(&dataset.table(DatasetTable::Owd), "packets");
        assert_eq!(sum(&flows, "path_delivered_packets"), arrived, "{name}");
        let rtts = dataset.table(DatasetTable::Rtt).num_rows() as u64;
        assert_eq!(sum(&flows, "rtt_samples"), rtts, "{name}");
    }
    assert!(compared >= 5, "{compared}");
}
