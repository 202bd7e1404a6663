//! One analysis in parts: `--shard`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::{Array, ArrayRef};
use insta::assert_snapshot;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp_testkit::{Direction, Scenario, TcpLoad, UdpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::desk::{Desk, cell, fixtures, text};

/// Uploads, downloads and calls in many short flows, with loss; the clocks differ.
pub(crate) fn many_flows(nat: bool) -> Scenario {
    let load = |direction| TcpLoad {
        flows: 10,
        parallel: 4,
        bytes: 20_000,
        direction,
        ..TcpLoad::default()
    };
    Scenario {
        tcp: vec![load(Direction::Forward), load(Direction::Reverse)],
        udp: vec![UdpLoad {
            flows: 3,
            datagrams: 20,
            ..UdpLoad::default()
        }],
        loss_ppm: 10_000,
        offset: TimeDelta::from_seconds(3),
        nat,
        ..Scenario::default()
    }
}

/// Commands whose rows are divided, and the files that they write besides `rows.csv`.
const COMMANDS: [(&str, &[&str]); 8] = [
    ("flows src.pcap", &[]),
    ("flows dst.pcap", &[]),
    ("rtt src.pcap", &[]),
    ("rtt src.pcap dst.pcap --flows more.csv", &["more.csv"]),
    ("path src.pcap dst.pcap --flows more.csv", &["more.csv"]),
    ("cwnd src.pcap --events more.csv", &["more.csv"]),
    ("cwnd src.pcap dst.pcap --events more.csv", &["more.csv"]),
    ("throughput src.pcap --bin 50ms --rate 10Mbit", &[]),
];

/// The rows of each file that a command writes, by file name; the header is its own key.
pub(crate) type Rows = BTreeMap<(String, &'static str), Vec<String>>;

pub(crate) fn rows_of(desk: &Desk, command: &str, others: &[&str], options: &str) -> Rows {
    let output = desk.run(&format!("{command} -o rows.csv --quiet {options}"));
    let stderr = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{command} {options}: {stderr}"
    );
    let mut rows = Rows::new();
    for file in ["rows.csv"].iter().chain(others) {
        let table = text(&desk.get(file));
        let mut lines = table.lines().map(str::to_owned);
        rows.insert(
            ((*file).to_owned(), "header"),
            lines.next().into_iter().collect(),
        );
        rows.insert(((*file).to_owned(), "rows"), lines.collect());
    }
    rows
}

/// All rows of a dataset by table.
pub(crate) fn tables_of(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "parquet") {
            continue;
        }
        let file = std::fs::File::open(&path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let mut rows = Vec::new();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let cells: Vec<String> = batch
                    .columns()
                    .iter()
                    .map(|array| shown(array, row))
                    .collect();
                rows.push(cells.join(","));
            }
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        tables.insert(name, rows);
    }
    tables
}

fn shown(array: &ArrayRef, row: usize) -> String {
    // Arrow shows no null of a time with a zone.
    if array.is_null(row) {
        String::new()
    } else {
        cell(array, row)
    }
}

pub(crate) fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// Checks that the parts of a command have the rows of the whole, each row once.
fn assert_union(desk: &Desk, command: &str, others: &[&str], count: u32) {
    let whole = rows_of(desk, command, others, "");
    let mut all = Rows::new();
    for part in 1..=count {
        let rows = rows_of(desk, command, others, &format!("--shard {part}/{count}"));
        for (file, mut rows) in rows {
            match file.1 {
                "header" => assert_eq!(rows, whole[&file], "{command} {part}/{count}"),
                _ => all.entry(file).or_default().append(&mut rows),
            }
        }
    }
    for (file, rows) in all {
        let whole = whole[&file].clone();
        assert!(
            sorted(rows) == sorted(whole),
            "{command} in {count} parts: {file:?}"
        );
    }
}

#[test]
fn parts_have_the_rows_of_the_whole() {
    let desk = Desk::with(&simulate(&many_flows(false)));
    for (command, others) in COMMANDS {
        assert_union(&desk, command, others, 1);
        assert_union(&desk, command, others, 7);
    }
}

