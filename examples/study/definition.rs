//! What a study's numbers are held against, and how its pictures are drawn: `study.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

/// `study.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Options of `tcpexp compare`.
    #[serde(default)]
    pub compare: Vec<String>,
    /// What is drawn.
    #[serde(default, rename = "picture")]
    pub pictures: Vec<Picture>,
    /// What is held against what was published.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
}

/// `[[picture]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// Its file is this behind the name of the grid.
    pub name: String,
    /// What it shows.
    pub alt: String,
    /// The words of `tcpexp plot`, without results and file.
    pub plot: Vec<String>,
    /// The only grid that it is of; of both without it.
    pub grid: Option<String>,
}

/// `[[table]]`: numbers of one unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What stands above it.
    pub title: String,
    /// The unit of all its numbers; `1` is none.
    pub unit: String,
    /// Whether each number must exceed the one above it.
    #[serde(default)]
    pub ascending: bool,
    /// Its lines.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// `[[table.row]]`: a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// A column of `tcpexp compare`, or a number that is made from samples.
    pub measure: String,
    /// Values of parameters, and the class of traffic, of the only cell that it is of.
    pub cell: Cell,
    /// What else is different in the cell that the number is divided by.
    pub over: Option<Cell>,
    /// What was published.
    pub published: Option<f64>,
    /// How far it may be from that, in percent of it.
    pub within_percent: Option<f64>,
    /// The most that it may be.
    pub at_most: Option<f64>,
    /// The least that it may be.
    pub at_least: Option<f64>,
}

/// Values of parameters.
pub type Cell = BTreeMap<String, toml::Value>;

impl Study {
    /// Reads `study.toml`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }
}

impl Picture {
    /// Its file, in the study's folder.
    pub fn file(&self, grid: &str) -> String {
        format!("{grid}-{}.svg", self.name)
    }

    /// Whether it is drawn of this grid.
    pub fn is_of(&self, grid: &str) -> bool {
        self.grid.as_deref().is_none_or(|only| only == grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_has_two_grids_what_was_published_and_places_for_results() {
        let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
        let folders = fs::read_dir(studies).unwrap();
        let folders = folders.map(|entry| entry.unwrap().path());
        let folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
        assert_eq!(folders.len(), 5);
        for folder in folders {
            let study = Study::read(&folder.join("study.toml"));
            let study = study.unwrap_or_else(|error| panic!("{error:#}"));
            assert!(!study.tables.is_empty() && !study.pictures.is_empty());
            let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
            let readme = text("README.md");
            for (grid, plan) in [("short", "short.toml"), ("full", "plan.toml")] {
                assert!(!text(plan).is_empty());
                crate::readme::filled(&readme, grid, "").unwrap();
            }
        }
    }
}
