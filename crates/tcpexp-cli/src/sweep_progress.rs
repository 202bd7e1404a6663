//! Progress of a sweep: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tcpexp_runs::record::{RunRecord, Status};
use tcpexp_sweep::Event;

use crate::shown;

/// Shows the progress of a sweep.
pub(crate) struct Progress {
    is_quiet: bool,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    began: Instant,
    done: usize,
    left: usize,
}

/// Prints one line to standard error.
pub(crate) fn line(text: &str) {
    use std::io::Write;
    drop(writeln!(std::io::stderr(), "{}", shown::line(text)));
}

impl Progress {
    /// Creates the display; shows only failures if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} runs, {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self {
            is_quiet: quiet,
            bar,
            state: Mutex::new(State {
                began: Instant::now(),
                done: 0,
                left: 0,
            }),
        }
    }

    /// Shows an event.
    pub(crate) fn show(&self, event: &Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Planned { left, all } => {
                state.left = *left;
                if let Some(bar) = &self.bar {
                    bar.set_length(*left as u64);
                }
                self.print(&format!("runs remaining: {left} of {all}"));
            }
            Event::Begins { run, what } if self.bar.is_none() => {
                self.print(&format!("{run} {what}"));
            }
            Event::Phase { run, phase } => {
                if let Some(bar) = &self.bar {
                    let left = state
                        .time_left()
                        .map_or_else(String::new, |left| format!(", {left} left"));
                    bar.set_message(format!("{run}: {phase}{left}"));
                }
            }
            Event::Ends { record } => {
                state.done += 1;
                let left = state
                    .time_left()
                    .map_or_else(String::new, |left| format!(", {left} left"));
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
                self.ended(record, &left);
            }
            Event::Analyzed {
                run,
                failure: Some(failure),
            } => {
                self.warn(&format!("{run}: analysis failed: {failure}"));
            }
            Event::Begins { .. } | Event::Analyzed { .. } => {}
        }
    }

    fn ended(&self, record: &RunRecord, left: &str) {
        let reason = record.reason.as_deref().unwrap_or_default();
        let run = &record.run;
        match record.status {
            Status::Complete => self.print(&format!("{run} complete{left}")),
            Status::Invalid => self.warn(&format!("{run} invalid: {reason}")),
            Status::Failed => self.warn(&format!("{run} failed: {reason}")),
        }
    }

    fn print(&self, text: &str) {
        if !self.is_quiet && self.bar.is_none() {
            line(text);
        }
    }

    fn warn(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(shown::line(text)),
            None => line(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl State {
    /// Estimates the remaining time from the rate so far.
    fn time_left(&self) -> Option<String> {
        let done = u32::try_from(self.done).ok().filter(|done| *done > 0)?;
        let left = u32::try_from(self.left.checked_sub(self.done)?).ok()?;
        // Parallel runs are included, as the rate counts runs per real time.
        Some(short(self.began.elapsed() / done * left))
    }
}

fn short(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}
