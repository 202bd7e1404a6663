//! Compares the cells of a sweep, or of a folder of datasets: one row per cell and class of traffic.
//!
//! Reads the record and the dataset of each run, reduces the run to one value per measure
//! ([`tcpexp_metrics::compare`]), and takes medians over the runs of a cell. Runs that are invalid,
//! failed or without a dataset are listed with the reason and enter no figure.

mod bins;
mod cells;
mod columns;
mod dataset;
mod delay_changes;
mod expected;
mod flows;
mod gaps;
mod marks;
mod planned;
mod rows;
mod sampled;
mod samples;
mod series;
#[cfg(test)]
mod tests;
mod unlike;
mod unseen;

pub use series::{bits_per_second, is_computed};

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcpexp_metrics::compare::{CellClass, ClassRun, Options, Run, RunOfCell, compare, measure_run};
use tcpexp_metrics::repetition::Bootstrap;
use tcpexp_table::dataset::{StoredTables, TableMismatch};
use tcpexp_units::with_causes;
use thiserror::Error;

use self::cells::RunDir;
use crate::captured::records_of_datasets;
use crate::folders::{DATASET, RUNS, datasets_at, run_dirs};
use crate::only::{Only, OnlyError};
use crate::record::{FILE_NAME, RecordError, RunRecord, Status};

pub use self::cells::{CELL_HASH, Cell, Fault};
pub use self::expected::{ExpectError, Expected};
pub use self::gaps::Gap;
pub use self::planned::{PlannedRun, not_run};
pub use self::unlike::Unlike;

/// The tool whose logs hold round-trip times and whose traffic is excluded from all sums.
const PING: &str = "ping";

/// Class of the traffic of datasets without a plan.
pub const LOAD: &str = "load";

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Options of the measures of one run.
    pub measure: Options,
    /// Options of the confidence intervals.
    pub bootstrap: Bootstrap,
    /// The cells to compare.
    pub only: Only,
    /// Parameter values that define the baseline cells; empty for no baseline.
    pub baseline: Vec<(String, String)>,
    /// The bytes that count against the rate of the bottleneck.
    pub counts: Counts,
}

/// The bytes of a packet that count against the rate of a bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// Ethernet frames without preamble, checksum and gap, as in Linux.
    #[default]
    Frames,
    /// IP packets, as in FreeBSD's dummynet.
    Packets,
}

/// The result of comparing the cells of a sweep.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The cells, in order of their parameters.
    pub cells: Vec<Cell>,
    /// The baseline cell of each cell, if any.
    pub baselines: Vec<Option<usize>>,
    /// The parameters in which the possible baselines differ from the cells that have none.
    pub without_baseline: Vec<String>,
    /// A row for each class of each cell with a valid run.
    pub classes: Vec<CellClass>,
    /// All runs, in order of their names.
    pub runs: Vec<ComparedRun>,
    /// Number of cells whose runs have different kernels.
    pub kernels: usize,
    /// Cells whose runs have datasets that are no repetitions of each other.
    pub unlike: Vec<Unlike>,
    /// Directories of runs that never ended, which have no record.
    pub unfinished: Vec<PathBuf>,
    /// Planned runs that have not ended, in the order of the plan; empty without a plan
    /// ([`with_planned`](Self::with_planned)).
    pub not_run: Vec<PlannedRun>,
    /// The options used for each run.
    pub options: Options,
}

/// One run.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Name of the run.
    pub run: String,
    /// Index of its cell.
    pub cell: usize,
    /// Repetition of the cell, from 1.
    pub repetition: u32,
    /// Outcome of the run.
    pub status: Status,
    /// Why the run enters no figure; `None` if it does.
    pub fault: Option<String>,
    /// True if it enters no figure because its dataset is damaged.
    pub is_damaged: bool,
    /// What its dataset leaves unknown.
    pub gaps: Vec<Gap>,
    /// Its values by class; empty if it enters no figure.
    pub classes: Vec<ClassRun>,
}

