//! One run, from the first look at the hosts to the last command that puts them back.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tcpexp_units::TimeDelta;

use super::calibrate::{self, Verdict};
use super::clock;
use super::crew::Crew;
use super::error::Trouble;
use super::files::{self, Ends};
use super::journal::Journal;
use super::{Interrupt, Reach, chain};
use crate::plan::{Cell, Os};
use crate::record::{ChangeRecord, Role, RunRecord, SCHEMA, Status};
use crate::schedule::Planned;
use crate::site::{self, Counters, Generator};

/// What a run needs beside its cell.
pub(super) struct Around<'a> {
    pub(super) plan_hash: &'a str,
    pub(super) varied: &'a [String],
    /// Who the hosts belong to meanwhile.
    pub(super) owner: &'a str,
    pub(super) reach: Reach<'a>,
    pub(super) interrupt: Interrupt<'a>,
    /// Says what the run is doing.
    pub(super) phase: &'a (dyn Fn(&str) + Sync),
}

/// How much longer than planned a run may take until the hosts undo it by themselves.
const MARGIN: Duration = Duration::from_secs(90);
/// How much longer than planned a generator may take.
const GRACE: Duration = Duration::from_secs(15);

/// One run in the making.
pub(super) struct Run<'a> {
    pub(super) cell: &'a Cell,
    pub(super) generators: Vec<Generator>,
    pub(super) crew: Crew<'a>,
    pub(super) dir: &'a Path,
    pub(super) around: &'a Around<'a>,
    pub(super) record: RunRecord,
}

/// Carries out one run in `dir`, which is empty, and leaves its record there.
pub(super) fn carry_out(
    planned: &Planned<'_>,
    dir: &Path,
    around: &Around<'_>,
) -> Result<RunRecord, super::SweepError> {
    let file = |source| super::SweepError::File {
        path: dir.to_owned(),
        source,
    };
    let journal = Journal::in_dir(dir).map_err(file)?;
    let mut run = Run::new(planned, dir, around, &journal);
    let done = run.all();
    let undone = run.undo();
    run.record.finished_ns = clock::now_ns();
    match (&done, undone) {
        (Ok(()), Ok(())) => {}
        (Ok(()), Err(error)) => run.fail(Status::Failed, format!("clearing up: {}", chain(&error))),
        (Err(Trouble::Interrupted), _) => return Err(super::SweepError::Interrupted),
        (Err(error), undone) => {
            let more = undone
                .err()
                .map(|error| format!("; clearing up: {}", chain(&error)));
            run.fail(Status::Failed, chain(error) + &more.unwrap_or_default());
        }
    }
    run.record.write(dir)?;
    Ok(run.record)
}

impl<'a> Run<'a> {
    fn new(
        planned: &Planned<'a>,
        dir: &'a Path,
        around: &'a Around<'a>,
        journal: &'a Journal,
    ) -> Self {
        let cell = planned.cell;
        let generators = site::generators(planned);
        let crew = Crew {
            names: cell.setup.hosts.keys().cloned().collect(),
            reach: around.reach,
            journal,
        };
        let record = blank(planned, around.plan_hash, around.varied);
        Self {
            cell,
            generators,
            crew,
            dir,
            around,
            record,
        }
    }

    /// All phases but the last, which undoes them.
    fn all(&mut self) -> Result<(), Trouble> {
        self.enter("preflight")?;
        let clocks = preflight(&self.crew, self.cell, &self.generators, self.around.owner)?;
        self.enter("prepare")?;
        self.prepare()?;
        self.enter("calibrate")?;
        if let Verdict::Invalid(reason) = calibrate::calibrate(self)? {
            self.fail(Status::Invalid, reason);
            return Ok(());
        }
        self.enter("capture")?;
        self.record_all()?;
        let before = self.counters()?;
        self.enter("traffic")?;
        let ends = self.traffic(&clocks)?;
        self.enter("stop")?;
        self.stop()?;
        let after = self.counters()?;
        self.enter("fetch")?;
        files::fetch(self, &ends)?;
        self.judge(before.as_ref(), after.as_ref())
    }

    fn prepare(&mut self) -> Result<(), Trouble> {
        let setup = &self.cell.setup;
        let keep = self.longest() + MARGIN;
        let owner = self.around.owner;
        self.crew.each("begin", |name| {
            Some(site::begin(name, owner, keep.as_secs()))
        })?;
        self.crew.each("prepare", |name| {
            let host = setup.hosts.get(name)?;
            Some(site::prepare(setup, (name, host), &self.generators))
        })?;
        let (router, host) = self.router()?;
        let path = site::path_commands(&setup.path, host).map_err(Trouble::Path)?;
        let script = site::apply(router, &path.apply, &path.clear);
        self.crew.at(router, "apply", &script)?;
        let state = self
            .crew
            .at(router, "verify", &site::plain(router, &path.read_back))?;
        match path.mismatches(&state).as_slice() {
            [] => Ok(()),
            wrong => Err(Trouble::Process(format!(
                "the path is not as applied: {}",
                wrong.join("; ")
            ))),
        }
    }

