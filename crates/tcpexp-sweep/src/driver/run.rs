//! One run, from the preflight to restoring the hosts.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use netem_ctl::{ApplyOptions, Os};
use tcpexp_runs::record::{Role, RunRecord, Status};
use tcpexp_units::with_causes;

use super::calibrate::{self, Verdict};
use super::captures;
use super::clock::{self, positive};
use super::context::{Around, Run};
use super::crew::{Crew, FETCH};
use super::error::Trouble;
use super::files::{self, Seen};
use super::journal::Journal;
use super::kept::while_kept;
use super::queues;
use crate::plan::{self, Cell, Host};
use crate::schedule::Planned;
use crate::site::{self, Counters, Generator};

/// Time after the planned end of a run at which the hosts restore themselves.
const MARGIN: Duration = Duration::from_secs(90);

/// Counters of routers, by name.
type AllCounters = BTreeMap<String, Counters>;

/// Runs one run in the empty directory `dir`, and writes its record there.
pub(super) fn carry_out(
    planned: &Planned<'_>,
    dir: &Path,
    around: &Around<'_>,
) -> Result<RunRecord, super::SweepError> {
    let file = |source| super::SweepError::File {
        path: dir.to_owned(),
        source,
    };
    let journal = Journal::open(&dir.join("journal.jsonl")).map_err(file)?;
    let mut run = Run::new(planned, dir, around, &journal);
    let done = run.all();
    // Hosts are restored after each outcome, an interruption included.
    let undone = run.undo();
    run.record.finished_ns = clock::now_ns();
    match (&done, undone) {
        (Ok(()), Ok(())) => {}
        (Ok(()), Err(error)) => run.fail(
            Status::Failed,
            format!("clearing up: {}", with_causes(&error)),
        ),
        // A run without a record is repeated by `--resume`.
        (Err(Trouble::Interrupted), _) => return Err(super::SweepError::Interrupted),
        (Err(error), undone) => {
            let more = undone
                .err()
                .map(|error| format!("; clearing up: {}", with_causes(&error)));
            run.fail(
                Status::Failed,
                with_causes(error) + &more.unwrap_or_default(),
            );
        }
    }
    // The record comes last, because its presence marks a run that ended.
    run.record.write(dir)?;
    Ok(run.record)
}

