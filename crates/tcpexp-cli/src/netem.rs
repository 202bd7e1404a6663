//! `tcpexp netem`.

use std::io;

use netem_ctl::cli;

/// Emulate a bottleneck on a router
///
/// The router is a Linux host (tc) or a FreeBSD host (ipfw and dummynet) that forwards between two
/// interfaces. tcpexp reaches it by ssh, with the user's configuration and keys. The program
/// netem-ctl has the same commands.
#[derive(clap::Args)]
pub(crate) struct NetemArgs {
    #[command(subcommand)]
    command: cli::Command,
}

pub(crate) fn run(args: &NetemArgs) -> anyhow::Result<()> {
    Ok(cli::run(&args.command, &mut io::stdout().lock())?)
}
