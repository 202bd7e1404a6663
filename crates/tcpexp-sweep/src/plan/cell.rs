//! The cells of a plan: one checked setup each.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use netem_ctl::Os;
use serde::Deserialize;
use tcpexp_runs::record::{Parameter, Role};
use tcpexp_units::TimeDelta;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::error::Fault;
use super::flow_check;
use super::host_kernel;
use super::kernel::Kernel;
use super::matrix::{self, CellText};
use super::parameters;
use super::place::{self, Place};
use super::schema;
use super::traces::Traces;
use super::{Change, Host, Kind, Setup, change, testbed, traffic_check};
use tcpexp_runs::hash;

/// One cell of the grid.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Hash of the setup and its changes, in hex. Does not include seeds.
    pub hash: String,
    /// Parameters by the names of their columns.
    pub parameters: BTreeMap<String, Option<Parameter>>,
    /// The setup.
    pub setup: Setup,
    /// Changes during its runs.
    pub changes: Vec<Change>,
    /// Index into each list of the matrix; empty for included cells.
    pub(super) point: Vec<usize>,
}

impl Cell {
    /// True if the path of a router loses packets by itself, from the start or after a change. `router` is its
    /// index in [`Setup::paths`].
    pub(crate) fn emulates_loss(&self, router: usize) -> bool {
        let before = self.setup.paths().nth(router).map(|(.., path)| path);
        // Changes are those of the first router's path.
        let changes = self.changes.iter().filter(|_| router == 0);
        let after = changes.map(|change| &change.path);
        before
            .into_iter()
            .chain(after)
            .any(|path| path.forward.loss.is_some() || path.reverse.loss.is_some())
    }
}

/// Why a cell is refused that has the values of an earlier one.
const TWICE: &str = "this cell is in the grid twice";
/// Why a cell is refused whose runs would be those of an earlier one.
const EQUAL: &str =
    "this cell equals another one in the grid: stagger changes nothing with one instance";

/// All cells of a plan and what the matrix sets in each, in the order of the grid. `kind` overrides the kind of
/// the hosts.
pub(super) fn all<'a>(
    root: &'a Spanned<DeTable<'a>>,
    kind: Option<Kind>,
    traces: &mut Traces,
) -> Result<(Vec<Cell>, Vec<CellText<'a>>), Fault> {
    schema::check_keys(root.get_ref())?;
    let matrix = root.get_ref().get("matrix");
    let mut cells: Vec<Cell> = Vec::new();
    let mut hashes = HashSet::new();
    let texts = matrix::cells(matrix)?;
    for text in &texts {
        let cell = one(root, text, kind, traces)?;
        // Runs of equal cells would be repetitions under another hash.
        if !hashes.insert(fingerprint(&as_run(&cell.setup), &cell.changes)) {
            let span = text
                .settings
                .last()
                .map_or(root.span(), |last| last.value.span());
            let is_twice = cells.iter().any(|other| other.hash == cell.hash);
            let message = if is_twice { TWICE } else { EQUAL };
            return Err(Fault::new(span, message));
        }
        cells.push(cell);
    }
    Ok((cells, texts))
}

/// The keys that are of the sweep, not of a cell.
const SHARED: [&str; 5] = ["expect", "kind", "lab", "name", "run"];
/// The keys of a host by which it is reached. A sweep reaches each of its hosts in one way.
const REACH: [&str; 3] = ["os", "role", "ssh"];

/// The key of a host that all cells share, if this is one, or the whole host.
fn shared_key_of_host(keys: &[String]) -> Option<String> {
    match keys {
        [hosts, key @ ..] if hosts == "hosts" && key.len() < 2 => Some("hosts".to_owned()),
        [hosts, name, key] if hosts == "hosts" && REACH.contains(&key.as_str()) => {
            Some(format!("hosts.{name}.{key}"))
        }
        _ => None,
    }
}