impl Run<'_> {
    /// All phases except undo.
    fn all(&mut self) -> Result<(), Trouble> {
        self.enter("preflight")?;
        let hosts = preflight(&self.crew, self.cell, &self.generators, self.around.owner)?;
        let kernels = hosts
            .iter()
            .filter_map(|seen| Some((seen.host.clone(), seen.kernel.clone()?)));
        self.record.kernels = kernels.collect();
        self.enter("prepare")?;
        self.prepare()?;
        self.enter("calibrate")?;
        // An invalid run is a result: it has a record and is not repeated.
        if let Verdict::Invalid(reason) = calibrate::calibrate(self)? {
            self.fail(Status::Invalid, reason);
            return Ok(());
        }
        self.enter("capture")?;
        let before = self.record_all()?;
        self.restart_traces()?;
        self.enter("traffic")?;
        let ends = self.traffic(&hosts)?;
        self.enter("stop")?;
        let gathered = self.stop()?;
        files::judge_ends(&gathered, &self.generators)?;
        self.enter("fetch")?;
        let crew = self.crew.clone();
        while_kept(&crew, MARGIN, || files::fetch(self, &ends, &gathered))?;
        // After the fetch, so that a run that fails here keeps its files.
        let after = self.counters(&gathered)?;
        self.note_changes()?;
        self.judge(&before, &after);
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), Trouble> {
        let setup = &self.cell.setup;
        let keep = self.longest() + MARGIN;
        let owner = self.around.owner;
        let said = self.crew.each("prepare", |name| {
            let host = setup.hosts.get(name)?;
            let begin = site::begin(name, owner, keep.as_secs());
            let prepare = site::prepare(setup, (name, host), &self.generators);
            Some(begin + &prepare + &calibrate::server(setup, name))
        })?;
        let settings = said
            .iter()
            .map(|(host, said)| (host.clone(), site::settings(said)));
        self.record.settings = settings.collect();
        let options = ApplyOptions {
            clear_after: Some(keep),
            take_over: false,
        };
        for (router, host, path) in setup.paths() {
            let path = plan::path_plan(setup, path, host).map_err(Trouble::Path)?;
            self.crew.control(router, "apply", owner, |control| {
                control.apply(&path, options)
            })?;
        }
        Ok(())
    }

    /// Begins traces with the first packet of the traffic: the pings of the calibration began them.
    fn restart_traces(&self) -> Result<(), Trouble> {
        for (router, host, path) in self.cell.setup.paths() {
            let path = plan::path_plan(&self.cell.setup, path, host).map_err(Trouble::Path)?;
            if path.has_trace() {
                let owner = self.around.owner;
                self.crew.control(router, "capture", owner, |control| {
                    control.restart_traces(&path)
                })?;
            }
        }
        Ok(())
    }

    /// Starts captures and loggers. Returns the counters of the queues.
    fn record_all(&mut self) -> Result<AllCounters, Trouble> {
        let setup = &self.cell.setup;
        for (name, host) in &setup.hosts {
            let captures = site::captures(&setup.capture, (name, host));
            let records = captures.into_iter().map(|(record, _)| record);
            self.record.captures.extend(records);
            self.record.logs.extend(site::logs(setup, (name, host)));
        }
        let said = self.crew.each("capture", |name| {
            let host = setup.hosts.get(name)?;
            // The server of the load ends before the captures start, so that they do not contain
            // its packets.
            let script = calibrate::forget_server(setup, name) + &site::record(setup, (name, host));
            Some(script + &self.reading(name))
        })?;
        self.counters(&said)
    }

    /// Lets the path drain, then ends all processes and packs their files.
    fn stop(&self) -> Result<Vec<(String, String)>, Trouble> {
        let settle = Duration::from_millis(300) + positive(self.cell.setup.longest_rtt()) * 2;
        if !clock::sleep(settle, self.around.interrupt) {
            return Err(Trouble::Interrupted);
        }
        while_kept(&self.crew, MARGIN, || {
            self.crew.each_within("stop", FETCH, |name| {
                Some(site::plain(name, &self.reading(name)) + &site::gather(name))
            })
        })
    }

    /// Commands that print the counters of a Linux router; empty for other hosts.
    pub(super) fn reading(&self, name: &str) -> String {
        let host = self.cell.setup.hosts.get(name);
        let router = host.filter(|host| is_counted(host));
        router.map_or_else(String::new, site::reading)
    }

    /// The counters of each Linux router, which its output begins with. Those of an interface without a planned
    /// queue may be unreadable.
    pub(super) fn counters(&self, said: &[(String, String)]) -> Result<AllCounters, Trouble> {
        let mut all = AllCounters::new();
        for (router, host, path) in self
            .cell
            .setup
            .paths()
            .filter(|(_, host, _)| is_counted(host))
        {
            let text = said.iter().find(|(name, _)| name == router);
            let text = text.map_or("", |(_, text)| text);
            let unread = |why| Trouble::Counters {
                router: router.to_owned(),
                why,
            };
            let counters = Counters::parse(text, &queues::needed(host, path)).map_err(unread)?;
            all.insert(router.to_owned(), counters);
        }
        Ok(all)
    }

    /// Decides whether the run is valid.
    fn judge(&mut self, before: &AllCounters, after: &AllCounters) {
        let covered = captures::covered(&self.cell.setup, &self.generators);
        for fault in captures::faults(&self.record.captures, &covered) {
            self.fail(Status::Invalid, fault);
        }
        let cell = self.cell;
        for (index, (name, host, path)) in cell.setup.paths().enumerate() {
            // Only Linux has counters.
            let (Some(before), Some(after)) = (before.get(name), after.get(name)) else {
                continue;
            };
            let right = host.right.clone().unwrap_or_default();
            if index == 0 {
                self.record.queue = after.since(before, &right);
            }
            // Emulated losses are drops of the delay stage too.
            let is_lossless = !cell.emulates_loss(index);
            let needed = queues::needed(host, path);
            for fault in queues::faults(before, after, &needed, is_lossless) {
                self.fail(Status::Invalid, fault);
            }
        }
    }

    /// Restores all hosts, the router first, because its path affects other traffic.
    fn undo(&self) -> Result<(), Trouble> {
        (self.around.phase)("undo");
        let first = self.router().map_or("", |(name, _)| name);
        let router = self.undo_on(first);
        let others = thread::scope(|scope| {
            let names = self.crew.names.iter().filter(|name| *name != first);
            let jobs: Vec<_> = names
                .map(|name| scope.spawn(|| self.undo_on(name)))
                .collect();
            let join =
                |job: thread::ScopedJoinHandle<'_, _>| job.join().unwrap_or(Err(Trouble::Panic));
            // Wait for all, even if one fails.
            let ends: Vec<_> = jobs.into_iter().map(join).collect();
            ends.into_iter().collect::<Result<Vec<()>, Trouble>>()
        });
        router.and(others.map(drop))
    }

    /// Restores a host. Retries, as only the connection may have failed.
    fn undo_on(&self, host: &str) -> Result<(), Trouble> {
        let mut tries = 0;
        loop {
            // Both steps are tried, even if the first step fails.
            let cleared = self.clear_path(host);
            let owner = self.around.owner;
            let undone = self.crew.at(host, "undo", &site::undo(host, owner));
            tries += 1;
            match cleared.and(undone.map(drop)) {
                Ok(()) => return Ok(()),
                Err(error) if tries == 3 => return Err(error),
                // This pause ignores interruptions, because hosts are restored after an
                // interruption too.
                Err(_) => thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    /// Clears the path if the host is the router.
    fn clear_path(&self, host: &str) -> Result<(), Trouble> {
        let found = self.cell.setup.hosts.get(host);
        let Some(router) = found.filter(|host| host.role == Role::Router) else {
            return Ok(());
        };
        self.crew
            .control(host, "undo", self.around.owner, |control| {
                control.release(router.os).map(drop)
            })
    }
}

/// Checks all hosts.
pub(super) fn preflight(
    crew: &Crew<'_>,
    cell: &Cell,
    generators: &[Generator],
    owner: &str,
) -> Result<Vec<Seen>, Trouble> {
    let (hosts, problems) = files::look(crew, cell, generators, owner);
    if problems.is_empty() {
        Ok(hosts)
    } else {
        Err(Trouble::Problems(problems))
    }
}

/// True if the host is a router whose queues have counters.
fn is_counted(host: &Host) -> bool {
    host.role == Role::Router && host.os == Os::Linux
}
