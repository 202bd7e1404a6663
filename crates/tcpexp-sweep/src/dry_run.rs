//! The dry run of a sweep, as text.

use std::fmt::Write;

use tcpexp_runs::record::Role;
use tcpexp_units::counted;

use crate::driver::{describe, estimate};
use crate::plan::{self, Plan};
use crate::schedule::{self, Planned};
use crate::site;

/// A run whose path the router cannot emulate.
#[derive(Debug, thiserror::Error)]
#[error("{run}: cannot set up the path")]
pub struct DryRunError {
    run: String,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// Prints the named runs (all by default) in their order, the estimated time, and all commands of the first run on every
/// host. The commands of other runs differ in the varied parameters only.
pub fn dry_run(plan: &Plan, only: Option<&[String]>) -> Result<String, DryRunError> {
    let mut runs = schedule::runs(plan);
    let all = runs.len();
    runs.retain(|run| only.is_none_or(|only| only.contains(&run.name())));
    let mut text = String::new();
    let minutes = estimate(&runs).as_secs().div_ceil(60);
    let _ = writeln!(
        text,
        "{} x {} = {}{}, about {} h {:02} min",
        counted(plan.cells.len(), "cell"),
        plan.run.repetitions,
        counted(all, "run"),
        only.map_or_else(String::new, |_| format!(", of which {}", runs.len())),
        minutes / 60,
        minutes % 60,
    );
    if !plan.varied.is_empty() {
        let _ = writeln!(text, "varies: {}", plan.varied.join(", "));
    }
    text.push('\n');
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning: {warning}\n");
    }
    for run in &runs {
        let _ = writeln!(text, "{}  {}", run.name(), describe(plan, run));
        // Report impossible paths here, not in the middle of a sweep.
        commands(run)?;
    }
    if let Some(first) = runs.first() {
        let _ = write!(text, "\n{}\n{}", first.name(), commands(first)?);
    }
    Ok(text)
}

/// All commands of a run, by phase and host.
fn commands(run: &Planned<'_>) -> Result<String, DryRunError> {
    let setup = &run.cell.setup;
    let generators = site::generators(run);
    let mut text = String::new();
    let mut put = |host: &str, phase: &str, script: &str| {
        let _ = writeln!(text, "\n# {host}: {phase}\n{}", body(script));
    };
    let wrong = |source| DryRunError {
        run: run.name(),
        source,
    };
    for (name, host) in &setup.hosts {
        let script = site::preflight(setup, (name, host), &generators, "");
        put(
            name,
            "preflight",
            // The calls follow the last function of the script.
            script.rsplit("}\n").next().unwrap_or(&script),
        );
    }
    for (name, host) in &setup.hosts {
        put(
            name,
            "prepare",
            &site::prepare(setup, (name, host), &generators),
        );
    }
    for (name, host, path) in setup.paths() {
        let path = plan::path_plan(setup, path, host).map_err(wrong)?;
        put(name, "apply", &plan::lines(&path.apply));
        put(name, "undo", &plan::lines(&path.clear));
    }
    // Changes are those of the first router's path.
    if let Some((name, host)) = setup.first(Role::Router) {
        let mut before = &setup.path;
        for change in &run.cell.changes {
            let steps = plan::change_steps(setup, before, &change.path, host).map_err(wrong)?;
            put(
                name,
                &format!("change at {}: {}", change.at, change.what),
                &plan::lines(&steps),
            );
            before = &change.path;
        }
    }
    for (name, host) in &setup.hosts {
        put(name, "capture", &site::record(setup, (name, host)));
    }
    for name in setup.hosts.keys() {
        if generators
            .iter()
            .any(|generator| generator.server.is_some() && generator.server_host == *name)
        {
            put(name, "servers", &site::servers(name, &generators));
        }
    }
    for name in setup.hosts.keys() {
        if generators
            .iter()
            .any(|generator| generator.client_host == *name)
        {
            put(
                name,
                "clients, start in ns after the start of all",
                &site::clients(name, &generators, 0),
            );
        }
    }
    Ok(text)
}

/// Returns a script without its common first lines.
fn body(script: &str) -> String {
    let lines = script.lines().filter(|line| {
        !line.is_empty() && !line.starts_with("dir=") && !line.starts_with(". \"$dir/")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
