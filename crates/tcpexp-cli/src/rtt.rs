//! `tcpexp rtt SRC DST`.

use anyhow::bail;
use tcpexp::{RttOptions, rtt};

use crate::failure;
use crate::progress::Progress;
use crate::report;
use crate::results::Results;
use crate::rtt_args::RttArgs;
use crate::shared_args::require_one_input;
use crate::values::clocks;

pub(crate) fn run(args: &RttArgs) -> anyhow::Result<()> {
    let Some(dst) = &args.dst else {
        return crate::single_rtt::run(args);
    };
    if args.live {
        return crate::live_pair::run(args, dst);
    }
    require_one_input(&args.src, dst)?;
    if args.compat.is_some() {
        return crate::compat::run(args, dst);
    }
    // Creates the outputs first, to report an error before standard input is read.
    let mut results = Results::new(args)?;
    let (src, dst) = (args.reading.open(&args.src)?, args.reading.open(dst)?);
    let options = RttOptions::default()
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection())
        .shard(args.part.shard)
        .survey(args.learned.read()?)
        .max_owd(args.max_owd)
        .symmetric(args.symmetric)
        .clocks(clocks(args.one_clock));
    let progress = Progress::watch(
        &[&src, &dst],
        2 - args.learned.saves(1) + args.reading.extra_passes(2),
        args.output.quiet,
    );
    let report = rtt(&src, &dst, &options, |batch| results.take(batch))?;
    drop(progress);
    let names = [src.name(), dst.name()];
    for warning in report::warnings(&(&report).into(), results.seen(), names, args.max_owd) {
        failure::print_line(&format!("warning: {warning}"));
    }
    // A part may be empty although the whole is not.
    if args.part.shard.is_none()
        && let Some(why) = results.why_empty(&report)
    {
        bail!(
            "no round-trip time between {} and {}: {why}",
            src.name().display(),
            dst.name().display()
        );
    }
    results.finish(&report, args.output.quiet)
}
