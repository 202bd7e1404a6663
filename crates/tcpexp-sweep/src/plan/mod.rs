//! Plans: from a TOML file to the cells of its grid.
//!
//! Reading checks all cells before any host is touched. An error names the line and the key.

mod capture_filter;
mod cell;
mod change;
mod commands;
mod dscp;
mod error;
mod expect;
mod flow_check;
mod hidden;
mod host;
mod host_kernel;
mod kernel;
mod log;
mod matrix;
mod parameters;
mod path;
mod place;
mod presets;
pub(crate) mod processes;
mod reference;
mod schema;
mod settings;
mod sources;
mod testbed;
mod together;
mod tool;
mod traces;
mod traffic;
mod traffic_check;
mod varied;
mod warnings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use netem_ctl::{Bottleneck, Loss, Os};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcpexp_runs::compare::Expected;
use tcpexp_runs::record::Role;
use tcpexp_units::TimeDelta;
use toml::Spanned;
use toml::de::DeTable;

pub use cell::Cell;
pub use change::Change;
pub(crate) use commands::{Ends, seconds, text};
pub use dscp::Dscp;
pub use error::PlanError;
pub use expect::Expect;
pub use host::Host;
pub(crate) use host_kernel::kernel_of;
pub use kernel::Kernel;
pub(crate) use log::COLUMNS;
pub use log::{CommandLog, Separator};
pub(crate) use path::{
    ForwardQueue, change_steps, changed_plan, forward_queues, lines, path_plan, router,
};
pub use reference::reference;
pub use schema::schema;
pub use settings::{Calibrate, Capture, Lab, Loggers, OnFailure, Prepare, RunSettings};
pub use tool::Tool;
pub(crate) use tool::{FIRST_PORT, Program, ServerPort};
pub use traffic::Traffic;

use error::Fault;
use sources::Sources;
use tcpexp_runs::hash;
use traces::Traces;

/// All hosts of a role, in `from` and `to` of traffic.
const ALL_HOSTS: &str = "all";

/// Largest number of runs of a plan. A run takes some seconds at least, so this many take months.
const MOST_RUNS: u64 = 1_000_000;

/// Smallest part of the round trips without loss for a load of the calibration. The load begins with a TCP
/// connection of iperf3, which at more loss often does not begin in time.
const LEAST_KEPT: f64 = 0.5;

/// A checked plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file that it was read from.
    pub path: PathBuf,
    /// Its text; with included files, the text of all of them merged.
    pub text: String,
    /// Hash of its text, in hex.
    pub hash: String,
    /// The kind of its hosts.
    pub kind: Kind,
    /// Settings of its runs.
    pub run: RunSettings,
    /// The size of its virtual testbed.
    pub lab: Lab,
    /// The cells of its grid, in the grid's order.
    pub cells: Vec<Cell>,
    /// What is expected of its results.
    pub expected: Vec<Expected>,
    /// Warnings for the user before the plan runs.
    pub warnings: Vec<String>,
    /// Names of the parameters that differ between cells, in the order of the matrix.
    pub varied: Vec<String>,
    sources: Sources,
    traces: Traces,
}

/// The kind of a plan's hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Machines reached by `ssh`.
    #[default]
    Ssh,
    /// Virtual machines, in virtual time.
    Lab,
    /// Network namespaces of this machine, in real time.
    Netns,
}

