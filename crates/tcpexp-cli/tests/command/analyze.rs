//! `tcpexp analyze`.

use insta::assert_snapshot;

use crate::desk::{Desk, text};

#[test]
fn written_files_are_listed() {
    let desk = Desk::new();
    let listed =
        desk.text("analyze src.pcap dst.pcap -o data --param cc=cubic --param rate_mbps=10");
    // Sizes depend on the version of the compression library.
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
    readings.parquet                 0
    all

    dataset         data
    ");
    assert!(listed.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(desk.written(), ["data"]);
    assert_eq!(desk.text("analyze src.pcap -o data --quiet"), "");
}

#[test]
fn invalid_arguments_are_refused_before_any_file_is_read() {
    let desk = Desk::new();
    assert_snapshot!(desk.misuse("analyze - - -o data"), @"error: only one of the two captures can be standard input");
    assert_snapshot!(desk.misuse("analyze src.pcap dst.pcap -o data --position sender"), @"error: --position requires a single capture");
    assert_snapshot!(desk.misuse("analyze src.pcap -o data --param CC=cubic"), @r#"error: invalid value 'CC=cubic' for '--param <NAME=VALUE>': expected NAME=VALUE, such as cc=cubic; NAME has lower-case letters, digits and _"#);
    assert_snapshot!(desk.misuse("analyze src.pcap"), @"error: the dataset needs a directory: use -o DIR");
    assert_snapshot!(desk.misuse("analyze src.pcap -o data --jobs 2"), @"error: --jobs requires the directory of a sweep, or --pairs");
    assert_snapshot!(desk.misuse("analyze src.pcap -o data --log netflow=x"), @r"error: invalid value 'netflow=x' for '--log <KIND=FILE>': expected KIND=FILE, such as ss=FILE, with one of the kinds tcp_probe, tcpinfo, ss, siftr, web10g, iperf3, queue, ping, columns");
    assert_snapshot!(desk.failure("analyze ."), @". has neither a run.json, nor runs, nor datasets of tcpexp analyze");
    assert_eq!(desk.written(), [""; 0]);
    std::fs::create_dir(desk.path("runs")).unwrap();
    assert_snapshot!(desk.misuse("analyze . -o data"), @"error: -o cannot be used with a run or a sweep");
    assert_eq!(desk.written(), ["runs"]);
}

/// Creates a sweep of `runs` runs; the last run is invalid.
pub(crate) fn put_sweep(desk: &Desk, runs: usize) {
    for run in 1..=runs {
        let captures = desk.path(&format!("sweep/runs/{run:04}/captures"));
        std::fs::create_dir_all(&captures).unwrap();
        for (point, host) in [("src", "src1"), ("dst", "dst1")] {
            let to = captures.join(format!("{host}.pcap"));
            std::fs::copy(desk.path(&format!("{point}.pcap")), to).unwrap();
        }
        let (status, reason) = if run < runs {
            ("complete", "null")
        } else {
            ("invalid", "\"the rate is not what it should be\"")
        };
        let (cc, rate) = [("cubic", "10.0"), ("reno", "2.5")][run % 2];
        let record = format!(
            r#"{{"schema": 1, "run": "{run:04}", "cell": "c0ffee", "repetition": {run}, "seed": 7,
            "plan_hash": "ab", "status": "{status}", "reason": {reason},
            "parameters": {{"cc": "{cc}", "rate_mbps": {rate}}}, "varied": ["cc", "rate_mbps"],
            "captures": [
                {{"host": "src1", "role": "source", "file": "captures/src1.pcap", "packets_dropped": 0}},
                {{"host": "dst1", "role": "sink", "file": "captures/dst1.pcap", "packets_dropped": 0}}],
            "t0_ns": null, "bottleneck": {{}}, "calibration": null, "queue": null,
            "started_ns": 1, "finished_ns": 2}}"#
        );
        desk.put(&format!("sweep/runs/{run:04}/run.json"), record.as_bytes());
    }
}

