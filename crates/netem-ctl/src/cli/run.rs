//! Runs the commands.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tcpexp_host::quote;
use tcpexp_units::counted;
use thiserror::Error;

use super::limit::limits;
use super::{ApplyArgs, ChangeArgs, ClearArgs, Command, OsArg, ShowArgs, Target, VerifyArgs};
use crate::bottleneck::{Bottleneck, ReadError, TraceError};
use crate::control::{ApplyOptions, Control, ControlError, Holder};
use crate::plan::{self, Plan, PlanError};
use crate::router::{Interface, Router};
use crate::runner::{DryRun, Local, RunError, Runner, Ssh, SshOptions};

/// Why a command failed.
#[derive(Debug, Error)]
pub enum CliError {
    /// A file is unreadable.
    #[error("cannot read {}", path.display())]
    File {
        /// The name.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A description is malformed.
    #[error("{}: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Line and fault.
        problem: ReadError,
    },
    /// A trace of a description is of no use.
    #[error("{}", path.display())]
    Trace {
        /// The description.
        path: PathBuf,
        /// The fault.
        source: TraceError,
    },
    /// A bottleneck is impossible.
    #[error("{}: {problem}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: PlanError,
    },
    /// The router refused.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The router may hold a part of a bottleneck that could not be applied.
    #[error("cannot apply the bottleneck; the command `{command}` removes what may remain of it")]
    Remains {
        /// The command.
        command: String,
        /// The cause.
        source: ControlError,
    },
    /// The router cannot be reached.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The router has no bottleneck.
    #[error("{host}: no bottleneck is set: apply one first")]
    Nothing {
        /// The host.
        host: String,
    },
    /// Standard output is closed or full.
    #[error("cannot write the output")]
    Write(#[from] io::Error),
}

impl CliError {
    /// True if the reader of the output closed it.
    pub fn is_closed_pipe(&self) -> bool {
        let (Self::Write(source)
        | Self::Run(RunError::Print { source })
        | Self::Control(ControlError::Run(RunError::Print { source }))) = self
        else {
            return false;
        };
        source.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Runs a command and writes its output to `out`.
pub fn run(command: &Command, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        Command::Apply(args) => apply(args, out),
        Command::Show(args) => show(args, out),
        Command::Verify(args) => verify(args, out),
        Command::Change(args) => change(args, out),
        Command::Clear(args) => clear(args, out),
    }
}

fn apply(args: &ApplyArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let router = Router {
        os: args.at.os.into(),
        left: args.left.clone(),
        right: args.right.clone(),
    };
    // A wrong description fails before the router is contacted.
    let plan = planned(&args.config, &router, None)?;
    let runner = args.at.runner()?;
    let control = Control::new(runner.as_ref(), &args.at.owner());
    let options = ApplyOptions {
        clear_after: args.clear_after,
        take_over: args.take_over,
    };
    control.apply(&plan, options).map_err(|error| {
        if error.may_leave_parts() {
            let command = args.at.clearing();
            return CliError::Remains {
                command,
                source: error,
            };
        }
        error.into()
    })?;
    args.at
        .report(out, runner.as_ref(), "applied and read back")?;
    if !args.at.dry_run {
        describe(out, &plan)?;
    }
    Ok(())
}

fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let runner = args.at.runner()?;
    let control = Control::new(runner.as_ref(), &args.at.owner());
    let shown = control.show(args.at.os.into())?;
    // A dry run has printed the script, and has no answer to show.
    if args.at.dry_run {
        return Ok(());
    }
    let host = runner.host();
    match &shown.holder {
        None => writeln!(out, "{host}: not held")?,
        Some(holder) => {
            writeln!(out, "{host}: held by {}", holder.owner)?;
            if let Some(plan) = holder.plan() {
                describe(out, &plan)?;
            }
        }
    }
    out.write_all(shown.text.as_bytes())?;
    Ok(())
}

fn verify(args: &VerifyArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let runner = args.at.runner()?;
    let control = Control::new(runner.as_ref(), &args.at.owner());
    if args.at.dry_run {
        // Prints the script, which has no answer to compare.
        control.show(args.at.os.into())?;
        return Ok(());
    }
    let current = current(&control, &args.at, runner.host())?;
    let plan = match &args.config {
        Some(config) => planned_like(config, &current)?,
        None => current,
    };
    control.verify(&plan)?;
    args.at.report(out, runner.as_ref(), "matches the plan")
}

fn change(args: &ChangeArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let runner = args.at.runner()?;
    let control = Control::new(runner.as_ref(), &args.at.owner());
    // clap requires `--from`, `--left` and `--right` together.
    let from = if let (Some(from), Some(left), Some(right)) = (&args.from, &args.left, &args.right)
    {
        let router = Router {
            os: args.at.os.into(),
            left: left.clone(),
            right: right.clone(),
        };
        planned(from, &router, None)?
    } else {
        // The changes depend on the current bottleneck, so a dry run reads it too.
        let router = args.at.reached()?;
        let control = Control::new(router.as_ref(), &args.at.owner());
        current(&control, &args.at, router.host())?
    };
    let to = planned_like(&args.config, &from)?;
    control.change(&from, &to, None)?;
    args.at
        .report(out, runner.as_ref(), "changed and read back")?;
    if !args.at.dry_run {
        describe(out, &to)?;
    }
    Ok(())
}

