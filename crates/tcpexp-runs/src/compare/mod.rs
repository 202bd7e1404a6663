//! A sweep to one row per cell and class of traffic.
//!
//! Reads the records and the datasets of all runs, makes each run one number of each kind
//! ([`tcpexp_metrics::compare`]) and puts these together over the runs of a cell. Runs that are
//! invalid, failed or have no dataset are listed with their reason and are in no number.

mod cells;
mod columns;
mod dataset;
mod flows;
mod rows;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcpexp_metrics::compare::{CellClass, ClassRun, Options, RunOfCell, compare, measure_run};
use tcpexp_metrics::repetition::Bootstrap;
use thiserror::Error;

use self::cells::RunDir;
use crate::folders::{DATASET, RUNS, run_dirs};
use crate::record::{FILE_NAME, RecordError, RunRecord, Status};

pub use self::cells::{Cell, Fault};

/// How runs are compared.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// What is left out, and when flows count as settled.
    pub measure: Options,
    /// How intervals are made.
    pub bootstrap: Bootstrap,
    /// The values of parameters that a baseline has; none for no baseline.
    pub baseline: Vec<(String, String)>,
    /// What the bottleneck counts against its rate.
    pub counts: Counts,
}

/// What a bottleneck counts against its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// Ethernet frames without preamble, checksum and gap, as Linux does.
    #[default]
    Frames,
    /// IP packets, as FreeBSD's dummynet does.
    Packets,
}

/// A sweep compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The cells, in order of their parameters.
    pub cells: Vec<Cell>,
    /// The cell that each cell is held against.
    pub baselines: Vec<Option<usize>>,
    /// The numbers of each class of each cell that has a run that counts.
    pub classes: Vec<CellClass>,
    /// All runs, in order of their names.
    pub runs: Vec<ComparedRun>,
    /// Directories of runs that never ended, which have no record.
    pub unfinished: Vec<PathBuf>,
    /// What was left out, and when flows count as settled.
    pub options: Options,
}

/// A run by itself.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Its name.
    pub run: String,
    /// Its cell.
    pub cell: usize,
    /// Which repetition of the cell it is, from 1.
    pub repetition: u32,
    /// How it ended.
    pub status: Status,
    /// Why it does not count; `None` if it does.
    pub fault: Option<String>,
    /// Its numbers by class; none if it does not count.
    pub classes: Vec<ClassRun>,
}

/// Why a sweep could not be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// The directory cannot be read.
    #[error("cannot read {}", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no run.
    #[error("there is no run in {}: expected {RUNS}/<run>/{FILE_NAME}", path.display())]
    NoRuns {
        /// The directory.
        path: PathBuf,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A table cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table cannot be read.
    #[error("cannot read {}", path.display())]
    Table {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: tcpexp_table::Error,
    },
    /// The baseline names a parameter that no cell has.
    #[error("no cell has a parameter {name}; there are {known}")]
    NoParameter {
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// No cell has the values of the baseline.
    #[error("no cell has {wanted}, so there is no baseline")]
    NoBaseline {
        /// The values.
        wanted: String,
    },
}

impl Comparison {
    /// Compares the runs in the directory of a sweep.
    pub fn of(sweep: &Path, options: &CompareOptions) -> Result<Self, CompareError> {
        let (mut runs, unfinished) = runs(sweep)?;
        let measured: Result<Vec<Vec<ClassRun>>, CompareError> = runs
            .par_iter_mut()
            .map(|run| measured(run, options))
            .collect();
        let measured = measured?;
        let (cells, cell_of) = cells::cells(&runs);
        let baselines = cells::baselines(&cells, &options.baseline)?;
        let mut of_cells: Vec<RunOfCell> = cell_of
            .into_iter()
            .zip(measured)
            .map(|(cell, classes)| RunOfCell { cell, classes })
            .collect();
        let classes = compare(&mut of_cells, &baselines, &options.bootstrap);
        let runs = runs
            .into_iter()
            .zip(of_cells)
            .map(|(run, measured)| ComparedRun {
                run: run.record.run,
                cell: measured.cell,
                repetition: run.record.repetition,
                status: run.record.status,
                fault: run.fault,
                classes: measured.classes,
            });
        Ok(Self {
            runs: runs.collect(),
            cells,
            baselines,
            classes,
            unfinished,
            options: options.measure,
        })
    }
}

/// The runs below a directory in order of their names, and those without a record.
fn runs(sweep: &Path) -> Result<(Vec<RunDir>, Vec<PathBuf>), CompareError> {
    let paths = run_dirs(sweep).map_err(|source| CompareError::Directory {
        path: sweep.join(RUNS),
        source,
    })?;
    let (ended, unfinished): (Vec<PathBuf>, Vec<PathBuf>) = paths
        .into_iter()
        .partition(|path| path.join(FILE_NAME).exists());
    let run = |path: PathBuf| {
        let record = RunRecord::read(&path)?;
        let fault = cells::fault(&record);
        Ok(RunDir {
            path,
            record,
            fault,
        })
    };
    let runs: Result<Vec<RunDir>, CompareError> = ended.into_iter().map(run).collect();
    let runs = runs?;
    if runs.is_empty() {
        let path = sweep.to_owned();
        return Err(CompareError::NoRuns { path });
    }
    Ok((runs, unfinished))
}

/// The numbers of a run that counts. One without any is at fault.
fn measured(run: &mut RunDir, options: &CompareOptions) -> Result<Vec<ClassRun>, CompareError> {
    if run.fault.is_some() {
        return Ok(Vec::new());
    }
    let data = run.path.join(DATASET);
    if !data.join("flows.parquet").exists() {
        run.fault = Some(format!(
            "it has no dataset in {DATASET}: see tcpexp analyze"
        ));
        return Ok(Vec::new());
    }
    let Some(read) = dataset::read(&data, &run.record, options.counts)? else {
        run.fault = Some("its traffic never started".to_owned());
        return Ok(Vec::new());
    };
    let classes = measure_run(&read, &options.measure);
    if classes.is_empty() {
        run.fault = Some("it has no traffic".to_owned());
    }
    Ok(classes)
}

impl Counts {
    /// What comes to the length of an IP packet.
    const fn link_header_bytes(self) -> u32 {
        match self {
            Self::Frames => 14,
            Self::Packets => 0,
        }
    }
}
