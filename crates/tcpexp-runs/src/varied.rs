//! The parameters that vary between runs, and those that suffice to distinguish the cells of a grid.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::record::{Parameter, RunRecord};

/// The name that stands for the hash of a cell, for cells with equal parameters.
pub const CELL: &str = "cell";

/// The parameters of these names that have a value, each as `name=value`.
pub fn settings(names: &[String], parameters: &BTreeMap<String, Option<Parameter>>) -> Vec<String> {
    let setting = |name: &String| {
        let value = parameters.get(name)?.as_ref()?;
        let text = serde_json::to_string(value).unwrap_or_default();
        // JSON has quotes around texts only.
        Some(format!("{name}={}", text.trim_matches('"')))
    };
    names.iter().filter_map(setting).collect()
}

/// The names of the parameters that vary between runs: first those that the runs' plans vary, in the order of
/// the plans, then the others in which cells differ that have equal values of the first.
///
/// A plan lists all parameters that vary in it, but runs of several versions of a plan may share a directory. If
/// cells with equal parameters remain, [`CELL`] is the last name: their hashes alone distinguish them.
pub fn varied<'r>(runs: impl IntoIterator<Item = &'r RunRecord>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut cells: Vec<&RunRecord> = Vec::new();
    let mut hashes = BTreeSet::new();
    for run in runs {
        if hashes.insert(&run.cell) {
            cells.push(run);
        }
        add(&mut names, run.varied.iter());
    }
    let values = |cell: &RunRecord, names: &[String]| -> Vec<Option<String>> {
        let value = |name: &String| value_of(cell, name).map(|value| value.to_string());
        names.iter().map(value).collect()
    };
    let mut alike: HashMap<Vec<Option<String>>, &RunRecord> = HashMap::new();
    let mut further = BTreeSet::new();
    for cell in &cells {
        let first = *alike.entry(values(cell, &names)).or_insert(cell);
        let all = first.parameters.keys().chain(cell.parameters.keys());
        further.extend(all.filter(|name| value_of(first, name) != value_of(cell, name)));
    }
    add(&mut names, further);
    let distinct: BTreeSet<_> = cells.iter().map(|cell| values(cell, &names)).collect();
    // A parameter may have this name.
    if distinct.len() < cells.len() && !names.iter().any(|name| name == CELL) {
        names.push(CELL.to_owned());
    }
    names
}

