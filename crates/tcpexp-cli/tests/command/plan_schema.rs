//! The JSON Schema of plans, checked by an independent validator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::desk::{Desk, text};

/// A plan whose parts the tests replace.
const PLAN: &str = r#"kind = "lab"

[matrix]
cc = ["cubic", "reno"]
rate = ["2mbit", "10mbit"]

[path.forward]
delay = "10ms"
buffer = "30p"

[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "10s"
"#;

/// Faults that a schema can see, each as a part of [`PLAN`] and its replacement.
const SEEN: [(&str, &str); 30] = [
    ("kind = \"lab\"", "kind = \"moon\""),
    ("kind = \"lab\"", "kind = 3"),
    ("kind = \"lab\"", "kinds = \"lab\""),
    ("kind = \"lab\"", "kind = \"lab\"\nlab.sources = 256"),
    ("kind = \"lab\"", "kind = \"lab\"\nlab.hosts = 2"),
    (
        "kind = \"lab\"",
        "kind = \"lab\"\nhosts.a = { interface = \"eth1\" }",
    ),
    (
        "kind = \"lab\"",
        "kind = \"lab\"\nhosts.a.role = \"sender\"",
    ),
    ("\"10mbit\"]", "\"10mbits\"]"),
    ("\"10mbit\"]", "10]"),
    ("rate = [\"2mbit\", \"10mbit\"]", "rate = []"),
    ("rate = [\"2mbit\", \"10mbit\"]", "rate = \"2mbit\""),
    ("cc = [", "cca = ["),
    ("[matrix]", "[matrix]\npath.forward.buffers = [\"1p\"]"),
    ("[matrix]", "[matrix]\nexclude = [\"reno\"]"),
    ("delay = \"10ms\"", "delay = 10"),
    ("delay = \"10ms\"", "delay = \"10\""),
    ("delay = \"10ms\"", "delay = \"10 msec\""),
    ("buffer =", "bufer ="),
    ("buffer = \"30p\"", "buffer = \"30 packets\""),
    ("buffer = \"30p\"", "buffer = \"30p\"\nqueue = \"codle\""),
    ("buffer = \"30p\"", "buffer = \"30p\"\nloss = \"half\""),
    (
        "buffer = \"30p\"",
        "buffer = \"30p\"\nloss = { enter_bad = \"1%\" }",
    ),
    ("tool = \"iperf3\"", "tool = \"iperf9\""),
    ("name = \"bulk\"\n", ""),
    ("duration = \"10s\"", "durations = \"10s\""),
    (
        "duration = \"10s\"",
        "duration = \"10s\"\nsizes = [\"1kB\"]",
    ),
    ("duration = \"10s\"", "duration = \"10s\"\nport = 65536"),
    ("duration = \"10s\"", "duration = \"10s\"\ncount = -1"),
    ("[[traffic]]", "[[change]]\nrate = \"5mbit\"\n[[traffic]]"),
    (
        "[[traffic]]",
        "[[change]]\nat = \"3s\"\nrate = \"5\"\n[[traffic]]",
    ),
];

/// Faults of plans without a matrix, which could have set the missing key.
const SEEN_WITHOUT_MATRIX: [(&str, &str); 3] = [
    ("tool = \"iperf3\"\n", ""),
    ("duration = \"10s\"\n", ""),
    ("[path.forward]\ndelay = \"10ms\"\nbuffer = \"30p\"\n", ""),
];

/// Validates plans against `schema.json`; prints the names of those that it refuses.
const VALIDATE: &str = r#"
import json, sys, tomllib
from jsonschema import Draft7Validator

schema = json.load(open("schema.json"))
Draft7Validator.check_schema(schema)
validator = Draft7Validator(schema)
for name in sys.argv[1:]:
    with open(name, "rb") as plan:
        for error in validator.iter_errors(tomllib.load(plan)):
            print(name, error.json_path, error.message.replace("\n", " ")[:200])
"#;

/// Returns the complaints of the validator about plans on the desk; `None` without a validator.
fn complaints(desk: &Desk, plans: &[String]) -> Option<String> {
    let python = std::env::var("TCPEXP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_validator = Command::new(&python)
        .args(["-c", "import jsonschema, tomllib"])
        .output();
    if !has_validator.is_ok_and(|output| output.status.success()) {
        tcpexp_testkit::skip("needs a Python with jsonschema, which TCPEXP_PYTHON can name");
        return None;
    }
    desk.put("schema.json", desk.text("sweep --schema").as_bytes());
    let mut command = Command::new(python);
    command.args(["-c", VALIDATE]).args(plans);
    let output = command.current_dir(desk.path("")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// Puts plans on a desk, each under a number.
fn desk_with<'a>(plans: impl Iterator<Item = &'a str>) -> (Desk, Vec<String>) {
    let desk = Desk::empty();
    let put = |(number, plan): (usize, &str)| {
        let name = format!("{number}.toml");
        desk.put(&name, plan.as_bytes());
        name
    };
    let names = plans.enumerate().map(put).collect();
    (desk, names)
}

/// Collects the plans under a folder of the repository.
fn collect(folder: &Path, plans: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, plans);
        } else if path
            .extension()
            .is_some_and(|ending| ending == "toml" || ending == "md")
        {
            plans.push(path);
        }
    }
}

