//! Outputs that would overwrite inputs, names with control characters, and leftovers of killed
//! runs.

use crate::desk::{Desk, text};

#[test]
fn an_output_that_is_an_input_or_another_output_is_refused() {
    let desk = Desk::new();
    desk.text("analyze src.pcap dst.pcap -o data --quiet");
    let before = ["src.pcap", "dst.pcap", "data/rtt.parquet"].map(|name| desk.get(name));
    let [input, twice, dataset] = [
        "is an input: name another file for the output",
        "is named for two outputs",
        "is in the directory of a dataset, which only `analyze` and `merge` write",
    ];
    for (line, why) in [
        ("rtt src.pcap dst.pcap -o src.pcap --format csv", input),
        ("rtt src.pcap dst.pcap -o ./dst.pcap --format csv", input),
        ("path src.pcap dst.pcap --flows data/../src.pcap", input),
        ("rtt src.pcap dst.pcap -o out.csv --flows out.csv", twice),
        (
            "rtt src.pcap dst.pcap --format csv -o out.svg --plot out.svg",
            twice,
        ),
        ("flows src.pcap -o data/rtt.parquet", dataset),
        ("plot ecdf data --x rtt_ms -o data/rtt.svg", dataset),
        ("import tcpinfo src.pcap -o x.csv --events x.csv", twice),
        ("analyze src.pcap --log ss=dst.pcap -o dst.pcap", input),
    ] {
        let message = desk.misuse(line);
        assert!(message.contains(why), "{line}: {message}");
    }
    let after = ["src.pcap", "dst.pcap", "data/rtt.parquet"].map(|name| desk.get(name));
    assert!(before == after);
    assert_eq!(desk.written(), ["data"]);
}

#[test]
#[cfg(unix)]
fn an_input_under_another_name_is_refused_as_an_output() {
    let desk = Desk::new();
    std::fs::hard_link(desk.path("src.pcap"), desk.path("hard.csv")).unwrap();
    std::os::unix::fs::symlink("src.pcap", desk.path("soft.csv")).unwrap();
    std::fs::create_dir(desk.path("pair")).unwrap();
    desk.put("pair/src.pcap", &desk.get("src.pcap"));
    desk.put("pair/probe.csv", b"time,src\n");
    for line in [
        "flows src.pcap -o hard.csv",
        "flows src.pcap -o soft.csv",
        "score pair -o pair/probe.csv",
    ] {
        let message = desk.misuse(line);
        assert!(message.contains("is an input"), "{line}: {message}");
    }
    assert!(desk.get("pair/probe.csv") == b"time,src\n");
}

#[test]
#[cfg(unix)]
fn a_symbolic_link_stays_and_leads_to_the_output() {
    use std::os::unix::fs::symlink;

    let desk = Desk::new();
    std::fs::create_dir(desk.path("disk")).unwrap();
    let links = [("disk/flows.csv", "flows.csv"), ("disk/data", "data")];
    for (target, link) in links {
        symlink(target, desk.path(link)).unwrap();
    }
    // The first run creates what the links lead to, the second replaces it.
    for _ in 0..2 {
        desk.text("flows src.pcap -o flows.csv");
        desk.text("analyze src.pcap dst.pcap -o data --quiet");
    }
    for (target, link) in links {
        let found = std::fs::read_link(desk.path(link)).unwrap();
        assert_eq!(found, std::path::Path::new(target));
    }
    assert!(!desk.get("disk/flows.csv").is_empty());
    assert!(!desk.get("disk/data/manifest.json").is_empty());
    let twice = desk.misuse("rtt src.pcap dst.pcap -o flows.csv --flows disk/flows.csv");
    assert!(twice.contains("is named for two outputs"), "{twice}");
}

#[test]
fn flows_beyond_the_limit_are_counted() {
    let desk = Desk::empty();
    let line = |flow| format!("0.{} > S 100 flow {flow}\n", 100 + flow);
    let syns: String = (0..100).map(line).collect();
    desk.put("syns.pcap", &tcpexp_testkit::script::capture(&syns));
    let shed = "too many flows at once: ";
    for command in ["flows", "rtt", "throughput", "cwnd", "analyze"] {
        let name = if command == "analyze" { "-o data" } else { "" };
        let output = desk.run(&format!("{command} syns.pcap --max-flows 16 {name}"));
        let message = text(&output.stderr);
        assert!(message.contains(shed), "{command}: {message}");
        let output = desk.run(&format!("{command} syns.pcap --max-flows 100 {name}"));
        let message = text(&output.stderr);
        assert!(!message.contains(shed), "{command}: {message}");
    }
    assert!(
        desk.misuse("flows syns.pcap --max-flows 0")
            .contains("--max-flows")
    );
}

#[test]
#[cfg(unix)]
fn standard_output_that_is_an_input_is_refused() {
    let desk = Desk::new();
    let line = format!(
        "'{}' rtt src.pcap dst.pcap --format csv >> src.pcap",
        env!("CARGO_BIN_EXE_tcpexp")
    );
    let before = desk.get("src.pcap");
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(desk.path("."))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    let why = "standard output is src.pcap, which is also an input";
    assert!(message.contains(why), "{message}");
    assert!(desk.get("src.pcap") == before);
}

#[test]
fn file_names_cannot_control_a_terminal() {
    let desk = Desk::new();
    let name = "a\u{1b}]0;title\u{7}\nb\u{9b}.pcap";
    desk.put(name, &desk.get("src.pcap"));
    let shown = "a\\x1b]0;title\\x07\\nb\\u{9b}.pcap";
    let run = |words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tcpexp"))
            .args(words)
            .current_dir(desk.path("."))
            .output()
            .unwrap();
        let text = text(&[output.stdout, output.stderr].concat());
        let acts = text
            .chars()
            .find(|&found| found.is_control() && found != '\n');
        assert_eq!(acts, None, "{text}");
        text
    };
    assert!(run(&["info", name]).starts_with(&format!("{shown}\n")));
    assert!(run(&["flows", name, "src.pcap"]).starts_with(&format!("{shown}\n")));
    assert!(run(&["rtt", name, "missing\u{1b}[2J.pcap"]).contains("missing\\x1b[2J.pcap"));
    assert!(run(&["rtt", "src.pcap", "-o", name]).contains(shown));
    assert!(run(&["no\u{1b}[2Jcommand"]).contains("command"));
}

#[test]
fn remains_of_a_killed_run_are_removed_by_the_next_run() {
    let desk = Desk::new();
    desk.put(".tcpexp-abc123.partial", b"half a table");
    std::fs::create_dir(desk.path(".tcpexp-def456.partial")).unwrap();
    desk.put(".tcpexp-def456.partial/rtt.parquet", b"half a table");
    desk.text("rtt src.pcap dst.pcap -o rtt.csv --quiet");
    assert_eq!(desk.written(), ["rtt.csv"]);
}
