//! The traffic of a run, from a common start, and the changes of the path during it.

use std::fs;
use std::time::Duration;

use netem_ctl::Changed;
use tcpexp_runs::record::{ChangeRecord, Role, Status};
use tcpexp_units::{TimeDelta, Timestamp};

use super::clock;
use super::context::{GRACE, Run};
use super::error::Trouble;
use super::files::{self, Ends, Seen};
use crate::plan;
use crate::site::{self, Generator};

impl Run<'_> {
    /// Starts the traffic and waits for its end.
    pub(super) fn traffic(&mut self, hosts: &[Seen]) -> Result<Ends, Trouble> {
        let generators = &self.generators;
        let began_ns = clock::now_ns();
        self.crew.each("servers", |name| {
            let serves =
                |generator: &Generator| generator.server_host == name && generator.server.is_some();
            generators
                .iter()
                .any(serves)
                .then(|| site::servers(name, generators))
        })?;
        // Hosts that start servers slowly also start clients slowly.
        let slow = TimeDelta::from_nanos(3 * (clock::now_ns() - began_ns));
        let lead =
            TimeDelta::from_millis(1_000 + 60 * i64::try_from(generators.len()).unwrap_or(0))
                + slow;
        let t0_ns = clock::now_ns() + lead.as_nanos();
        let offset = |name: &str| {
            let seen = hosts.iter().find(|seen| seen.host == name);
            seen.map_or(0, |seen| seen.lead_ns)
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
        // Clients that are ready after `t0_ns` would start at once, each at another time.
        if clock::now_ns() >= t0_ns {
            let late = format!("hosts were not ready after {lead}, when the traffic had to start");
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
        let setup = &self.cell.setup;
        let mut before = plan::path_plan(setup, &setup.path, host).map_err(Trouble::Path)?;
        let t0_ns = t0_ns + offset(&router);
        let mut scripts = Vec::new();
        for change in &self.cell.changes {
            let after = plan::changed_plan(setup, &change.path, host).map_err(Trouble::Path)?;
            let at = Timestamp::from_nanos(t0_ns + change.at.as_nanos());
            let script = netem_ctl::change_script(&before, &after, self.around.owner, Some(at));
            scripts.push(script.map_err(|error| Trouble::Path(error.into()))?);
            // Each change starts from the path of the previous change.
            before = after;
            self.record.changes.push(ChangeRecord {
                at_s: change.at.as_nanos() as f64 / 1e9,
                executed_ns: None,
                what: change.what.clone(),
                bottleneck: serde_json::to_value(change.path.resolved()).ok(),
            });
        }
        let script = site::changes(&router, &scripts);
        self.crew.at(&router, "changes", &script).map(drop)
    }

    /// Records the times of the changes from the fetched logs of their processes, and reads back
    /// the state after the last change. A change whose time was not reached has no log.
    pub(super) fn note_changes(&mut self) -> Result<(), Trouble> {
        let mut last = None;
        for (index, change) in self.record.changes.iter_mut().enumerate() {
            let log = format!("logs/{}.txt", plan::processes::change(index));
            let text = fs::read_to_string(self.dir.join(log)).unwrap_or_default();
            change.executed_ns = Changed::parse(&text).ended.map(Timestamp::as_nanos);
            // Only the state after the last change can still be read back.
            last = change.executed_ns.map(|_| index).or(last);
        }
        let Some(last) = last else { return Ok(()) };
        let (router, host) = self.router()?;
        let path = &self.cell.changes[last].path;
        let path = plan::changed_plan(&self.cell.setup, path, host).map_err(Trouble::Path)?;
        let owner = self.around.owner;
        let wrong = self.crew.control(router, "read back", owner, |control| {
            control.mismatches(&path)
        })?;
        if let Some(wrong) = wrong.first() {
            self.fail(Status::Invalid, format!("after the last change, {wrong}"));
        }
        Ok(())
    }

    /// Waits for the end of all generators. Fails if one fails.
    fn wait(&self, t0_ns: i64) -> Result<Ends, Trouble> {
        let longest = self.generators.iter().filter_map(Generator::end).max();
        let known = longest.map_or(0, TimeDelta::as_nanos);
        let is_open = self
            .generators
            .iter()
            .any(|generator| generator.end().is_none());
        // A generator without a duration ends with its transfer, so the plan limits its time.
        let timeout = if is_open {
            self.cell.setup.run.timeout.as_nanos().max(known)
        } else {
            known
        };
        let last_ns = t0_ns + timeout + nanos(GRACE);
        // The final exchange of a tool takes some round trips.
        let words = 150_000_000 + 4 * self.cell.setup.longest_rtt().as_nanos();
        let end_ns = t0_ns + words + known;
        // A look every 10 s finds a generator that failed early.
        let mut next_look_ns = end_ns.min(t0_ns + 10_000_000_000);
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
            // Poll rarely before the planned end, since polling takes CPU time on the hosts. After it, poll
            // at a tenth of the time that has passed since.
            let (soon_ns, late_ns) = (200_000_000, 10_000_000_000);
            next_look_ns = if now_ns + soon_ns >= end_ns {
                now_ns + ((now_ns - end_ns) / 10).clamp(soon_ns, late_ns)
            } else {
                (now_ns + late_ns).min(end_ns)
            };
        }
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
