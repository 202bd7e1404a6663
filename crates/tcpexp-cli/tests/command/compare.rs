//! `tcpexp compare` on sweeps of simulated runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use tcpexp_testkit::{Scenario, TcpLoad, UdpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::desk::{Desk, text};

/// Start time of the simulations.
const T0_NS: i64 = 1_700_000_000_000_000_000;
const SECONDS: f64 = 8.0;

/// One run of a sweep.
pub(crate) struct Run {
    pub(crate) name: &'static str,
    cell: &'static str,
    cc: &'static str,
    /// Number of uploads that last until the end.
    bulk: u32,
    /// Number of sequential uploads of 100 kB each.
    files: u32,
    seed: u64,
}

impl Run {
    pub(crate) fn scenario(&self) -> Scenario {
        let bulk = TcpLoad {
            flows: self.bulk,
            bytes: 1_000_000_000,
            stagger: TimeDelta::from_millis(800),
            // Of the two congestion controls, only `sack` uses selective ACKs.
            sack: self.cc == "sack",
            ..TcpLoad::default()
        };
        let files = TcpLoad {
            flows: self.files,
            parallel: 1,
            bytes: 100_000,
            ..TcpLoad::default()
        };
        Scenario {
            seed: self.seed,
            tcp: vec![bulk, files],
            udp: vec![UdpLoad {
                datagrams: 400,
                ..UdpLoad::default()
            }],
            rate_bps: 4_000_000,
            queue_bytes: 40_000,
            delay: TimeDelta::from_millis(15),
            loss_ppm: 2_000,
            max_time: Some(TimeDelta::from_seconds(8)),
            ..Scenario::default()
        }
    }

    pub(crate) fn record(&self) -> Value {
        let mut traffic = Vec::new();
        let mut add = |class: &str, tool: &str, duration: Option<f64>| {
            traffic.push(json!({
                "name": format!("{class}-{}", traffic.len()), "class": class, "tool": tool,
                "from": "10.1.0.1", "to": "203.0.113.1", "port": 10_000 + traffic.len(),
                "start_s": 0.0, "duration_s": duration, "cc": self.cc,
            }));
        };
        // In the order of the simulator's port numbers.
        (0..self.bulk).for_each(|_| add("bulk", "iperf", Some(SECONDS)));
        add("file", "http", None);
        add("voice", "udp", Some(SECONDS));
        (1..self.files).for_each(|_| add("file", "http", None));
        json!({
            "schema": 1, "run": self.name, "cell": self.cell, "repetition": 1, "seed": self.seed,
            "plan_hash": "ab", "status": "complete", "reason": null,
            "parameters": {"cc": self.cc, "generators": self.bulk, "rate_mbps": 4.0},
            "varied": ["cc", "generators"], "t0_ns": T0_NS, "traffic": traffic,
            "bottleneck": {"forward": {"rate": "4mbit", "delay": "15ms"}},
            "calibration": null, "queue": null, "started_ns": 1, "finished_ns": 2,
        })
    }

    /// Adds the run's record and dataset to a sweep.
    fn write(&self, desk: &Desk) {
        let run = desk.path(&format!("runs/{}", self.name));
        std::fs::create_dir_all(&run).unwrap();
        let captures = simulate(&self.scenario());
        std::fs::write(run.join("src.pcap"), &captures.src).unwrap();
        std::fs::write(run.join("dst.pcap"), &captures.dst).unwrap();
        std::fs::write(run.join("run.json"), self.record().to_string()).unwrap();
        let at = format!("runs/{}", self.name);
        desk.bytes(&format!(
            "analyze {at}/src.pcap {at}/dst.pcap -o {at}/data --param run={} --quiet",
            self.name
        ));
    }
}

pub(crate) fn grid() -> Vec<Run> {
    let run = |name, cell, cc, bulk, seed| Run {
        name,
        cell,
        cc,
        bulk,
        files: 6,
        seed,
    };
    vec![
        run("r1", "c1", "sack", 1, 1),
        run("r2", "c2", "sack", 3, 2),
        run("r3", "c1", "sack", 1, 3),
        run("r4", "c2", "sack", 3, 4),
        run("r5", "c1", "sack", 1, 5),
        run("r6", "c2", "sack", 3, 6),
        run("r7", "c3", "plain", 1, 7),
        run("r8", "c4", "plain", 3, 8),
    ]
}

pub(crate) fn sweep(runs: &[Run]) -> Desk {
    let desk = Desk::with(&simulate(&Scenario {
        max_packets: Some(1),
        ..Scenario::default()
    }));
    for run in runs {
        run.write(&desk);
    }
    desk
}

