//! `tcpexp rtt SRC DST`.

use anyhow::bail;
use tcpexp::measure::spp;
use tcpexp::wire::Tunnels;
use tcpexp::{Recording, RttOptions, rtt};

use crate::args::RttArgs;
use crate::progress::Progress;
use crate::report;
use crate::results::Results;

pub(crate) fn run(args: &RttArgs) -> anyhow::Result<()> {
    if args.src.as_os_str() == "-" && args.dst.as_os_str() == "-" {
        bail!("only one of the two captures can be standard input");
    }
    let open = |path| {
        let recording = Recording::open(path)?;
        Ok::<_, tcpexp::Error>(if args.no_mmap {
            recording.streamed()
        } else {
            recording
        })
    };
    let (src, dst) = (open(&args.src)?, open(&args.dst)?);
    if args.compat.is_some() {
        return crate::compat::run(args, &src, &dst);
    }
    let options = RttOptions {
        tunnels: if args.inner {
            Tunnels::Entered
        } else {
            Tunnels::Closed
        },
        spp: spp::Options {
            max_owd: args.max_owd,
        },
    };
    let mut results = Results::new(args)?;
    let progress = Progress::watch(&[&src, &dst], 2, args.output.quiet);
    let report = rtt(&src, &dst, &options, |batch| results.take(batch))?;
    drop(progress);
    for warning in report::warnings(&report, [src.name(), dst.name()]) {
        eprintln!("tcpexp: warning: {warning}");
    }
    if let Some(why) = results.why_empty(&report) {
        bail!(
            "no round-trip time between {} and {}: {why}",
            src.name().display(),
            dst.name().display()
        );
    }
    results.finish(args, &report)
}
