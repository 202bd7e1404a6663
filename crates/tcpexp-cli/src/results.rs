//! What becomes of the samples.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, bail};
use tcpexp::RttReport;
use tcpexp::flow::FlowId;
use tcpexp::measure::compat::{Columns, Pair};
use tcpexp::measure::spp::{Batch, PairedFlow, Point, RttSample};
use tcpexp::table::{self, FLOW_TABLE_WIDTH, RttWriter, TopFlows};
use tcpexp::units::TimeDelta;

use crate::args::{Format, RttArgs};
use crate::output::{self, Output};
use crate::picture::{self, ChartSeries};
use crate::report::{self, Seen};

/// What has been measured so far, on its way to files, chart and table.
pub(crate) struct Results {
    wanted: Vec<String>,
    /// Flows that were not asked for; empty if all were.
    unwanted: BTreeSet<FlowId>,
    samples_out: SamplesOut,
    table: TopFlows,
    chart: Option<ChartSeries>,
    samples: u64,
    seen: Seen,
}

/// Where the samples themselves go.
enum SamplesOut {
    Nowhere,
    Table(RttWriter<Output>),
    Spp(Output),
}

impl Results {
    pub(crate) fn new(args: &RttArgs) -> anyhow::Result<Self> {
        let format = args.output.format()?;
        let path = args.output.output.as_deref();
        let binary = matches!(format, Format::Parquet | Format::Arrow);
        if binary && output::is_terminal(path) {
            bail!("{format:?} is nothing for a terminal: use -o FILE, or redirect the output");
        }
        let table = |format| -> anyhow::Result<SamplesOut> {
            Ok(SamplesOut::Table(RttWriter::new(
                format,
                Output::create(path)?,
            )?))
        };
        if let Some(plot) = &args.plot {
            picture::Kind::of(plot)?;
        }
        Ok(Self {
            wanted: args.flow.clone(),
            unwanted: BTreeSet::new(),
            samples_out: match format {
                Format::Table => SamplesOut::Nowhere,
                Format::Spp => SamplesOut::Spp(Output::create(path)?),
                Format::Json => table(table::Format::Json)?,
                Format::Csv => table(table::Format::Csv)?,
                Format::Parquet => table(table::Format::Parquet)?,
                Format::Arrow => table(table::Format::Arrow)?,
            },
            table: TopFlows::new(args.limit),
            chart: args.plot.as_ref().map(|_| ChartSeries::default()),
            samples: 0,
            seen: Seen::default(),
        })
    }

    pub(crate) fn take(&mut self, batch: Batch) -> anyhow::Result<()> {
        for flow in &batch.flows {
            if !is_wanted(&self.wanted, flow) {
                self.unwanted.insert(flow.flow);
                continue;
            }
            if let SamplesOut::Table(table) = &mut self.samples_out {
                table.flow(flow);
            }
            if let Some(chart) = &mut self.chart {
                chart.begin(flow);
            }
        }
        let mut samples = batch.samples;
        if !self.unwanted.is_empty() {
            samples.retain(|sample| !self.unwanted.contains(&sample.flow));
        }
        self.samples += samples.len() as u64;
        match &mut self.samples_out {
            SamplesOut::Nowhere => {}
            SamplesOut::Table(table) => table.write(&samples)?,
            SamplesOut::Spp(out) => write_spp(out, &samples)?,
        }
        if let Some(chart) = &mut self.chart {
            chart.add(&samples);
        }
        for summary in batch.ended {
            let flow = summary.flow.flow;
            if self.unwanted.remove(&flow) {
                continue;
            }
            if let SamplesOut::Table(table) = &mut self.samples_out {
                table.forget(&summary.flow);
            }
            if let Some(chart) = &mut self.chart {
                chart.end(flow);
            }
            self.seen.add(&summary);
            self.table.add(summary);
        }
        Ok(())
    }

    /// Why there is not one sample, if there is none.
    pub(crate) fn why_empty(&self, report: &RttReport) -> Option<String> {
        if self.samples > 0 {
            return None;
        }
        if self.seen.flows == 0 && !self.wanted.is_empty() {
            return Some(format!("no flow matches {}", self.wanted.join(" or ")));
        }
        Some(report::why_empty(report, &self.seen))
    }

    pub(crate) fn finish(self, args: &RttArgs, report: &RttReport) -> anyhow::Result<()> {
        let samples_are_printed = args
            .output
            .output
            .as_deref()
            .is_none_or(|p| p.as_os_str() == "-");
        let mut text = self.table.into_text(FLOW_TABLE_WIDTH);
        if !args.output.quiet {
            text += "\n";
            text += &report::remarks(report);
        }
        let in_table = matches!(self.samples_out, SamplesOut::Nowhere);
        match self.samples_out {
            SamplesOut::Nowhere => {
                let mut out = Output::create(args.output.output.as_deref())?;
                out.write_all(text.as_bytes())
                    .context("cannot write the table")?;
                out.finish()?;
            }
            SamplesOut::Table(table) => table.finish()?.finish()?,
            SamplesOut::Spp(out) => out.finish()?,
        }
        if let (Some(chart), Some(plot)) = (self.chart, &args.plot) {
            chart.draw(plot)?;
        }
        if !in_table && !samples_are_printed && !args.output.quiet {
            output::print(text.as_bytes())?;
        }
        Ok(())
    }
}

fn is_wanted(wanted: &[String], flow: &PairedFlow) -> bool {
    let name = format!("{} > {}", flow.initiator, flow.responder);
    let fits = |text: &String| match text.parse() {
        Ok(number) => flow.flow == FlowId(number),
        Err(_) => name.contains(text.as_str()),
    };
    wanted.is_empty() || wanted.iter().any(fits)
}

/// The pairs that start and end at the source, as SPP prints them.
fn write_spp(out: &mut Output, samples: &[RttSample]) -> anyhow::Result<()> {
    for sample in samples
        .iter()
        .filter(|sample| sample.reference == Point::Src)
    {
        let elapsed = sample.owd_out + sample.owd_back + sample.turnaround;
        let pair = Pair {
            time: sample.time + TimeDelta::from_nanos(elapsed.as_nanos() / 2),
            sent: sample.time,
            rtt: sample.rtt,
            turnaround: sample.turnaround,
            owd_out: sample.owd_out,
            owd_back: sample.owd_back,
        };
        writeln!(
            out,
            "{}",
            pair.line(Columns {
                turnaround: true,
                delays: true
            })
        )
        .context("cannot write the samples")?;
    }
    Ok(())
}
