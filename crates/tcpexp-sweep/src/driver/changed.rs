//! How a plan differs from the plan that the runs of a directory were made with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use tcpexp_runs::folders::RUNS;
use tcpexp_runs::varied::settings;

use crate::plan::{Cell, Kind, Plan, PlanError};

/// The cells of a plan that another version of the plan does not have, and the reverse. Each message
/// names the first of these cells by their parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanChanges {
    /// Cells with parameters that the old plan does not have.
    pub new: Vec<String>,
    /// Cells with the parameters of old ones, but with other settings: they run again.
    pub changed: Vec<String>,
    /// Cells of the old plan that the new one does not have. Their runs stay.
    pub orphaned: Vec<String>,
    /// The seeds of the old and the new plan, if they differ. A seed determines the order of the runs and their
    /// start jitter.
    pub seeds: Option<[u64; 2]>,
}

/// Compares `plan` with the plan of the runs in `dir`, which has no changes if there are no runs.
pub fn plan_changes(dir: &Path, plan: &Plan) -> Result<PlanChanges, PlanError> {
    if !dir.join(RUNS).is_dir() {
        return Ok(PlanChanges::default());
    }
    let old = Plan::read(&dir.join("plan.toml"))?;
    let is_in_lab = plan.kind == Kind::Lab && old.kind != Kind::Lab;
    let old = if is_in_lab { old.in_lab()? } else { old };
    let hashes = |plan: &Plan| -> BTreeSet<String> {
        plan.cells.iter().map(|cell| cell.hash.clone()).collect()
    };
    let (old_hashes, new_hashes) = (hashes(&old), hashes(plan));
    // All parameters, as the two plans may vary different ones.
    let by_parameters: BTreeMap<String, &Cell> = old
        .cells
        .iter()
        .filter(|cell| !new_hashes.contains(&cell.hash))
        .map(|cell| (parameters(cell), cell))
        .collect();
    let seeds = [old.run.seed, plan.run.seed];
    let mut changes = PlanChanges {
        seeds: (seeds[0] != seeds[1]).then_some(seeds),
        ..PlanChanges::default()
    };
    let mut replaced = BTreeSet::new();
    for cell in plan
        .cells
        .iter()
        .filter(|cell| !old_hashes.contains(&cell.hash))
    {
        let name = name(plan, cell);
        match by_parameters.get(&parameters(cell)) {
            Some(before) => {
                replaced.insert(&before.hash);
                changes.changed.push(name);
            }
            None => changes.new.push(name),
        }
    }
    let gone = by_parameters
        .values()
        .filter(|cell| !replaced.contains(&cell.hash));
    changes.orphaned = gone.map(|cell| name(&old, cell)).collect();
    Ok(changes)
}

fn parameters(cell: &Cell) -> String {
    serde_json::to_string(&cell.parameters).unwrap_or_default()
}

/// The varied parameters of a cell.
fn name(plan: &Plan, cell: &Cell) -> String {
    let words = settings(&plan.varied, &cell.parameters);
    if words.is_empty() {
        "the only cell".to_owned()
    } else {
        words.join(" ")
    }
}

impl PlanChanges {
    /// True if both plans have the same cells and the same seed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for PlanChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("new", &self.new),
            ("changed", &self.changed),
            ("orphaned (their runs stay)", &self.orphaned),
        ];
        let kinds = kinds.into_iter().filter(|(_, cells)| !cells.is_empty());
        let kind = |(what, cells): (&str, &Vec<String>)| {
            let first = cells.first().map_or("", String::as_str);
            let more = if cells.len() > 1 { ", …" } else { "" };
            format!("{} {what}: {first}{more}", cells.len())
        };
        let seeds = self
            .seeds
            .map(|[old, new]| format!("run.seed was {old}, is {new}"));
        f.write_str(&kinds.map(kind).chain(seeds).collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "kind = \"lab\"\n[matrix]\ncc = [\"cubic\", \"reno\"]\n[path.forward]\n\
        [[traffic]]\nname = \"a\"\ntool = \"iperf3\"\nduration = \"1s\"\n";

    fn changes(text: &str) -> PlanChanges {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(RUNS)).unwrap();
        std::fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
        let plan = Plan::parse(Path::new("plan.toml"), text).unwrap();
        plan_changes(dir.path(), &plan).unwrap()
    }

    #[test]
    fn cells_of_a_changed_plan_are_new_changed_or_orphaned() {
        assert!(changes(PLAN).is_empty());
        let other = changes(&PLAN.replace("\"reno\"", "\"bbr\""));
        assert_eq!(
            other.to_string(),
            "1 new: cc=bbr; 1 orphaned (their runs stay): cc=reno"
        );
        // The filter of captures is no parameter.
        let filter = changes(&format!("{PLAN}[capture]\nsnaplen = 120\n"));
        assert_eq!(filter.to_string(), "2 changed: cc=cubic, …");
        assert_eq!(filter.changed.len(), 2);
    }

    #[test]
    fn another_start_jitter_changes_cells_and_another_seed_is_reported() {
        let jitter = changes(&format!("{PLAN}[run]\nstart_jitter = \"2s\"\n"));
        assert_eq!(jitter.to_string(), "2 changed: cc=cubic, …");
        let seed = changes(&format!("{PLAN}[run]\nseed = 5\n"));
        assert!(!seed.is_empty());
        assert_eq!(seed.to_string(), "run.seed was 1, is 5");
    }

    #[test]
    fn runs_whose_plan_cannot_be_read_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::parse(Path::new("plan.toml"), PLAN).unwrap();
        let found = || plan_changes(dir.path(), &plan);
        // There is nothing to compare with.
        assert!(found().unwrap().is_empty());
        std::fs::create_dir(dir.path().join(RUNS)).unwrap();
        assert!(found().is_err());
        std::fs::write(dir.path().join("plan.toml"), "not a plan").unwrap();
        assert!(found().is_err());
    }
}
