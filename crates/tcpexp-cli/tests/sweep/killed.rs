//! Killed sweeps leave nothing behind, can be resumed, and end with the dataset of an undisturbed
//! sweep.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, has_lab, numbers, said};
use tcpexp_testkit::has_minutes;

const PLAN: &str = include_str!("killed.toml");

#[test]
#[ignore = "takes minutes: cargo test -p tcpexp-cli --test sweep -- --ignored --nocapture"]
fn sweep_killed_in_each_phase_leaves_nothing_and_completes() {
    let plan = PLAN.replace(r#"rate = ["4mbit", "8mbit"]"#, r#"rate = ["4mbit"]"#);
    killed_in_a_guest(&plan, 4, 4711);
}

#[test]
#[ignore = "takes minutes: cargo test -p tcpexp-cli --test sweep -- --ignored --nocapture"]
fn sweep_killed_twenty_times_leaves_nothing_and_completes() {
    killed_in_a_guest(PLAN, 20, 42);
}

/// Kills the driver, a connection, a generator or a logger `kills` times. Compares the final
/// results with those of an undisturbed sweep in the same guest.
fn killed_in_a_guest(plan: &str, kills: usize, seed: u32) {
    if !has_lab() {
        return;
    }
    let bench = Bench::new();
    bench.share("killed.sh", include_str!("killed.sh"), plan);
    let words = format!(
        "lab run --limit 14000 --share share --out out -- bash /share/killed.sh {kills} {seed}"
    );
    let (status, text) = bench.follow(&words);
    assert!(status.success(), "{status}");
    assert!(text.ends_with("all is as it was\n"), "{text}");
    for kind in ["driver", "connection", "generator", "logger"] {
        let count = text.matches(&format!("\nkilled {kind} at")).count();
        assert_eq!(count, kills / 4, "{kind}: {text}");
    }
    // All runs are complete, so this sweep only analyses them.
    bench.write("plan.toml", plan);
    for sweep in ["undisturbed", "sweep"] {
        let output = bench.tcpexp(&format!("sweep plan.toml -o out/{sweep} --resume"));
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains("0 of "), "{}", said(&output));
    }
    same_dataset(&bench);
}

/// Checks that both sweeps have the same runs with the same tables. Two runs in one guest differ in
/// identifications, sequence numbers and clock phase, so their measurements differ by a few
/// packets.
fn same_dataset(bench: &Bench) {
    let (whole, killed) = (bench.records("out/undisturbed"), bench.records("out/sweep"));
    assert_eq!(whole.len(), killed.len());
    for ((whole_dir, whole), (killed_dir, killed)) in whole.iter().zip(&killed) {
        assert_eq!(asked(whole), asked(killed));
        assert_eq!(killed["status"], "complete", "{killed}");
        let [left, right] = [whole_dir, killed_dir].map(|dir| tables(dir));
        assert_eq!(schemas(&left), schemas(&right));
        let rows = |tables: &BTreeMap<String, Value>, name: &str| {
            tables[name]["rows"].as_f64().unwrap_or_default()
        };
        for table in ["flows", "logs"] {
            let rows = [rows(&left, table), rows(&right, table)];
            is_near(table, rows[0], rows[1], 0.0);
        }
        let least = |dir: &Path, table: &str, column: &str| {
            let all = numbers(&dir.join(format!("data/{table}.parquet")), column);
            all.into_iter().fold(f64::INFINITY, f64::min)
        };
        let most = |dir: &Path| {
            let all = numbers(&dir.join("data/rtt.parquet"), "rtt_ms");
            all.into_iter().fold(0.0, f64::max)
        };
        let base = [whole_dir, killed_dir].map(|dir| least(dir, "rtt", "rtt_ms"));
        is_near("base RTT", base[0], base[1], 0.02);
        let full = [whole_dir, killed_dir].map(|dir| most(dir));
        is_near("RTT with the queue full", full[0], full[1], 0.05);
        let sent = [whole, killed].map(|record| record["queue"]["packets_sent"].as_f64().unwrap());
        is_near("packets of the queue", sent[0], sent[1], 0.05);
    }
}

fn is_near(what: &str, one: f64, other: f64, share: f64) {
    let off = (one - other).abs();
    assert!(off <= share * one, "{what} is {one} and {other}");
}

