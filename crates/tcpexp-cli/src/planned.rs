//! The planned runs of a sweep.

use std::path::Path;

use tcpexp_runs::compare::PlannedRun;
use tcpexp_runs::folders::RUNS;
use tcpexp_sweep::plan::Plan;
use tcpexp_sweep::schedule;
use tcpexp_units::counted;

use crate::failure;

/// The copy of the plan in the directory of a sweep.
pub(crate) const PLAN: &str = "plan.toml";

/// Names of missing runs that one line shows.
const SHOWN: usize = 3;

/// Reads the planned runs from the plan in the directory of a sweep; empty without a plan. Warns if the plan cannot
/// be read: an earlier version may have written it.
pub(crate) fn planned_runs(sweep: &Path) -> Vec<PlannedRun> {
    let path = sweep.join(PLAN);
    if !path.exists() {
        return Vec::new();
    }
    let plan = match Plan::read(&path) {
        Ok(plan) => plan,
        Err(error) => {
            let error = anyhow::Error::from(error);
            failure::print_line(&format!(
                "warning: cannot tell which planned runs are missing: {error:#}"
            ));
            return Vec::new();
        }
    };
    let runs = runs_of(&plan);
    let has_one = |runs: &[PlannedRun]| {
        let mut dirs = runs.iter().map(|run| sweep.join(RUNS).join(&run.run));
        dirs.any(|dir| dir.is_dir())
    };
    if has_one(&runs) {
        return runs;
    }
    // With `--lab` the runs are on the hosts of the testbed, which are part of the hash of a cell.
    let in_lab = plan.in_lab().ok().map(|plan| runs_of(&plan));
    in_lab.filter(|runs| has_one(runs)).unwrap_or(runs)
}

fn runs_of(plan: &Plan) -> Vec<PlannedRun> {
    let runs = schedule::runs(plan).into_iter().map(|run| PlannedRun {
        run: run.name(),
        cell: run.cell.hash.clone(),
        parameters: run.cell.parameters.clone(),
    });
    runs.collect()
}

/// The planned runs that have not ended, in words: `3 planned runs have not ended: 0001-6baa4272-r02, …`; `None`
/// if there is none.
pub(crate) fn missing(not_run: &[PlannedRun]) -> Option<String> {
    let verb = match not_run.len() {
        0 => return None,
        1 => "has",
        _ => "have",
    };
    let names = not_run.iter().take(SHOWN).map(|run| run.run.as_str());
    let mut names: Vec<&str> = names.collect();
    if not_run.len() > SHOWN {
        names.push("…");
    }
    let runs = counted(not_run.len(), "planned run");
    Some(format!("{runs} {verb} not ended: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn missing_runs_are_counted_and_the_first_are_named() {
        let text = |count: u32| {
            let run = |number| PlannedRun {
                run: format!("{number:04}-6baa4272-r01"),
                cell: "6baa4272".to_owned(),
                parameters: BTreeMap::new(),
            };
            missing(&(1..=count).map(run).collect::<Vec<_>>())
        };
        assert_eq!(text(0), None);
        assert_eq!(
            text(1).unwrap(),
            "1 planned run has not ended: 0001-6baa4272-r01"
        );
        assert_eq!(
            text(4).unwrap(),
            "4 planned runs have not ended: 0001-6baa4272-r01, 0002-6baa4272-r01, 0003-6baa4272-r01, …"
        );
    }

    #[test]
    fn planned_runs_are_those_of_all_cells_and_repetitions() {
        let folder = tempfile::tempdir().unwrap();
        assert!(planned_runs(folder.path()).is_empty());
        let plan = "kind = \"lab\"\nmatrix.cc = [\"cubic\", \"reno\"]\nrun.repetitions = 2\n[path.forward]\nrate = \
                    \"1mbit\"\nbuffer = \"9p\"\n[[traffic]]\nname = \"bulk\"\ntool = \"iperf3\"\nduration = \"1s\"\n";
        std::fs::write(folder.path().join(PLAN), plan).unwrap();
        let runs = planned_runs(folder.path());
        let ends: Vec<&str> = runs
            .iter()
            .map(|run| &run.run[run.run.len() - 3..])
            .collect();
        assert_eq!(ends, ["r01", "r01", "r02", "r02"]);
        let cells: BTreeSet<&str> = runs.iter().map(|run| run.cell.as_str()).collect();
        assert_eq!(cells.len(), 2);
    }

    #[test]
    fn runs_on_the_testbed_are_planned_by_a_plan_with_other_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let host = |name: &str, keys: &str| format!("[hosts.{name}]\nrole = \"{name}\"\n{keys}\n");
        let end = |network: u8| format!("interface = \"e0\"\naddress = \"10.0.{network}.2\"");
        let hosts = host("source", &end(1))
            + &host("sink", &end(2))
            + &host("router", "left = \"e0\"\nright = \"e1\"");
        let plan = format!(
            "{hosts}[path.forward]\nrate = \"1mbit\"\nbuffer = \"9p\"\n[[traffic]]\nname = \"bulk\"\ntool = \
             \"iperf3\"\nduration = \"1s\"\n"
        );
        std::fs::write(folder.path().join(PLAN), plan).unwrap();
        let plan = Plan::read(&folder.path().join(PLAN)).unwrap();
        let in_lab = runs_of(&plan.in_lab().unwrap());
        assert_ne!(planned_runs(folder.path())[0].run, in_lab[0].run);
        std::fs::create_dir_all(folder.path().join(RUNS).join(&in_lab[0].run)).unwrap();
        assert_eq!(planned_runs(folder.path())[0].run, in_lab[0].run);
    }
}
