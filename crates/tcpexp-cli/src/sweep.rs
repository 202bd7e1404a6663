//! `tcpexp sweep`: runs a plan.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use netem_ctl::{Local, Runner, Ssh, SshOptions};
use tcpexp::{AnalyzeOptions, SweepColumns, analyze_run};
use tcpexp_lab::is_guest;
use tcpexp_sweep::plan::{self, Host, Kind, Plan};
use tcpexp_sweep::schedule::{self, Planned};
use tcpexp_sweep::{Analysis, On, Options, Summary, plan_changes, sweep};
use tcpexp_units::counted;

use crate::kernel_args::KernelArgs;
use crate::sweep_lab::{self, Testbeds};
use crate::sweep_netns::Namespaces;
use crate::sweep_progress::Progress;
use crate::task_args::Task;
use crate::values::parse_directory;
use crate::{output, shown, signals, sweep_progress};

/// Run a grid of experiments
///
/// A plan is a TOML file with hosts, the path between them, traffic, and parameters that vary. Each
/// run inspects the hosts, applies the path, verifies it, captures at both ends, starts the traffic,
/// and restores all hosts, even after Ctrl-C. Each finished run is analysed into a dataset.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp sweep plan.toml --dry-run\n\
\x20 tcpexp sweep plan.toml -o results --jobs 2\n\
\x20 tcpexp sweep plan.toml -o results --resume\n\
\x20 tcpexp sweep plan.toml -o results --lab --task 3/10")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
pub(crate) struct SweepArgs {
    /// Plan of the sweep (TOML)
    #[arg(required_unless_present = "schema")]
    pub(crate) plan: Option<PathBuf>,

    /// Directory for the results
    #[arg(short, long, value_name = "DIR", value_parser = parse_directory)]
    #[arg(required_unless_present_any = ["dry_run", "schema"])]
    pub(crate) output: Option<PathBuf>,

    /// Print the grid, the duration and all commands on every host, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print the JSON Schema of plans, with which editors check and complete plans
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,

    /// Continue the sweep in DIR, without repeating finished runs
    #[arg(long)]
    pub(crate) resume: bool,

    /// With --resume, also repeat invalid runs
    ///
    /// Repeat runs whose captures missed packets when the machine was busy. A run that is invalid
    /// because of its plan becomes invalid again.
    #[arg(long, requires = "resume")]
    pub(crate) repeat_invalid: bool,

    /// With --resume, continue although the cells of the plan have changed
    #[arg(long, requires = "resume")]
    pub(crate) yes: bool,

    /// Run in the virtual testbed instead of on the hosts of the plan
    ///
    /// Inside a guest of the testbed, the sweep runs on the hosts of that guest, without ssh.
    #[arg(long)]
    pub(crate) lab: bool,

    /// Use this file instead of ~/.ssh/config
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,

    /// Run only these runs, by name or by the parameters of their cells
    ///
    /// RUNS is a list of names, or a list of parameter values such as `cc=cubic,reno,rate_mbps=10`,
    /// which selects the cells that have one of these values of each parameter. A value that contains
    /// a comma is in double quotes.
    #[arg(long, value_name = "RUNS")]
    pub(crate) only: Option<String>,

    /// Run only run I, or only the I-th of N shares of the runs, in the virtual testbed
    ///
    /// Several tasks may share DIR, on several machines. Runs that are done are not repeated.
    #[arg(
        long,
        value_name = "I|I/N",
        requires = "output",
        conflicts_with = "resume"
    )]
    pub(crate) task: Option<Task>,

    #[command(flatten)]
    pub(crate) kernel: KernelArgs,

    /// Number of parallel runs in the virtual testbed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) jobs: usize,

    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The names of the runs that `--only` selects.