/// The plans of the examples, of the tests and of the guide.
fn published() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in [
        "examples",
        "fixtures",
        "crates/tcpexp-cli/tests/sweep",
        "crates/tcpexp/src/guide",
    ] {
        collect(&root.join(folder), &mut files);
    }
    let mut plans = Vec::new();
    for file in files {
        let found = fs::read_to_string(&file).unwrap();
        if file.extension().is_some_and(|ending| ending == "toml") {
            plans.push(found);
            continue;
        }
        let blocks = found.split("\n```toml").skip(1);
        let body = |block: &str| Some(block.split_once('\n')?.1.split("\n```").next()?.to_owned());
        plans.extend(blocks.filter_map(body));
    }
    plans.retain(|plan| plan.contains("[[traffic]]") && plan.contains("[path"));
    plans
}

#[test]
fn schema_accepts_every_published_plan() {
    let plans = published();
    assert!(plans.len() >= 12, "{}", plans.len());
    let (desk, names) = desk_with(plans.iter().map(String::as_str));
    let Some(complaints) = complaints(&desk, &names) else {
        return;
    };
    assert_eq!(complaints, "");
}

#[test]
fn schema_refuses_plans_whose_fault_it_can_see() {
    let changed = |plan: &str, (old, new): &(&str, &str)| {
        assert!(plan.contains(old), "{old}");
        plan.replace(old, new)
    };
    let rate = "[path.forward]\n";
    let (before, after) = PLAN.split_once("[matrix]").unwrap();
    let after = after.split_once(rate).unwrap().1;
    let without_matrix = format!("{before}{rate}{after}");
    let with = SEEN.iter().map(|fault| changed(PLAN, fault));
    let without = SEEN_WITHOUT_MATRIX
        .iter()
        .map(|fault| changed(&without_matrix, fault));
    let plans: Vec<String> = with.chain(without).collect();
    let (desk, names) = desk_with(plans.iter().map(String::as_str));
    desk.put("whole.toml", PLAN.as_bytes());
    for name in &names {
        let output = desk.run(&format!("sweep {name} --dry-run"));
        assert_eq!(output.status.code(), Some(1), "{name} is accepted");
    }
    desk.text("sweep whole.toml --dry-run");
    let all: Vec<String> = names
        .iter()
        .cloned()
        .chain(["whole.toml".to_owned()])
        .collect();
    let Some(complaints) = complaints(&desk, &all) else {
        return;
    };
    for (name, plan) in names.iter().zip(&plans) {
        let is_refused = complaints
            .lines()
            .any(|line| line.starts_with(&format!("{name} ")));
        assert!(is_refused, "the schema accepts {plan}");
    }
    assert!(!complaints.contains("whole.toml"), "{complaints}");
}