fn clear(args: &ClearArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let runner = args.at.runner()?;
    let control = Control::new(runner.as_ref(), &args.at.owner());
    let outcome = match control.clear(args.at.os.into())?.owner {
        None => "nothing to clear".to_owned(),
        Some(owner) => format!("cleared; it was held by {owner}"),
    };
    args.at.report(out, runner.as_ref(), &outcome)
}

/// The plan of the bottleneck on the router.
fn current(control: &Control, at: &Target, host: &str) -> Result<Plan, CliError> {
    let holder = control.show(at.os.into())?.holder;
    let plan = holder.as_ref().and_then(Holder::plan);
    plan.ok_or_else(|| CliError::Nothing {
        host: host.to_owned(),
    })
}

/// The plan of a description for the router of another plan and hosts with its MTU.
fn planned_like(config: &Path, other: &Plan) -> Result<Plan, CliError> {
    planned(config, &other.router, other.bottleneck.forward.mtu)
}

fn planned(config: &Path, router: &Router, mtu: Option<u32>) -> Result<Plan, CliError> {
    let path = || config.to_owned();
    let text = fs::read_to_string(config).map_err(|source| CliError::File {
        path: path(),
        source,
    })?;
    let mut bottleneck = Bottleneck::from_toml(&text).map_err(|problem| CliError::Read {
        path: path(),
        problem,
    })?;
    let folder = config.parent().unwrap_or(Path::new(""));
    bottleneck
        .read_traces(folder)
        .map_err(|source| CliError::Trace {
            path: path(),
            source,
        })?;
    plan::plan(&bottleneck.with_mtu(mtu), router).map_err(|problem| CliError::Plan {
        path: path(),
        problem,
    })
}

/// Writes one line for each direction.
fn describe(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    let Router { left, right, .. } = &plan.router;
    let ways = [
        (left, right, &plan.bottleneck.forward),
        (right, left, &plan.bottleneck.reverse),
    ];
    for ((from, to, path), size) in ways.into_iter().zip(plan.queues) {
        let delay = path.delay.unwrap_or_default();
        let (delay, limits) = (delay.to_exact_text(), limits(path));
        write!(out, "  {from} > {to}: delay {delay}, {limits}")?;
        if let Some(queue) = path.queue {
            write!(out, ", {queue}")?;
        }
        if let Some(size) = size {
            let packets = counted(size.packets, "packet");
            write!(out, " of {packets} ({} bytes)", size.bytes)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

impl Target {
    /// Runs scripts, or prints them in a dry run.
    fn runner(&self) -> Result<Box<dyn Runner>, CliError> {
        if self.dry_run {
            let name = self.host.as_ref().map_or("localhost", |host| host.as_str());
            let namespace = self.namespace.as_ref().map(Interface::as_str);
            // A thread may lock standard output twice, so the caller's lock does not block the runner.
            return Ok(Box::new(DryRun::new(
                namespace.unwrap_or(name),
                io::stdout(),
            )));
        }
        self.reached()
    }

    /// Runs scripts.
    fn reached(&self) -> Result<Box<dyn Runner>, CliError> {
        Ok(match (&self.host, &self.namespace) {
            (Some(host), _) => {
                let options = SshOptions {
                    config: self.ssh_config.clone(),
                    ..SshOptions::default()
                };
                Box::new(Ssh::new(host.clone(), options)?)
            }
            (None, Some(name)) => Box::new(Local::in_namespace(name.as_str())),
            (None, None) => Box::new(Local::new()),
        })
    }

    /// The command that clears the router.
    fn clearing(&self) -> String {
        let mut words = vec!["clear".to_owned()];
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), quote(value)]);
        if let Some(host) = &self.host {
            option("--host", host.as_str());
        }
        if let Some(namespace) = &self.namespace {
            option("--namespace", namespace.as_str());
        }
        if let Some(config) = &self.ssh_config {
            option("--ssh-config", &config.to_string_lossy());
        }
        if matches!(self.os, OsArg::Freebsd) {
            option("--os", "freebsd");
        }
        words.join(" ")
    }

    fn owner(&self) -> String {
        let typed = self.owner.clone();
        typed.unwrap_or_else(|| {
            let user = std::env::var("USER").unwrap_or_else(|_| "root".into());
            let system = rustix::system::uname();
            format!("{user}@{}", system.nodename().to_string_lossy())
        })
    }

    fn report(&self, out: &mut dyn Write, runner: &dyn Runner, what: &str) -> Result<(), CliError> {
        if !self.dry_run {
            writeln!(out, "{}: {what}", runner.host())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_clears_a_router_names_the_same_router() {
        let clearing = |host: Option<&str>, namespace: Option<&str>, os| {
            let target = Target {
                host: host.map(|host| host.parse().unwrap()),
                namespace: namespace.map(|name| name.parse().unwrap()),
                ssh_config: host.map(|_| "my config".into()),
                os,
                owner: None,
                dry_run: false,
            };
            target.clearing()
        };
        assert_eq!(
            clearing(Some("rtr"), None, OsArg::Freebsd),
            "clear --host rtr --ssh-config 'my config' --os freebsd"
        );
        assert_eq!(
            clearing(None, Some("r"), OsArg::Linux),
            "clear --namespace r"
        );
    }

    #[test]
    fn the_error_about_what_may_remain_says_that_apply_failed() {
        let problem = crate::SshProblem::Closed;
        let host = "rtr".to_owned();
        let error = CliError::Remains {
            command: "clear --host rtr".to_owned(),
            source: RunError::Ssh { host, problem }.into(),
        };
        assert_eq!(
            error.to_string(),
            "cannot apply the bottleneck; the command `clear --host rtr` removes what may remain of it"
        );
    }
}
