//! Parses `study.toml`: the published numbers of a study, and its pictures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

/// Contents of `study.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Options of `tcpexp compare`.
    #[serde(default)]
    pub compare: Vec<String>,
    /// Pictures to draw.
    #[serde(default, rename = "picture")]
    pub pictures: Vec<Picture>,
    /// Tables that compare measured with published numbers.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
}

/// `[[picture]]`: one picture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// Suffix of the file name, after the name of the grid.
    pub name: String,
    /// Alternative text.
    pub alt: String,
    /// Arguments of `tcpexp plot`, without results and output file.
    pub plot: Vec<String>,
    /// The only grid with this picture; all grids if absent.
    pub grid: Option<String>,
}

/// `[[table]]`: numbers of one unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// Unit of all numbers; `1` means no unit.
    pub unit: String,
    /// True if each number must exceed the number of the row above.
    #[serde(default)]
    pub ascending: bool,
    /// Rows of the table.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// `[[table.row]]`: one number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Description of the number.
    pub what: String,
    /// A column of `tcpexp compare`, or the name of a number computed from samples.
    pub measure: String,
    /// Parameter values, and traffic class, that select exactly one cell.
    pub cell: Cell,
    /// Divides the number by that of another cell; lists the parameters that differ there.
    pub over: Option<Cell>,
    /// Published value.
    pub published: Option<f64>,
    /// Tolerance around the published value, in percent of it.
    pub within_percent: Option<f64>,
    /// Upper limit.
    pub at_most: Option<f64>,
    /// Lower limit.
    pub at_least: Option<f64>,
}

/// Parameter values by name.
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
    /// File name of the picture in the study's folder.
    pub fn file(&self, grid: &str) -> String {
        format!("{grid}-{}.svg", self.name)
    }

    /// True if this grid has the picture.
    pub fn is_of(&self, grid: &str) -> bool {
        self.grid.as_deref().is_none_or(|only| only == grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_has_its_grids_published_values_and_result_tables() {
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
            for (grid, plan) in crate::GRIDS {
                if grid == "middle" && !folder.join(plan).exists() {
                    continue;
                }
                assert!(!text(plan).is_empty());
                crate::readme::filled(&readme, grid, "").unwrap();
            }
        }
    }
}
