//! The traffic of a run: all of it from one start on, and changes of the path meanwhile.

use std::time::Duration;

use tcpexp_runs::record::{ChangeRecord, Role};
use tcpexp_units::TimeDelta;

use super::clock;
use super::error::Trouble;
use super::files::{self, Ends};
use super::run::{GRACE, Run};
use crate::site::{self, Generator};

impl Run<'_> {
    /// Starts the traffic and waits for its end.
    pub(super) fn traffic(&mut self, clocks: &[(String, i64)]) -> Result<Ends, Trouble> {
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
        // Hosts that were slow to start servers are slow to get clients ready.
        let slow = TimeDelta::from_nanos(3 * (clock::now_ns() - began_ns));
        let lead =
            TimeDelta::from_millis(1_000 + 60 * i64::try_from(generators.len()).unwrap_or(0))
                + slow;
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

    /// Notes when changes were made, by what the router said at the end. One whose time had not come
    /// by then is none.
    pub(super) fn note_changes(&mut self, said: &[(String, String)]) -> Result<(), Trouble> {
        let (router, _) = self.router()?;
        let said = said.iter().find(|(host, _)| host == router);
        let text = said.map_or("", |(_, text)| text);
        for (index, change) in self.record.changes.iter_mut().enumerate() {
            let begin = format!("ended {} ", site::change_name(index));
            let mut found = text.lines().filter_map(|line| line.strip_prefix(&begin));
            // It says when it began, when it ended, and with which code.
            let ended = found.next().and_then(|times| times.split(' ').nth(1));
            change.executed_ns = ended.and_then(|ended| ended.parse().ok());
        }
        Ok(())
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
        // The last words of a tool take some round trips.
        let words = 150_000_000 + 4 * self.cell.setup.path.base_rtt().as_nanos();
        let end_ns = t0_ns + words + known;
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
            // Rarely while all goes well, since each look takes time on the hosts; and the more rarely
            // the longer it takes what ends by itself.
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
