//! `tcpexp rtt SRC DST --live`.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use tcpexp::{LiveBatch, PairedFlow, RttOptions, RttSample, live_pair};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::spp::Point;
use tcpexp_table::{FlowLabel, Labelled, RowsWriter, rtt_columns};
use tcpexp_units::Timestamp;

use crate::failure;
use crate::live_input::live_input;
use crate::live_output::rows_in;
use crate::output::without_wrapping;
use crate::prometheus::Metrics;
use crate::rtt_args::RttArgs;
use crate::shared_args::require_one_input;
use crate::standard_output::StandardOutput;
use crate::values::clocks;

/// Prints each round-trip time between two captures in progress.
pub(crate) fn run(args: &RttArgs, dst: &Path) -> anyhow::Result<()> {
    require_one_input(&args.src, dst)?;
    let mut printer = Printer {
        rows: rows_in(args.output.format, rtt_columns())?,
        first: [None; 2],
        flows: HashMap::new(),
    };
    let mut metrics = args.metrics.as_deref().map(Metrics::at).transpose()?;
    let filter = args.reading.filter.as_ref();
    let quiet = args.output.quiet;
    let input = |path| live_input(path, args.ssh_config.as_deref(), filter, quiet);
    let inputs = [input(&args.src)?, input(dst)?];
    let options = RttOptions::default()
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection())
        .max_owd(args.max_owd)
        .symmetric(args.symmetric)
        .clocks(clocks(args.one_clock));
    let mut warnings = Warnings::default();
    let mut samples = 0_u64;
    let names = [args.src.as_path(), dst];
    // Ctrl-C ends the process: each sample is printed at once, and the connections end with it.
    let never = AtomicBool::new(false);
    live_pair(inputs, &options, &never, |mut batch| {
        warnings.print(&mut batch, names);
        samples += batch.samples.len() as u64;
        if let Some(metrics) = &mut metrics {
            metrics.write(&batch)?;
        }
        printer
            .print(args, &batch)
            .context("cannot write standard output")
    })?;
    printer.finish().context("cannot write standard output")?;
    if samples == 0 {
        let why = warnings.nothing.map_or_else(
            || "no packets with a time arrived from both".to_owned(),
            |nothing| nothing.root_cause().to_string(),
        );
        let [src, dst] = names.map(Path::display);
        bail!("no round-trip time between {src} and {dst}: {why}");
    }
    Ok(())
}

/// Number of measurements without a packet seen at both points after which a warning is due: three
/// seconds on a busy link.
const SILENT_BATCHES: u32 = 10;

/// The warnings printed so far, each once.
#[derive(Default)]
struct Warnings {
    discarded: bool,
    timeless: bool,
    /// Why there was no packet seen at both points, last.
    nothing: Option<anyhow::Error>,
    /// Number of measurements so far without a packet seen at both points.
    silent_batches: u32,
}

impl Warnings {
    fn print(&mut self, batch: &mut LiveBatch, names: [&Path; 2]) {
        for ((point, damage), name) in batch.points.iter().zip(&batch.damage).zip(names) {
            let name = name.display();
            if point.discarded_packets > 0 && !self.discarded {
                self.discarded = true;
                failure::print_line(&format!(
                    "warning: {name}: packets arrive faster than they are measured, and some are \
                     left out; a --filter selects fewer"
                ));
            }
            if point.timeless_packets > 0 && !self.timeless {
                self.timeless = true;
                failure::print_line(&format!(
                    "warning: {name}: packets without a usable time are left out"
                ));
            }
            if let Some(damage) = damage {
                failure::print_line(&format!("warning: {name}: {damage}"));
            }
        }
        if let Some(nothing) = batch.nothing.take() {
            self.silent_batches += 1;
            let nothing = nothing.into();
            if self.silent_batches == SILENT_BATCHES {
                failure::print_line(&format!("warning: {}", failure::chain(&nothing)));
            }
            self.nothing = Some(nothing);
        }
    }
}

/// A selected flow.
struct LiveFlow {
    /// Initiator and responder.
    ends: [SocketAddr; 2],
    label: Arc<FlowLabel>,
}

/// Standard output. A reader follows it, so it is flushed after each batch.
struct Printer {
    /// `None` for text.
    rows: Option<Box<RowsWriter<Labelled<RttSample>, StandardOutput>>>,
    /// Time of the first sample at each point.
    first: [Option<Timestamp>; 2],
    flows: HashMap<FlowId, LiveFlow>,
}

impl Printer {
    fn print(&mut self, args: &RttArgs, batch: &LiveBatch) -> anyhow::Result<()> {
        for flow in &batch.flows {
            if args
                .select
                .wants(flow.number, flow.initiator, flow.responder)
            {
                self.flows.insert(flow.flow, LiveFlow::of(flow));
            }
        }
        match &mut self.rows {
            None => {
                let mut out = StandardOutput::lock();
                for sample in &batch.samples {
                    if let Some(flow) = self.flows.get(&sample.flow) {
                        let first = &mut self.first[sample.reference.index()];
                        let first = *first.get_or_insert(sample.time);
                        writeln!(out, "{}", line(flow, sample, first))?;
                    }
                }
                out.flush()?;
            }
            Some(rows) => {
                let labelled = batch.samples.iter().filter_map(|sample| {
                    let flow = self.flows.get(&sample.flow)?;
                    Some(Labelled {
                        flow: Arc::clone(&flow.label),
                        row: *sample,
                    })
                });
                rows.write(labelled)
                    .and_then(|()| rows.flush())
                    .map_err(without_wrapping)?;
            }
        }
        for flow in &batch.ended {
            self.flows.remove(&flow.flow);
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<()> {
        match self.rows {
            None => Ok(()),
            Some(rows) => rows.finish().map(drop).map_err(without_wrapping),
        }
    }
}

impl LiveFlow {
    fn of(flow: &PairedFlow) -> Self {
        Self {
            ends: [flow.initiator, flow.responder],
            label: Arc::new(FlowLabel::of_pair(flow)),
        }
    }
}

fn line(flow: &LiveFlow, sample: &RttSample, first: Timestamp) -> String {
    let [from, to] = match sample.direction {
        Direction::Forward => flow.ends,
        Direction::Reverse => [flow.ends[1], flow.ends[0]],
    };
    let at = match sample.reference {
        Point::Src => "src",
        Point::Dst => "dst",
    };
    format!(
        "{:12.6} s {:>10} {at} {from} > {to}",
        (sample.time - first).as_seconds_f64(),
        format!("{:.3}", sample.rtt),
    )
}