/// A plan with the settings of one cell.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Name of the sweep.
    #[serde(default, skip_serializing)]
    pub name: Option<String>,
    /// Kind of the hosts; `ssh` by default.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// Hosts by name.
    #[serde(default)]
    pub hosts: BTreeMap<String, Host>,
    /// The virtual testbed.
    #[serde(default)]
    pub lab: Lab,
    /// The path between sources and sinks.
    pub path: Bottleneck,
    /// The paths of further routers in a row, by name of the router. `path` is that of the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hops: BTreeMap<String, Bottleneck>,
    /// The traffic.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
    /// Captures.
    #[serde(default)]
    pub capture: Capture,
    /// Logs.
    #[serde(default)]
    pub loggers: Loggers,
    /// Commands whose output is logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<CommandLog>,
    /// Settings of hosts.
    #[serde(default)]
    pub prepare: Prepare,
    /// Calibration of the path.
    #[serde(default)]
    pub calibration: Calibrate,
    /// Settings of runs, the same for all cells.
    #[serde(default, skip_serializing)]
    pub run: RunSettings,
    /// What is expected of the results, the same for all cells.
    #[serde(default, skip_serializing)]
    pub expect: Vec<Expect>,
}

impl Plan {
    /// Reads the plan in a file.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|source| PlanError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Reads a plan from text. `path` is its name in errors, and the files that it includes are relative
    /// to it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PlanError> {
        Self::of_sources(path, &Sources::read(path, text)?, None)
    }

    fn of_sources(path: &Path, sources: &Sources, kind: Option<Kind>) -> Result<Self, PlanError> {
        let root = sources
            .table()
            .map_err(|fault| sources.error(None, fault))?;
        Self::of(path, sources, &root, kind).map_err(|fault| sources.error(Some(&root), fault))
    }

    fn of(
        path: &Path,
        sources: &Sources,
        root: &Spanned<DeTable<'_>>,
        kind: Option<Kind>,
    ) -> Result<Self, Fault> {
        let mut traces = Traces::of(path);
        let (mut cells, texts) = cell::all(root, kind, &mut traces)?;
        hidden::complete_reverse_delays(&mut cells);
        hidden::add(&mut cells, &texts);
        let varied = varied::varied(&cells);
        let Some(first) = cells.first() else {
            let span = place::span(root, &["matrix"]);
            return Err(Fault::new(
                span,
                "expected at least one cell; all are excluded",
            ));
        };
        let setup = &first.setup;
        let runs = cells.len() as u64 * u64::from(setup.run.repetitions);
        if runs > MOST_RUNS {
            let span = place::span(root, &["run", "repetitions"]);
            let message = format!("expected at most {MOST_RUNS} runs, found {runs}");
            return Err(Fault::new(span, message));
        }
        let text = sources.text()?;
        Ok(Self {
            path: path.to_owned(),
            hash: hash::hex(text.as_bytes()),
            text,
            sources: sources.clone(),
            traces,
            kind: setup.kind,
            run: setup.run.clone(),
            lab: setup.lab,
            varied,
            expected: expect::all(&cells, root)?,
            warnings: warnings::warnings(&cells),
            cells,
        })
    }

    /// The plan with its hosts replaced by those of the virtual testbed.
    pub fn in_lab(&self) -> Result<Self, PlanError> {
        // The plan is read anew, because the hosts are part of the checks and of each cell's hash.
        Self::of_sources(&self.path, &self.sources, Some(Kind::Lab))
    }
}

impl Plan {
    /// Copies the traces of the plan to a folder beside a copy of its text, which then needs no other
    /// file.
    pub fn copy_traces(&self, copy: &Path) -> std::io::Result<()> {
        self.traces.write_beside(copy)
    }
}

impl Setup {
    /// Hosts of a role, by name.
    pub fn of_role(&self, role: Role) -> impl Iterator<Item = (&str, &Host)> {
        self.hosts
            .iter()
            .filter(move |(_, host)| host.role == role)
            .map(|(name, host)| (name.as_str(), host))
    }

    /// The first host of a role. A checked plan has one.
    pub fn first(&self, role: Role) -> Option<(&str, &Host)> {
        self.of_role(role).next()
    }

