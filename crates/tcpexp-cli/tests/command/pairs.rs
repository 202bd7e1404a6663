//! Many pairs of captures: `tcpexp pairs`, `analyze --pairs`, `merge --pairs`.

use std::path::Path;

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, TcpLoad, TwoCaptures, simulate};

use crate::desk::{Desk, ORDINARY, ordinary, text};
use crate::shards::{assert_same_files, tables_of};

fn small(seed: u64) -> TwoCaptures {
    simulate(&Scenario {
        seed,
        tcp: vec![TcpLoad {
            bytes: 100_000,
            ..TcpLoad::default()
        }],
        ..ordinary()
    })
}

/// Cuts a capture in little-endian pcap into files of `records` records.
pub(crate) fn rotated(capture: &[u8], records: usize) -> Vec<Vec<u8>> {
    let (header, mut rest) = capture.split_at(24);
    let mut files = Vec::new();
    while !rest.is_empty() {
        let mut end = 0;
        for _ in 0..records {
            if let Some(length) = rest.get(end + 8..end + 12) {
                end += 16 + u32::from_le_bytes(length.try_into().unwrap()) as usize;
            }
        }
        let (file, after) = rest.split_at(end);
        files.push([header, file].concat());
        rest = after;
    }
    files
}

/// Three good pairs and a broken pair. One of the good pairs has rotated files.
pub(crate) fn many() -> Desk {
    let desk = Desk::empty();
    for folder in ["client", "server"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    let put = |name: &str, captures: &TwoCaptures| {
        desk.put(&format!("client/{name}.pcap"), &captures.src);
        desk.put(&format!("server/{name}.pcap"), &captures.dst);
    };
    put("9", &small(9));
    put("10", &small(10));
    for (folder, capture) in [("client", &ORDINARY.src), ("server", &ORDINARY.dst)] {
        for (number, file) in rotated(capture, 700).iter().enumerate() {
            desk.put(&format!("{folder}/long.pcap{number}"), file);
        }
    }
    put("torn", &small(11));
    desk.put("client/torn.pcap", b"no capture at all");
    desk.put("client/alone.txt", b"notes");
    desk
}

#[test]
fn each_pair_and_each_file_without_a_partner_is_listed() {
    let desk = many();
    assert_snapshot!(desk.text("pairs client server"), @r#"
      pair  name    src    dst       records       size
         1  9         1      1           448   271.3 kB
         2  10        1      1           445   270.0 kB
         3  long      3      3         3 601     3.3 MB
         4  torn      1      1           220   133.1 kB
    unread  client/torn.pcap: not a capture: it starts with 6e 6f 20 63 61 70 74 75 ("no captu")
    files that are no captures: 1
    "#);
    desk.bytes("pairs client server -o pairs.csv -q");
    let table = text(&desk.get("pairs.csv"));
    let last = table.lines().last().unwrap();
    assert_snapshot!(last, @r#",,src,client/alone.txt,5,,,,"not a capture: it starts with 6e 6f 74 65 73 (""notes"")""#);
    assert_snapshot!(table.lines().nth(1).unwrap(), @"1,9,src,client/9.pcap,137846,225,2023-11-14T22:13:20.000020059Z,2023-11-14T22:13:20.999691141Z,");
    assert_snapshot!(desk.failure("pairs client client"), @"no pair in client and client: client/10.pcap: its name has no word for a point");
    assert_snapshot!(desk.failure("pairs client nowhere"), @"cannot open nowhere: No such file or directory (os error 2)");
}

#[test]
fn tasks_give_the_dataset_of_one_process() {
    let desk = many();
    desk.bytes("pairs client server -o pairs.parquet -q");
    let output = desk.run("analyze --pairs pairs.parquet -o parts --bin 50ms");
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(text(&output.stdout), @"
    datasets        parts
    pairs           3 analysed, 0 already there, 1 failed
    ");
    assert_snapshot!(text(&output.stderr), @r#"tcpexp: torn: cannot read client/torn.pcap: not a capture: it starts with 6e 6f 20 63 61 70 74 75 ("no captu")"#);
    desk.bytes("merge --pairs pairs.parquet parts -o all -q");
    // Nothing is computed again.
    let again = text(&desk.bytes("analyze --pairs pairs.parquet -o parts --bin 50ms"));
    assert!(
        again.contains("0 analysed, 3 already there, 0 failed, 1 failed earlier\n"),
        "{again}"
    );
    // A table in another format, tasks in any order, and parts of a pair give the same.
    desk.bytes("pairs client server -o pairs.csv -q");
    for task in ["2/2", "1", "1/2"] {
        desk.bytes(&format!(
            "analyze --pairs pairs.csv --task {task} -o tasks -q --bin 50ms"
        ));
    }
    assert_same_files(&desk, "tasks", "parts");
    for shard in ["1/3", "3/3", "2/3"] {
        desk.bytes(&format!(
            "analyze --pairs pairs.csv --shard {shard} -o shards -q --bin 50ms"
        ));
    }
    desk.bytes("merge --pairs pairs.csv shards -o again -q");
    assert_same_files(&desk, "again", "all");
    let tables = tables_of(&desk.path("all"));
    let of_pair = |table: &str, name: &str| {
        let start = format!("{name},");
        tables[table]
            .iter()
            .filter(|row| row.starts_with(&start))
            .count()
    };
    assert_eq!(
        ["9", "10", "long"].map(|pair| of_pair("flows", pair)),
        [4, 4, 4]
    );
    assert!(of_pair("rtt", "long") > 1_000);
    assert_snapshot!(tables["errors"].join("\n"), @r#"4,torn,client/torn.pcap,server/torn.pcap,cannot read client/torn.pcap: not a capture: it starts with 6e 6f 20 63 61 70 74 75 ("no captu")"#);
}

#[test]
fn rotated_files_give_the_rows_of_one_file() {
    let desk = many();
    desk.bytes("pairs client server -o pairs.json -q");
    desk.bytes("analyze --pairs pairs.json -o parts -q");
    desk.put("src.pcap", &ORDINARY.src);
    desk.put("dst.pcap", &ORDINARY.dst);
    desk.bytes("analyze src.pcap dst.pcap --param pair=long -o whole -q");
    let whole = tables_of(&desk.path("whole"));
    let is_long = |folder: &Path| tables_of(folder)["flows"][0].starts_with("long,");
    let entries = std::fs::read_dir(desk.path("parts")).unwrap();
    let mut folders = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let long = folders.find(|folder| is_long(folder)).unwrap();
    assert!(tables_of(&long) == whole);
    // The manifest lists all files, and a further analysis reads them all.
    desk.bytes("analyze parts -q");
    assert!(tables_of(&long) == whole);
}

#[test]
fn a_dataset_analysed_again_with_other_options_is_not_the_result_of_its_pair() {
    let desk = many();
    desk.bytes("pairs client server -o pairs.parquet -q");
    desk.bytes("analyze --pairs pairs.parquet --task 1 -o parts -q");
    desk.bytes("analyze parts --bin 1s -q");
    let output = desk.run("analyze --pairs pairs.parquet --task 1 -o parts -q");
    assert_eq!(output.status.code(), Some(1));
    let refused = text(&output.stderr);
    let why = "was analysed again with other options: remove it to analyse the pair with the options given now";
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn a_folder_of_parts_given_twice_is_refused() {
    let desk = many();
    desk.bytes("pairs client server -o pairs.parquet -q");
    desk.bytes("analyze --pairs pairs.parquet -o parts -q");
    let refused = desk.failure("merge --pairs pairs.parquet parts parts -o all");
    let why = "are copies of one dataset";
    assert!(refused.ends_with(why), "{refused}");
}

#[test]
fn missing_and_foreign_parts_of_pairs_are_refused_by_name() {
    let desk = many();
    desk.bytes("pairs client server -o pairs.parquet -q");
    desk.bytes("analyze --pairs pairs.parquet --task 2 -o parts -q");
    assert_snapshot!(desk.failure("merge --pairs pairs.parquet parts -o all"), @"missing parts of the pairs: 9, long, torn");
    desk.bytes("analyze --pairs pairs.parquet -o parts -q");
    desk.bytes("merge --pairs pairs.parquet parts -o all -q");
    desk.bytes("analyze --pairs pairs.parquet --task 2 --bin 1s -o parts -q");
    let refused = desk.failure("merge --pairs pairs.parquet parts -o all");
    assert!(
        refused.ends_with("are parts of different analyses: they differ in options"),
        "{refused}"
    );
    assert!(desk.path("all/manifest.json").exists());
    // Another capture of this name is another input.
    desk.put("client/9.pcap", &small(12).src);
    desk.put("server/9.pcap", &small(12).dst);
    desk.bytes("analyze --pairs pairs.parquet --task 1 -o other -q");
    assert_snapshot!(desk.failure("merge --pairs pairs.parquet other -o no").split_once(' ').unwrap().1, @"was made from files other than those of the pair 9");
    assert_snapshot!(desk.failure("merge all -o no"), @r#"all/manifest.json is the manifest of "tcpexp dataset of pairs", not of a dataset"#);
    assert_snapshot!(desk.failure("analyze --pairs pairs.parquet --task 77 -o parts"), @"pairs.parquet has no pair 77");
    assert_snapshot!(desk.misuse("analyze --pairs pairs.parquet --task 0 -o parts"), @"error: invalid value '0' for '--task <I|I/N>': expected a number, or I/N with I from 1 to N");
    assert_snapshot!(desk.misuse("analyze a.pcap --pairs pairs.parquet -o parts"), @"error: the argument '[SRC|DIR]' cannot be used with '--pairs <FILE>'");
    assert_snapshot!(desk.misuse("analyze -o parts"), @"error: the following required arguments were not provided:");
    assert_snapshot!(desk.failure("analyze --pairs client/9.pcap -o parts"), @"cannot read client/9.pcap: not a table: neither Parquet, Arrow, CSV nor JSON");
}
