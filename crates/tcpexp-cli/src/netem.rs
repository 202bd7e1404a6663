//! `tcpexp netem`.

use std::io;

use netem_ctl::cli;

/// One emulated bottleneck on a router: apply, read back, change, clear
///
/// The same as the program netem-ctl. The router is a Linux host (tc) or a FreeBSD host (ipfw and
/// dummynet) that forwards between two interfaces; it is reached by ssh, with the user's own
/// configuration and keys.
#[derive(clap::Args)]
pub(crate) struct NetemArgs {
    #[command(subcommand)]
    command: cli::Command,
}

pub(crate) fn run(args: &NetemArgs) -> anyhow::Result<()> {
    Ok(cli::run(&args.command, &mut io::stdout().lock())?)
}
