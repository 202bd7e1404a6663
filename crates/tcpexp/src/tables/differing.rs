//! The parameters in which the runs of one group differ.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_chart::Levels;
use tcpexp_table::Frame;

use super::{Query, SOURCE_COLUMN, Selection};
use crate::Error;

/// This table has few rows per run.
const SMALL: &str = "flows";

impl Selection {
    /// The parameters in which the runs of a group differ. Leaves out the parameters that define the groups,
    /// and those whose values follow from the others.
    pub(super) fn differing(
        &self,
        table: &str,
        frame: &Frame,
        groups: &[Vec<String>],
    ) -> Result<Vec<String>, Error> {
        let groups: Vec<String> = groups.iter().flatten().cloned().collect();
        let others = self.tables.varied.iter();
        let others: Vec<String> = others
            .filter(|name| !groups.contains(name))
            .cloned()
            .collect();
        if others.is_empty() {
            return Ok(others);
        }
        let of_groups = Levels::of(frame, &groups);
        let sources = Levels::of(frame, &[SOURCE_COLUMN.to_owned()]);
        let mut used: BTreeSet<(usize, String)> = BTreeSet::new();
        for row in 0..frame.rows() {
            used.insert((of_groups.of_row(row), sources.label(sources.of_row(row))));
        }
        let values = self.parameters_by_source(table, &others)?;
        let value = |source: &str, place: usize| values.get(source).map(|all| all[place]);
        let mut differing: Vec<usize> = Vec::new();
        for place in 0..others.len() {
            let mut known = BTreeMap::new();
            let is_determined = used.iter().all(|(group, source)| {
                let listed = differing.iter().map(|place| value(source, *place));
                let key = (*group, listed.collect::<Vec<_>>());
                let own = value(source, place);
                *known.entry(key).or_insert(own) == own
            });
            if !is_determined {
                differing.push(place);
            }
        }
        Ok(differing
            .into_iter()
            .map(|place| others[place].clone())
            .collect())
    }

    /// For each source of rows, a number for its value of each parameter.
    fn parameters_by_source(
        &self,
        table: &str,
        names: &[String],
    ) -> Result<BTreeMap<String, Vec<usize>>, Error> {
        let query = |table: &str| Query {
            tables: vec![table.to_owned()],
            optional: names.to_vec(),
            ..Query::default()
        };
        let small = query(SMALL);
        let rows = if self.tables.choose(&small).is_ok() {
            self.tables.read(&small)?
        } else {
            self.tables.read(&query(table))?
        };
        let sources = Levels::of(&rows, &[SOURCE_COLUMN.to_owned()]);
        let columns: Vec<Option<Levels>> = names
            .iter()
            .map(|name| {
                rows.column(name)
                    .map(|_| Levels::of(&rows, std::slice::from_ref(name)))
            })
            .collect();
        let mut all = BTreeMap::new();
        for row in 0..rows.rows() {
            let source = sources.label(sources.of_row(row));
            all.entry(source).or_insert_with(|| {
                let values = columns.iter().map(|column| {
                    // A table without the column has no value of it in any run.
                    column.as_ref().map_or(0, |levels| levels.of_row(row))
                });
                values.collect()
            });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::folder;
    use super::*;
    use crate::UsualGroups;

    /// The parameters in which the runs of each `cc` differ; a run has one row.
    fn differing(runs: &[&str]) -> Vec<String> {
        let (dir, mut tables) = folder(&[]);
        for (number, run) in runs.iter().enumerate() {
            let path = dir.path().join(format!("{number}.csv"));
            let text = format!("cc,rate,link,buffer,goodput_bps\n{run},5\n");
            std::fs::write(&path, text).unwrap();
            tables
                .add(&path, Some("flows"), number.to_string())
                .unwrap();
        }
        tables.varied = ["cc", "rate", "link", "buffer"].map(str::to_owned).to_vec();
        let groups = ["cc".to_owned()];
        let groups = [(&groups[..], UsualGroups::No)];
        let rows = Selection::of(tables).grouped("goodput_bps", &groups, &[], &[]);
        rows.unwrap().differing
    }

    #[test]
    fn only_parameters_that_vary_within_a_group_differ() {
        assert_eq!(
            differing(&["reno,1,a,9", "reno,1,a,9", "bbr,2,a,9"]),
            [""; 0]
        );
        assert_eq!(differing(&["reno,1,a,9", "reno,1,a,8"]), ["buffer"]);
    }

    #[test]
    fn parameters_that_others_determine_are_left_out() {
        let runs = ["reno,1,slow,9", "reno,2,fast,9", "reno,2,fast,8"];
        assert_eq!(differing(&runs), ["rate", "buffer"]);
    }
}
