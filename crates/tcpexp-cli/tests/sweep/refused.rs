//! Hosts that cannot take part: each gives one clear line, and no host is changed.

use std::net::TcpListener;

use insta::assert_snapshot;

use crate::bench::{Bench, said};

const PLAN: &str = r#"
[hosts.src1]
role = "source"
interface = "eth1"
address = "172.16.10.3"
[hosts.rtr]
role = "router"
left = "eth1"
right = "eth2"
[hosts.dst1]
role = "sink"
interface = "eth1"
address = "172.16.11.2"
[path.forward]
rate = "2mbit"
buffer = "30p"
[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "1s"
"#;

/// Returns a port of this machine without a listener.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_run_whose_record_cannot_be_read_is_not_repeated() {
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    let run = bench.path("out/runs/0001-of-a-later-version");
    std::fs::create_dir_all(&run).unwrap();
    bench.write("out/plan.toml", PLAN);
    let later = r#"{"schema": 1000}"#;
    for (record, why) in [("", "is not a record of a run"), (later, "has schema 1000")] {
        std::fs::write(run.join("run.json"), record).unwrap();
        let output = bench.tcpexp("sweep plan.toml -o out --resume");
        assert_eq!(output.status.code(), Some(1));
        let said = said(&output);
        assert!(said.contains("may be done already"), "{said}");
        assert!(said.contains(why), "{said}");
        assert!(run.join("run.json").exists());
    }
}

#[test]
fn each_unreachable_host_has_a_line() {
    if !tcpexp_testkit::has_programs(&["ssh"]) {
        return;
    }
    let bench = Bench::new();
    bench.write("plan.toml", PLAN);
    // Accepts the connection and then sends nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "Host src1\n HostName 127.0.0.1\n Port {}\nHost rtr\n HostName 127.0.0.1\n Port {}\n\
         Host dst1\n HostName nowhere.invalid\nHost *\n UserKnownHostsFile /dev/null\n",
        free_port(),
        silent.local_addr().unwrap().port()
    );
    bench.write("ssh", &config);
    let output = bench.tcpexp("sweep plan.toml -o out --ssh-config ssh");
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(said(&output), @r"
    runs remaining: 1 of 1
    tcpexp: dst1: the host name does not resolve and is not in the ssh configuration
    rtr: the host does not respond
    src1: connection refused: is sshd running there, on this port?
    ");
    let runs = std::fs::read_dir(bench.path("out/runs")).unwrap();
    assert_eq!(runs.count(), 0);
}

#[test]
fn invalid_plan_is_reported_before_any_change() {
    let bench = Bench::new();
    bench.write("plan.toml", &PLAN.replace("2mbit", "2mbits"));
    let output = bench.tcpexp("sweep plan.toml -o out");
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(said(&output), @r#"tcpexp: plan.toml:15: path.forward.rate: "2mbits" is not a rate: expected bits per second such as "800kbit", "1.5mbit" or "1gbit""#);
    assert!(!bench.path("out").exists());
}

#[test]
fn dry_run_of_the_baseline_example_prints_its_commands() {
    let plan = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/plans/single-flow-baseline.toml"
    );
    let output = Bench::new().tcpexp(&format!("sweep {plan} --dry-run"));
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_snapshot!(lines[..2].join("\n"), @r"
    126 cells x 1 = 126 runs, about 3 h 19 min
    varies: delay_ms, rate_mbps, buffer_packets, cc
    ");
    let runs: Vec<_> = lines.iter().filter(|line| line.contains(" cc=")).collect();
    assert_eq!(runs.len(), 7 * 3 * 3 * 2);
    for command in [
        "netem",
        "htb rate",
        "pfifo limit",
        "capture src1 data 96",
        "iperf3 -c 172.16.11.2",
    ] {
        assert!(text.contains(command), "{command}");
    }
}