    /// Captures and loggers.
    fn record_all(&mut self) -> Result<(), Trouble> {
        let setup = &self.cell.setup;
        for (name, host) in &setup.hosts {
            let captures = site::captures(&setup.capture, (name, host));
            self.record
                .captures
                .extend(captures.into_iter().map(|(record, _)| record));
            self.record.logs.extend(site::logs(setup, (name, host)));
        }
        self.crew.each("capture", |name| {
            Some(site::record(setup, (name, setup.hosts.get(name)?)))
        })?;
        Ok(())
    }

    /// Starts the traffic and waits for its end.
    fn traffic(&mut self, clocks: &[(String, i64)]) -> Result<Ends, Trouble> {
        let generators = &self.generators;
        self.crew.each("servers", |name| {
            let serves =
                |generator: &Generator| generator.server_host == name && generator.server.is_some();
            generators
                .iter()
                .any(serves)
                .then(|| site::servers(name, generators))
        })?;
        let lead =
            TimeDelta::from_millis(1_000 + 60 * i64::try_from(generators.len()).unwrap_or(0));
        let t0_ns = clock::now_ns() + lead.as_nanos();
        let offset = |name: &str| {
            clocks
                .iter()
                .find(|(host, _)| host == name)
                .map_or(0, |(_, offset)| *offset)
        };
        let source = self
            .cell
            .setup
            .first(Role::Source)
            .map_or("", |(name, _)| name);
        self.record.t0_ns = Some(t0_ns + offset(source));
        self.crew.each("clients", |name| {
            let sends = |generator: &Generator| generator.client_host == name;
            let is_needed = generators.iter().any(sends);
            is_needed.then(|| site::clients(name, generators, t0_ns + offset(name)))
        })?;
        self.schedule_changes(t0_ns, offset)?;
        if clock::now_ns() >= t0_ns {
            let late = format!("hosts were not ready in {lead}, when the traffic was to start");
            return Err(Trouble::Process(late));
        }
        self.wait(t0_ns)
    }

    fn schedule_changes(
        &mut self,
        t0_ns: i64,
        offset: impl Fn(&str) -> i64,
    ) -> Result<(), Trouble> {
        if self.cell.changes.is_empty() {
            return Ok(());
        }
        let (router, host) = self.router()?;
        let router = router.to_owned();
        let mut before = &self.cell.setup.path;
        let mut changes = Vec::new();
        for change in &self.cell.changes {
            let commands =
                site::change_commands(before, &change.path, host).map_err(Trouble::Path)?;
            changes.push((change.at, commands));
            before = &change.path;
            self.record.changes.push(ChangeRecord {
                at_s: change.at.as_nanos() as f64 / 1e9,
                executed_ns: None,
                what: change.what.clone(),
            });
        }
        let script = site::changes(&router, &changes, t0_ns + offset(&router));
        self.crew.at(&router, "changes", &script).map(drop)
    }

    /// Waits until all generators ended, and fails if one did so badly.
    fn wait(&self, t0_ns: i64) -> Result<Ends, Trouble> {
        let longest = self.generators.iter().filter_map(Generator::end).max();
        let known = longest.map_or(0, TimeDelta::as_nanos);
        let is_open = self
            .generators
            .iter()
            .any(|generator| generator.end().is_none());
        let timeout = if is_open {
            self.cell.setup.run.timeout.as_nanos().max(known)
        } else {
            known
        };
        let last_ns = t0_ns + timeout + nanos(GRACE);
        let end_ns = if is_open { t0_ns } else { t0_ns + known };
        let mut next_look_ns = t0_ns;
        loop {
            let now_ns = clock::now_ns();
            if now_ns < next_look_ns {
                let pause = u64::try_from(next_look_ns - now_ns).unwrap_or(0);
                if !clock::sleep(Duration::from_nanos(pause), self.around.interrupt) {
                    return Err(Trouble::Interrupted);
                }
                continue;
            }
            let ends = files::ends(&self.crew, &self.generators)?;
            if ends.len() == self.generators.len() {
                return Ok(ends);
            }
            if now_ns > last_ns {
                let missing = self
                    .generators
                    .iter()
                    .find(|generator| !ends.contains_key(&generator.record.name));
                let name = missing.map_or("", |generator| &generator.record.name);
                return Err(Trouble::Process(format!("{name} did not end in time")));
            }
            // Rarely while all goes well, since each look takes time on the hosts.
            let pause_ns = if now_ns + 200_000_000 >= end_ns {
                200_000_000
            } else {
                10_000_000_000
            };
            next_look_ns = (now_ns + pause_ns).min(end_ns.max(now_ns + 200_000_000));
        }
    }

    /// Lets the path run empty, then ends all that runs.
    fn stop(&self) -> Result<(), Trouble> {
        let settle = Duration::from_millis(300) + positive(self.cell.setup.path.base_rtt()) * 2;
        if !clock::sleep(settle, self.around.interrupt) {
            return Err(Trouble::Interrupted);
        }
        self.crew
            .each("stop", |name| Some(site::stop(name)))
            .map(drop)
    }

