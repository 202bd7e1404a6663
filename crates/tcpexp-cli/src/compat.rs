//! `tcpexp rtt --compat spp-0.4.2`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use tcpexp::spp_pairs;
use tcpexp_pair::compat::{Columns, FieldMask};

use crate::output::Output;
use crate::progress::Progress;
use crate::rtt_args::RttArgs;
use crate::shared_args::{Format, wrong_usage};

pub(crate) fn run(args: &RttArgs, dst: &Path) -> anyhow::Result<()> {
    let format = args.output.format()?;
    let is_default = format == Format::Table && args.output.format.is_none();
    if format != Format::Spp && !is_default {
        return Err(wrong_usage(
            "--compat writes the format of the other tool only: omit --format, and name FILE \
             .spp or .txt",
        ));
    }
    // Creates the output first, to report an error before standard input is read.
    let mut out = Output::create(args.output.output.as_deref())?;
    let (src, dst) = (args.reading.open(&args.src)?, args.reading.open(dst)?);
    let hosts = args
        .src_host
        .zip(args.dst_host)
        .map(|(src, dst)| [src, dst]);
    // Finding the busiest hosts takes a pass of its own.
    let passes = if hosts.is_some() { 1 } else { 2 };
    let progress = Progress::watch(&[&src, &dst], passes, args.output.quiet);
    let pairs = spp_pairs(&src, &dst, FieldMask(args.mask), hosts)?;
    drop(progress);
    let name = out.name().to_owned();
    let mut count = 0_u64;
    for pair in pairs {
        count += 1;
        writeln!(
            out,
            "{}",
            pair.line(Columns {
                turnaround: true,
                delays: true
            })
        )
        .with_context(|| format!("cannot write {}", name.display()))?;
    }
    if count == 0 {
        bail!(
            "SPP 0.4.2 finds no pair between {} and {}",
            src.name().display(),
            dst.name().display()
        );
    }
    out.finish()
}