pub(crate) fn selected(plan: &Plan, only: Option<&str>) -> anyhow::Result<Option<Vec<String>>> {
    let selected = only.map(|only| schedule::selected(plan, only)).transpose();
    selected.context("--only selects no run")
}

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<()> {
    if args.schema {
        let schema = serde_json::to_string_pretty(&plan::schema())?;
        return output::print(&(schema + "\n"));
    }
    let Some(file) = &args.plan else {
        bail!("no plan");
    };
    let plan = Plan::read(file)?;
    let plan = if args.lab { plan.in_lab()? } else { plan };
    if args.kernel.kernel.is_some() && plan.kind != Kind::Lab {
        bail!("--kernel requires the virtual testbed: add --lab");
    }
    let only = wanted_runs(args, &plan)?;
    let task = args.task.map(|task| task.to_string());
    if args.dry_run {
        return output::print(&tcpexp_sweep::dry_run(&plan, only.as_deref())?);
    }
    let Some(dir) = &args.output else {
        bail!("no directory for results");
    };
    for warning in &plan.warnings {
        sweep_progress::line(&format!("warning: {warning}"));
    }
    if args.resume && !args.yes {
        confirm_changes(dir, &plan)?;
    }
    let is_virtual = plan.kind == Kind::Lab && !is_guest();
    let stop = on_interrupt(is_virtual)?;
    let interrupt = || stop.load(Ordering::Relaxed);
    let progress = Progress::new(args.quiet);
    let parameters = plan.cells.iter().map(|cell| &cell.parameters);
    let columns = SweepColumns::of(parameters, &plan.varied);
    let analyze = |run: &Path| {
        let options = AnalyzeOptions::default();
        let manifest = analyze_run(run, &columns, &options).map_err(anyhow::Error::from);
        manifest.map(drop).map_err(|error| format!("{error:#}"))
    };
    // A guest has a slow processor and virtual time, so the machine that started the guest analyses
    // the results.
    let analyze = (!is_guest()).then_some(&analyze as Analysis<'_>);
    let with = |on: On<'_>| {
        let options = Options {
            dir,
            resume: args.resume,
            repeat_invalid: args.repeat_invalid,
            only: only.as_deref(),
            task: task.as_deref(),
            on,
            interrupt: &interrupt,
            analyze,
            on_event: &|event| progress.show(event),
        };
        anyhow::Ok(sweep(&plan, &options)?)
    };
    let summary = on_hosts(args, &plan, dir, is_virtual, with)?;
    drop(progress);
    end(summary)
}

/// The names of the runs that `--only` and `--task` select.
fn wanted_runs(args: &SweepArgs, plan: &Plan) -> anyhow::Result<Option<Vec<String>>> {
    let only = selected(plan, args.only.as_deref())?;
    let Some(task) = args.task else {
        return Ok(only);
    };
    if plan.kind != Kind::Lab {
        bail!("--task requires the virtual testbed, where tasks share no hosts: add --lab");
    }
    Ok(Some(runs_of(task, plan, only)?))
}

/// Makes or reaches the hosts of the plan, and starts the sweep on them.
fn on_hosts(
    args: &SweepArgs,
    plan: &Plan,
    dir: &Path,
    is_virtual: bool,
    start: impl FnOnce(On<'_>) -> anyhow::Result<Summary>,
) -> anyhow::Result<Summary> {
    if is_virtual {
        let testbeds = Testbeds::new(plan, &args.kernel.source())?;
        testbeds.refuse_other_kernels(dir)?;
        let carry_out = |run: &Planned<'_>, out: &Path| testbeds.carry_out(run, out);
        start(On::Testbeds {
            jobs: args.jobs,
            carry_out: &carry_out,
        })
    } else if plan.kind == Kind::Netns {
        let namespaces = Namespaces::create(plan.lab)?;
        start(On::Hosts(&rooms(plan, |name| Ok(namespaces.reach(name)))?))
    } else if args.lab {
        start(On::Hosts(&rooms(plan, sweep_lab::enter)?))
    } else {
        start(On::Hosts(&hosts(plan, args)?))
    }
}

/// Sets what Ctrl-C does. The flag becomes true when hosts must be restored.
fn on_interrupt(is_virtual: bool) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let signalled = Arc::clone(&stop);
    signals::on_end(move |signal| {
        // Virtual machines end with this process and need no restoration. Hosts must be restored,
        // even after a second Ctrl-C.
        if is_virtual {
            sweep_progress::line(
                "interrupted: stopping the guests, keeping the finished runs; continue with --resume",
            );
            signal.end();
        }
        sweep_progress::line("interrupted: restoring the hosts; wait, then continue with --resume");
        signalled.store(true, Ordering::Relaxed);
    })
    .context("cannot install a handler for Ctrl-C")?;
    Ok(stop)
}

/// The names of the runs of a task.
fn runs_of(task: Task, plan: &Plan, only: Option<Vec<String>>) -> anyhow::Result<Vec<String>> {
    let all = || schedule::runs(plan).iter().map(Planned::name).collect();
    let names: Vec<String> = only.unwrap_or_else(all);
    let runs: Vec<String> = match task {
        Task::Share { number, count } => {
            return Ok(names.into_iter().skip(number - 1).step_by(count).collect());
        }
        Task::One(number) => {
            let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
            names.get(place).cloned().into_iter().collect()
        }
    };
    if runs.is_empty() {
        bail!(
            "the plan has {}, but --task is {task}",
            counted(names.len(), "run")
        );
    }
    Ok(runs)
}