/// Parses a CSV table without quoted cells; each row maps column names to values.
pub(crate) fn rows(table: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells = names.iter().zip(line.split(','));
        cells
            .map(|(name, cell)| ((*name).to_owned(), cell.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

/// Returns a Python with duckdb; skips the running test if there is none.
pub(crate) fn python() -> Option<String> {
    let wanted = std::env::var("TCPEXP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&wanted);
    command.args(["-c", "import duckdb"]).stderr(Stdio::null());
    let has_it = command.status().is_ok_and(|status| status.success());
    if !has_it {
        tcpexp_testkit::skip("needs a Python with duckdb, which TCPEXP_PYTHON can name");
    }
    has_it.then_some(wanted)
}

/// Returns the rows of a statement, run after those of `compare.sql`.
fn sql(python: &str, folder: &Path, statement: &str) -> Vec<BTreeMap<String, String>> {
    query(python, folder, include_str!("compare.sql"), statement)
}

/// Returns the rows of a statement about the files of a folder, run after the statements `views`.
pub(crate) fn query(
    python: &str,
    folder: &Path,
    views: &str,
    statement: &str,
) -> Vec<BTreeMap<String, String>> {
    const RUN: &str = "import duckdb, sys\n\
        tables = duckdb.connect()\n\
        tables.execute(sys.argv[1])\n\
        tables.execute('COPY (' + sys.argv[2] + ') TO \\'sql.csv\\' (HEADER)')\n";
    let output = Command::new(python)
        .args(["-c", RUN, views, statement])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    rows(&std::fs::read_to_string(folder.join("sql.csv")).unwrap())
}

/// Compares each number of `theirs` with the number of the same row and column of `ours`; returns
/// the count of compared numbers.
fn assert_agree(
    ours: &[BTreeMap<String, String>],
    theirs: &[BTreeMap<String, String>],
    keys: &[&str],
) -> usize {
    let mut compared = 0;
    for their in theirs {
        let is_same =
            |our: &&BTreeMap<String, String>| keys.iter().all(|key| our[*key] == their[*key]);
        let mut same = ours.iter().filter(is_same);
        let our = same.next().unwrap();
        assert!(same.next().is_none());
        for (name, value) in their
            .iter()
            .filter(|(name, _)| !keys.contains(&name.as_str()))
        {
            let place = format!(
                "{name} of {:?}",
                keys.iter().map(|key| &their[*key]).collect::<Vec<_>>()
            );
            let numbers = [&our[name], value].map(|number| number.parse::<f64>().ok());
            match numbers {
                [Some(a), Some(b)] => {
                    assert!(
                        (a - b).abs() <= 1e-9 * b.abs().max(1e-3),
                        "{place}: {a} and {b}"
                    );
                    compared += 1;
                }
                [a, b] => assert_eq!(a, b, "{place}"),
            }
        }
    }
    compared
}

#[test]
fn aggregates_agree_with_sql_over_the_raw_tables() {
    let Some(python) = python() else {
        return;
    };
    let runs = grid();
    let desk = sweep(&runs);
    desk.bytes(
        "compare . --warmup 2s --baseline generators=1 -o cells.csv --runs runs.csv --quiet",
    );
    let ours = rows(&text(&desk.get("runs.csv")));
    let theirs = sql(&python, &desk.path("."), "SELECT * FROM measured");
    // Three classes per run.
    assert_eq!(theirs.len(), 24);
    let compared = assert_agree(&ours, &theirs, &["run", "class"]);
    assert!(compared > 400, "{compared} numbers");

    let ours = rows(&text(&desk.get("cells.csv")));
    let theirs = sql(
        &python,
        &desk.path("."),
        "SELECT * EXCLUDE (runs) FROM cells",
    );
    assert_eq!(theirs.len(), 12);
    let compared = assert_agree(&ours, &theirs, &["cell", "class"]);
    assert!(compared > 200, "{compared} numbers");
}

#[test]
fn a_comparison_has_a_row_for_each_cell_and_class() {
    let mut runs = grid();
    runs.truncate(3);
    let desk = sweep(&runs);
    // The third run did not go as planned.
    let mut record = runs[2].record();
    record["status"] = json!("invalid");
    record["reason"] = json!("the router sent 3.1 Mbit/s");
    desk.put("runs/r3/run.json", record.to_string().as_bytes());
    assert_snapshot!(desk.text("compare . --warmup 2s --baseline generators=1"), @r"
    cc   generators class runs Mbit/s util % RTT ms    p95 loss %   Jain friend
    sack 1          all   1/2   3.804  99.80  80.40  107.2  1.456      -      -
    sack 1          bulk  1/2   3.272  85.54  80.40  105.5  0.413      -  1.000
    sack 1          file  1/2   1.061  27.80  86.45  108.1  9.524      -      -
    sack 1          voice 1/2   0.070  2.169  77.55  105.6  0.000      -  1.000
    sack 3          all   1     3.811  99.63  92.50  108.1  3.036  0.918      -
    sack 3          bulk  1     3.209  83.88  92.91  108.1  2.832  0.918  0.327
    sack 3          file  1     0.814  21.33  92.48  108.1  6.752      -      -
    sack 3          voice 1     0.069  2.133  89.45  107.0  0.333      -  0.984
    left out: r3 invalid (the router sent 3.1 Mbit/s)

    numbers         medians over runs, without the first 2 s
    1 run           some rates are null: the bins are too wide for the time measured
                    (of captures: analyze --bin)
    baseline        generators=1
    ");
    assert_eq!(
        desk.text("compare . --format csv").lines().count(),
        1 + 2 * 4
    );

    let failure = desk.failure("compare . --baseline cc=vegas");
    assert_snapshot!(failure, @"no cell has cc=vegas, so there is no baseline");
    let failure = desk.failure("compare runs");
    assert_snapshot!(failure, @"there is no run in runs: expected runs/<run>/run.json, or datasets of tcpexp analyze");
    let misuse = desk.misuse("compare . --baseline cc");
    assert_snapshot!(misuse, @"error: invalid value 'cc' for '--baseline <NAME=VALUE>': expected NAME=VALUE, such as cc=reno");
}
