//! Checks the dependencies between crates against the table in `crates/README.md`.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Each crate, after all crates that it may use, with the workspace crates that it may use.
const MAY_USE: [(&str, &[&str]); 20] = [
    ("tcpexp-units", &[]),
    ("tcpexp-store", &[]),
    ("tcpexp-host", &[]),
    ("tcpexp-capture", &["tcpexp-units"]),
    ("tcpexp-wire", &[]),
    ("tcpexp-flow", &["tcpexp-units", "tcpexp-wire"]),
    (TESTKIT, &["tcpexp-units", "tcpexp-wire", "tcpexp-flow"]),
    ("tcpexp-metrics", &["tcpexp-units"]),
    (
        "tcpexp-pair",
        &[
            "tcpexp-units",
            "tcpexp-wire",
            "tcpexp-flow",
            "tcpexp-metrics",
        ],
    ),
    (
        "tcpexp-measure",
        &[
            "tcpexp-units",
            "tcpexp-wire",
            "tcpexp-flow",
            "tcpexp-metrics",
            "tcpexp-pair",
        ],
    ),
    (
        "tcpexp-logs",
        &[
            "tcpexp-units",
            "tcpexp-wire",
            "tcpexp-flow",
            "tcpexp-metrics",
            "tcpexp-pair",
            "tcpexp-measure",
        ],
    ),
    (
        "tcpexp-table",
        &[
            "tcpexp-units",
            "tcpexp-flow",
            "tcpexp-metrics",
            "tcpexp-pair",
            "tcpexp-measure",
            "tcpexp-logs",
        ],
    ),
    (
        "tcpexp-chart",
        &[
            "tcpexp-units",
            "tcpexp-metrics",
            "tcpexp-pair",
            "tcpexp-measure",
            "tcpexp-table",
        ],
    ),
    (
        "tcpexp-runs",
        &["tcpexp-units", "tcpexp-metrics", "tcpexp-table"],
    ),
    ("netem-ctl", &["tcpexp-units", "tcpexp-host"]),
    (
        "tcpexp-sweep",
        &["tcpexp-units", "tcpexp-host", "netem-ctl", "tcpexp-runs"],
    ),
    (
        "tcpexp",
        &[
            "tcpexp-units",
            "tcpexp-store",
            "tcpexp-host",
            "tcpexp-capture",
            "tcpexp-wire",
            "tcpexp-flow",
            "tcpexp-metrics",
            "tcpexp-pair",
            "tcpexp-measure",
            "tcpexp-logs",
            "tcpexp-table",
            "tcpexp-chart",
            "tcpexp-runs",
        ],
    ),
    ("tcpexp-lab", &["tcpexp-units", "tcpexp-host"]),
    (
        "tcpexp-cli",
        &[
            "tcpexp-units",
            "tcpexp-host",
            "tcpexp-store",
            "tcpexp-capture",
            "tcpexp-wire",
            "tcpexp-flow",
            "tcpexp-metrics",
            "tcpexp-pair",
            "tcpexp-measure",
            "tcpexp-logs",
            "tcpexp-table",
            "tcpexp-chart",
            "tcpexp-runs",
            "netem-ctl",
            "tcpexp",
            "tcpexp-lab",
            "tcpexp-sweep",
        ],
    ),
    ("tcpexp-python", &["tcpexp-cli"]),
];

/// The crate for tests; no other code may use it.
const TESTKIT: &str = "tcpexp-testkit";

/// A dependency of one workspace crate on another.
#[derive(Debug)]
struct Use {
    user: String,
    needs: String,
    is_for_tests: bool,
}

#[test]
fn crates_import_only_allowed_crates() {
    let (crates, uses) = manifests();
    let mut breaches: Vec<String> = uses.iter().filter_map(Use::breach).collect();
    for name in &crates {
        if place(name).is_none() {
            breaches.push(format!("{name} has no row in the table of this test"));
        }
    }
    for (name, _) in MAY_USE {
        if !crates.iter().any(|known| known == name) {
            breaches.push(format!(
                "{name} has a row in the table of this test and no crate"
            ));
        }
    }
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn table_has_no_cycle() {
    for (name, may_use) in MAY_USE {
        for used in may_use {
            assert!(place(used) < place(name), "{name} stands before {used}");
        }
    }
}

#[test]
fn violation_names_the_crate_and_the_rule() {
    let breach = |user: &str, needs: &str, is_for_tests| {
        let (user, needs) = (user.to_owned(), needs.to_owned());
        Use {
            user,
            needs,
            is_for_tests,
        }
        .breach()
    };
    assert_eq!(breach("tcpexp-flow", "tcpexp-wire", false), None);
    assert_eq!(breach("tcpexp-table", "tcpexp-flow", true), None);
    assert_eq!(breach("tcpexp-wire", TESTKIT, true), None);
    let breaches = [
        breach("tcpexp-wire", "tcpexp-units", false),
        breach("tcpexp-flow", "tcpexp-capture", false),
        breach("tcpexp", TESTKIT, false),
        breach("tcpexp-flow", "tcpexp-measure", true),
    ];
    insta::assert_snapshot!(breaches.map(Option::unwrap).join("\n"), @r"
    tcpexp-wire uses tcpexp-units, but may use none of our crates
    tcpexp-flow uses tcpexp-capture, but may use only tcpexp-units, tcpexp-wire
    tcpexp uses tcpexp-testkit, which is for [dev-dependencies] only
    tcpexp-flow uses tcpexp-measure in its tests, which does not stand before it
    ");
}

impl Use {
    /// Returns the rule that this dependency breaks, if any.
    fn breach(&self) -> Option<String> {
        let Self {
            user,
            needs,
            is_for_tests,
        } = self;
        if *is_for_tests {
            // Tests may also use crates that their own crate must not use.
            let is_fine = needs == TESTKIT || place(needs) < place(user);
            return (!is_fine).then(|| {
                format!("{user} uses {needs} in its tests, which does not stand before it")
            });
        }
        if needs == TESTKIT {
            return Some(format!(
                "{user} uses {needs}, which is for [dev-dependencies] only"
            ));
        }
        let may_use = place(user).map_or(&[][..], |place| MAY_USE[place].1);
        if may_use.contains(&needs.as_str()) {
            return None;
        }
        let allowed = match may_use {
            [] => "none of our crates".to_owned(),
            some => format!("only {}", some.join(", ")),
        };
        Some(format!("{user} uses {needs}, but may use {allowed}"))
    }
}

fn place(name: &str) -> Option<usize> {
    MAY_USE.iter().position(|(known, _)| *known == name)
}

/// Returns the crates under `crates/` and their dependencies, as Cargo reads the manifests.
fn manifests() -> (Vec<String>, Vec<Use>) {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(home)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_ours = |path: &Value| {
        path.as_str()
            .is_some_and(|path| Path::new(path).starts_with(home))
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut crates = Vec::new();
    let mut uses = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        if !is_ours(&package["manifest_path"]) {
            continue;
        }
        crates.push(text(&package["name"]));
        for dependency in package["dependencies"].as_array().unwrap() {
            if is_ours(&dependency["path"]) {
                uses.push(Use {
                    user: text(&package["name"]),
                    needs: text(&dependency["name"]),
                    is_for_tests: dependency["kind"] == "dev",
                });
            }
        }
    }
    (crates, uses)
}