/// Adds the names that are not in the list.
fn add<'n>(names: &mut Vec<String>, further: impl IntoIterator<Item = &'n String>) {
    for name in further {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
}

/// The run's value of one of the [`varied`] parameters; `None` if the run does not have it.
pub fn value_of(run: &RunRecord, name: &str) -> Option<Parameter> {
    match run.parameters.get(name) {
        None if name == CELL => Some(Parameter::Text(run.cell.clone())),
        value => value.cloned().flatten(),
    }
}

/// The places of columns that suffice to distinguish all rows that differ.
///
/// Leaves out constant columns, and columns whose values follow from other columns: a plan that varies
/// a link by name varies its rate and delay with it. Of columns that determine each other, the first
/// stays. A column has one value per row.
///
/// ```
/// use tcpexp_runs::varied::independent;
///
/// let rates = [10, 10, 100];
/// let names = [7, 7, 8];
/// let buffers = [1, 2, 1];
/// assert_eq!(independent(&[rates, names, buffers].map(Vec::from)), [0, 2]);
/// ```
pub fn independent(columns: &[Vec<usize>]) -> Vec<usize> {
    let follows = |column: usize, others: &[usize]| {
        let mut known = HashMap::new();
        columns[column].iter().enumerate().all(|(row, value)| {
            let key: Vec<usize> = others.iter().map(|&other| columns[other][row]).collect();
            known.entry(key).or_insert(value) == &value
        })
    };
    let places = 0..columns.len();
    let varying: Vec<usize> = places.filter(|&column| !follows(column, &[])).collect();
    // The column that determines the most others is the name that a user gave.
    let is_finest = |&column: &usize| {
        !varying.iter().any(|&other| {
            other != column
                && follows(column, &[other])
                && (other < column || !follows(other, &[column]))
        })
    };
    let mut kept: Vec<usize> = varying.iter().copied().filter(is_finest).collect();
    for column in kept.clone().into_iter().rev() {
        let others: Vec<usize> = kept.iter().copied().filter(|&one| one != column).collect();
        if follows(column, &others) {
            kept = others;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The varied parameters of runs with these cells and parameters, whose plans vary `cc`.
    fn varied_of(runs: &[(&str, Value)]) -> Vec<String> {
        let record = |(cell, parameters): &(&str, Value)| -> RunRecord {
            let record = json!({
                "schema": 1, "run": "r", "cell": cell, "repetition": 1, "seed": 1, "plan_hash": "h",
                "status": "complete", "parameters": parameters, "varied": ["cc"], "bottleneck": null,
                "started_ns": 0, "finished_ns": 1,
            });
            serde_json::from_value(record).unwrap()
        };
        let records: Vec<RunRecord> = runs.iter().map(record).collect();
        varied(&records)
    }

    #[test]
    fn a_parameter_varies_if_cells_of_two_plans_differ_in_it() {
        let of = |cc: &str, rate: f64| json!({"cc": cc, "delay_ms": 20, "rate_mbps": rate});
        let (slow, other) = (("a", of("reno", 3.0)), ("b", of("cubic", 3.0)));
        assert_eq!(varied_of(&[slow.clone(), other.clone()]), ["cc"]);
        let fast = ("c", of("reno", 6.0));
        assert_eq!(varied_of(&[slow, other, fast]), ["cc", "rate_mbps"]);
        let with = ("d", json!({"cc": "reno", "loss": null}));
        let without = ("e", json!({"cc": "reno", "loss": 0.1}));
        assert_eq!(varied_of(&[with, without]), ["cc", "loss"]);
    }

    #[test]
    fn the_hash_distinguishes_cells_with_equal_parameters() {
        let reno = json!({"cc": "reno"});
        assert_eq!(
            varied_of(&[("a", reno.clone()), ("a", reno.clone())]),
            ["cc"]
        );
        assert_eq!(
            varied_of(&[("a", reno.clone()), ("b", reno)]),
            ["cc", "cell"]
        );
    }

    #[test]
    fn a_parameter_with_the_name_of_the_hash_varies_once() {
        let cell = json!({"cc": "reno", "cell": 3});
        let runs = [
            ("a", cell.clone()),
            ("b", cell),
            ("c", json!({"cc": "reno", "cell": 4})),
        ];
        assert_eq!(varied_of(&runs), ["cc", "cell"]);
    }

    /// The places of `columns`, given by row: each letter is a value.
    fn kept(rows: &[&str]) -> Vec<usize> {
        let letters: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| row.bytes().map(usize::from).collect())
            .collect();
        let columns =
            (0..rows[0].len()).map(|place| letters.iter().map(|row| row[place]).collect());
        independent(&columns.collect::<Vec<_>>())
    }

    #[test]
    fn a_constant_column_distinguishes_nothing() {
        assert_eq!(kept(&["xa", "xb"]), [1]);
        assert_eq!(kept(&["xa"]), [0; 0]);
    }

    #[test]
    fn the_finest_of_dependent_columns_stays() {
        // One delay belongs to two links, and each link has one delay.
        assert_eq!(kept(&["1a", "1b", "2c"]), [1]);
        assert_eq!(kept(&["a1", "b1", "c2"]), [0]);
    }

    #[test]
    fn the_first_of_equivalent_columns_stays() {
        assert_eq!(kept(&["1a", "2b"]), [0]);
    }

    #[test]
    fn a_column_that_two_others_determine_is_left_out() {
        assert_eq!(kept(&["ra1", "rb2", "sa2", "sb1"]), [0, 1]);
    }

    proptest! {
        #[test]
        fn what_stays_distinguishes_the_rows_and_nothing_of_it_is_superfluous(
            rows in prop::collection::vec(prop::collection::vec(0_usize..3, 5), 1..12)
        ) {
            let columns: Vec<Vec<usize>> =
                (0..5).map(|place| rows.iter().map(|row| row[place]).collect()).collect();
            let kept = independent(&columns);
            let groups = |of: &[usize]| {
                let key = |row: &Vec<usize>| of.iter().map(|&place| row[place]).collect::<Vec<_>>();
                rows.iter().map(key).collect::<BTreeSet<_>>().len()
            };
            let all = groups(&[0, 1, 2, 3, 4]);
            prop_assert_eq!(groups(&kept), all);
            for place in &kept {
                let others: Vec<usize> = kept.iter().copied().filter(|one| one != place).collect();
                prop_assert!(groups(&others) < all);
            }
        }
    }
}
