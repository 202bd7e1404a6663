//! `tcpexp survey SRC DST -o FILE`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use tcpexp::{PairSurvey, PathOptions, survey};
use tcpexp_units::TimeDelta;

use crate::output::Output;
use crate::progress::Progress;
use crate::shared_args::{ReadArgs, check_extension, require_one_input};
use crate::values::{clocks, parse_time};
use crate::{fetched, shown, warnings};

/// Compute once what all measurements of two captures share
///
/// Writes the fields that identify packets, the clocks' offset, skew and steps, the smallest delays,
/// and the flows that correspond under address translation, as JSON. With --survey FILE, rtt, path and
/// analyze use this survey in place of their first passes, and their results are the same. They refuse
/// a survey that was made of other captures or with other options.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n\
\x20 tcpexp survey src.pcap dst.pcap -o survey.json\n\
\x20 tcpexp path src.pcap dst.pcap --survey survey.json")]
pub(crate) struct SurveyArgs {
    /// Capture at the source point; `-` is standard input
    src: PathBuf,

    /// Capture at the destination point; `-` is standard input
    dst: PathBuf,

    /// File to write (.json); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Longest one-way delay that packets may have (ms, s, min)
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    max_owd: TimeDelta,

    /// Both captures have the times of one clock, such as those of two interfaces of a host
    ///
    /// One-way delays are then exact to the resolution of the clock, and tcpexp estimates no offset,
    /// skew or step of a clock.
    #[arg(long)]
    one_clock: bool,

    /// Print no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    reading: ReadArgs,
}

pub(crate) fn run(args: &SurveyArgs) -> anyhow::Result<()> {
    require_one_input(&args.src, &args.dst)?;
    check_extension(&args.output, &[".json"])?;
    let mut out = Output::create(Some(&args.output))?;
    let (src, dst) = (args.reading.open(&args.src)?, args.reading.open(&args.dst)?);
    let options = PathOptions::default()
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection())
        .max_owd(args.max_owd)
        .clocks(clocks(args.one_clock));
    let passes = 2 + args.reading.extra_passes(2);
    let progress = Progress::watch(&[&src, &dst], passes, args.quiet);
    let (survey, infos) = survey(&src, &dst, &options)?;
    drop(progress);
    for (info, path) in infos.iter().zip([&args.src, &args.dst]) {
        warnings::of_capture(info, path);
    }
    survey
        .write(&mut out)
        .with_context(|| format!("cannot write {}", shown::path(&args.output)))?;
    out.finish()
}

/// The survey of a measurement between two captures.
#[derive(clap::Args)]
#[command(next_help_heading = "Analysis in parts")]
pub(crate) struct LearnedArgs {
    /// Use a survey that `tcpexp survey` made of these captures with these options
    #[arg(long, value_name = "FILE", requires = "dst")]
    survey: Option<PathBuf>,
}

impl LearnedArgs {
    /// Reads the survey, if one is given.
    pub(crate) fn read(&self) -> anyhow::Result<Option<Arc<PairSurvey>>> {
        let read = |path: &PathBuf| {
            let survey = PairSurvey::read(&fetched::local(path)?)?;
            anyhow::Ok(Arc::new(survey))
        };
        self.survey.as_ref().map(read).transpose()
    }

    /// True if a survey is given.
    pub(crate) fn is_given(&self) -> bool {
        self.survey.is_some()
    }

    /// Number of passes that a survey saves of `passes`.
    pub(crate) fn saves(&self, passes: u64) -> u64 {
        if self.is_given() { passes } else { 0 }
    }
}