    /// The routers with their paths; the first is the one of `path`.
    pub fn paths(&self) -> impl Iterator<Item = (&str, &Host, &Bottleneck)> {
        static NO_PATH: LazyLock<Bottleneck> = LazyLock::new(Bottleneck::default);
        let routers = self.of_role(Role::Router).enumerate();
        routers.map(|(index, (name, host))| {
            let path = match index {
                0 => &self.path,
                _ => self.hops.get(name).unwrap_or_else(|| &*NO_PATH),
            };
            (name, host, path)
        })
    }

    /// Round-trip time between the first source and the first sink with empty queues, for packets whose ports
    /// have no delay of their own.
    pub fn base_rtt(&self) -> TimeDelta {
        self.base_rtt_with(&self.path)
    }

    /// [`base_rtt`](Self::base_rtt) with another path at the first router.
    pub(crate) fn base_rtt_with(&self, first: &Bottleneck) -> TimeDelta {
        let address = |role| self.first(role).and_then(|(_, host)| host.address);
        let ends = address(Role::Source).zip(address(Role::Sink));
        let of = |path: &Bottleneck| match ends {
            Some((source, sink)) => path.base_rtt_between(source, sink),
            None => path.base_rtt(),
        };
        let further = self.paths().skip(1).map(|(_, _, path)| path);
        std::iter::once(first).chain(further).map(of).sum()
    }

    /// Longest round-trip time of any flow with empty queues.
    pub(crate) fn longest_rtt(&self) -> TimeDelta {
        self.paths().map(|(_, _, path)| path.longest_rtt()).sum()
    }

    /// True if calibration loads the path to measure its rate.
    pub(crate) fn is_loaded(&self) -> bool {
        // The rate is read from the counters of `tc`, which only Linux has.
        let reports_queues = |(_, router): (_, &Host)| router.os == Os::Linux;
        self.calibration.enabled
            && self.path.forward.rate.is_some()
            && self.kept_part() >= LEAST_KEPT
            && self.first(Role::Router).is_some_and(reports_queues)
    }

    /// Part of the round trips on the idle path that lose no packet.
    pub(crate) fn kept_part(&self) -> f64 {
        let losses = self.paths().flat_map(|(_, _, path)| {
            let both = [&path.forward.loss, &path.reverse.loss];
            both.into_iter().flatten().filter_map(Loss::mean)
        });
        losses.map(|lost| 1.0 - lost).product()
    }

    /// Name of the host that sends the data of a generator.
    pub fn source_of<'a>(&'a self, traffic: &'a Traffic) -> &'a str {
        self.end(traffic.from.as_deref(), Role::Source)
    }

    /// Name of the host that receives the data of a generator.
    pub fn sink_of<'a>(&'a self, traffic: &'a Traffic) -> &'a str {
        self.end(traffic.to.as_deref(), Role::Sink)
    }

    /// Repeats each entry of traffic that is from or to `all` hosts, and notes where each was written.
    fn repeat_for_all(&mut self) {
        let names = |role| -> Vec<String> {
            self.of_role(role)
                .map(|(name, _)| name.to_owned())
                .collect()
        };
        let (sources, sinks) = (names(Role::Source), names(Role::Sink));
        let is_all = |name: &Option<String>| name.as_deref() == Some(ALL_HOSTS);
        let mut all = Vec::new();
        for (entry, traffic) in self.traffic.iter().enumerate() {
            let (from_all, to_all) = (is_all(&traffic.from), is_all(&traffic.to));
            let count = match (from_all, to_all) {
                (true, _) => sources.len(),
                (false, true) => sinks.len(),
                (false, false) => 1,
            };
            for number in 0..count {
                let mut one = Traffic {
                    entry,
                    ..traffic.clone()
                };
                if from_all {
                    one.from = sources.get(number).cloned();
                }
                if to_all {
                    one.to = sinks.get(number % sinks.len().max(1)).cloned();
                }
                all.push(one);
            }
        }
        self.traffic = all;
    }

    fn end<'a>(&'a self, named: Option<&'a str>, role: Role) -> &'a str {
        let default = || self.first(role).map(|(name, _)| name);
        named.or_else(default).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
