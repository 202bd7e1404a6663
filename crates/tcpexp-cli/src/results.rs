//! The outputs of `tcpexp rtt SRC DST`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use tcpexp::{FlowName, RttReport};
use tcpexp_chart::rtt_figure;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::compat::{Columns, Pair};
use tcpexp_pair::spp::{Batch, Point, RttSample};
use tcpexp_table::{
    FLOW_TABLE_WIDTH, Ordered, RttFlowRow, RttWriter, TopFlows, rtt_columns, rtt_flow_columns,
};
use tcpexp_units::TimeDelta;

use crate::basis::Seen;
use crate::caller::{Wanted, taker};
use crate::output::{self, Output, without_wrapping};
use crate::picture::Chart;
use crate::report;
use crate::rtt_args::RttArgs;
use crate::rtt_errors::RttErrors;
use crate::shared_args::{Format, is_wanted, shown_names};
use crate::shown;
use crate::side_table::SideTable;

/// Destinations of samples: files, chart and table.
pub(crate) struct Results {
    wanted: Vec<FlowName>,
    /// Flows outside the selection.
    unwanted: BTreeSet<FlowId>,
    out: Out,
    /// Name of the output in messages.
    out_name: PathBuf,
    table: TopFlows,
    flows: Option<SideTable<RttFlowRow>>,
    chart: Option<Chart>,
    errors: RttErrors,
    seen: Seen,
}

/// The main output.
enum Out {
    /// The text table, written at the end.
    Table(Output),
    Samples(Box<RttWriter<Output>>),
    Spp(Output),
}

impl Results {
    pub(crate) fn new(args: &RttArgs) -> anyhow::Result<Self> {
        let format = args.output.format()?;
        let path = args.output.output.as_deref();
        let binary = matches!(format, Format::Parquet | Format::Arrow);
        if binary && output::is_terminal(path) {
            bail!("a terminal cannot show {format:?}: use -o FILE, or redirect the output");
        }
        let out = Output::create(path)?;
        let out_name = out.name().to_owned();
        let samples = |format, out| -> anyhow::Result<Out> {
            Ok(Out::Samples(Box::new(RttWriter::new(format, out)?)))
        };
        let out = if let Some(caller) = taker(Wanted::Rows) {
            let (columns, each) = caller.table(rtt_columns())?;
            Out::Samples(Box::new(RttWriter::handing(columns, each, out)))
        } else {
            match format {
                Format::Table => Out::Table(out),
                Format::Spp => Out::Spp(out),
                Format::Json => samples(tcpexp_table::Format::Json, out)?,
                Format::Csv => samples(tcpexp_table::Format::Csv, out)?,
                Format::Parquet => samples(tcpexp_table::Format::Parquet, out)?,
                Format::Arrow => samples(tcpexp_table::Format::Arrow, out)?,
            }
        };
        Ok(Self {
            wanted: args.select.flow.clone(),
            unwanted: BTreeSet::new(),
            out,
            out_name,
            table: TopFlows::new(args.select.limit).sorted_by(&args.sort),
            flows: args
                .flows
                .as_deref()
                .map(|path| SideTable::create(path, rtt_flow_columns()))
                .transpose()?,
            chart: args.plot.as_ref().map(Chart::create).transpose()?,
            errors: RttErrors::default(),
            seen: Seen::default(),
        })
    }

    pub(crate) fn take(&mut self, batch: Batch) -> anyhow::Result<()> {
        for flow in &batch.flows {
            if !is_wanted(&self.wanted, flow.number, flow.initiator, flow.responder) {
                self.unwanted.insert(flow.flow);
                continue;
            }
            if let Out::Samples(table) = &mut self.out {
                table.flow(flow);
            }
            if let Some(chart) = &mut self.chart {
                chart.begin(flow.flow, flow.initiator, flow.responder);
            }
        }
        let mut samples = batch.samples;
        // Without a selection, no sample needs a search.
        if !self.unwanted.is_empty() {
            samples.retain(|sample| !self.unwanted.contains(&sample.flow));
        }
        self.seen.add_samples(&samples);
        match &mut self.out {
            Out::Table(_) => {}
            Out::Samples(table) => table
                .write(&samples)
                .map_err(without_wrapping)
                .with_context(|| format!("cannot write {}", self.out_name.display()))?,
            Out::Spp(out) => write_spp(out, &samples)
                .with_context(|| format!("cannot write {}", self.out_name.display()))?,
        }
        if let Some(chart) = &mut self.chart {
            // Pairs with the destination as reference measure the same path on another clock. Both
            // directions of a flow share one panel, since a round trip covers both.
            for sample in samples
                .iter()
                .filter(|sample| sample.reference == Point::Src)
            {
                chart.add(sample.flow, Direction::Forward, sample.time, sample.rtt);
            }
        }
        for summary in batch.ended {
            let flow = summary.flow.flow;
            // Ended flows leave the set, so that memory follows the live flows.
            if self.unwanted.remove(&flow) {
                continue;
            }
            if let Out::Samples(table) = &mut self.out {
                table.forget(&summary.flow);
            }
            if let Some(chart) = &mut self.chart {
                chart.end(flow);
            }
            if let Some(flows) = &mut self.flows {
                flows.add(RttFlowRow::of(summary.clone()))?;
            }
            self.errors.add_flow(&summary);
            self.seen.add_flow(&summary);
            self.table.add(summary);
        }
        Ok(())
    }

    /// Returns the sums over all samples and flows.
    pub(crate) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Returns the reason why there are no samples; `None` if there are samples.
    pub(crate) fn why_empty(&self, report: &RttReport) -> Option<String> {
        if self.seen.samples > 0 {
            return None;
        }
        if self.seen.flows == 0 && !self.wanted.is_empty() {
            return Some(format!("no flow matches {}", shown_names(&self.wanted)));
        }
        Some(report::why_empty(&report.into(), &self.seen))
    }

    /// Completes all files, then renames them to their final names.
    pub(crate) fn finish(self, report: &RttReport, quiet: bool) -> anyhow::Result<()> {
        let mut text = self.table.into_text(FLOW_TABLE_WIDTH);
        if !quiet {
            text += "\n";
            text += &report::remarks(&report.into(), &self.seen);
        }
        let is_table = matches!(self.out, Out::Table(_));
        let cannot = || format!("cannot write {}", self.out_name.display());
        let out = match self.out {
            Out::Table(mut out) => {
                out.write_all(shown::lines(&text).as_bytes())
                    .with_context(cannot)?;
                out
            }
            Out::Samples(table) => table
                .finish()
                .map_err(without_wrapping)
                .with_context(cannot)?,
            Out::Spp(out) => out,
        };
        let shows_table = !is_table && !out.is_stdout() && !quiet;
        let flows = self.flows.map(SideTable::complete).transpose()?;
        let chart = self
            .chart
            .map(|chart| chart.draw(rtt_figure, self.errors.note()))
            .transpose()?;
        output::finish_all([out].into_iter().chain(flows).chain(chart))?;
        if shows_table {
            output::print_last(&text)?;
        }
        Ok(())
    }
}

/// Writes the pairs with the source as reference in SPP's format.
fn write_spp(out: &mut Output, samples: &[RttSample]) -> io::Result<()> {
    for sample in samples
        .iter()
        .filter(|sample| sample.reference == Point::Src)
    {
        // SPP prints the midpoint between departure and return. On one clock, the time between the
        // two is the sum of both delays and the turnaround.
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
        )?;
    }
    Ok(())
}