/// Errors of a comparison.
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
    #[error(
        "there is no run in {}: expected {RUNS}/<run>/{FILE_NAME}, or datasets of tcpexp analyze",
        path.display()
    )]
    NoRuns {
        /// The directory.
        path: PathBuf,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A dataset does not have the tables that its manifest lists.
    #[error("the dataset is damaged")]
    Damaged(#[from] TableMismatch),
    /// A table cannot be read.
    #[error("cannot read {}", path.display())]
    Table {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: tcpexp_table::Error,
    },
    /// The baseline names a parameter that no cell has.
    #[error("no cell has a parameter {name}; the parameters are {known}")]
    NoParameter {
        /// Name of the parameter.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The selection of cells names no cell.
    #[error(transparent)]
    Only(#[from] OnlyError),
    /// No cell has the values of the baseline.
    #[error("no cell has {wanted}, so there is no baseline")]
    NoBaseline {
        /// The values.
        wanted: String,
    },
}

impl Comparison {
    /// Compares the runs in the directory of a sweep, or the datasets in a folder.
    ///
    /// A dataset states no traffic. Its class [`LOAD`] has the flows that count as load
    /// ([`tcpexp_metrics::pooling`]), each in the direction of its payload.
    pub fn of(folder: &Path, options: &CompareOptions) -> Result<Self, CompareError> {
        let (mut runs, unfinished) = runs(folder)?;
        let parameters = runs.iter().map(|run| &run.record.parameters);
        options.only.check(parameters)?;
        runs.retain(|run| options.only.takes(&run.record.parameters));
        let measured: Vec<Result<Vec<ClassRun>, CompareError>> = runs
            .par_iter_mut()
            .map(|run| measured(run, options))
            .collect();
        // If there are several errors, returns the first in the order of the runs, not in time.
        let measured: Vec<Vec<ClassRun>> = measured.into_iter().collect::<Result<_, _>>()?;
        // `measured` marks further runs as faulty, so the cells list their faults after it.
        let (cells, cell_of) = cells::cells(&runs);
        let kernels = cells::with_different_kernels(&runs, &cell_of);
        let unlike = unlike::of_cells(&runs, &cell_of);
        let baselines = cells::baselines(&cells, &options.baseline)?;
        let without_baseline = if options.baseline.is_empty() {
            Vec::new()
        } else {
            cells::without_baseline(&cells, &options.baseline, &baselines)
        };
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
                is_damaged: run.is_damaged,
                gaps: run.gaps,
                classes: measured.classes,
            });
        Ok(Self {
            runs: runs.collect(),
            cells,
            baselines,
            without_baseline,
            kernels,
            unlike,
            classes,
            unfinished,
            not_run: Vec::new(),
            options: options.measure,
        })
    }
}

/// The input of a run's comparison.
#[derive(Clone, Debug)]
pub enum RunInput {
    /// From packets.
    Packets(Box<Run>),
    /// Series of Flent, which have no packets.
    Series,
    /// The run ended before its traffic started, or has no dataset.
    None,
}

/// Reads the record of a run in the directory of a sweep, and the input of its comparison.
pub fn run_and_record(dir: &Path) -> Result<(RunRecord, RunInput), CompareError> {
    let run = run_of_sweep(dir)?;
    let data = StoredTables::of(&run.data)?;
    if data.has(series::SERIES) && !data.has("flows") {
        return Ok((run.record, RunInput::Series));
    }
    let read = data
        .has("flows")
        .then(|| dataset::read(&run, &data, Counts::default()));
    let input = match read.transpose()?.flatten() {
        Some(run) => RunInput::Packets(Box::new(run)),
        None => RunInput::None,
    };
    Ok((run.record, input))
}

/// The runs below a directory in order of their names, and those without a record.
fn runs(folder: &Path) -> Result<(Vec<RunDir>, Vec<PathBuf>), CompareError> {
    let (runs, unfinished) = if folder.join(RUNS).is_dir() {
        runs_of_sweep(folder)?
    } else {
        (datasets(folder)?, Vec::new())
    };
    if runs.is_empty() {
        let path = folder.to_owned();
        return Err(CompareError::NoRuns { path });
    }
    Ok((runs, unfinished))
}

fn datasets(folder: &Path) -> Result<Vec<RunDir>, CompareError> {
    let dirs = datasets_at(folder).map_err(|source| CompareError::Directory {
        path: folder.to_owned(),
        source,
    })?;
    let records = records_of_datasets(&dirs)?;
    let runs = dirs.into_iter().zip(records).map(|(data, record)| RunDir {
        data,
        record,
        has_plan: false,
        fault: None,
        is_damaged: false,
        gaps: Vec::new(),
    });
    Ok(runs.collect())
}

fn runs_of_sweep(sweep: &Path) -> Result<(Vec<RunDir>, Vec<PathBuf>), CompareError> {
    let paths = run_dirs(sweep).map_err(|source| CompareError::Directory {
        path: sweep.join(RUNS),
        source,
    })?;
    let (ended, unfinished): (Vec<PathBuf>, Vec<PathBuf>) = paths
        .into_iter()
        .partition(|path| path.join(FILE_NAME).exists());
    let runs: Result<Vec<RunDir>, CompareError> =
        ended.iter().map(|path| run_of_sweep(path)).collect();
    Ok((runs?, unfinished))
}

fn run_of_sweep(path: &Path) -> Result<RunDir, CompareError> {
    let record = RunRecord::read(path)?;
    Ok(RunDir {
        data: path.join(DATASET),
        // The plan of a sweep has traffic; the experiment of another tool may name none.
        has_plan: !record.traffic.is_empty(),
        fault: cells::fault(&record),
        is_damaged: false,
        gaps: Vec::new(),
        record,
    })
}

/// The values of a valid run. Marks a run without values as faulty.
fn measured(run: &mut RunDir, options: &CompareOptions) -> Result<Vec<ClassRun>, CompareError> {
    if run.fault.is_some() {
        return Ok(Vec::new());
    }
    match of_tables(run, options) {
        Err(CompareError::Damaged(why)) => {
            run.fault = Some(format!("its dataset is damaged: {}", with_causes(&why)));
            run.is_damaged = true;
            Ok(Vec::new())
        }
        measured => measured,
    }
}

/// The same, from the tables of the run.
fn of_tables(run: &mut RunDir, options: &CompareOptions) -> Result<Vec<ClassRun>, CompareError> {
    let data = StoredTables::of(&run.data)?;
    if let Some(read) = series::read(&data)? {
        let classes = classes_of(run, &read.run, options);
        if read.has_unknown_rates {
            run.gaps.push(Gap::Units);
            run.fault = classes.is_empty().then(|| Gap::Units.reason().to_owned());
        }
        return Ok(classes);
    }
    // Without a manifest, only this check finds a run without a dataset.
    if !data.has("flows") {
        run.fault = Some(format!(
            "it has no dataset in {DATASET}: see tcpexp analyze"
        ));
        return Ok(Vec::new());
    }
    let Some(read) = dataset::read(run, &data, options.counts)? else {
        run.fault = Some("its traffic never started".to_owned());
        return Ok(Vec::new());
    };
    if run.has_plan
        && let Some(fault) = unseen::fault(run, &read)
    {
        run.fault = Some(fault);
        return Ok(Vec::new());
    }
    let classes = classes_of(run, &read, options);
    if delay_changes::moves_delay(&run.record) {
        run.gaps.push(Gap::BaseRtt);
    }
    Ok(classes)
}

/// The values of a run by class. Marks a run without traffic as faulty.
fn classes_of(run: &mut RunDir, read: &Run, options: &CompareOptions) -> Vec<ClassRun> {
    let classes = measure_run(read, &options.measure);
    run.gaps = Gap::all_of(read, &classes, &options.measure);
    if classes.is_empty() {
        run.fault = Some("no traffic".to_owned());
    }
    classes
}

impl Counts {
    /// Bytes that are added to the length of the IP packet.
    const fn link_header_bytes(self) -> u32 {
        match self {
            // Two MAC addresses and the EtherType, which `skb->len` includes in a qdisc of Linux.
            Self::Frames => 14,
            Self::Packets => 0,
        }
    }
}
