//! Commands that a program calls in its own process. The program takes their rows and their text.
//!
//! A command prints and creates its tables on the thread that runs it, so the thread identifies the
//! caller. Tables keep their caller, because measurements fill them on other threads.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use tcpexp_table::{BatchSink, Columns};
use thiserror::Error;

thread_local! {
    static CALLER: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
}

/// What a program takes from a command.
#[derive(Clone, Debug)]
pub struct Request {
    /// The table whose rows the program takes.
    pub wanted: Wanted,
    /// The names of the columns that the program takes, at least one; all columns if `None`.
    pub columns: Option<Vec<String>>,
    /// Stops the command soon after it is set to true.
    pub stop: Arc<AtomicBool>,
    /// The progress of the command.
    pub advance: Advance,
}

/// The progress of a command, for a program that displays it.
#[derive(Clone, Debug, Default)]
pub struct Advance(Arc<Mutex<Option<Reading>>>);

/// Bytes that are being read.
#[derive(Debug)]
struct Reading {
    counters: Vec<Arc<AtomicU64>>,
    total: u64,
}

impl Advance {
    /// The bytes that were read, and all bytes to read, in the sum of all passes; `None` if the command
    /// reads nothing that takes long.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = reading.as_ref()?;
        let counters = reading.counters.iter();
        let done = counters
            .map(|counter| counter.load(Ordering::Relaxed))
            .sum();
        Some((done, reading.total))
    }

    fn set(&self, reading: Option<Reading>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reading;
    }
}

impl Request {
    /// All columns of the `wanted` table.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            columns: None,
            stop: Arc::default(),
            advance: Advance::default(),
        }
    }
}

/// The table of a command whose rows its caller takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// None: the caller takes the text only.
    Text,
    /// The main table, which the command writes with `-o`.
    Rows,
    /// The other table, which the command writes with `--flows`, `--events` or `--runs`.
    SideRows,
}

/// A part of the wanted table.
#[derive(Clone, Debug)]
pub enum Handed {
    /// The schema, once, before the rows. Most commands have not read their input yet.
    Schema(SchemaRef),
    /// The next rows.
    Rows(RecordBatch),
}

/// What a command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Text for standard output.
    pub text: String,
    /// Lines for standard error.
    pub warnings: Vec<String>,
    /// The pairs of `analyze --pairs`, in the order of their numbers.
    pub pairs: Vec<PairOutcome>,
}

/// What `analyze --pairs` did with a pair of captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairOutcome {
    /// Number of the pair, from 1.
    pub number: u64,
    /// Name of the pair.
    pub name: String,
    /// Directory of the dataset, or the file with the reason why there is none.
    pub part: PathBuf,
    /// How the task ended.
    pub end: PairEnd,
    /// Number of records in the captures that were analysed; 0 if they were not.
    pub records: u64,
}

/// How the task of a pair ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairEnd {
    /// The dataset was written.
    Analyzed,
    /// The part existed.
    Known,
    /// The captures cannot be analysed. The reason was written.
    Failed,
}

/// Why a called command ended early.
#[derive(Debug, Error)]
pub enum CallError {
    /// The arguments are wrong.
    #[error("{0}")]
    Usage(String),
    /// The caller stopped the command or refused a part of the table.
    #[error("stopped by its caller")]
    Stopped,
    /// The command failed. The error has its causes as a chain.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

/// Runs a command for a program. `arguments` are those of a process, the first of which is the
/// program's name.
///
/// Prints nothing: text is returned, and the requested rows go to `take`, batch by batch. Files that
/// the arguments name are written, and are complete or absent. Handles no signals. The command ends
/// with [`CallError::Stopped`] if `take` returns false, and soon after the request's flag is set.
pub fn call(
    arguments: impl IntoIterator<Item = OsString>,
    request: Request,
    take: impl FnMut(Handed) -> bool + Send + 'static,
) -> Result<Printed, CallError> {
    let caller = Arc::new(Caller {
        request,
        state: Mutex::new(State {
            take: Box::new(take),
            schema_is_handed: false,
            handed_rows: 0,
            printed: Printed::default(),
        }),
    });
    let outcome = on_behalf_of(Some(Arc::clone(&caller)), || crate::run(arguments));
    match outcome {
        // Stopping shows as a failed read or write.
        Err(_) if caller.is_stopped() => Err(CallError::Stopped),
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(wrong) if wrong.use_stderr() => Err(CallError::Usage(wrong.to_string())),
            // Requested help.
            Ok(help) => Ok(Printed {
                text: help.to_string(),
                ..Printed::default()
            }),
            Err(error) => Err(CallError::Failed(error)),
        },
        Ok(()) => Ok(std::mem::take(&mut caller.state().printed)),
    }
}

