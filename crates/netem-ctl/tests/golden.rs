//! The commands for each bottleneck of `tests/bottlenecks`, on both systems.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use netem_ctl::{Bottleneck, Os, Router, Step, plan};

#[test]
fn each_bottleneck_has_its_commands() {
    let files = bottlenecks();
    assert!(files.len() >= 20);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut bottleneck = Bottleneck::from_toml(&text).unwrap();
        bottleneck.read_traces(file.parent().unwrap()).unwrap();
        let mut text = String::new();
        for (os, left, right) in [(Os::Linux, "r0", "r1"), (Os::FreeBsd, "vtnet1", "vtnet2")] {
            let (left, right) = (left.parse().unwrap(), right.parse().unwrap());
            let router = Router { os, left, right };
            writeln!(text, "# {os:?}").unwrap();
            match plan(&bottleneck, &router) {
                Ok(plan) => show(&mut text, &plan),
                Err(error) => writeln!(text, "refused: {error}").unwrap(),
            }
        }
        insta::assert_snapshot!(file.file_stem().unwrap().to_str().unwrap(), text);
    }
}

fn show(text: &mut String, plan: &netem_ctl::Plan) {
    for (direction, size) in ["forward", "reverse"].iter().zip(plan.queues) {
        if let Some(size) = size {
            let (packets, bytes) = (size.packets, size.bytes);
            writeln!(text, "{direction} queue: {packets} packets, {bytes} bytes").unwrap();
        }
    }
    // Leave out the clearing steps: they are the same in all plans and start each of them.
    for step in plan.apply.iter().filter(|step| !plan.clear.contains(step)) {
        writeln!(text, "{}", line(step)).unwrap();
    }
    for check in &plan.verify {
        writeln!(text, "? {}", check.argv.join(" ")).unwrap();
    }
}

fn line(step: &Step) -> String {
    let sign = if step.may_fail { "-" } else { "+" };
    format!("{sign} {}", step.line())
}

fn bottlenecks() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bottlenecks");
    let files = fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let is_description = |file: &PathBuf| file.extension().is_some_and(|end| end == "toml");
    let mut files: Vec<PathBuf> = files.filter(is_description).collect();
    files.sort();
    files
}

#[test]
fn bottleneck_of_the_guide_is_valid() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tcpexp/src/guide/bottlenecks.md");
    let guide = fs::read_to_string(guide).unwrap();
    let (_, rest) = guide.split_once("[forward]").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let bottleneck = Bottleneck::from_toml(&format!("[forward]{text}")).unwrap();
    let router = Router {
        os: Os::Linux,
        left: "eth1".parse().unwrap(),
        right: "eth2".parse().unwrap(),
    };
    let plan = plan(&bottleneck, &router).unwrap();
    assert_eq!(plan.queues[0].unwrap().packets, 34);
}

#[test]
fn clearing_deletes_only_our_own_names_and_numbers() {
    let router = |os| Router {
        os,
        left: "eth1".parse().unwrap(),
        right: "eth2".parse().unwrap(),
    };
    let lines = |os| {
        let steps = netem_ctl::clear(&router(os));
        steps.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(lines(Os::Linux), @"
    - tc qdisc del dev eth2 root handle 7b1:
    - tc qdisc del dev eth1 root handle 7b2:
    - tc filter del dev eth1 egress pref 7104
    - tc filter del dev eth1 ingress pref 7101
    - tc filter del dev eth1 ingress pref 7102
    - tc filter del dev eth1 ingress pref 7103
    - tc qdisc del dev eth1 clsact
    - tc filter del dev eth2 egress pref 7104
    - tc filter del dev eth2 ingress pref 7101
    - tc filter del dev eth2 ingress pref 7102
    - tc filter del dev eth2 ingress pref 7103
    - tc qdisc del dev eth2 clsact
    - ip link del group 7700
    ");
    insta::assert_snapshot!(lines(Os::FreeBsd), @"
    - ipfw -q delete set 17
    - ipfw -q queue delete 7101
    - ipfw -q sched delete 7101
    - ipfw -q pipe delete 7101 7110 7111 7112 7113 7114 7115 7116 7117 7118 7119 7120 7121 7122 7123 7124 7125 7126 7127 7128 7129 7130 7131 7132 7133 7134 7135 7136 7137 7138 7139 7140
    - ipfw -q queue delete 7301
    - ipfw -q sched delete 7301
    - ipfw -q pipe delete 7301 7310 7311 7312 7313 7314 7315 7316 7317 7318 7319 7320 7321 7322 7323 7324 7325 7326 7327 7328 7329 7330 7331 7332 7333 7334 7335 7336 7337 7338 7339 7340
    ");
}
