//! `tcpexp rtt CAPTURE`.

use std::sync::Arc;

use anyhow::{bail, ensure};
use tcpexp::single_rtt;
use tcpexp_chart::rtt_figure;
use tcpexp_flow::Flow;
use tcpexp_measure::rtt::{RttMethod, SingleRttRow, SingleRttSample};
use tcpexp_table::{
    FLOW_TABLE_WIDTH, FlowLabel, Labelled, Ordered, TopSingleRtt, single_rtt_columns,
};

use crate::labels::Labels;
use crate::live_rtt;
use crate::picture::Chart;
use crate::progress::Progress;
use crate::rtt_args::RttArgs;
use crate::shared_args::shown_names;
use crate::sheet::Sheet;
use crate::shown;
use crate::warnings;

pub(crate) fn run(args: &RttArgs) -> anyhow::Result<()> {
    if args.live {
        return live_rtt::run(args);
    }
    let mut results = Results {
        flows: Labels::default(),
        sheet: Sheet::create(&args.output, single_rtt_columns())?,
        chart: args.plot.as_ref().map(Chart::create).transpose()?,
        table: TopSingleRtt::new(args.select.limit).sorted_by(&args.sort),
        samples: 0,
        chosen: 0,
    };
    let recording = args.reading.open(&args.src)?;
    let progress = Progress::watch(&[&recording], 1, args.output.quiet);
    let options = args.reading.capture_options().shard(args.part.shard);
    let info = single_rtt(&recording, &options, |rows| {
        rows.into_iter().try_for_each(|row| results.take(args, row))
    })?;
    drop(progress);
    warnings::of_capture(&info, &args.src);
    // A part may be empty although the whole is not.
    if results.samples == 0 && args.part.shard.is_none() && recording.part()?.is_none() {
        let flow = &args.select.flow;
        let why = match (flow.is_empty(), results.chosen) {
            (true, _) => {
                "no TCP segment was acknowledged, and no handshake or spin bit of QUIC gives one"
                    .to_owned()
            }
            (false, 0) => format!(
                "no TCP flow and no QUIC connection with one matches {}",
                shown_names(flow)
            ),
            (false, _) => format!("no TCP segment of {} was acknowledged", shown_names(flow)),
        };
        bail!(
            "no round-trip time in {}: {why}",
            shown::path(recording.name())
        );
    }
    results.finish()
}

/// Accumulated results.
struct Results {
    flows: Labels,
    sheet: Sheet<Labelled<SingleRttSample>>,
    chart: Option<Chart>,
    table: TopSingleRtt,
    samples: u64,
    /// Number of selected flows.
    chosen: u64,
}

impl Results {
    fn take(&mut self, args: &RttArgs, row: SingleRttRow) -> anyhow::Result<()> {
        match row {
            SingleRttRow::Began(flow) => self.begin(args, &flow),
            SingleRttRow::Sample(sample) => self.add(args, sample)?,
            SingleRttRow::Ended(flow) => {
                if self.flows.remove(&flow.flow.id).is_some() {
                    self.table.add(*flow);
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, args: &RttArgs, flow: &Flow) {
        if !args
            .select
            .wants(flow.id, flow.initiator(), flow.responder())
        {
            return;
        }
        self.chosen += 1;
        self.flows.insert(flow.id, Arc::new(FlowLabel::of(flow)));
        if let Some(chart) = &mut self.chart {
            chart.begin(flow.id, flow.initiator(), flow.responder());
        }
    }

    fn add(&mut self, args: &RttArgs, sample: SingleRttSample) -> anyhow::Result<()> {
        let Some(flow) = self.flows.get(&sample.flow) else {
            // Only a flow that is not selected has no label: rows come in the order of their packets.
            ensure!(
                !args.select.flow.is_empty(),
                "a round-trip time of flow {} comes before its first packet",
                sample.flow.0
            );
            return Ok(());
        };
        self.samples += 1;
        // Timestamps measure the same path again, so the chart has one method only.
        if let Some(chart) = &mut self.chart
            && matches!(
                sample.method,
                RttMethod::SequenceAck | RttMethod::QuicHandshake | RttMethod::SpinBit
            )
        {
            chart.add(sample.flow, sample.direction, sample.at, sample.rtt);
        }
        self.sheet.add([Labelled {
            flow: Arc::clone(flow),
            row: sample,
        }])
    }

    fn finish(self) -> anyhow::Result<()> {
        let chart = self
            .chart
            .map(|chart| chart.draw(rtt_figure, None))
            .transpose()?;
        let text = self.table.into_text(FLOW_TABLE_WIDTH);
        self.sheet.finish(&text, chart)
    }
}
