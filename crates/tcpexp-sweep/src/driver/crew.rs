//! The hosts of a sweep, and how to run scripts on them.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use netem_ctl::{Control, ControlError, Output, RunError, Runner, Script};
use tcpexp_units::with_causes;

use super::error::Trouble;
use super::journal::Journal;
use crate::site;

/// Runners for the hosts of a plan, by their names in the plan.
pub type Reach<'a> = &'a BTreeMap<String, Box<dyn Runner>>;

/// The hosts of a run, and the journal of all scripts.
#[derive(Clone)]
pub(super) struct Crew<'a> {
    pub(super) names: Vec<String>,
    pub(super) reach: Reach<'a>,
    pub(super) journal: &'a Journal,
}

/// Default time limit of a script.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit of a copy of the files of one host. The captures of ten minutes at 1 Gbit/s have 8 GB,
/// which take a minute at that rate.
pub(super) const FETCH: Duration = Duration::from_secs(600);

impl Crew<'_> {
    /// Runs a script as root on one host; it must succeed.
    pub(super) fn at(&self, host: &str, phase: &str, script: &str) -> Result<String, Trouble> {
        self.at_within(host, phase, script, PATIENCE)
    }

    /// Like [`at`](Self::at), with another time limit.
    pub(super) fn at_within(
        &self,
        host: &str,
        phase: &str,
        script: &str,
        most: Duration,
    ) -> Result<String, Trouble> {
        let script = Script::new(script).as_root().within(most);
        self.run(host, phase, &script).map(|output| output.text())
    }

    /// Runs a script on one host; it must succeed.
    pub(super) fn run(&self, host: &str, phase: &str, script: &Script) -> Result<Output, Trouble> {
        let runner = self.runner(host, phase)?;
        let output = runner.run_ok(script);
        output.map_err(|source| Trouble::host(phase, source))
    }

    /// Controls the path on a router on behalf of `owner`.
    pub(super) fn control<T>(
        &self,
        router: &str,
        phase: &str,
        owner: &str,
        act: impl FnOnce(&Control<'_>) -> Result<T, ControlError>,
    ) -> Result<T, Trouble> {
        let runner = self.runner(router, phase)?;
        let done = act(&Control::new(&runner, owner));
        done.map_err(|source| Trouble::Router {
            phase: phase.to_owned(),
            source: Box::new(source),
        })
    }

    /// Runs a script on each host in parallel, and waits for all.
    pub(super) fn each(
        &self,
        phase: &str,
        script: impl Fn(&str) -> Option<String> + Sync,
    ) -> Result<Vec<(String, String)>, Trouble> {
        self.each_within(phase, PATIENCE, script)
    }

    /// Like [`each`](Self::each), with another time limit.
    pub(super) fn each_within(
        &self,
        phase: &str,
        most: Duration,
        script: impl Fn(&str) -> Option<String> + Sync,
    ) -> Result<Vec<(String, String)>, Trouble> {
        // All scripts end before the first error returns, because `undo` must not overlap them.
        let outcomes: Vec<Result<Option<(String, String)>, Trouble>> = thread::scope(|scope| {
            let jobs: Vec<_> = self
                .names
                .iter()
                .map(|name| {
                    let script = &script;
                    scope.spawn(move || {
                        let Some(script) = script(name) else {
                            return Ok(None);
                        };
                        let output = self.at_within(name, phase, &script, most)?;
                        Ok(Some((name.clone(), output)))
                    })
                })
                .collect();
            jobs.into_iter()
                .map(|job| job.join().unwrap_or(Err(Trouble::Panic)))
                .collect()
        });
        outcomes.into_iter().filter_map(Result::transpose).collect()
    }

    /// Copies a file from a host.
    pub(super) fn fetch(&self, host: &str, remote: &str, local: &Path) -> Result<(), Trouble> {
        let runner = self.runner(host, "fetch")?;
        let copied = runner.fetch(remote, local, FETCH);
        copied.map_err(|source| Trouble::host("fetch", source))
    }

    fn runner<'a>(&'a self, host: &'a str, phase: &'a str) -> Result<Journaled<'a>, Trouble> {
        let runner = self.reach.get(host).map(AsRef::as_ref);
        let runner = runner.ok_or_else(|| Trouble::Unknown(host.to_owned()))?;
        Ok(Journaled {
            runner,
            host,
            phase,
            journal: self.journal,
        })
    }
}

/// A runner that writes all scripts and copies to the journal.
struct Journaled<'a> {
    runner: &'a dyn Runner,
    host: &'a str,
    phase: &'a str,
    journal: &'a Journal,
}

impl Journaled<'_> {
    fn copied(&self, what: &str, remote: &str, local: &Path, copied: &Result<(), RunError>) {
        let entry = serde_json::json!({
            "host": self.host, "remote": remote, "local": local,
            "error": copied.as_ref().err().map(|error| with_causes(error)),
        });
        self.journal.note(what, entry);
    }
}

impl Runner for Journaled<'_> {
    fn host(&self) -> &str {
        self.runner.host()
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        let outcome = self.runner.run(script);
        self.journal
            .command(self.host, self.phase, &abbreviated(&script.text), &outcome);
        outcome
    }

    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError> {
        let copied = self.runner.fetch(remote, local, timeout);
        self.copied("fetch", remote, local, &copied);
        copied
    }

    fn upload(&self, local: &Path, remote: &str, timeout: Duration) -> Result<(), RunError> {
        let copied = self.runner.upload(local, remote, timeout);
        self.copied("upload", remote, local, &copied);
        copied
    }
}

/// A script for the journal, without the shared functions.
fn abbreviated(script: &str) -> String {
    site::LIBRARY
        .iter()
        .fold(script.to_owned(), |text, (name, functions)| {
            text.replace(functions, &format!("# ({name})\n"))
        })
}
