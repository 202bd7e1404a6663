//! The command line of `netem-ctl`, also for use as a subcommand.

mod limit;
mod run;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tcpexp_units::{QuantityError, TimeDelta};

use crate::router::{Interface, Os};
use crate::runner::SshHost;

pub use run::{CliError, run};

/// Apply one bottleneck to a router, read it back and clear it
///
/// The router is a Linux host (tc) or a FreeBSD host (ipfw and dummynet) that forwards between two
/// interfaces; it is reached by ssh, with the user's own configuration and keys.
#[derive(Debug, Parser)]
#[command(name = "netem-ctl", version, max_term_width = 100)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "each has the description of its arguments")]
pub enum Command {
    Apply(ApplyArgs),
    Show(ShowArgs),
    Verify(VerifyArgs),
    Change(ChangeArgs),
    Clear(ClearArgs),
}

/// Apply a bottleneck and read it back
///
/// Clears an earlier bottleneck of the same owner first. Refuses interfaces with queues of other
/// programs, and the interface that carries the connection to the router. If a step fails, restores the
/// earlier bottleneck and the time left until it clears itself. Without an earlier bottleneck, clears the
/// router.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub(crate) at: Target,

    /// Description of the bottleneck (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Interface towards the sources
    #[arg(long, value_name = "IF")]
    pub(crate) left: Interface,

    /// Interface towards the sinks
    #[arg(long, value_name = "IF")]
    pub(crate) right: Interface,

    /// Let the router clear itself after this time (such as 90s or 2h)
    #[arg(long, value_name = "TIME", value_parser = parse_wait)]
    pub(crate) clear_after: Option<Duration>,

    /// Take the router from another owner
    #[arg(long)]
    pub(crate) take_over: bool,
}

/// Show the holder of the router, its bottleneck, queues and counters
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub(crate) at: Target,
}

/// Read the bottleneck back and report differences
///
/// Compares with the bottleneck that was applied last, unless --config names another one.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub(crate) at: Target,

    /// Description of the bottleneck (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Change rates, delays and limits in place, while packets flow
#[derive(Debug, Args)]
pub struct ChangeArgs {
    #[command(flatten)]
    pub(crate) at: Target,

    /// Description of the new bottleneck (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Description of the current bottleneck, for a --dry-run that does not contact the router
    #[arg(long, value_name = "FILE", requires_all = ["left", "right", "dry_run"])]
    pub(crate) from: Option<PathBuf>,

    /// Interface towards the sources, with --from
    #[arg(long, value_name = "IF", requires = "from")]
    pub(crate) left: Option<Interface>,

    /// Interface towards the sinks, with --from
    #[arg(long, value_name = "IF", requires = "from")]
    pub(crate) right: Option<Interface>,
}

/// Clear the bottleneck of any owner
///
/// Also removes remains of a crash. Restores the earlier settings.
#[derive(Debug, Args)]
pub struct ClearArgs {
    #[command(flatten)]
    pub(crate) at: Target,
}

/// The router, and how to reach it.
#[derive(Debug, Args)]
pub struct Target {
    /// Host name of the router for ssh [default: this machine]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<SshHost>,

    /// Network namespace on this machine
    #[arg(long, value_name = "NAME", conflicts_with = "host")]
    pub(crate) namespace: Option<Interface>,

    /// ssh configuration to use instead of the user's
    #[arg(long, value_name = "FILE", requires = "host")]
    pub(crate) ssh_config: Option<PathBuf>,

    /// Operating system of the router
    #[arg(long, value_enum, default_value_t = OsArg::Linux)]
    pub(crate) os: OsArg,

    /// Name of the owner [default: user@host]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,

    /// Print the scripts and change nothing
    ///
    /// Contacts the router only to read the bottleneck that `change` starts from.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Names of systems on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum OsArg {
    /// tc
    Linux,
    /// ipfw and dummynet
    Freebsd,
}

impl From<OsArg> for Os {
    fn from(os: OsArg) -> Self {
        match os {
            OsArg::Linux => Self::Linux,
            OsArg::Freebsd => Self::FreeBsd,
        }
    }
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    let time: Result<TimeDelta, QuantityError> = text.parse();
    let time = time.map_err(|error| error.to_string())?;
    let nanos = u64::try_from(time.as_nanos())
        .ok()
        .filter(|nanos| *nanos > 0);
    let nanos = nanos.ok_or("expected a time greater than 0s")?;
    Ok(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_no_time_is_refused() {
        assert_eq!(parse_wait("1.9s"), Ok(Duration::from_millis(1_900)));
        for none in ["0s", "0ms", "soon"] {
            assert!(parse_wait(none).is_err(), "{none}");
        }
    }
}