fn one(
    root: &Spanned<DeTable<'_>>,
    text: &CellText<'_>,
    kind: Option<Kind>,
    traces: &mut Traces,
) -> Result<Cell, Fault> {
    let mut table = root.clone();
    // `Setup` refuses unknown keys, so the matrix and the changes are taken out.
    table.get_mut().remove("matrix");
    let changes = table.get_mut().remove("change");
    for setting in &text.settings {
        let key = &setting.key;
        let place = Place::new(key.get_ref());
        let first = place.0.first();
        let whole = first
            .filter(|first| SHARED.contains(&first.as_str()))
            .cloned();
        if let Some(shared) = whole.or_else(|| shared_key_of_host(&place.0)) {
            let message = format!("expected another key, because all cells share {shared}");
            return Err(Fault::new(key.span(), message));
        }
        if let Err(why) = place::set(table.get_mut(), &place.0, &setting.value) {
            return Err(Fault::new(key.span(), why));
        }
    }
    schema::check_tables(table.get_ref())?;
    let mut setup = Setup::deserialize(Deserializer::from(table.clone()))?;
    setup.kind = kind.unwrap_or(setup.kind);
    if setup.kind != Kind::Ssh {
        // The checks follow, because they must see the hosts of the testbed.
        testbed::take_place(&mut setup)
            .map_err(|refused| Fault::new(place::span(&table, &refused.key), refused.message))?;
    }
    read_traces(&mut setup, &table, traces)?;
    check(&setup, &table)?;
    setup.repeat_for_all();
    traffic_check::check(&setup, &table)?;
    let span_of_changes = changes.as_ref().map(Spanned::span);
    let mut changes = match table.get_ref().get("path") {
        Some(path) => change::all(changes.as_ref(), path)?,
        None => Vec::new(),
    };
    for (index, change) in changes.iter_mut().enumerate() {
        traces.read(&mut change.path).map_err(|(_, message)| {
            let span = place::span(root, &["change", &index.to_string()]);
            Fault::new(span, message)
        })?;
    }
    flow_check::check(&setup, &changes, &table, root)?;
    check_path(&setup, &changes, &table, (root, span_of_changes))?;
    let mut parameters = parameters::of(&setup);
    for (axis, label) in &text.labels {
        parameters.insert(axis.clone(), Some(Parameter::Text(label.clone())));
    }
    Ok(Cell {
        hash: fingerprint(&setup, &changes),
        parameters,
        setup,
        changes,
        point: text.point.clone(),
    })
}

/// Reads the traces of all paths.
fn read_traces(
    setup: &mut Setup,
    table: &Spanned<DeTable<'_>>,
    traces: &mut Traces,
) -> Result<(), Fault> {
    let fault = |keys: &[&str], message| Fault::new(place::span(table, keys), message);
    traces
        .read(&mut setup.path)
        .map_err(|(direction, message)| fault(&["path", direction, "trace"], message))?;
    for (name, path) in &mut setup.hops {
        traces
            .read(path)
            .map_err(|(direction, message)| fault(&["hops", name, direction, "trace"], message))?;
    }
    Ok(())
}

/// A setup without values that its runs do not use: the times between the starts of one instance.
fn as_run(setup: &Setup) -> Setup {
    let mut used = setup.clone();
    for traffic in used.traffic.iter_mut().filter(|one| one.count < 2) {
        traffic.stagger = TimeDelta::ZERO;
    }
    used
}

/// The hash of a cell.
fn fingerprint(setup: &Setup, changes: &[Change]) -> String {
    // Structures of strings and numbers always have a JSON text.
    let mut text = serde_json::to_string(&(setup, changes)).unwrap_or_default();
    // The jitter moves the start of traffic. Without it, cells keep the hash that earlier versions gave them.
    let jitter = setup.run.start_jitter.as_nanos();
    if jitter != 0 {
        let _ = write!(text, "start_jitter {jitter}");
    }
    hash::hex(text.as_bytes())
}

fn check(setup: &Setup, table: &Spanned<DeTable<'_>>) -> Result<(), Fault> {
    let fault = |keys: &[&str], message: String| Err(Fault::new(place::span(table, keys), message));
    for (name, host) in &setup.hosts {
        if super::traffic::is_word(name).is_none() {
            return fault(
                &["hosts", name],
                "expected letters, digits, _, -, . and :".to_owned(),
            );
        }
        if let Some((key, message)) = host.fault() {
            return fault(&["hosts", name, key], message);
        }
    }
    for (role, what) in [
        (Role::Source, "source"),
        (Role::Router, "router"),
        (Role::Sink, "sink"),
    ] {
        if setup.first(role).is_none() {
            let message = format!("expected a host whose role is \"{what}\"");
            return fault(&["hosts"], message);
        }
    }
    for name in setup.hops.keys() {
        let others = || setup.of_role(Role::Router).skip(1);
        if !others().any(|(other, _)| other == name) {
            let message = match others().next() {
                None => "expected no hops: there is one router, whose path is path".to_owned(),
                Some((other, _)) => {
                    format!("expected the name of a router after the first, such as {other}")
                }
            };
            return fault(&["hops", name], message);
        }
    }
    if setup.run.repetitions == 0 {
        return fault(&["run", "repetitions"], "expected at least 1".to_owned());
    }
    if let Some((keys, message)) = setup.unusable_setting() {
        return fault(&keys, message.to_owned());
    }
    if let Some(message) = setup.filter_fault() {
        return fault(&["capture", "filter"], message);
    }
    check_logs(setup, table)?;
    check_kernels(setup, table)
}

