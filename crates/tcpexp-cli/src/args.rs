//! The commands.

use clap::{CommandFactory, Parser, Subcommand};

use crate::analyze_args::AnalyzeArgs;
use crate::check::CheckArgs;
use crate::compare::CompareArgs;
use crate::explain::ExplainArgs;
use crate::export::ExportArgs;
use crate::flows::FlowsArgs;
use crate::info::InfoArgs;
use crate::lab::LabArgs;
use crate::merge::MergeArgs;
use crate::netem::NetemArgs;
use crate::page::ReportArgs;
use crate::pairs::PairsArgs;
use crate::path_args::PathArgs;
use crate::plot::PlotArgs;
use crate::rtt_args::RttArgs;
use crate::schema::SchemaArgs;
use crate::sender_args::{CwndArgs, ImportArgs, ScoreArgs};
use crate::shared_args::wrong_usage;
use crate::split::SplitArgs;
use crate::survey::SurveyArgs;
use crate::sweep::SweepArgs;
use crate::throughput::ThroughputArgs;
use crate::why::WhyArgs;

/// Run TCP experiments and analyse packet captures.
#[derive(Parser)]
#[command(name = "tcpexp", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Rtt(RttArgs),
    Path(PathArgs),
    Flows(FlowsArgs),
    Throughput(ThroughputArgs),
    Info(InfoArgs),
    Cwnd(CwndArgs),
    Explain(ExplainArgs),
    Why(WhyArgs),
    Import(ImportArgs),
    Export(ExportArgs),
    Score(ScoreArgs),
    Lab(LabArgs),
    Plot(Box<PlotArgs>),
    Netem(NetemArgs),
    Analyze(AnalyzeArgs),
    Survey(SurveyArgs),
    Split(SplitArgs),
    Pairs(PairsArgs),
    Merge(MergeArgs),
    Schema(SchemaArgs),
    Sweep(SweepArgs),
    Compare(CompareArgs),
    Check(CheckArgs),
    Report(ReportArgs),
    /// Print the completion script of a shell
    #[command(after_long_help = "Example for bash:\n\
\x20 tcpexp completions bash > ~/.local/share/bash-completion/completions/tcpexp")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page
    ///
    /// Without COMMAND, prints the page of tcpexp itself.
    #[command(after_long_help = "Examples:\n\
\x20 tcpexp man rtt | man -l -\n\
\x20 tcpexp man plot ecdf > tcpexp-plot-ecdf.1")]
    Man {
        /// The command, and its subcommand
        command: Vec<String>,
    },
}

/// Prints the manual page of tcpexp, of a command, or of a command's subcommand.
pub(crate) fn man_page(names: &[String]) -> anyhow::Result<()> {
    let mut page = Args::command();
    page.build();
    for name in names {
        page = page
            .find_subcommand(name)
            .ok_or_else(|| wrong_usage(&format!("no such command: {}", names.join(" "))))?
            .clone();
    }
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff)?;
    // clap_mangen has no separate heading for text after the options.
    let page = String::from_utf8(roff)?
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n")
        .replace(".SH EXTRA\nExample:\n", ".SH EXAMPLES\n");
    crate::output::print_raw(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_definitions_are_consistent() {
        Args::command().debug_assert();
    }

    /// The lines of the short and the long help of all subcommands that 80 columns cut.
    fn cut_lines(command: &clap::Command, name: &str) -> Vec<String> {
        let mut own = command.clone().term_width(80);
        let helps = [own.render_help(), own.render_long_help()].map(|help| help.to_string());
        let lines = helps.iter().flat_map(|help| help.lines());
        let cut = lines.filter(|line| line.chars().count() > 80);
        let cut: Vec<String> = cut.map(|line| format!("{name}: {line}")).collect();
        let inner = command.get_subcommands();
        let inner = inner.flat_map(|one| cut_lines(one, &format!("{name} {}", one.get_name())));
        cut.into_iter().chain(inner).collect()
    }

    #[test]
    fn each_help_and_its_usage_fit_80_columns() {
        let mut command = Args::command();
        command.build();
        assert_eq!(cut_lines(&command, "tcpexp"), [""; 0]);
    }

    /// The commands without subcommands below this one whose help has no line with an example.
    fn without_example(command: &clap::Command, name: &str) -> Vec<String> {
        let inner = command.get_subcommands();
        let inner: Vec<_> = inner.filter(|one| one.get_name() != "help").collect();
        if inner.is_empty() {
            let help = command.clone().render_long_help().to_string();
            let is_example = |line: &str| line.starts_with("  ") && line.contains(name);
            let has_example = help.lines().any(is_example);
            return (!has_example)
                .then(|| name.to_owned())
                .into_iter()
                .collect();
        }
        let of_one =
            |one: &clap::Command| without_example(one, &format!("{name} {}", one.get_name()));
        inner.into_iter().flat_map(of_one).collect()
    }

    #[test]
    fn each_command_and_subcommand_has_an_example() {
        let mut command = Args::command();
        command.build();
        assert_eq!(without_example(&command, "tcpexp"), [""; 0]);
    }
}
