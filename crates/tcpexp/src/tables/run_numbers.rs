//! The numbers of runs that `tcpexp compare` computes, as a table for charts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use tcpexp_chart::SENDERS;
use tcpexp_metrics::compare::{Measure, Options};
use tcpexp_metrics::pooling::{BULK, MIN_PERCENT, PooledDirection, PooledFlows, Pooling};
use tcpexp_runs::compare::{CompareOptions, Comparison, LOAD};
use tcpexp_runs::record::Status;
use tcpexp_table::compare::{ALL_CLASSES, compare_run_columns};
use tcpexp_table::{Frame, Series};

use super::apart::told_apart;
use super::{Entry, SOURCE_COLUMN, Selection, Tables};
use crate::Error;

/// Name of the table.
const TABLE: &str = "compare_runs";
const CLASS: &str = "class";
/// Name of the class in the tables of a dataset.
const TRAFFIC_CLASS: &str = "traffic_class";

/// The numbers of the runs of a selection.
#[derive(Clone, Debug)]
pub struct RunNumbers {
    /// One row per run, and per class if a filter or a group names the class.
    pub rows: Selection,
    /// Description of the flows that count, for the note under the chart.
    pub note: String,
    /// Description of the errors of round-trip times; `None` for other numbers.
    pub errors: Option<String>,
    /// Complete runs without numbers, each with the reason.
    pub left_out: Vec<(String, String)>,
}

impl Selection {
    /// Returns what `tcpexp compare --runs` has for the sweeps and datasets of this selection: the row of
    /// the class that counts in each run.
    ///
    /// `None` if a path is a single table, or if the selection or the pooling asks for flows that no class
    /// has. `columns` are those of the groups.
    pub fn run_numbers(
        &self,
        columns: &[String],
        measure: Measure,
        options: Options,
    ) -> Result<Option<RunNumbers>, Error> {
        let Some(pooling) = self.pooling.as_ref().filter(|pooling| has_class(pooling)) else {
            return Ok(None);
        };
        let folders = self.tables.compared.as_ref();
        let is_of_runs = self.table.is_none() && self.flows.is_empty();
        let Some(folders) = folders.filter(|_| is_of_runs) else {
            return Ok(None);
        };
        let comparisons = comparisons(folders, options)?;
        let (frame, left_out) = rows_of_runs(&comparisons)?;
        let filtered = self.filters.iter().map(|filter| &filter.column);
        let mut named = filtered.chain(columns);
        // A requested rule stays where a filter names a class.
        let is_load_requested = pooling.are_flows_requested && pooling.flows == PooledFlows::Load;
        let names_class =
            !is_load_requested && named.any(|name| [CLASS, TRAFFIC_CLASS].contains(&name.as_str()));
        let (keep, note) = counted(&pooling.flows, names_class, &frame);
        let entry = Entry {
            path: folders.first().cloned().unwrap_or_default(),
            table: TABLE.to_owned(),
            source: String::new(),
            columns: frame.names().map(str::to_owned).collect(),
            is_single: false,
            is_of_pairs: false,
            listed: None,
            is_checked: OnceLock::new(),
            rows: Some(frame.filtered(&keep)),
        };
        let tables = Tables {
            entries: vec![entry],
            ..self.tables.clone()
        };
        let rows = Self::of(tables).filters(self.filters.clone());
        // Without requested groups, the parameters that vary divide the runs.
        let groups = match columns {
            [] => &self.tables.varied,
            columns => columns,
        };
        Ok(Some(RunNumbers {
            rows,
            note,
            errors: self.errors_elsewhere(TABLE, &measure.name(), groups),
            left_out,
        }))
    }
}

/// True if a class of a comparison has the flows that the pooling asks for.
fn has_class(pooling: &Pooling) -> bool {
    let is_class = matches!(pooling.flows, PooledFlows::Load | PooledFlows::Class(_));
    is_class && pooling.direction == PooledDirection::Payload
}

/// Compares the runs of each folder.
fn comparisons(
    folders: &[PathBuf],
    measure: Options,
) -> Result<Vec<(&PathBuf, Comparison)>, Error> {
    let options = CompareOptions {
        measure,
        ..CompareOptions::default()
    };
    let compared = folders.iter().map(|folder| {
        let comparison = Comparison::of(folder, &options).map_err(|source| Error::CompareRuns {
            path: folder.clone(),
            source,
        })?;
        Ok((folder, comparison))
    });
    compared.collect()
}