#[test]
fn complete_runs_of_a_sweep_are_analysed_in_place() {
    let desk = Desk::new();
    put_sweep(&desk, 3);
    let listed = desk.text("analyze sweep");
    let rows: Vec<&str> = listed.lines().skip(12).collect();
    assert_snapshot!(rows.join("\n"), @"
    runs            2 analysed
    left out        0003 invalid: the rate is not what it should be
    ");
    for run in ["0001", "0002"] {
        assert!(
            desk.path(&format!("sweep/runs/{run}/data/manifest.json"))
                .exists()
        );
    }
    assert!(!desk.path("sweep/runs/0003/data").exists());
    // Analyses one run a second time.
    let before = desk.get("sweep/runs/0001/data/rtt.parquet");
    desk.text("analyze sweep/runs/0001 --quiet");
    assert!(desk.get("sweep/runs/0001/data/rtt.parquet") == before);
}

/// Returns the output of a query on the tables of a sweep, as printed by Python.
fn query(python: &str, desk: &Desk, sql: &str) -> String {
    let output = std::process::Command::new(python)
        .args([
            "-c",
            "import duckdb, sys; print(duckdb.sql(sys.argv[1]).fetchall())",
            sql,
        ])
        .current_dir(desk.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

#[test]
fn one_query_groups_all_runs_of_a_sweep_by_their_parameters() {
    let Some(python) = crate::compare::python() else {
        return;
    };
    let desk = Desk::new();
    put_sweep(&desk, 4);
    desk.text("analyze sweep --quiet");
    let mut rtts: Vec<i64> = desk
        .text("rtt src.pcap dst.pcap --format csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(8).unwrap().parse().unwrap())
        .collect();
    rtts.sort_unstable();
    let middle = [rtts[(rtts.len() - 1) / 2], rtts[rtts.len() / 2]];
    let median = middle.map(|nanos| nanos as f64 / 1e6).iter().sum::<f64>() / 2.0;
    let sql = "SELECT cc, rate_mbps, median(rtt_ms) FROM 'sweep/**/rtt.parquet' GROUP BY ALL";
    let rows = query(&python, &desk, &format!("{sql} ORDER BY ALL"));
    assert_eq!(
        rows,
        format!("[('cubic', 10.0, {median}), ('reno', 2.5, {median})]")
    );
    // The row counts of every table also agree.
    for table in tcpexp_table::dataset::DatasetTable::ALL {
        let name = table.name();
        let sql = format!("SELECT count(*), count(DISTINCT run) FROM 'sweep/**/{name}.parquet'");
        let rows = |run: &str| {
            let run = desk.path(&format!("sweep/runs/{run}/data"));
            let tables = tcpexp::Manifest::read(&run).unwrap().tables;
            tables
                .into_iter()
                .find(|table| table.name == name)
                .unwrap()
                .rows
        };
        let rows: u64 = ["0001", "0002", "0003"].map(rows).iter().sum();
        let runs = if rows > 0 { 3 } else { 0 };
        assert_eq!(
            query(&python, &desk, &sql),
            format!("[({rows}, {runs})]"),
            "{name}"
        );
    }
}

#[test]
fn a_run_that_cannot_be_analysed_does_not_stop_the_others() {
    let desk = Desk::new();
    put_sweep(&desk, 3);
    desk.put("sweep/runs/0001/captures/src1.pcap", b"no capture");
    let output = desk.run("analyze sweep --quiet --jobs 2");
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(text(&output.stderr), @r#"
    tcpexp: 0001: cannot read sweep/runs/0001/captures/src1.pcap: not a capture: it starts with 6e 6f 20 63 61 70 74 75 ("no captu")
    tcpexp: the analysis of 1 of 2 runs failed
    "#);
    assert!(desk.path("sweep/runs/0002/data/manifest.json").exists());
}

#[test]
fn a_failed_analysis_leaves_no_dataset() {
    let desk = Desk::new();
    desk.put("text.txt", b"no capture");
    assert_snapshot!(desk.failure("analyze text.txt dst.pcap -o data"), @r#"cannot read text.txt: not a capture: it starts with 6e 6f 20 63 61 70 74 75 ("no captu")"#);
    assert_snapshot!(desk.failure("analyze src.pcap missing.pcap -o data"), @"cannot open missing.pcap: No such file or directory (os error 2)");
    assert_snapshot!(desk.failure("analyze src.pcap -o missing/data"), @"cannot write missing/data: directory missing does not exist");
    assert_snapshot!(desk.failure("analyze src.pcap -o text.txt"), @"cannot write text.txt: not a directory");
    std::fs::create_dir(desk.path("other")).unwrap();
    desk.put("other/text.txt", b"mine");
    assert_snapshot!(desk.failure("analyze src.pcap -o other"), @"other contains something other than a dataset: name another directory");
    assert_eq!(desk.written(), ["other", "text.txt"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_failed_write_fails_the_dataset() {
    if !tcpexp_testkit::has_programs(&["bash"]) {
        return;
    }
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
