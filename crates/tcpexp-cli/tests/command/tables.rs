//! Tables in the tools that people load them with.

use std::process::Command;

use insta::assert_snapshot;

use crate::analyze::put_sweep;
use crate::desk::{Desk, text};
use crate::documents::python;

/// Runs `tables.py` on a directory of the desk; `formats` compares the formats too.
fn check(python: &str, desk: &Desk, folder: &str, formats: bool, tables: usize) {
    let mut command = Command::new(python);
    command
        .args(["-c", include_str!("tables.py"), folder])
        .current_dir(desk.path(""));
    if formats {
        command.arg("formats");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), format!("{tables} tables\n"));
}

#[test]
fn pandas_polars_and_duckdb_read_every_table_without_a_cast() {
    let Some(python) = python() else { return };
    let desk = Desk::new();
    desk.put("iperf3.json", crate::import::IPERF3.as_bytes());
    desk.put("flent.json", crate::import::FLENT.as_bytes());
    put_sweep(&desk, 3);
    desk.text("analyze sweep -q");
    desk.text("cwnd src.pcap -q -o truth.parquet");
    for folder in ["out", "src", "dst"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    for point in ["src", "dst"] {
        desk.put(
            &format!("{point}/a.pcap"),
            &desk.get(&format!("{point}.pcap")),
        );
    }
    let mut files = 0;
    for ending in ["parquet", "arrow", "csv", "json"] {
        for line in [
            "flows src.pcap -o out/flows.E",
            "rtt src.pcap dst.pcap -o out/rtt.E --flows out/rtt_flows.E",
            "rtt src.pcap -o out/single_rtt.E",
            "path src.pcap dst.pcap -o out/path.E --flows out/path_flows.E",
            "path src.pcap dst.pcap dst.pcap -o out/points.E --flows out/points_flows.E",
            "throughput src.pcap --rate 10mbit -o out/throughput.E",
            "cwnd src.pcap -o out/sender.E --events out/sender_events.E --control-table out/controls.E",
            "explain src.pcap --flow 5001 -o out/explained.E",
            "why src.pcap -o out/causes.E",
            "import iperf3 iperf3.json -o out/intervals.E",
            "import flent flent.json -o out/series.E",
            "pairs src dst -o out/pairs.E",
        ] {
            desk.text(&format!("{} -q", line.replace(".E", &format!(".{ending}"))));
            files += line.matches(".E").count();
        }
        // It warns of the recoveries that are in no row.
        let scored = desk.run(&format!(
            "score truth.parquet truth.parquet -q -o out/scores.{ending}"
        ));
        assert!(scored.status.success());
        files += 1;
    }
    let described = tcpexp_table::described_tables();
    // The tables of `compare` and `check` need a sweep with traffic, and both have tests with one. A
    // merge writes the table of failed pairs, as Parquet only.
    let elsewhere = ["compare", "compare_runs", "check", "errors"];
    let of_commands = described.iter().filter(|table| {
        let name = table.name.strip_prefix("command:");
        name.is_some_and(|name| !elsewhere.contains(&name))
    });
    assert_eq!(files, 4 * of_commands.count(), "a table is not checked");
    check(&python, &desk, "out", true, files / 4);
    for run in ["0001", "0002"] {
        check(&python, &desk, &format!("sweep/runs/{run}/data"), false, 10);
    }
}

#[test]
fn a_folder_per_table_opens_as_one_table_in_pandas_polars_and_duckdb() {
    let Some(python) = python() else { return };
    let desk = Desk::new();
    std::fs::create_dir(desk.path("sets")).unwrap();
    for (name, buffer) in [("a", "10"), ("b", "auto"), ("c", "2.5")] {
        desk.text(&format!(
            "analyze src.pcap dst.pcap -q -o sets/{name} --param buffer={buffer}"
        ));
    }
    desk.text("analyze src.pcap -q -o sets/d --param cc=reno");
    let listed = desk.text("merge --by-table sets -o all");
    assert!(listed.contains("rtt"), "{listed}");
    check(&python, &desk, "all", false, 10);
    // Again in the same place, and with a sweep.
    put_sweep(&desk, 3);
    desk.text("analyze sweep -q");
    desk.text("merge --by-table sets sweep -o all -q");
    check(&python, &desk, "all", false, 10);
    assert_snapshot!(desk.failure("merge --by-table sets sets/a -o all"), @"sets/a and sets/a would have the same file name in each table");
    // A folder with anything else is not replaced.
    desk.put("all/rtt/note.txt", b"mine");
    let refused = desk.failure("merge --by-table sets -o all");
    assert!(refused.starts_with("all "), "{refused}");
}