/// Number of runs of a plan, for programs that start a task for each.
///
/// # Errors
///
/// Fails if the plan cannot be read.
pub fn count_runs(plan: &Path) -> anyhow::Result<usize> {
    let plan = Plan::read(plan)?;
    Ok(schedule::runs(&plan).len())
}

/// Asks whether to continue with a plan whose cells have changed; without a terminal, refuses.
fn confirm_changes(dir: &Path, plan: &Plan) -> anyhow::Result<()> {
    let what = match plan_changes(dir, plan) {
        Ok(changes) if changes.is_empty() => return Ok(()),
        Ok(changes) => format!("the plan is not that of {}: {changes}", shown::path(dir)),
        Err(error) => {
            let cause = anyhow::Error::from(error);
            format!(
                "cannot compare the plan with that of {}: {cause:#}",
                shown::path(dir)
            )
        }
    };
    if !std::io::stdin().is_terminal() {
        bail!("{what}; continue with --yes");
    }
    sweep_progress::line(&what);
    sweep_progress::line("continue? [y/N]");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("no answer")?;
    if answer.trim().eq_ignore_ascii_case("y") {
        return Ok(());
    }
    bail!("not continued")
}

fn end(summary: Summary) -> anyhow::Result<()> {
    let Summary {
        complete,
        invalid,
        failed,
        not_analyzed,
    } = summary;
    sweep_progress::line(&format!(
        "{complete} complete, {invalid} invalid, {failed} failed"
    ));
    match (failed, not_analyzed) {
        (0, 0) => Ok(()),
        (0, runs) => bail!("the analysis of {} failed", counted(runs, "run")),
        (runs, _) => bail!(
            "{} failed; --resume repeats failed runs",
            counted(runs, "run")
        ),
    }
}

/// Returns a connection to each host of the plan.
fn hosts(plan: &Plan, args: &SweepArgs) -> anyhow::Result<BTreeMap<String, Box<dyn Runner>>> {
    let options = SshOptions {
        config: args.ssh_config.clone(),
        ..SshOptions::default()
    };
    let mut hosts: BTreeMap<String, Box<dyn Runner>> = BTreeMap::new();
    for (name, host) in plan.cells.iter().flat_map(|cell| &cell.setup.hosts) {
        if hosts.contains_key(name) {
            continue;
        }
        // Without `ssh` in the plan, the name of the host is also its name for ssh.
        let ssh = host.ssh.as_deref().unwrap_or(name).parse()?;
        let ssh = Ssh::new(ssh, options.clone())?;
        // Some hosts are idle during the traffic of a run.
        hosts.insert(name.clone(), Box::new(ssh.kept_open()));
    }
    Ok(hosts)
}

/// Returns a runner for each host of a plan whose hosts are namespaces of this machine.
fn rooms(
    plan: &Plan,
    enter: impl Fn(&str) -> anyhow::Result<Local>,
) -> anyhow::Result<BTreeMap<String, Box<dyn Runner>>> {
    let hosts = plan.cells.iter().flat_map(|cell| &cell.setup.hosts);
    let room = |(name, host): (&String, &Host)| {
        let room = enter(host.ssh.as_deref().unwrap_or(name))?;
        Ok((name.clone(), Box::new(room) as Box<dyn Runner>))
    };
    hosts.map(room).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
kind = \"lab\"
[matrix]
cc = [\"cubic\", \"reno\", \"bbr\"]
[path.forward]
rate = \"10mbit\"
buffer = \"50p\"
[[traffic]]
name = \"bulk\"
tool = \"iperf3\"
duration = \"3s\"
";

    #[test]
    fn tasks_divide_the_runs_of_a_plan() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.toml");
        std::fs::write(&file, PLAN).unwrap();
        assert_eq!(count_runs(&file).unwrap(), 3);
        let plan = Plan::read(&file).unwrap();
        let of = |task: &str| runs_of(task.parse().unwrap(), &plan, None);
        let all: Vec<String> = schedule::runs(&plan).iter().map(Planned::name).collect();
        let mut shared = [of("1/2").unwrap(), of("2/2").unwrap()].concat();
        shared.sort();
        let mut sorted = all.clone();
        sorted.sort();
        assert_eq!(shared, sorted);
        assert_eq!(of("2").unwrap(), [all[1].clone()]);
        assert_eq!(of("9/9").unwrap(), [""; 0]);
        let error = of("4").unwrap_err();
        assert_eq!(error.to_string(), "the plan has 3 runs, but --task is 4");
    }
}
