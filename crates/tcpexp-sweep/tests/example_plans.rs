//! The plans that come with the project.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::path::{Path, PathBuf};

use tcpexp_sweep::plan::Plan;

#[test]
fn every_example_plan_is_valid() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut plans = Vec::new();
    collect(&examples.join("plans"), &mut plans);
    collect(&examples.join("studies"), &mut plans);
    assert!(plans.len() >= 8, "{plans:?}");
    for path in plans {
        let plan = Plan::read(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(!plan.cells.is_empty(), "{}", path.display());
    }
}

fn collect(folder: &Path, plans: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, plans);
        } else if path.extension().is_some_and(|ending| ending == "toml")
            // Published results of a study, not a plan.
            && !path.ends_with("study.toml")
        {
            plans.push(path);
        }
    }
}