fn check_logs(setup: &Setup, table: &Spanned<DeTable<'_>>) -> Result<(), Fault> {
    for (index, log) in setup.log.iter().enumerate() {
        let fault = |key: &str, message: String| {
            let span = place::span(table, &["log", &index.to_string(), key]);
            Err(Fault::new(span, message))
        };
        if let Some((key, message)) = log.fault() {
            return fault(key, message);
        }
        if !setup.hosts.contains_key(&log.host) {
            let names: Vec<&str> = setup.hosts.keys().map(String::as_str).collect();
            return fault("host", format!("expected one of {}", names.join(", ")));
        }
        let is_same =
            |other: &super::CommandLog| (&other.name, &other.host) == (&log.name, &log.host);
        if setup.log[..index].iter().any(is_same) {
            let message = format!(
                "expected a unique name on {}, found {:?} twice",
                log.host, log.name
            );
            return fault("name", message);
        }
    }
    Ok(())
}

/// The MTU of Ethernet. Traces of links and the load of the calibration have full packets of this size.
const LARGEST_MTU: u32 = 1_500;
/// The datagram that every host accepts (RFC 1122, section 3.3.2).
const SMALLEST_MTU: u32 = 576;
/// The smallest MTU of IPv6 (RFC 8200, section 5).
const SMALLEST_MTU_OF_IPV6: u32 = 1_280;

/// Checks the settings of the hosts' kernels.
fn check_kernels(setup: &Setup, table: &Spanned<DeTable<'_>>) -> Result<(), Fault> {
    let fault = |keys: &[&str], message: String| Err(Fault::new(place::span(table, keys), message));
    let prepare = &setup.prepare;
    let is_ipv6 = |host: &Host| host.address.is_some_and(|address| address.is_ipv6());
    let smallest = if setup.hosts.values().any(is_ipv6) {
        SMALLEST_MTU_OF_IPV6
    } else {
        SMALLEST_MTU
    };
    if prepare
        .mtu
        .is_some_and(|mtu| !(smallest..=LARGEST_MTU).contains(&mtu))
    {
        let message = format!("expected {smallest} to {LARGEST_MTU} bytes");
        return fault(&["prepare", "mtu"], message);
    }
    if prepare.initcwnd == Some(0) {
        return fault(&["prepare", "initcwnd"], "expected at least 1".to_owned());
    }
    for (key, is_set) in [
        ("mtu", prepare.mtu.is_some()),
        ("initcwnd", prepare.initcwnd.is_some()),
    ] {
        let mut ends = setup
            .hosts
            .values()
            .filter(|host| host.role != Role::Router);
        if is_set && ends.any(|host| host.os == Os::FreeBsd) {
            let message = "expected no value: only Linux hosts take it".to_owned();
            return fault(&["prepare", key], message);
        }
    }
    for (name, host) in &setup.hosts {
        let own = Kernel {
            sysctl: host.sysctl.clone(),
            module: host.module.clone(),
        };
        if let Some((key, message)) = own.fault() {
            return fault(&["hosts", name, key], message);
        }
        if let Some((key, message)) = host_kernel::fault(setup, host) {
            return fault(&["prepare", key], message);
        }
    }
    match host_kernel::shared_kernel_fault(setup) {
        Some(message) => fault(&["prepare"], message),
        None => Ok(()),
    }
}

/// Checks that the router can emulate the path and its changes.
fn check_path(
    setup: &Setup,
    changes: &[Change],
    table: &Spanned<DeTable<'_>>,
    (root, span_of_changes): (&Spanned<DeTable<'_>>, Option<Range<usize>>),
) -> Result<(), Fault> {
    let Some((_, router)) = setup.first(Role::Router) else {
        return Ok(());
    };
    let span = |place: Option<(&str, &str)>| match place {
        Some((direction, key)) => place::span(table, &["path", direction, key]),
        None => place::span(table, &["path"]),
    };
    if let Err(error) = super::path::path_plan(setup, &setup.path, router) {
        let place = super::path::place_of(error.as_ref());
        return Err(Fault::new(span(place), error.to_string()));
    }
    for (name, host, path) in setup.paths().skip(1) {
        if let Err(error) = super::path::path_plan(setup, path, host) {
            let (direction, key) = super::path::place_of(error.as_ref()).unwrap_or_default();
            let span = place::span(table, &["hops", name, direction, key]);
            return Err(Fault::new(span, error.to_string()));
        }
    }
    // Without a time limit of all traffic, its end is not known.
    let ends: Option<Vec<_>> = setup.traffic.iter().map(super::Traffic::end).collect();
    let end = ends.and_then(|ends| ends.into_iter().max());
    // Only a change in place keeps packets flowing, so each change must be possible from the
    // previous path.
    let mut before = &setup.path;
    let span_of = |index: usize| match &span_of_changes {
        Some(_) => place::span(root, &["change", &index.to_string()]),
        None => span(None),
    };
    for (index, change) in changes.iter().enumerate() {
        if let Some(end) = end.filter(|end| change.at >= *end) {
            let span = place::span(root, &["change", &index.to_string(), "at"]);
            let message = format!("expected a time before {end}, when all traffic has ended");
            return Err(Fault::new(span, message));
        }
        if let Err(error) = super::path::change_steps(setup, before, &change.path, router) {
            return Err(Fault::new(span_of(index), error.to_string()));
        }
        before = &change.path;
    }
    Ok(())
}
