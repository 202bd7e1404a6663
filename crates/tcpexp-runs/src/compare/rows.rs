//! Table rows of a comparison.

use std::sync::Arc;

use tcpexp_table::compare::{CompareRow, CompareRunRow, ComparedCell};
use tcpexp_table::dataset::RunColumns;

use super::{Comparison, Fault};
use crate::record::Status;

impl Comparison {
    /// The parameters, which are columns of all rows.
    pub fn parameters(&self) -> RunColumns {
        let first = self.cells.first();
        first
            .map(|cell| cell.parameters.clone())
            .unwrap_or_default()
    }

    /// A row for each cell and class. A cell without a valid run has one row without a class.
    pub fn rows(&self) -> Vec<CompareRow> {
        let cells = self.compared_cells();
        let of_cell = |(place, cell): (usize, &Arc<ComparedCell>)| {
            let of_class = self.classes.iter().filter(|class| class.cell == place);
            let mut rows: Vec<CompareRow> = of_class
                .map(|class| CompareRow {
                    cell: Arc::clone(cell),
                    class: Some(class.clone()),
                })
                .collect();
            if rows.is_empty() {
                rows.push(CompareRow {
                    cell: Arc::clone(cell),
                    class: None,
                });
            }
            rows
        };
        cells.iter().enumerate().flat_map(of_cell).collect()
    }

    /// A row for each run and class. A run that enters no figure has one row without a class.
    pub fn run_rows(&self) -> Vec<CompareRunRow> {
        let cells = self.compared_cells();
        let mut rows = Vec::new();
        for run in &self.runs {
            let row = CompareRunRow {
                cell: Arc::clone(&cells[run.cell]),
                run: Arc::from(run.run.as_str()),
                repetition: run.repetition,
                status: run.status.name(),
                reason: run.fault.as_deref().map(Arc::from),
                class: None,
            };
            if run.classes.is_empty() {
                rows.push(row);
                continue;
            }
            rows.extend(run.classes.iter().map(|class| CompareRunRow {
                class: Some(class.clone()),
                ..row.clone()
            }));
        }
        rows
    }

    pub(super) fn compared_cells(&self) -> Vec<Arc<ComparedCell>> {
        let compared = |(place, cell): (usize, &super::Cell)| {
            let failed = cell
                .faults
                .iter()
                .filter(|fault| fault.status == Status::Failed);
            let failed = failed.count() as u64;
            let runs = self
                .runs
                .iter()
                .filter(|run| run.cell == place && run.fault.is_none());
            let baseline = self.baselines[place].map(|base| self.cells[base].hash.clone());
            Arc::new(ComparedCell {
                hash: cell.hash.clone(),
                parameters: cell.parameters.clone(),
                varied: cell.varied,
                baseline,
                runs: [
                    runs.count() as u64,
                    // A complete run whose dataset is missing or damaged counts as invalid.
                    cell.faults.len() as u64 - failed,
                    failed,
                ],
                left_out: left_out(&cell.faults),
                options: self.options,
            })
        };
        self.cells.iter().enumerate().map(compared).collect()
    }
}

/// `0003 invalid (no queue); 0005 (no traffic); 0007 failed (no answer)`
fn left_out(faults: &[Fault]) -> Option<String> {
    let fault = |fault: &Fault| {
        let Fault { run, reason, .. } = fault;
        match fault.status {
            // The run is as planned; its dataset is empty, missing or damaged.
            Status::Complete => format!("{run} ({reason})"),
            Status::Failed => format!("{run} failed ({reason})"),
            Status::Invalid => format!("{run} invalid ({reason})"),
        }
    };
    let faults: Vec<String> = faults.iter().map(fault).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

impl Status {
    /// The name in records and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
        }
    }
}
