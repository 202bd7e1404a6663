//! State of one run that all its phases share.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tcpexp_runs::record::{Role, RunRecord, SCHEMA, Status};

use super::clock::{self, positive};
use super::crew::Crew;
use super::error::Trouble;
use super::journal::Journal;
use super::load_times;
use super::{Interrupt, Reach};
use crate::plan::{Cell, Host, Kind, Plan, Setup};
use crate::schedule::Planned;
use crate::site::{self, Generator};

/// State that all runs of a sweep share.
pub(super) struct Around<'a> {
    pub(super) plan: &'a Plan,
    /// The owner of the leases on the hosts.
    pub(super) owner: &'a str,
    pub(super) reach: Reach<'a>,
    pub(super) interrupt: Interrupt<'a>,
    /// Reports that a run enters a phase.
    pub(super) phase: &'a (dyn Fn(&str) + Sync),
}

/// Time that a generator may take beyond its duration, for handshakes and reports.
pub(super) const GRACE: Duration = Duration::from_secs(15);

/// A run in progress.
pub(super) struct Run<'a> {
    pub(super) cell: &'a Cell,
    pub(super) generators: Vec<Generator>,
    pub(super) crew: Crew<'a>,
    pub(super) dir: &'a Path,
    pub(super) around: &'a Around<'a>,
    pub(super) record: RunRecord,
}

impl<'a> Run<'a> {
    pub(super) fn new(
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
        let record = blank(planned, around.plan);
        Self {
            cell,
            generators,
            crew,
            dir,
            around,
            record,
        }
    }

    pub(super) fn router(&self) -> Result<(&'a str, &'a Host), Trouble> {
        let router = self.cell.setup.first(Role::Router);
        router.ok_or_else(|| Trouble::Unknown("a router".to_owned()))
    }

    /// Time limit of the run.
    pub(super) fn longest(&self) -> Duration {
        let setup = &self.cell.setup;
        let ends = self
            .generators
            .iter()
            .map(|generator| generator.end().unwrap_or(setup.run.timeout));
        let traffic = ends.max().map_or(Duration::ZERO, positive);
        traffic + GRACE + load_times::longest(setup)
    }

    pub(super) fn enter(&self, phase: &str) -> Result<(), Trouble> {
        // An interruption takes effect between phases and in pauses, never during a script.
        if (self.around.interrupt)() {
            return Err(Trouble::Interrupted);
        }
        (self.around.phase)(phase);
        self.crew.journal.note("phase", json!({"phase": phase}));
        Ok(())
    }

    pub(super) fn fail(&mut self, status: Status, reason: String) {
        // The first failure is the cause of later ones.
        if self.record.status == Status::Complete {
            self.record.status = status;
            self.record.reason = Some(reason);
        }
    }
}

/// The record of a run before its start.
pub(super) fn blank(planned: &Planned<'_>, plan: &Plan) -> RunRecord {
    let cell = planned.cell;
    let traffic = site::generators(planned).into_iter();
    RunRecord {
        schema: SCHEMA,
        run: planned.name(),
        cell: cell.hash.clone(),
        repetition: planned.repetition,
        seed: planned.seed,
        plan_hash: plan.hash.clone(),
        status: Status::Complete,
        reason: None,
        parameters: cell.parameters.clone(),
        varied: plan.varied.clone(),
        kernels: BTreeMap::new(),
        settings: BTreeMap::new(),
        has_one_clock: plan.kind != Kind::Ssh,
        captures: Vec::new(),
        logs: Vec::new(),
        traffic: traffic.map(|generator| generator.record).collect(),
        t0_ns: None,
        bottleneck: bottleneck(&cell.setup),
        calibration: None,
        queue: None,
        changes: Vec::new(),
        started_ns: clock::now_ns(),
        finished_ns: 0,
    }
}

/// The path of the first router. `hops` has those of further routers in a row.
fn bottleneck(setup: &Setup) -> Value {
    let mut all = serde_json::to_value(setup.path.resolved()).unwrap_or_default();
    let further = setup.paths().skip(1).filter_map(|(name, _, path)| {
        Some((name.to_owned(), serde_json::to_value(path.resolved()).ok()?))
    });
    let further: serde_json::Map<String, Value> = further.collect();
    if !further.is_empty() {
        all["hops"] = further.into();
    }
    all
}
