//! Malformed plans: each is refused at the line and the key that have the fault.

use std::path::Path;

use tcpexp_sweep::plan::Plan;

/// A plan without faults. The number of a line is its index in this text, from 1.
const PLAN: &str = r#"kind = "lab"
lab.sources = 2
[matrix]
cc = ["cubic", "reno"]
rate = ["2mbit", "10mbit"]
[path.forward]
delay = "10ms"
buffer = "30p"
queue = "codel"
ecn = true
[path.reverse]
rate = "1mbit"
buffer = "50p"
[[traffic]]
name = "bulk"
tool = "iperf3"
from = "src1"
duration = "10s"
[[traffic]]
name = "call"
tool = "udp"
from = "src2"
rate = "100kbit"
packet_bytes = 160
duration = "8s"
[[change]]
at = "3s"
delay = "20ms"
[prepare]
sysctl.net.ipv4.tcp_ecn = 1
[run]
repetitions = 3
[[log]]
name = "memory"
host = "src1"
command = ["free", "-b"]
interval = "1s"
columns = ["-", "total", "used"]
"#;

/// Text of the plan, what replaces it, and where the fault is: line and key.
const FAULTS: &[(&str, &str, usize, &str)] = &[
    ("kind = \"lab\"", "kind = \"lap\"", 1, "kind"),
    (
        "name = \"memory\"",
        "name = \"my memory\"",
        34,
        "log[1].name",
    ),
    ("host = \"src1\"", "host = \"src3\"", 35, "log[1].host"),
    ("[\"free\", \"-b\"]", "[]", 36, "log[1].command"),
    (
        "interval = \"1s\"",
        "interval = \"0s\"",
        37,
        "log[1].interval",
    ),
    ("\"used\"]", "\"total\"]", 38, "log[1].columns"),
    (
        "columns = [",
        "separator = \"tab\"\ncolumns = [",
        38,
        "log[1].separator",
    ),
    ("columns = [", "column = [", 38, "log[1].column"),
    ("lab.sources = 2", "lab.sources = 0", 2, "lab.sources"),
    ("lab.sources = 2", "lab.sources = 65", 2, "lab.sources"),
    ("lab.sources = 2", "lab.source = 2", 2, "lab.source"),
    ("\"reno\"]", "\"re no\"]", 4, "matrix.cc[2]"),
    ("\"reno\"]", "\"cubic\"]", 5, "matrix.rate[1]"),
    ("cc = [", "ccs = [", 4, "matrix.ccs"),
    ("\"10mbit\"]", "\"10mbits\"]", 5, "matrix.rate[2]"),
    ("\"10mbit\"]", "\"1kbit\"]", 5, "matrix.rate[2]"),
    ("\"10mbit\"]", "\"-1mbit\"]", 5, "matrix.rate[2]"),
    (
        "rate = [\"2mbit\", \"10mbit\"]",
        "rate = []",
        5,
        "matrix.rate",
    ),
    (
        "cc = [\"cubic\", \"reno\"]",
        "run.seed = [1, 2]",
        4,
        "matrix.run.seed",
    ),
    (
        "delay = \"10ms\"",
        "delay = \"10 m\"",
        7,
        "path.forward.delay",
    ),
    (
        "delay = \"10ms\"",
        "delay = \"11s\"",
        7,
        "path.forward.delay",
    ),
    (
        "delay = \"10ms\"",
        "jitter = \"1ms\"",
        7,
        "path.forward.jitter",
    ),
    (
        "delay = \"10ms\"",
        "dellay = \"10ms\"",
        7,
        "path.forward.dellay",
    ),
    (
        "buffer = \"30p\"",
        "buffer = \"30\"",
        8,
        "path.forward.buffer",
    ),
    (
        "buffer = \"30p\"",
        "buffer = \"100B\"",
        8,
        "path.forward.buffer",
    ),
    (
        "buffer = \"30p\"",
        "red_min = \"3kB\"",
        8,
        "path.forward.red_min",
    ),
    (
        "queue = \"codel\"",
        "queue = \"coddle\"",
        9,
        "path.forward.queue",
    ),
    (
        "queue = \"codel\"",
        "queue = \"pfifo\"",
        10,
        "path.forward.ecn",
    ),
    ("ecn = true", "ecn = \"yes\"", 10, "path.forward.ecn"),
    (
        "ecn = true",
        "flow_queues = 10",
        10,
        "path.forward.flow_queues",
    ),
    (
        "ecn = true",
        "police = \"1mbit\"",
        10,
        "path.forward.police",
    ),
    (
        "ecn = true",
        "slot_bytes = \"9kB\"",
        10,
        "path.forward.slot_bytes",
    ),
    ("ecn = true", "overhead = 1000", 10, "path.forward.overhead"),
    (
        "ecn = true",
        "linklayer = \"ptm\"",
        10,
        "path.forward.linklayer",
    ),
    (
        "rate = \"1mbit\"\nbuffer = \"50p\"\n",
        "queue = \"pie\"\n",
        12,
        "path.reverse.queue",
    ),
    (
        "buffer = \"50p\"\n",
        "loss = \"200%\"\n",
        13,
        "path.reverse.loss",
    ),
    ("name = \"bulk\"", "name = \"a b\"", 15, "traffic[1].name"),
    ("name = \"call\"", "name = \"bulk\"", 20, "traffic[2].name"),
    (
        "tool = \"iperf3\"",
        "tool = \"iperf4\"",
        16,
        "traffic[1].tool",
    ),
    (
        "tool = \"udp\"",
        "tool = \"iperf3\"",
        24,
        "traffic[2].packet_bytes",
    ),
    ("from = \"src2\"", "from = \"src3\"", 22, "traffic[2].from"),
    ("from = \"src2\"", "to = \"src1\"", 22, "traffic[2].to"),
    (
        "duration = \"10s\"",
        "duration = \"0s\"",
        18,
        "traffic[1].duration",
    ),
    ("duration = \"10s\"", "bytes = 10", 18, "traffic[1].bytes"),
    (
        "duration = \"10s\"\n",
        "duration = \"10s\"\ncount = 70000\n",
        19,
        "traffic[1].count",
    ),
    (
        "duration = \"10s\"\n",
        "duration = \"10s\"\nport = 70000\n",
        19,
        "traffic[1].port",
    ),
    (
        "duration = \"10s\"\n",
        "duration = \"10s\"\ndscp = \"eff\"\n",
        19,
        "traffic[1].dscp",
    ),
    (
        "duration = \"8s\"",
        "durations = \"8s\"",
        25,
        "traffic[2].durations",
    ),
    ("at = \"3s\"", "at = \"10s\"", 27, "change[1].at"),
    ("at = \"3s\"", "at = 3", 27, "change[1].at"),
    ("at = \"3s\"\n", "", 26, "change[1]"),
    ("delay = \"20ms\"", "queue = \"pie\"", 26, "change[1]"),
    ("delay = \"20ms\"", "cc = \"reno\"", 28, "change[1].cc"),
    ("[prepare]", "[prepared]", 29, "prepared"),
    (
        "sysctl.net.ipv4.tcp_ecn = 1",
        "sysctl.net.ipv4.tcp_ecn = 1.5",
        30,
        "prepare.sysctl.net.ipv4.tcp_ecn",
    ),
    (
        "sysctl.net.ipv4.tcp_ecn = 1",
        "mtu = 9000",
        30,
        "prepare.mtu",
    ),
    (
        "sysctl.net.ipv4.tcp_ecn = 1",
        "initcwnd = 0",
        30,
        "prepare.initcwnd",
    ),
    ("repetitions = 3", "repetitions = 0", 32, "run.repetitions"),
    (
        "repetitions = 3",
        "repetitions = 3\nrepetitions = 4",
        33,
        "repetitions",
    ),
    (
        "repetitions = 3",
        "on_failure = \"pause\"",
        32,
        "run.on_failure",
    ),
];

#[test]
fn each_fault_is_refused_at_its_line_and_key() {
    assert!(Plan::parse(Path::new("plan.toml"), PLAN).is_ok());
    let mut wrong = Vec::new();
    for (old, new, line, key) in FAULTS {
        assert!(PLAN.contains(old), "{old}");
        let text = PLAN.replacen(old, new, 1);
        let Err(error) = Plan::parse(Path::new("plan.toml"), &text) else {
            wrong.push(format!("{new:?} is accepted"));
            continue;
        };
        let error = error.to_string();
        // A parser's error about a whole line has no key.
        let is_at = error.starts_with(&format!("plan.toml:{line}: "));
        if !is_at || !error.contains(&format!(" {key}: ")) {
            wrong.push(format!("{new:?}: expected {line}: {key}, found {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(FAULTS.len() >= 30);
}