/// The rows of all comparisons, and the complete runs without numbers, each with the reason. Runs of
/// different folders have different names.
fn rows_of_runs(
    comparisons: &[(&PathBuf, Comparison)],
) -> Result<(Frame, Vec<(String, String)>), Error> {
    let place = |folder: &PathBuf, run: &str| (folder.clone(), run.to_owned());
    let runs = comparisons
        .iter()
        .flat_map(|(folder, comparison)| comparison.runs.iter().map(|run| place(folder, &run.run)));
    let places = runs.collect();
    let of_runs = told_apart(&places);
    let mut frame = Frame::default();
    let mut left_out = Vec::new();
    for (folder, comparison) in comparisons {
        let name = |run: &str| of_runs[&place(folder, run)].clone();
        let complete = comparison
            .runs
            .iter()
            .filter(|run| run.status == Status::Complete);
        left_out.extend(complete.filter_map(|run| Some((name(&run.run), run.fault.clone()?))));
        let unreadable = |source| Error::Table {
            path: (*folder).clone(),
            source,
        };
        let mut own = of_comparison(comparison, name).map_err(unreadable)?;
        for column in comparison.parameters().columns() {
            frame.agree_on_text(&mut own, &column.name);
        }
        frame.append(own).map_err(unreadable)?;
    }
    Ok((frame, left_out))
}

/// A row per run and class, with the names of datasets for the class and for the run, which has `name`.
fn of_comparison(
    comparison: &Comparison,
    name: impl Fn(&str) -> String,
) -> Result<Frame, tcpexp_table::Error> {
    let columns = compare_run_columns(&comparison.parameters());
    let rows = comparison.run_rows();
    let mut frame = Frame::of_batch(&columns.batch(&rows)?)?;
    if let Some(runs) = frame.column("run") {
        let names = (0..frame.rows()).map(|row| runs.text(row).map(&name));
        let names = Series::texts(names);
        frame.add(SOURCE_COLUMN, names);
    }
    if let Some(classes) = frame.column(CLASS).cloned() {
        frame.add(TRAFFIC_CLASS, classes);
    }
    Ok(frame)
}

/// Returns for each row whether it counts, and a description of the flows of the rows that count.
fn counted(flows: &PooledFlows, names_class: bool, frame: &Frame) -> (Vec<bool>, String) {
    let text = |column, row| frame.text(column, row);
    let rows = || (0..frame.rows()).map(|row| (text(SOURCE_COLUMN, row), text(CLASS, row)));
    let senders = |row: usize| frame.column(SENDERS)?.number(row);
    let mut classes: BTreeMap<Option<&str>, BTreeSet<&str>> = BTreeMap::new();
    for (run, class) in rows() {
        classes.entry(run).or_default().extend(class);
    }
    let mut words = BTreeSet::new();
    let keep = rows().enumerate().map(|(row, (run, class))| {
        let Some(class) = class else {
            return false;
        };
        if names_class {
            let is_asked = match flows {
                PooledFlows::Class(asked) => class == asked,
                _ => true,
            };
            return class != ALL_CLASSES && is_asked;
        }
        let counts = class == class_of(flows, &classes[&run]);
        if counts {
            words.insert(words_of(class, senders(row)));
        }
        counts
    });
    let keep = keep.collect();
    if names_class {
        words.insert("flows of the class".to_owned());
    }
    let words: Vec<String> = words.into_iter().collect();
    (
        keep,
        format!(
            "{}, {}",
            words.join(" and "),
            PooledDirection::Payload.words()
        ),
    )
}

/// The class of a run's comparison that counts, by the rule of [`tcpexp_metrics::pooling`].
fn class_of<'a>(flows: &'a PooledFlows, classes: &BTreeSet<&str>) -> &'a str {
    match flows {
        PooledFlows::Class(class) => class,
        _ if classes.contains(BULK) => BULK,
        _ if classes.contains(LOAD) => LOAD,
        _ => ALL_CLASSES,
    }
}

fn words_of(class: &str, senders: Option<f64>) -> String {
    match class {
        // At most 100 flows can have 1 % each. With more senders, none has 1 %, and all flows count.
        LOAD if senders.is_some_and(|senders| senders * MIN_PERCENT > 100.0) => {
            "all flows".to_owned()
        }
        LOAD => "flows with at least 1 % of the payload".to_owned(),
        ALL_CLASSES => "flows of all classes".to_owned(),
        class => format!("{class} flows"),
    }
}
