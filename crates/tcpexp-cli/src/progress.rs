//! A progress bar for long work, on terminals only.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tcpexp::Recording;

use crate::caller::caller;

/// Shows the reading progress of the captures, until it is dropped.
pub(crate) struct Progress {
    counters: Vec<Arc<AtomicU64>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Watches `passes` passes over each of `recordings`.
    pub(crate) fn watch(recordings: &[&Recording], passes: u64, quiet: bool) -> Self {
        let each: Vec<_> = recordings.iter().map(|one| (*one, passes)).collect();
        Self::watch_each(&each, quiet)
    }

    /// Watches a number of passes over each recording.
    pub(crate) fn watch_each(recordings: &[(&Recording, u64)], quiet: bool) -> Self {
        let bytes = recordings
            .iter()
            .map(|(recording, passes)| passes * recording.file_bytes());
        let counters = recordings.iter().map(|(recording, _)| recording.progress());
        Self::start(counters.collect(), bytes.sum(), quiet)
    }

    /// Counts `total` bytes, as [`advance`](Self::advance) reports them.
    pub(crate) fn count(total: u64, quiet: bool) -> Self {
        Self::start(vec![Arc::default()], total, quiet)
    }

    fn start(counters: Vec<Arc<AtomicU64>>, total: u64, quiet: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        if let Some(caller) = caller() {
            caller.reads(&counters, total);
        }
        let show = !quiet && std::io::stderr().is_terminal();
        let start = || {
            let (stop, counters) = (Arc::clone(&stop), counters.clone());
            thread::Builder::new().spawn(move || run(&stop, &counters, total))
        };
        // Without a thread there is no bar.
        let thread = show.then(start).and_then(Result::ok);
        Self {
            counters,
            stop,
            thread,
        }
    }

    /// Adds bytes that have been read.
    pub(crate) fn advance(&self, bytes: u64) {
        if let Some(counter) = self.counters.first() {
            counter.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(caller) = caller() {
            caller.has_read();
        }
        if let Some(thread) = self.thread.take() {
            // The thread sleeps for up to 100 ms, for which a short run must not wait.
            thread.thread().unpark();
            // A panic in the progress thread does not affect the result.
            drop(thread.join());
        }
    }
}

fn run(stop: &AtomicBool, counters: &[Arc<AtomicU64>], total: u64) {
    let started = Instant::now();
    let mut bar = None;
    while !stop.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(100));
        // Short runs get no bar.
        if started.elapsed() < Duration::from_secs(1) {
            continue;
        }
        let done = counters
            .iter()
            .map(|counter| counter.load(Ordering::Relaxed))
            .sum();
        bar.get_or_insert_with(|| new_bar(total, started))
            .set_position(done);
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(total: u64, started: Instant) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{wide_bar} {bytes} of {total_bytes} {binary_bytes_per_sec}, {eta} left",
    );
    ProgressBar::new(total)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        // The bar appears late, but its rate counts from the start.
        .with_elapsed(started.elapsed())
}