#[test]
fn parts_have_the_rows_of_the_whole_despite_translated_addresses() {
    let desk = Desk::with(&simulate(&many_flows(true)));
    for (command, others) in COMMANDS {
        if command.contains("dst.pcap") {
            assert_union(&desk, command, others, 2);
        }
    }
    assert_union(&desk, "path src.pcap dst.pcap", &[], 64);
}

/// All pairs of real captures, with those beside the repository where they are.
#[test]
#[ignore = "takes minutes"]
fn parts_of_real_captures_have_the_rows_of_the_whole() {
    for [src, dst] in fixtures().into_iter().chain(shared_captures()) {
        let desk = Desk::empty();
        for (command, count) in [("rtt", 7), ("path", 2), ("cwnd", 2)] {
            assert_union(&desk, &format!("{command} {src} {dst}"), &[], count);
        }
        assert_union(&desk, &format!("flows {src}"), &[], 64);
        assert_union(&desk, &format!("cwnd {dst}"), &[], 7);
        assert_union(&desk, &format!("throughput {dst}"), &[], 2);
    }
}

/// The pairs of captures beside the repository, if any.
pub(crate) fn shared_captures() -> Vec<[String; 2]> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let folders = std::fs::read_dir(folder).into_iter().flatten();
    let mut pairs = Vec::new();
    for folder in folders {
        let folder = folder.unwrap().path();
        let pair = ["src", "dst"].map(|point| folder.join(format!("{point}.pcap.gz")));
        if pair.iter().all(|file| file.is_file()) {
            pairs.push(pair.map(|file| file.to_str().unwrap().to_owned()));
        }
    }
    pairs.sort();
    pairs
}

#[test]
fn parts_of_a_dataset_have_the_rows_of_the_whole() {
    for (nat, dst) in [(false, "dst.pcap"), (true, "dst.pcap"), (false, "")] {
        let desk = Desk::with(&simulate(&many_flows(nat)));
        let analyze = format!("analyze src.pcap {dst} -q --rate 10Mbit");
        desk.run(&format!("{analyze} -o whole"));
        let whole = tables_of(&desk.path("whole"));
        assert!(whole["flows"].len() > 40);
        for count in [1, 5] {
            let mut all = BTreeMap::<String, Vec<String>>::new();
            let mut merge = "merge -q -o merged".to_owned();
            for part in 1..=count {
                let name = format!("part{part}");
                desk.bytes(&format!("{analyze} -o {name} --shard {part}/{count}"));
                for (table, mut rows) in tables_of(&desk.path(&name)) {
                    all.entry(table).or_default().append(&mut rows);
                }
                merge = format!("{merge} {name}");
            }
            desk.bytes(&merge);
            for (table, rows) in &whole {
                let parts = sorted(all[table].clone());
                assert!(parts == sorted(rows.clone()), "{table} in {count} parts");
            }
            assert_same_files(&desk, "merged", "whole");
        }
    }
}

