//! The same run again in the lab.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::{Bench, has_lab, said, takes_minutes};

const PLAN: &str = r#"
kind = "lab"
[path.forward]
rate = "2mbit"
delay = "5ms"
jitter = "1ms"
loss = "1%"
buffer = "20p"
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "2s"
[loggers]
tcp_probe = true
queue = "100ms"
[run]
seed = 7
start_jitter = "50ms"
"#;

#[test]
fn run_of_a_cell_leaves_the_same_bytes_again() {
    if takes_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    let runs = ["first", "second"].map(|out| {
        let output = bench.tcpexp(&format!("sweep plan.toml --lab --quiet -o {out}"));
        assert!(output.status.success(), "{}", said(&output));
        bench.records(out).remove(0)
    });
    let [(first, record), (second, again)] = &runs;
    assert_eq!(record["status"], "complete", "{record}");
    assert_eq!(record, again);
    for folder in ["captures", "logs"] {
        let files = files(&first.join(folder));
        assert!(!files.is_empty());
        for file in files {
            let [one, other] = [first, second].map(|run| {
                let path = run.join(folder).join(&file);
                fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            });
            assert!(one == other, "{} is another", file.display());
        }
    }
}

/// The names of what is in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into())
        .collect()
}
