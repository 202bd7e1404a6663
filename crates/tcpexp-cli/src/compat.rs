//! `tcpexp rtt --compat spp-0.4.2`.

use std::io::Write;

use anyhow::{Context, bail};
use tcpexp::measure::compat::{Columns, FieldMask};
use tcpexp::{Recording, spp_pairs};

use crate::args::{Format, RttArgs};
use crate::output::Output;
use crate::progress::Progress;

pub(crate) fn run(args: &RttArgs, src: &Recording, dst: &Recording) -> anyhow::Result<()> {
    if args
        .output
        .format
        .is_some_and(|format| format != Format::Spp)
    {
        bail!("--compat writes the other tool's format only: leave --format out");
    }
    let hosts = args
        .src_host
        .zip(args.dst_host)
        .map(|(src, dst)| [src, dst]);
    let passes = if hosts.is_some() { 1 } else { 2 };
    let progress = Progress::watch(&[src, dst], passes, args.output.quiet);
    let pairs = spp_pairs(src, dst, FieldMask(args.mask), hosts)?;
    drop(progress);
    let mut out = Output::create(args.output.output.as_deref())?;
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
        .context("cannot write the pairs")?;
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