/// Checks that two directories have the same files with the same bytes.
pub(crate) fn assert_same_files(desk: &Desk, dataset: &str, other: &str) {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(desk.path(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<String>>()
    };
    assert_eq!(names(dataset), names(other));
    for name in names(dataset) {
        let [one, two] = [dataset, other].map(|folder| format!("{folder}/{name}"));
        if desk.path(&one).is_dir() {
            assert_same_files(desk, &one, &two);
        } else {
            assert!(desk.get(&one) == desk.get(&two), "{one}");
        }
    }
}

/// All pairs of real captures, with those beside the repository where they are.
#[test]
#[ignore = "takes minutes"]
fn parts_of_real_captures_merge_to_the_bytes_of_the_whole() {
    for [src, dst] in fixtures().into_iter().chain(shared_captures()) {
        let desk = Desk::empty();
        desk.run(&format!("survey {src} {dst} -o survey.json -q"));
        let analyze = format!("analyze {src} {dst} --survey survey.json -q");
        desk.run(&format!("{analyze} -o whole"));
        for count in [1, 2, 7, 64] {
            let mut merge = "merge -q -o merged".to_owned();
            for part in 1..=count {
                desk.run(&format!("{analyze} -o part{part} --shard {part}/{count}"));
                merge = format!("{merge} part{part}");
            }
            desk.bytes(&merge);
            assert_same_files(&desk, "merged", "whole");
        }
    }
}

#[test]
fn foreign_and_missing_parts_are_refused_by_name() {
    let desk = Desk::new();
    for part in [1, 2, 3] {
        desk.bytes(&format!(
            "analyze src.pcap -q -o part{part} --shard {part}/3"
        ));
    }
    desk.bytes("analyze dst.pcap -q -o other --shard 2/3");
    desk.bytes("analyze src.pcap -q -o wide --bin 1s --shard 2/3");
    desk.bytes("analyze src.pcap -q -o fourth --shard 2/4");
    desk.bytes("analyze src.pcap -q -o whole");
    std::fs::rename(desk.path("part2"), desk.path("moved")).unwrap();
    assert_snapshot!(desk.failure("merge part1 part3 -o all"), @"of 3 parts, these are missing: 2/3");
    assert_snapshot!(desk.failure("merge part1 other part3 -o all"), @"other and part1 are parts of different analyses: they differ in captures");
    assert_snapshot!(desk.failure("merge part1 wide part3 -o all"), @"wide and part1 are parts of different analyses: they differ in options");
    assert_snapshot!(desk.failure("merge part1 fourth part3 -o all"), @"fourth and part1 are parts of different analyses: they differ in number of parts");
    assert_snapshot!(desk.failure("merge part1 moved part3 part1 -o all"), @"part1 and part1 are both part 1/3");
    assert_snapshot!(desk.failure("merge whole -o all"), @"whole is a whole dataset, not a part of one: parts are made with --shard");
    assert_snapshot!(desk.failure("merge nothing -o all"), @"cannot open nothing/manifest.json: No such file or directory (os error 2)");
    assert!(!desk.path("all").exists());
    // The flows of one part would pass for those of a whole run.
    assert_snapshot!(desk.failure("compare ."), @"./fourth is part 2/4 of a dataset: join all parts with `tcpexp merge`");
    desk.bytes("merge part3 part1 moved -o all -q");
    assert_same_files(&desk, "all", "whole");
}

#[test]
fn parts_from_other_folders_are_merged_though_a_warning_names_the_file() {
    let desk = Desk::new();
    let mut cut = desk.get("src.pcap");
    cut.truncate(cut.len() - 7);
    for (folder, part) in [("m1", 1), ("m2", 2)] {
        std::fs::create_dir(desk.path(folder)).unwrap();
        desk.put(&format!("{folder}/src.pcap"), &cut);
        desk.bytes(&format!(
            "analyze {folder}/src.pcap -o {folder}/part -q --shard {part}/2"
        ));
    }
    desk.bytes("merge m1/part m2/part -o all -q");
    let manifest = text(&desk.get("all/manifest.json"));
    assert!(manifest.contains("m1/src.pcap"), "{manifest}");
}

#[test]
fn a_part_gives_the_same_bytes_again() {
    let desk = Desk::with(&simulate(&many_flows(true)));
    let rows = || {
        desk.bytes("rtt src.pcap dst.pcap --shard 2/3 -o rows.parquet -q");
        desk.get("rows.parquet")
    };
    assert_eq!(rows(), rows());
}

#[test]
fn a_shard_is_part_of_a_whole() {
    let desk = Desk::new();
    assert_snapshot!(desk.misuse("rtt src.pcap --shard 0/2"), @"error: invalid value '0/2' for '--shard <I/N>': expected I/N, such as 2/7: part I of N, with I from 1 to N");
    assert_snapshot!(desk.misuse("rtt src.pcap --shard 2/2 --live"), @"error: the argument '--shard <I/N>' cannot be used with '--live'");
}
