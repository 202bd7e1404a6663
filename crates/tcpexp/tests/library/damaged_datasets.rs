//! Datasets with a table that is missing or has changed.

use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tcpexp::{
    AnalyzeInputs, AnalyzeOptions, DatasetDir, Error, Only, Query, Recording, Tables, analyze,
    merge, merge_by_table, report,
};
use tcpexp_flow::FlowShard;

use crate::common::fixture;

const FIXTURE: &str = "short-cubic-15-percent-loss";

/// Analyses a fixture to a dataset in `folder`.
fn dataset(folder: &Path, name: &str, shard: Option<FlowShard>) -> PathBuf {
    let captures = fixture(FIXTURE);
    let open = |name: &str| Recording::open(&captures.join(name)).unwrap();
    let (src, dst) = (open("snd.pcap.gz"), open("rcv.pcap.gz"));
    let options = AnalyzeOptions {
        shard,
        ..AnalyzeOptions::default()
    };
    let place = folder.join(name);
    let dir = DatasetDir::create(&place).unwrap();
    analyze(AnalyzeInputs::new(&src, Some(&dst)), &options, dir).unwrap();
    place
}

/// Changes one bit in the middle of a table.
fn flip(dataset: &Path, table: &str) {
    let path = dataset.join(table);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// The message of an error with those of its causes, without the folder.
fn message(error: &Error, folder: &Path) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text.replace(&format!("{}/", folder.display()), "")
}

fn out(folder: &Path) -> DatasetDir {
    DatasetDir::create(&folder.join("out")).unwrap()
}

#[test]
fn parts_with_a_flipped_bit_or_without_a_table_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let parts = [1, 2].map(|number| {
        let shard = FlowShard::new(number, 2);
        dataset(folder, &format!("part{number}"), shard)
    });
    merge(&parts, out(folder)).unwrap();
    flip(&parts[1], "rtt.parquet");
    let error = merge(&parts, out(folder)).unwrap_err();
    assert_snapshot!(message(&error, folder), @"the dataset part2 is damaged: rtt.parquet has changed: its checksum is not that of the manifest");
    fs::remove_file(parts[1].join("flows.parquet")).unwrap();
    assert!(merge(&parts, out(folder)).is_err());
}

#[test]
fn a_changed_table_is_neither_drawn_nor_copied() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let data = dataset(folder, "data", None);
    flip(&data, "rtt.parquet");
    let query = Query {
        tables: vec!["rtt".to_owned()],
        required: vec!["rtt_ns".to_owned()],
        ..Query::default()
    };
    let drawn = Tables::find(std::slice::from_ref(&data)).and_then(|tables| tables.read(&query));
    assert_snapshot!(message(&drawn.unwrap_err(), folder), @"the dataset data is damaged: rtt.parquet has changed: its checksum is not that of the manifest");
    let paths = std::slice::from_ref(&data);
    assert!(merge_by_table(paths, DatasetDir::create(&folder.join("all")).unwrap()).is_err());
    assert!(report(&data, &Only::default()).is_err());
}

#[test]
fn a_dataset_without_one_of_its_tables_is_neither_drawn_nor_hidden_in_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let runs = ["a", "b"].map(|name| dataset(folder, name, None));
    fs::remove_file(runs[1].join("loss.parquet")).unwrap();
    let found = Tables::find(&[folder.to_owned()]).unwrap_err();
    assert_snapshot!(message(&found, folder), @"the dataset b is damaged: the manifest lists loss.parquet, which is missing");
    let page = report(folder, &Only::default()).unwrap();
    let of_run = |run: usize| {
        let run = &page.runs[run];
        (run.status.as_str(), run.flows.len(), run.reason.clone())
    };
    assert_eq!(of_run(0).0, "complete");
    let reason = format!(
        "the dataset {} is damaged: the manifest lists loss.parquet, which is missing",
        runs[1].display()
    );
    assert_eq!(of_run(1), ("invalid", 0, Some(reason)));
}

#[test]
fn a_dataset_without_its_manifest_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let data = dataset(folder, "data", FlowShard::new(1, 2));
    fs::remove_file(data.join("manifest.json")).unwrap();
    let errors = [
        Tables::find(std::slice::from_ref(&data)).unwrap_err(),
        Tables::find(&[folder.to_owned()]).unwrap_err(),
        report(&data, &Only::default()).unwrap_err(),
        report(folder, &Only::default()).unwrap_err(),
        merge(std::slice::from_ref(&data), out(folder)).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            message(&error, folder),
            "the dataset data is damaged: it has no manifest.json: its analysis did not finish, or a copy left the \
             file out; analyze again, or copy the whole folder"
        );
    }
}
