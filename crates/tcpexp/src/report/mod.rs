//! Report page of a run, a sweep, a dataset or a folder of datasets.

mod cells;
mod flows;
mod gaps;
mod parameters;
mod series;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use tcpexp_chart::page::{Page, PageAxis, PageRow, PageRun, PageTable, TableColumn};
use tcpexp_runs::captured::{records_of_datasets, require_one_run};
use tcpexp_runs::folders::{DATASET, RUNS, dataset_dirs, run_dirs};
use tcpexp_runs::only::Only;
use tcpexp_runs::record::{RunRecord, Status};
use tcpexp_runs::varied::varied;
use tcpexp_table::dataset::{MANIFEST_FILE_NAME, StoredTables};
use tcpexp_units::{counted, with_causes};

use crate::in_order::in_order;
use crate::{DatasetError, Error, TablesError};
use cells::cell_table;
use flows::{GOODPUT, NUMBERS, QUEUE, RTT, RunFlows, WINDOW, flows_of};
use parameters::{parameters, values_of};
use series::series_of;

/// Maximum number of points per page, so that a browser can open the page of a large sweep.
const MAX_POINTS: usize = 1_000_000;
/// Maximum number of points per line: enough to draw the same line as all points.
const LINE_POINTS: usize = 4_000;

/// Builds the report page of `dir`: a sweep, a run of a sweep, a folder of datasets, or a dataset.
///
/// `only` selects the cells to show. The tables of runs come from their datasets. The page lists incomplete runs with the reason and
/// does not draw them.
pub fn report(dir: &Path, only: &Only) -> Result<Page, Error> {
    let is_sweep = dir.join(RUNS).is_dir();
    let datasets = if is_sweep {
        Vec::new()
    } else {
        dataset_dirs(dir).map_err(|source| Error::Open {
            path: dir.to_owned(),
            source,
        })?
    };
    let has_cells = is_sweep || !datasets.is_empty();
    let (runs, records) = if is_sweep {
        let runs = run_dirs(dir).map_err(|source| Error::Open {
            path: dir.join(RUNS),
            source,
        })?;
        let records: Result<Vec<_>, Error> = runs.iter().map(|run| record(run)).collect();
        (runs, records?)
    } else if has_cells {
        let records = records_of_datasets(&datasets).map_err(Error::Record)?;
        (datasets, records.into_iter().map(Some).collect())
    } else {
        require_one_run(dir).map_err(Error::Record)?;
        (vec![dir.to_owned()], vec![record(dir)?])
    };
    let (runs, records) = selected(runs, records, only)?;
    // A run has four panels.
    let most_points = (MAX_POINTS / (4 * runs.len().max(1))).clamp(200, LINE_POINTS);
    let pages = runs
        .par_iter()
        .zip(&records)
        .map(|(run, record)| match record {
            // A sweep writes the record of a run last, so a run without a record was cut short.
            None if is_sweep => Ok((unfinished(run), None)),
            record => run_on_page(run, record.as_ref(), most_points),
        });
    let (mut pages, flows): (Vec<PageRun>, Vec<Option<RunFlows>>) =
        in_order(pages)?.into_iter().unzip();
    let known: Vec<&RunRecord> = records.iter().flatten().collect();
    let varied = varied(known.iter().copied());
    for (page, record) in pages.iter_mut().zip(&records) {
        let values = record.as_ref().map(|record| values_of(record, &varied));
        page.parameters = values.unwrap_or_default();
    }
    let rules: BTreeSet<&str> = flows
        .iter()
        .flatten()
        .map(|one| one.rule.as_str())
        .collect();
    let flow_rule = Vec::from_iter(rules).join("; ");
    let flows = flow_table(&pages, flows);
    let parameters = parameters(&known, &varied);
    let cells_table = has_cells.then(|| cell_table(dir, only, &parameters, &pages));
    let cells_table = cells_table.transpose()?;
    let cells: BTreeSet<_> = pages.iter().filter_map(|run| run.cell.as_ref()).collect();
    let summary = match (pages.len(), cells.len()) {
        (1, _) => "One run.".to_owned(),
        (runs, cells) => format!("{runs} runs of {}.", counted(cells, "cell")),
    };
    Ok(Page {
        title: name_of(dir),
        summary,
        flow_rule,
        parameters,
        panels: [RTT, WINDOW, GOODPUT, QUEUE].map(axis).into(),
        distributions: vec![axis(RTT)],
        tables: cells_table.into_iter().chain([flows]).collect(),
        runs: pages,
    })
}