    /// What the router's queues say; `None` on a system whose counters we cannot read.
    pub(super) fn counters(&self) -> Result<Option<Counters>, Trouble> {
        let (router, host) = self.router()?;
        if host.os != Os::Linux {
            return Ok(None);
        }
        let text = self
            .crew
            .at(router, "counters", &site::plain(router, site::READ))?;
        Ok(Counters::parse(&text))
    }

    /// Whether what happened is what the plan asked for.
    fn judge(
        &mut self,
        before: Option<&Counters>,
        after: Option<&Counters>,
    ) -> Result<(), Trouble> {
        let lost: u64 = self
            .record
            .captures
            .iter()
            .filter_map(|capture| capture.packets_dropped)
            .sum();
        if lost > 0 {
            self.fail(Status::Invalid, format!("captures lost {lost} packets"));
        }
        let (Some(before), Some(after)) = (before, after) else {
            return Ok(());
        };
        let (_, host) = self.router()?;
        let right = host.right.clone().unwrap_or_default();
        self.record.queue = after.since(before, &right);
        let unshaped = after.unshaped(&right);
        if unshaped > 0 {
            self.fail(
                Status::Invalid,
                format!("{unshaped} packets passed the bottleneck unshaped"),
            );
        }
        let path = self.cell.setup.path.resolved();
        let is_lossless = path.forward.loss.is_none() && path.reverse.loss.is_none();
        let delayed = after
            .drops(before)
            .into_iter()
            .filter(|(queue, _)| queue.contains(" netem "));
        let lost: u64 = delayed.map(|(_, drops)| drops).sum();
        if is_lossless && lost > 0 {
            self.fail(
                Status::Invalid,
                format!("the delay stage dropped {lost} packets"),
            );
        }
        Ok(())
    }

    /// Puts all hosts back, the router first: whoever is on the path must get rid of it soonest.
    fn undo(&self) -> Result<(), Trouble> {
        (self.around.phase)("undo");
        let router = self.router().map(|(name, _)| name.to_owned());
        let routers = router.and_then(|router| {
            self.crew.at(&router, "undo", &site::undo(&router))?;
            Ok(router)
        });
        let first = routers.as_deref().unwrap_or_default();
        let others = self
            .crew
            .each("undo", |name| (name != first).then(|| site::undo(name)));
        routers.map(drop)?;
        others.map(drop)
    }

    pub(super) fn router(&self) -> Result<(&'a str, &'a crate::plan::Host), Trouble> {
        let router = self.cell.setup.first(Role::Router);
        router.ok_or_else(|| Trouble::Unknown("a router".to_owned()))
    }

    /// How long the run may take at the most.
    fn longest(&self) -> Duration {
        let setup = &self.cell.setup;
        let ends = self
            .generators
            .iter()
            .map(|generator| generator.end().unwrap_or(setup.run.timeout));
        let traffic = ends.max().map_or(Duration::ZERO, positive);
        traffic + GRACE + positive(setup.calibration.load) * 4
    }

    fn enter(&self, phase: &str) -> Result<(), Trouble> {
        if (self.around.interrupt)() {
            return Err(Trouble::Interrupted);
        }
        (self.around.phase)(phase);
        self.crew.journal.note("phase", json!({"phase": phase}));
        Ok(())
    }

    fn fail(&mut self, status: Status, reason: String) {
        // What went wrong first is why the rest did.
        if self.record.status == Status::Complete {
            self.record.status = status;
            self.record.reason = Some(reason);
        }
    }
}

/// The record of a run that has not begun.
pub(super) fn blank(planned: &Planned<'_>, plan_hash: &str, varied: &[String]) -> RunRecord {
    let cell = planned.cell;
    let traffic = site::generators(planned).into_iter();
    RunRecord {
        schema: SCHEMA,
        run: planned.name(),
        cell: cell.hash.clone(),
        repetition: planned.repetition,
        seed: planned.seed,
        plan_hash: plan_hash.to_owned(),
        status: Status::Complete,
        reason: None,
        parameters: cell.parameters.clone(),
        varied: varied.to_vec(),
        captures: Vec::new(),
        logs: Vec::new(),
        traffic: traffic.map(|generator| generator.record).collect(),
        t0_ns: None,
        bottleneck: serde_json::to_value(cell.setup.path.resolved()).unwrap_or_default(),
        calibration: None,
        queue: None,
        changes: Vec::new(),
        started_ns: clock::now_ns(),
        finished_ns: 0,
    }
}

/// Looks at all hosts. Gives how far each one's clock is ahead, where that is more than the look
/// can be wrong by.
pub(super) fn preflight(
    crew: &Crew<'_>,
    cell: &Cell,
    generators: &[Generator],
    owner: &str,
) -> Result<Vec<(String, i64)>, Trouble> {
    let (clocks, problems) = files::look(crew, cell, generators, owner);
    if problems.is_empty() {
        Ok(clocks)
    } else {
        Err(Trouble::Problems(problems))
    }
}

pub(super) fn positive(time: TimeDelta) -> Duration {
    Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(0))
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