/// Returns the fields of a record that come from its plan, without results.
fn asked(record: &Value) -> Value {
    let names = [
        "run",
        "cell",
        "repetition",
        "seed",
        "plan_hash",
        "parameters",
        "varied",
        "captures",
        "logs",
        "traffic",
        "bottleneck",
    ];
    let mut record = record.clone();
    for capture in record["captures"].as_array_mut().into_iter().flatten() {
        let capture = capture.as_object_mut().unwrap();
        capture.retain(|name, _| !name.starts_with("packets_"));
    }
    names.iter().map(|name| record[name].clone()).collect()
}

/// Returns a record without its end time, which depends on how fast this machine takes the guest's
/// output.
fn measured(record: &Value) -> Value {
    let mut record = record.clone();
    record["finished_ns"].take();
    record
}

/// Returns the tables of a run's dataset by name, from its manifest.
fn tables(run: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(run.join("data/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let tables = manifest["tables"].as_array().unwrap().iter();
    let named = |table: &Value| (table["name"].as_str().unwrap().to_owned(), table.clone());
    tables.map(named).collect()
}

/// Returns the descriptions of all tables, without row counts, sizes and hashes.
fn schemas(tables: &BTreeMap<String, Value>) -> Vec<Value> {
    let without = |table: &Value| {
        let mut table = table.clone();
        for name in ["rows", "bytes", "sha256"] {
            table[name] = json!(null);
        }
        table
    };
    tables.values().map(without).collect()
}

/// With one guest per run, two runs with one seed are identical bit for bit.
#[test]
fn killed_and_resumed_guest_sweep_is_bit_identical_to_an_undisturbed_one() {
    if !has_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    let plan = PLAN.replace(r#"rate = ["4mbit", "8mbit"]"#, r#"rate = ["4mbit"]"#);
    let plan = plan.replace("repetitions = 2", "repetitions = 1");
    // Adds all random effects.
    let plan = plan.replace(
        r#"delay = "5ms""#,
        "delay = \"5ms\"\njitter = \"1ms\"\nloss = \"1%\"",
    );
    let plan = plan.replace("[loggers]", "[loggers]\ntcp_probe = true");
    let plan = plan.replace("[run]", "[run]\nseed = 7\nstart_jitter = \"50ms\"");
    bench.write("plan.toml", &plan);
    let began = Instant::now();
    let output = bench.tcpexp("sweep plan.toml -o whole");
    assert!(output.status.success(), "{}", said(&output));
    let each = began.elapsed() / 2;
    // Kills the sweep during the first run, and during the second.
    for share in [0.4, 1.5] {
        let mut command = bench.command("sweep plan.toml -o killed --resume");
        command.process_group(0).stderr(Stdio::null());
        let mut driver = command.spawn().unwrap();
        thread::sleep(each.mul_f64(share));
        driver.kill().unwrap();
        driver.wait().unwrap();
        bench.is_left_alone();
    }
    let output = bench.tcpexp("sweep plan.toml -o killed --resume");
    assert!(output.status.success(), "{}", said(&output));
    bench.is_left_alone();
    let all = [bench.records("whole"), bench.records("killed")];
    assert_eq!(all[0].len(), 2);
    for ((whole, record), (killed, again)) in all[0].iter().zip(&all[1]) {
        assert_eq!(record["status"], "complete", "{record}");
        assert_eq!(measured(record), measured(again));
        // Only the manifest contains directory names.
        for folder in ["captures", "logs", "data"] {
            for entry in fs::read_dir(whole.join(folder)).unwrap() {
                let name = Path::new(folder).join(entry.unwrap().file_name());
                if !name.ends_with("manifest.json") {
                    let both = [whole, killed].map(|run| fs::read(run.join(&name)).unwrap());
                    assert!(both[0] == both[1], "{} differs", name.display());
                }
            }
        }
    }
}

impl Bench {
    /// Fails if a process or a temporary file of the sweep remains for long.
    fn is_left_alone(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left: {left:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns temporary files, and processes that refer to this bench.
    fn left(&self) -> Vec<String> {
        let name = self.path("").display().to_string();
        let files = fs::read_dir(self.path("tmp")).unwrap();
        let files = files.map(|entry| entry.unwrap().path().display().to_string());
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let text = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
            let text = String::from_utf8_lossy(&text).replace('\0', " ");
            text.contains(&name).then_some(text)
        });
        files.chain(processes).collect()
    }
}
