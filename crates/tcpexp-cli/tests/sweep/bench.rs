//! A directory with plans and results, in which the command runs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;

use arrow::array::{ArrayRef, AsArray};
use serde_json::Value;
use tempfile::TempDir;

/// The working directory of a test.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    /// Creates an empty bench.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    /// Returns the path of a file or folder in the bench.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs `tcpexp` with arguments separated by spaces.
    pub(crate) fn tcpexp(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a long command: prints its output during the run, and returns it.
    pub(crate) fn follow(&self, words: &str) -> (ExitStatus, String) {
        let mut child = self.command(words).stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            println!("{line}");
            text += &line;
            text.push('\n');
        }
        (child.wait().unwrap(), text)
    }

    /// Returns the command without starting it.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcpexp"));
        command
            .args(words.split_whitespace())
            .current_dir(self.folder.path())
            .env("TMPDIR", self.path("tmp"))
            // All tests share the images, so each image is built once.
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    /// Creates a folder for a guest: a script, the functions that all scripts share, and a plan.
    pub(crate) fn share(&self, name: &str, script: &str, plan: &str) {
        std::fs::create_dir(self.path("share")).unwrap();
        self.write(&format!("share/{name}"), script);
        self.write("share/guest.sh", include_str!("guest.sh"));
        self.write("share/plan.toml", plan);
    }

    /// Returns the records of a sweep's runs, with the paths of the runs.
    pub(crate) fn records(&self, dir: &str) -> Vec<(PathBuf, Value)> {
        let runs = std::fs::read_dir(self.path(dir).join("runs")).unwrap();
        let mut runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        let record = |run: &PathBuf| {
            let text = std::fs::read_to_string(run.join("run.json")).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        runs.iter().map(|run| (run.clone(), record(run))).collect()
    }
}

/// What the first guest lacks on this machine, if it does not boot.
static MISSING: LazyLock<Option<String>> = LazyLock::new(|| {
    let output = Bench::new().tcpexp("lab run -- true");
    (!output.status.success()).then(|| said(&output))
});

/// True if guests can boot on this machine; otherwise skips the running test.
pub(crate) fn has_lab() -> bool {
    if let Some(missing) = &*MISSING {
        tcpexp_testkit::skip(missing);
    }
    MISSING.is_none()
}

/// Returns the standard error of a command.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns a column of numbers, without nulls.
pub(crate) fn numbers(table: &Path, column: &str) -> Vec<f64> {
    use arrow::datatypes::{DataType, Float64Type};

    let columns = cast_to(table, column, &DataType::Float64);
    let cells = columns
        .iter()
        .flat_map(AsArray::as_primitive::<Float64Type>);
    cells.flatten().collect()
}

/// Returns a column of texts, without nulls.
pub(crate) fn texts(table: &Path, column: &str) -> Vec<String> {
    cells(table, column).into_iter().flatten().collect()
}

/// Returns all cells of a column as text; nulls are `None`.
pub(crate) fn cells(table: &Path, column: &str) -> Vec<Option<String>> {
    use arrow::datatypes::DataType;

    let columns = cast_to(table, column, &DataType::Utf8);
    let cells = columns.iter().flat_map(AsArray::as_string::<i32>);
    cells.map(|cell| cell.map(str::to_owned)).collect()
}

fn cast_to(table: &Path, column: &str, to: &arrow::datatypes::DataType) -> Vec<ArrayRef> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let file = std::fs::File::open(table).unwrap();
    let batches = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    let column = |batch: arrow::array::RecordBatch| {
        let found = batch.column_by_name(column);
        let found = found.unwrap_or_else(|| panic!("no column {column}"));
        arrow::compute::cast(found, to).unwrap()
    };
    batches.map(|batch| column(batch.unwrap())).collect()
}