/// The runs whose cells are selected, with their records.
fn selected(
    runs: Vec<PathBuf>,
    records: Vec<Option<RunRecord>>,
    only: &Only,
) -> Result<(Vec<PathBuf>, Vec<Option<RunRecord>>), Error> {
    if only.is_all() {
        return Ok((runs, records));
    }
    let parameters = records.iter().flatten().map(|record| &record.parameters);
    only.check(parameters).map_err(Error::Only)?;
    // A run without a record is of an unknown cell.
    let is_selected = |record: &Option<RunRecord>| {
        let record = record.as_ref();
        record.is_some_and(|record| only.takes(&record.parameters))
    };
    let runs = runs.into_iter().zip(records);
    Ok(runs.filter(|(_, record)| is_selected(record)).unzip())
}

/// Reads the record of a run that ended; `None` for an unfinished run or a dataset.
fn record(run: &Path) -> Result<Option<RunRecord>, Error> {
    RunRecord::read_if_there(run).map_err(Error::Record)
}

/// Page entry of a run that was cut short.
fn unfinished(dir: &Path) -> PageRun {
    PageRun {
        name: name_of(dir),
        cell: None,
        repetition: None,
        status: "unfinished".to_owned(),
        reason: Some("it never ended".to_owned()),
        parameters: BTreeMap::new(),
        flows: Vec::new(),
        all_flows: 0,
        chosen_flows: 0,
    }
}

/// Page entry of a run, and its flows; `None` without a dataset.
fn run_on_page(
    dir: &Path,
    record: Option<&RunRecord>,
    most_points: usize,
) -> Result<(PageRun, Option<RunFlows>), Error> {
    // A dataset in a folder of datasets has a record, but not the directory of a run.
    let data = match record {
        Some(_) if !dir.join(MANIFEST_FILE_NAME).is_file() => dir.join(DATASET),
        _ => dir.to_owned(),
    };
    let has_tables = ["flows.parquet", "series.parquet"]
        .iter()
        .any(|table| data.join(table).is_file());
    if record.is_none() && !has_tables {
        return Err(TablesError::NoTables { path: data }.into());
    }
    let is_drawn = record.is_none_or(|record| record.status == Status::Complete);
    let mut page = PageRun {
        name: name_of(dir),
        cell: record.map(|record| record.cell.clone()),
        repetition: record.map(|record| record.repetition),
        status: record
            .map_or("dataset", |record| status_of(record.status))
            .to_owned(),
        reason: record.and_then(|record| record.reason.clone()),
        // They depend on the other runs of the page.
        parameters: BTreeMap::new(),
        flows: Vec::new(),
        all_flows: 0,
        chosen_flows: 0,
    };
    if is_drawn && data.is_dir() {
        let mut flows = match drawn_flows(&data, most_points) {
            // One damaged run does not hide the others.
            Err(Error::Dataset(error @ DatasetError::Damaged { .. })) if record.is_some() => {
                "invalid".clone_into(&mut page.status);
                page.reason = Some(with_causes(&error));
                return Ok((page, None));
            }
            flows => flows?,
        };
        page.flows = std::mem::take(&mut flows.flows);
        page.all_flows = flows.all;
        page.chosen_flows = flows.chosen;
        return Ok((page, Some(flows)));
    }
    if is_drawn {
        "not analyzed".clone_into(&mut page.status);
    }
    Ok((page, None))
}

/// The flows of a dataset, or the series of a run of Flent.
fn drawn_flows(data: &Path, most_points: usize) -> Result<RunFlows, Error> {
    let tables = StoredTables::of(data).map_err(|source| DatasetError::Damaged {
        path: data.to_owned(),
        source,
    })?;
    match series_of(&tables, most_points)? {
        Some(series) => Ok(series),
        None => flows_of(&tables, most_points),
    }
}

/// The table of the flows on the page. `numbers` belong to the runs in their order.
fn flow_table(runs: &[PageRun], numbers: Vec<Option<RunFlows>>) -> PageTable {
    let column = |(name, definition): (&str, &str)| TableColumn {
        name: name.into(),
        definition: definition.into(),
        is_main: true,
    };
    let names = [
        ("run", "Name of the run."),
        ("flow", "The traffic's name, or both ends."),
    ];
    let mut rows = Vec::new();
    for (index, (run, flows)) in runs.iter().zip(numbers).enumerate() {
        let numbers = flows.map(|flows| flows.numbers).unwrap_or_default();
        for (flow, numbers) in run.flows.iter().zip(numbers) {
            let names = [&run.name, &flow.label].map(|name| Value::from(name.as_str()));
            rows.push(PageRow {
                runs: vec![index],
                values: names.into_iter().chain(numbers).collect(),
            });
        }
    }
    let columns = names.into_iter().chain(NUMBERS).map(column);
    PageTable::new("Flows", columns.collect(), rows)
}

fn axis((key, title, axis): (&str, &str, &str)) -> PageAxis {
    PageAxis {
        key: key.into(),
        title: title.into(),
        axis: axis.into(),
        is_rate: key == GOODPUT.0,
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().or(path.parent().and_then(Path::file_name));
    name.map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn status_of(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Invalid => "invalid",
        Status::Failed => "failed",
    }
}
