//! `tcpexp analyze`.

use insta::assert_snapshot;

use crate::desk::{Desk, text};

#[test]
fn what_was_written_is_listed() {
    let desk = Desk::new();
    let listed =
        desk.text("analyze src.pcap dst.pcap -o data --param cc=cubic --param rate_mbps=10");
    // Sizes follow the version of the compression.
    let rows: Vec<String> = listed
        .lines()
        .map(|line| {
            line.chars()
                .take(34)
                .collect::<String>()
                .trim_end()
                .to_owned()
        })
        .collect();
    assert_snapshot!(rows.join("\n"), @r"
    table                         rows
    flows.parquet                    4
    rtt.parquet                  1 284
    owd.parquet                  1 792
    loss.parquet                    17
    throughput.parquet             182
    sender.parquet                 653
    events.parquet                  19
    queue.parquet                   28
    logs.parquet                     0
    all

    dataset         data
    ");
    assert!(listed.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(desk.written(), ["data"]);
    assert_eq!(desk.text("analyze src.pcap -o data --quiet"), "");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_read() {
    let desk = Desk::new();
    assert_snapshot!(desk.misuse("analyze - - -o data"), @"error: only one of the two captures can be standard input");
    assert_snapshot!(desk.misuse("analyze src.pcap dst.pcap -o data --position sender"), @"error: two captures are taken at two places: use --position with one");
    assert_snapshot!(desk.misuse("analyze src.pcap -o data --param CC=cubic"), @r#"error: invalid value 'CC=cubic' for '--param <NAME=VALUE>': "CC=cubic" is no column: write it as cc=cubic or rate_mbps=10.0, the name in small letters, digits and _"#);
    assert_snapshot!(desk.misuse("analyze src.pcap"), @"error: the following required arguments were not provided:");
    assert_eq!(desk.written(), [""; 0]);
}

#[test]
fn what_fails_leaves_no_dataset() {
    let desk = Desk::new();
    desk.put("text.txt", b"no capture");
    assert_snapshot!(desk.failure("analyze text.txt dst.pcap -o data"), @r#"cannot read text.txt: not a capture: it starts with 6e 6f 20 63 61 70 74 75 ("no captu")"#);
    assert_snapshot!(desk.failure("analyze src.pcap missing.pcap -o data"), @"cannot open missing.pcap: No such file or directory (os error 2)");
    assert_snapshot!(desk.failure("analyze src.pcap -o missing/data"), @"cannot write missing/data: there is no folder missing");
    assert_snapshot!(desk.failure("analyze src.pcap -o text.txt"), @"cannot write text.txt: not a directory");
    std::fs::create_dir(desk.path("other")).unwrap();
    desk.put("other/text.txt", b"mine");
    assert_snapshot!(desk.failure("analyze src.pcap -o other"), @"other holds something else than a dataset: name another directory");
    assert_eq!(desk.written(), ["other", "text.txt"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_grow_fails_the_dataset() {
    let desk = Desk::new();
    let line = "ulimit -f 32; trap '' XFSZ; exec \"$0\" analyze src.pcap dst.pcap -o data";
    let output = std::process::Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_tcpexp")])
        .current_dir(desk.path(""))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(text(&output.stderr), @"tcpexp: cannot write data/flows.parquet: File too large (os error 27)");
    assert_eq!(desk.written(), [""; 0]);
}
