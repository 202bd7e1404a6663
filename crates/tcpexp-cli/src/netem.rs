//! `tcpexp netem`.

use netem_ctl::cli;

use crate::standard_output::StandardOutput;

/// Emulate a bottleneck on a router
///
/// The router is a Linux host (tc) or a FreeBSD host (ipfw and dummynet) that forwards between two
/// interfaces. tcpexp reaches it by ssh, with the user's configuration and keys. The program
/// netem-ctl has the same commands.
#[derive(clap::Args)]
#[command(
    mut_subcommand("apply", |apply| apply.after_long_help("Examples:\n\
\x20 tcpexp netem apply --host rtr --left eth1 --right eth2 --config bottleneck.toml\n\
\x20 tcpexp netem apply --host rtr --left eth1 --right eth2 --config bottleneck.toml --dry-run")),
    mut_subcommand("show", |show| show.after_long_help("Example:\n\
\x20 tcpexp netem show --host rtr")),
    mut_subcommand("verify", |verify| verify.after_long_help("Example:\n\
\x20 tcpexp netem verify --host rtr --config bottleneck.toml")),
    mut_subcommand("change", |change| change.after_long_help("Example:\n\
\x20 tcpexp netem change --host rtr --config slower.toml")),
    mut_subcommand("clear", |clear| clear.after_long_help("Example:\n\
\x20 tcpexp netem clear --host rtr")),
)]
pub(crate) struct NetemArgs {
    #[command(subcommand)]
    command: cli::Command,
}

pub(crate) fn run(args: &NetemArgs) -> anyhow::Result<()> {
    Ok(cli::run(&args.command, &mut StandardOutput::lock())?)
}
