//! The parameters in which the runs of one group differ.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_chart::Levels;
use tcpexp_runs::varied::independent;
use tcpexp_table::Frame;

use super::words::Differing;
use super::{Query, SOURCE_COLUMN, Selection};
use crate::Error;

/// This table has few rows per run.
const SMALL: &str = "flows";

impl Selection {
    /// The parameters in which the runs of a group differ, without those that define the groups.
    pub(super) fn differing(
        &self,
        table: &str,
        frame: &Frame,
        groups: &[Vec<String>],
    ) -> Result<Differing, Error> {
        let groups: Vec<String> = groups.iter().flatten().cloned().collect();
        let others = self.tables.varied.iter();
        let others: Vec<String> = others
            .filter(|name| !groups.contains(name))
            .cloned()
            .collect();
        if others.is_empty() {
            return Ok(Differing::default());
        }
        let of_groups = Levels::of(frame, &groups);
        let sources = Levels::of(frame, &[SOURCE_COLUMN.to_owned()]);
        let mut used: BTreeSet<(usize, String)> = BTreeSet::new();
        for row in 0..frame.rows() {
            used.insert((of_groups.of_row(row), sources.label(sources.of_row(row))));
        }
        let values = self.parameters_by_source(table, &others)?;
        let value = |source: &str, place: usize| values.get(source).map(|all| all[place]);
        // True if the values of `known` and the group determine those of a parameter.
        let is_determined = |place: usize, known: &[usize]| {
            let mut values = BTreeMap::new();
            used.iter().all(|(group, source)| {
                let listed = known.iter().map(|place| value(source, *place));
                let key = (*group, listed.collect::<Vec<_>>());
                let own = value(source, place);
                *values.entry(key).or_insert(own) == own
            })
        };
        let mut differing = Differing::default();
        let mut known: Vec<usize> = Vec::new();
        for (place, name) in others.into_iter().enumerate() {
            if !is_determined(place, &known) {
                known.push(place);
                differing.names.push(name);
            } else if !is_determined(place, &[]) {
                differing.dependent.push(name);
            }
        }
        Ok(differing)
    }

    /// The varied parameters that suffice to distinguish the runs that the filters select.
    pub fn distinguishing_selected(&self) -> Vec<String> {
        let filters = self.filters.iter();
        let known = filters.filter(|filter| {
            self.tables
                .resolve(&[SMALL.to_owned()], &filter.column)
                .is_some()
        });
        let selection = self.clone().filters(known.cloned().collect());
        let names = self.tables.varied.clone();
        // The caller reads the rows of the chart, and that reading reports an error.
        let frame = selection.read(SMALL, &[], &names);
        let distinguishing = frame.and_then(|frame| self.distinguishing(SMALL, &frame, &[]));
        distinguishing.unwrap_or(names)
    }

    /// The varied parameters that suffice, together with the columns in `used`, to distinguish the runs of
    /// `frame`. The frame holds rows of `table`.
    pub(super) fn distinguishing(
        &self,
        table: &str,
        frame: &Frame,
        used: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = self.varied_in(table).cloned().collect();
        // Of equivalent parameters the first stays, so those that are used come first.
        names.sort_by_key(|name| !used.contains(name));
        let sources = Levels::of(frame, &[SOURCE_COLUMN.to_owned()]);
        let values = self.parameters_by_source(table, &names)?;
        let selected = (0..sources.len()).filter_map(|level| values.get(&sources.label(level)));
        let columns = |runs: Vec<&Vec<usize>>| -> Vec<Vec<usize>> {
            let column = |place: usize| runs.iter().map(|all| all[place]).collect();
            (0..names.len()).map(column).collect()
        };
        let mut kept = independent(&columns(selected.collect()));
        if kept.is_empty() {
            // The runs of one cell have the name that they have among all runs.
            kept = independent(&columns(values.values().collect()));
        }
        let mut kept: Vec<String> = match kept.as_slice() {
            [] => names,
            kept => kept.iter().map(|&place| names[place].clone()).collect(),
        };
        kept.retain(|name| !used.contains(name));
        Ok(kept)
    }

    /// The parameters that vary and that the rows of a table have.
    pub(super) fn varied_in(&self, table: &str) -> impl Iterator<Item = &String> {
        let varied = self.tables.varied.iter();
        varied.filter(move |column| self.has(table, column))
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
    use tempfile::TempDir;

    use super::super::tests::folder;
    use super::*;
    use crate::{Tables, UsualGroups};

    /// Tables of runs of one row each.
    fn runs(runs: &[&str]) -> (TempDir, Tables) {
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
        (dir, tables)
    }

    /// The parameters in which the runs of each `cc` differ.
    fn differing(rows: &[&str]) -> String {
        let (_dir, tables) = runs(rows);
        let groups = ["cc".to_owned()];
        let groups = [(&groups[..], UsualGroups::No)];
        let rows = Selection::of(tables).grouped("goodput_bps", &groups, &[], &[]);
        rows.unwrap().differing.words().unwrap_or_default()
    }

    #[test]
    fn default_groups_leave_out_parameters_that_follow_from_others() {
        let (_dir, tables) = runs(&["reno,1,slow,9", "reno,2,fast,9", "bbr,2,fast,9"]);
        let all = Selection::of(tables);
        let groups = [(&[][..], UsualGroups::Yes)];
        let rows = all.grouped("goodput_bps", &groups, &[], &[]).unwrap();
        assert_eq!(rows.groups, [["cc", "rate"]]);
        assert_eq!(all.distinguishing_selected(), ["cc", "rate"]);
        // Where a panel has one link, its rate distinguishes nothing further.
        let link = ["link".to_owned()];
        let groups = [(&[][..], UsualGroups::Yes), (&link, UsualGroups::No)];
        let rows = all.grouped("goodput_bps", &groups, &[], &[]).unwrap();
        assert_eq!(rows.groups, [["cc"], ["link"]]);
        let fast = all.filters(vec!["link=fast".parse().unwrap()]);
        assert_eq!(fast.clone().distinguishing_selected(), ["cc"]);
        let one = fast.filters(vec!["cc=bbr".parse().unwrap()]);
        assert_eq!(one.distinguishing_selected(), ["cc", "rate"]);
    }

    #[test]
    fn only_parameters_that_vary_within_a_group_differ() {
        assert_eq!(differing(&["reno,1,a,9", "reno,1,a,9", "bbr,2,a,9"]), "");
        assert_eq!(differing(&["reno,1,a,9", "reno,1,a,8"]), "buffer");
    }

    #[test]
    fn parameters_that_others_determine_are_named_after_them() {
        let runs = ["reno,1,slow,9", "reno,2,fast,9", "reno,2,fast,8"];
        assert_eq!(differing(&runs), "rate, buffer and link");
    }
}