/// Runs a part of a command on another thread than its caller's, with its caller.
pub(crate) fn on_behalf_of<T>(caller: Option<Arc<Caller>>, run: impl FnOnce() -> T) -> T {
    let before = CALLER.replace(caller);
    let outcome = run();
    CALLER.set(before);
    outcome
}

/// The caller of the command that runs on this thread, if it is called by a program.
pub(crate) fn caller() -> Option<Arc<Caller>> {
    CALLER.with_borrow(Clone::clone)
}

/// The caller, if it takes the rows of the `wanted` table.
pub(crate) fn taker(wanted: Wanted) -> Option<Arc<Caller>> {
    caller().filter(|caller| caller.request.wanted == wanted)
}

/// The program that called a command.
pub(crate) struct Caller {
    request: Request,
    state: Mutex<State>,
}

struct State {
    take: Box<dyn FnMut(Handed) -> bool + Send>,
    schema_is_handed: bool,
    handed_rows: usize,
    printed: Printed,
}

impl Caller {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The flag that stops the command.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.request.stop)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    /// Sets the counters of what the command reads.
    pub(crate) fn reads(&self, counters: &[Arc<AtomicU64>], total: u64) {
        let counters = counters.to_vec();
        self.request.advance.set(Some(Reading { counters, total }));
    }

    /// The command reads no more.
    pub(crate) fn has_read(&self) {
        self.request.advance.set(None);
    }

    /// Hands a part of the table to the program.
    fn hand(&self, state: &mut State, part: Handed) -> io::Result<()> {
        if !self.is_stopped() && !(state.take)(part) {
            self.request.stop.store(true, Ordering::Relaxed);
        }
        if self.is_stopped() {
            return Err(io::Error::other(CallError::Stopped));
        }
        Ok(())
    }

    /// Adds text for standard output.
    pub(crate) fn print(&self, text: &str) {
        self.state().printed.text.push_str(text);
    }

    /// Adds a line for standard error.
    pub(crate) fn warn(&self, line: &str) {
        self.state().printed.warnings.push(line.to_owned());
    }

    /// Adds what was done with a pair.
    pub(crate) fn end_pair(&self, outcome: PairOutcome) {
        self.state().printed.pairs.push(outcome);
    }

    /// Passes the schema of a table to the caller. Returns the columns to compute, and the function
    /// that passes their batches on.
    pub(crate) fn table<R>(
        self: &Arc<Self>,
        columns: Columns<R>,
    ) -> io::Result<(Columns<R>, BatchSink)> {
        let columns = match &self.request.columns {
            Some(names) => columns.only(|name| names.iter().any(|wanted| wanted == name)),
            None => columns,
        };
        let mut state = self.state();
        // `throughput` begins its table again after a first attempt, with the same first rows.
        let mut again = state.handed_rows;
        if !state.schema_is_handed {
            state.schema_is_handed = true;
            self.hand(&mut state, Handed::Schema(columns.schema()))?;
        }
        drop(state);
        let caller = Arc::clone(self);
        let each = Box::new(move |batch: RecordBatch| {
            let known = again.min(batch.num_rows());
            again -= known;
            let new = batch.num_rows() - known;
            if new == 0 {
                return Ok(());
            }
            let mut state = caller.state();
            state.handed_rows += new;
            caller.hand(&mut state, Handed::Rows(batch.slice(known, new)))
        });
        Ok((columns, each))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc;

    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        let fixture = |name: &str| {
            let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
            fixtures.join("reno-2mbit-40ms-50p").join(name)
        };
        let words = line.split_whitespace().map(|word| match word {
            "SRC" => fixture("src.pcap.gz").into_os_string(),
            "DST" => fixture("dst.pcap.gz").into_os_string(),
            word => word.into(),
        });
        [OsString::from("tcpexp")]
            .into_iter()
            .chain(words)
            .collect()
    }

    /// Number of rows, and what the command printed.
    fn rows(line: &str, wanted: Wanted) -> (usize, Printed) {
        let (send, receive) = mpsc::channel();
        let take = move |part| send.send(part).is_ok();
        let printed = call(arguments(line), Request::new(wanted), take).unwrap();
        let mut parts = receive.into_iter();
        assert!(matches!(parts.next(), Some(Handed::Schema(_))));
        let rows = parts.map(|part| match part {
            Handed::Rows(batch) => batch.num_rows(),
            Handed::Schema(_) => panic!("a second schema"),
        });
        (rows.sum(), printed)
    }

    fn text(line: &str) -> Result<Printed, CallError> {
        call(arguments(line), Request::new(Wanted::Text), |_| true)
    }

    #[test]
    fn a_stopped_command_leaves_no_output() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let lines = [
            ("rtt SRC DST", "-o"),
            ("rtt SRC", "--plot"),
            ("path SRC DST", "--flows"),
            ("flows SRC", "-o"),
            ("throughput SRC", "-o"),
            ("cwnd SRC DST", "-o"),
            ("why SRC", "-o"),
            ("explain SRC --flow 1", "-o"),
            ("analyze SRC DST", "-o"),
            ("path SRC SRC DST", "-o"),
            ("survey SRC DST", "-o"),
            ("split SRC --parts 3", "-o"),
            ("info SRC", ""),
        ];
        for (line, output) in lines {
            let mut line = arguments(line);
            if !output.is_empty() {
                let ending = if output == "--plot" { "svg" } else { "csv" };
                line.extend([output.into(), out.with_extension(ending).into_os_string()]);
            }
            let request = Request::new(Wanted::Text);
            request.stop.store(true, Ordering::Relaxed);
            let stopped = call(line.clone(), request, |_| true);
            assert!(matches!(stopped, Err(CallError::Stopped)), "{line:?}");
            assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{line:?}");
        }
    }

    #[test]
    fn a_caller_takes_the_rows_and_the_text_of_a_command() {
        let (of_rtt, printed) = rows("rtt SRC DST", Wanted::Rows);
        let text = text("rtt SRC DST").unwrap();
        assert_eq!(printed, text);
        assert!(text.text.contains("RTT in ms"), "{}", text.text);
        assert!(of_rtt > 5_000, "{of_rtt}");
        let (of_flows, _) = rows("rtt SRC DST --flows x.arrow", Wanted::SideRows);
        assert_eq!(of_flows, 4);
    }

    #[test]
    fn a_caller_takes_some_columns() {
        for line in ["rtt SRC DST", "flows SRC"] {
            let names = ["direction", "flow_id"];
            let request = Request {
                columns: Some(names.map(str::to_owned).into()),
                ..Request::new(Wanted::Rows)
            };
            let (send, calls) = mpsc::channel();
            let take = move |part| {
                send.send(()).unwrap();
                let schema = match part {
                    Handed::Schema(schema) => schema,
                    Handed::Rows(batch) => batch.schema(),
                };
                let mut taken: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
                taken.sort_unstable();
                taken == names
            };
            call(arguments(line), request, take).unwrap();
            // The schema, and rows.
            let calls = calls.iter().count();
            assert!(calls >= 2, "{line}: {calls}");
        }
    }

    #[test]
    fn rows_of_a_repeated_measurement_are_handed_once() {
        // Nearly all bins of 10 µs are empty, so the measurement is repeated.
        let line = "throughput SRC --bin 10us --to 1s";
        let (all, _) = rows(&format!("{line} --empty-bins"), Wanted::Rows);
        let (handed, _) = rows(line, Wanted::Rows);
        assert!(handed > 10_000, "{handed}");
        assert_eq!(handed, all);
    }

    #[test]
    fn a_caller_that_refuses_the_schema_stops_the_command() {
        let line = arguments("rtt SRC missing.pcap");
        let stopped = call(line, Request::new(Wanted::Rows), |_| false);
        assert!(matches!(stopped, Err(CallError::Stopped)), "{stopped:?}");
    }

    #[test]
    fn wrong_arguments_and_failures_are_different_errors() {
        assert!(matches!(text("rtt --no"), Err(CallError::Usage(_))));
        assert!(matches!(text("rtt missing"), Err(CallError::Failed(_))));
        assert!(text("rtt --help").unwrap().text.contains("Usage"));
    }
}
