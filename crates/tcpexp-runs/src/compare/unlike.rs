//! Runs of one cell that are no repetitions of each other: datasets of other options, or of the same captures.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::cells::RunDir;
use crate::origin::Origin;

/// What makes the medians of cells doubtful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Number of such cells.
    pub cells: usize,
    /// What their datasets have or lack in common.
    pub what: String,
}

/// The options that change the numbers of a dataset, as its manifest names them.
const CHANGING: [&str; 10] = [
    "filter",
    "from",
    "to",
    "inner",
    "max_flows",
    "max_owd_ns",
    "symmetric",
    "one_clock",
    "profile",
    "position",
];
/// Number of copies that the line names.
const NAMED_COPIES: usize = 3;

/// Compares the datasets of each cell, as far as they enter figures.
pub(super) fn of_cells(runs: &[RunDir], cell_of: &[usize]) -> Vec<Unlike> {
    let counted = runs
        .iter()
        .zip(cell_of)
        .filter(|(run, _)| run.fault.is_none());
    unlike(counted.map(|(run, cell)| (*cell, &*run.record.run, &*run.data)))
}

/// Compares the datasets of each cell. The items of `runs` are the cell, the run's name and its dataset.
fn unlike<'a>(runs: impl Iterator<Item = (usize, &'a str, &'a Path)>) -> Vec<Unlike> {
    let mut cells: BTreeMap<usize, Vec<(&str, Origin)>> = BTreeMap::new();
    for (cell, run, dataset) in runs {
        let origin = Origin::of(dataset).map(|origin| (run, origin));
        cells.entry(cell).or_default().extend(origin);
    }
    let mut options = BTreeSet::new();
    let (mut of_options, mut of_versions, mut of_copies) = (0, 0, 0);
    let mut copies = Vec::new();
    for datasets in cells.values() {
        let differ = |value: &dyn Fn(&Origin) -> String| {
            let mut values = datasets.iter().map(|(_, origin)| value(origin));
            let first = values.next();
            values.any(|other| Some(other) != first)
        };
        let changing = CHANGING.into_iter();
        let differing: Vec<&str> = changing
            .filter(|name| differ(&|origin| origin.option(name)))
            .collect();
        of_options += usize::from(!differing.is_empty());
        options.extend(differing);
        of_versions += usize::from(differ(&|origin| origin.tcpexp_version.clone()));
        let known = copies.len();
        copies.extend(copies_in(datasets));
        of_copies += usize::from(copies.len() > known);
    }
    let options: Vec<&str> = options.into_iter().collect();
    let options = options.join(", ");
    let found = [
        (
            of_options,
            format!("the datasets have different options ({options} in manifest.json)"),
        ),
        (
            of_versions,
            "the datasets are of different versions (tcpexp_version in manifest.json)".to_owned(),
        ),
        (
            of_copies,
            format!(
                "datasets of the same captures count as repetitions: {}",
                few(&copies)
            ),
        ),
    ];
    let found = found.into_iter().filter(|(cells, _)| *cells > 0);
    found.map(|(cells, what)| Unlike { cells, what }).collect()
}

/// The first copies, and the number of the rest: a folder may have a thousand.
fn few(copies: &[String]) -> String {
    let (named, rest) = copies.split_at(copies.len().min(NAMED_COPIES));
    let named = named.join(", ");
    match rest.len() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Names of each two runs of a cell that are of the same packets.
fn copies_in(datasets: &[(&str, Origin)]) -> Vec<String> {
    let mut known = HashMap::new();
    let mut copies = Vec::new();
    // A dataset without captures is of other inputs, which its manifest may not name.
    for (run, origin) in datasets.iter().filter(|(_, origin)| origin.has_captures()) {
        match known.get(&origin.packets()) {
            Some(first) => copies.push(format!("{first} and {run}")),
            None => {
                known.insert(origin.packets(), run);
            }
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tcpexp_table::dataset::MANIFEST_FILE_NAME;

    use super::*;

    #[test]
    fn a_line_names_few_of_many_copies() {
        let copies: Vec<String> = (1..=5).map(|copy| format!("0 and {copy}")).collect();
        assert_eq!(few(&copies[..3]), "0 and 1, 0 and 2, 0 and 3");
        assert_eq!(few(&copies), "0 and 1, 0 and 2, 0 and 3 and 2 more");
    }

    /// Lines for the datasets a, b and c of these versions, captures and options. The first two are of one cell.
    fn found(datasets: [(&str, &str, Value); 3]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c"];
        let paths = names.map(|name| folder.path().join(name));
        for (path, (version, sha256, options)) in paths.iter().zip(datasets) {
            std::fs::create_dir(path).unwrap();
            let manifest = json!({
                "tcpexp_version": version, "captures": [{"sha256": sha256}], "options": options,
            });
            std::fs::write(path.join(MANIFEST_FILE_NAME), manifest.to_string()).unwrap();
        }
        let paths = paths.iter().map(std::path::PathBuf::as_path);
        let runs = [1, 1, 2].into_iter().zip(names).zip(paths);
        let found = unlike(runs.map(|((cell, name), path)| (cell, name, path)));
        let line = |one: Unlike| format!("{}: {}", one.cells, one.what);
        found.into_iter().map(line).collect()
    }

    #[test]
    fn datasets_of_one_cell_that_are_no_repetitions_are_named() {
        let plain = || json!({"bin_ns": 5, "filter": null, "inner": false});
        let narrow = || json!({"filter": "port 80", "from": "5s", "from_ns": 7});
        // Moments differ between captures, and cells differ in anything.
        let cells = [
            ("1", "x", plain()),
            ("1", "y", json!({"from_ns": 3})),
            ("2", "x", narrow()),
        ];
        assert!(found(cells).is_empty());
        let options = [
            ("1", "x", plain()),
            ("1", "x", narrow()),
            ("1", "z", plain()),
        ];
        assert_eq!(
            found(options),
            ["1: the datasets have different options (filter, from in manifest.json)"]
        );
        let copies = [
            ("1", "x", plain()),
            ("2", "x", plain()),
            ("1", "z", plain()),
        ];
        assert_eq!(
            found(copies),
            [
                "1: the datasets are of different versions (tcpexp_version in manifest.json)",
                "1: datasets of the same captures count as repetitions: a and b",
            ]
        );
    }
}
