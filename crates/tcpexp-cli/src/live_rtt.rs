//! `tcpexp rtt CAPTURE --live`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use tcpexp_flow::{Flow, FlowId};
use tcpexp_measure::rtt::{SingleRttRow, SingleRttSample};
use tcpexp_table::{FlowLabel, Labelled, RowsWriter, single_rtt_columns};
use tcpexp_units::Timestamp;

use crate::live_input::{note_end, require_no_directory};
use crate::live_output::rows_in;
use crate::output::without_wrapping;
use crate::rtt_args::RttArgs;
use crate::shared_args::{Format, STANDARD_INPUT};
use crate::standard_output::StandardOutput;
use crate::warnings;

/// Prints each round-trip time as soon as it is known.
pub(crate) fn run(args: &RttArgs) -> anyhow::Result<()> {
    let mut lines = Lines::in_format(args.output.format)?;
    // A recording would first read the input to its end, and a live capture has no end.
    let input: Box<dyn io::Read + Send> = if args.src.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        require_no_directory(&args.src)?;
        let file = std::fs::File::open(&args.src);
        Box::new(file.with_context(|| format!("cannot open {}", args.src.display()))?)
    };
    let name = if args.src.as_os_str() == "-" {
        Path::new(STANDARD_INPUT)
    } else {
        &args.src
    };
    let mut flows: HashMap<FlowId, LiveFlow> = HashMap::new();
    let reading = &args.reading;
    let options = reading.capture_options();
    let info = tcpexp::live_rtt(name, input, reading.max_flows, &options, |row| {
        match row {
            SingleRttRow::Began(flow) => {
                if args
                    .select
                    .wants(flow.id, flow.initiator(), flow.responder())
                {
                    flows.insert(flow.id, LiveFlow::of(&flow));
                }
            }
            SingleRttRow::Sample(sample) => {
                if let Some(flow) = flows.get(&sample.flow) {
                    lines
                        .add(flow, sample)
                        .context("cannot write standard output")?;
                }
            }
            SingleRttRow::Ended(flow) => {
                flows.remove(&flow.flow.id);
            }
        }
        Ok::<(), anyhow::Error>(())
    })?;
    lines.finish().context("cannot write standard output")?;
    warnings::of_capture(&info, name);
    note_end(name, args.output.quiet);
    Ok(())
}

/// A selected flow.
struct LiveFlow {
    ends: [SocketAddr; 2],
    label: Arc<FlowLabel>,
}

impl LiveFlow {
    fn of(flow: &Flow) -> Self {
        Self {
            ends: [flow.initiator(), flow.responder()],
            label: Arc::new(FlowLabel::of(flow)),
        }
    }
}

/// Standard output. A reader follows the lines live, so each is flushed.
enum Lines {
    Text {
        /// Time of the first sample.
        first: Option<Timestamp>,
    },
    Rows(Box<RowsWriter<Labelled<SingleRttSample>, StandardOutput>>),
}

impl Lines {
    fn in_format(format: Option<Format>) -> anyhow::Result<Self> {
        let rows = rows_in(format, single_rtt_columns())?;
        Ok(rows.map_or(Self::Text { first: None }, Self::Rows))
    }

    fn add(&mut self, flow: &LiveFlow, sample: SingleRttSample) -> anyhow::Result<()> {
        match self {
            Self::Text { first } => {
                let first = *first.get_or_insert(sample.at);
                let from = flow.ends[sample.direction.index()];
                let to = flow.ends[sample.direction.opposite().index()];
                let mut out = StandardOutput::lock();
                writeln!(
                    out,
                    "{:12.6} s {:>10} {:<12} {from} > {to}",
                    (sample.at - first).as_seconds_f64(),
                    format!("{:.3}", sample.rtt),
                    sample.method.name(),
                )?;
                Ok(out.flush()?)
            }
            Self::Rows(rows) => {
                let row = Labelled {
                    flow: Arc::clone(&flow.label),
                    row: sample,
                };
                rows.write([row])
                    .and_then(|()| rows.flush())
                    .map_err(without_wrapping)
            }
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Text { .. } => Ok(()),
            Self::Rows(rows) => rows.finish().map(drop).map_err(without_wrapping),
        }
    }
}
