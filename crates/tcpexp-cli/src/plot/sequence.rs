//! `tcpexp plot sequence CAPTURE`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use clap::ValueEnum;
use tcpexp::FlowName;
use tcpexp_chart::sequence_figure;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::sequence::{SequenceMark, SequenceRow};

use super::ChartKind;
use super::figure::FigureArgs;
use crate::progress::Progress;
use crate::shared_args::{ReadArgs, is_wanted, shown_names};
use crate::shown;
use crate::warnings;

/// Sequence numbers over time: data, retransmissions, acknowledgments, SACK blocks, receive window
///
/// The second slow start of a flow:
///     tcpexp plot sequence src.pcap --flow 1 --x-limits 9:11 -o sequence.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct SequenceArgs {
    /// Capture file; `-` is standard input
    capture: PathBuf,

    /// Draw only this flow: its number or port, or a part of "address:port > address:port"
    /// [default: the flow with the most data]
    #[arg(long, value_name = "FLOW", help_heading = "Rows and columns")]
    flow: Vec<FlowName>,

    /// Direction of the data [default: the direction with more data]
    #[arg(long, value_name = "DIRECTION", help_heading = "Rows and columns")]
    direction: Option<DataDirection>,

    /// Print no warnings and no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    reading: ReadArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DataDirection {
    /// From the initiator to the responder
    Forward,
    /// From the responder to the initiator
    Reverse,
}

impl ChartKind for SequenceArgs {
    fn draw(&self) -> anyhow::Result<()> {
        let figure = self.figure.create(75, self.quiet)?;
        let recording = self.reading.open(&self.capture)?;
        let mut rows: BTreeMap<(FlowId, Direction), Vec<SequenceRow>> = BTreeMap::new();
        let progress = Progress::watch(&[&recording], 1, self.quiet);
        let info = tcpexp::sequence(&recording, &self.reading.capture_options(), |new| {
            for row in new {
                if self.wants(&row) {
                    rows.entry((row.flow, row.direction)).or_default().push(row);
                }
            }
            Ok::<(), anyhow::Error>(())
        })?;
        drop(progress);
        if !self.quiet {
            warnings::of_capture(&info, &self.capture);
        }
        let Some(rows) = rows.into_values().max_by_key(|rows| data_bytes(rows)) else {
            bail!(nothing(
                &shown::path(&self.capture),
                self.direction,
                &self.flow
            ));
        };
        let note = rows.first().map(|row| {
            let (from, to) = match row.direction {
                Direction::Forward => (row.initiator, row.responder),
                Direction::Reverse => (row.responder, row.initiator),
            };
            format!("data from {from} to {to}")
        });
        figure
            .noting(note)
            .finish(|style| sequence_figure(&rows, style))
    }
}

impl SequenceArgs {
    fn wants(&self, row: &SequenceRow) -> bool {
        let is_direction = match self.direction {
            None => true,
            Some(DataDirection::Forward) => row.direction == Direction::Forward,
            Some(DataDirection::Reverse) => row.direction == Direction::Reverse,
        };
        is_direction && is_wanted(&self.flow, row.flow, row.initiator, row.responder)
    }
}

/// Why there is no row.
fn nothing(capture: &str, direction: Option<DataDirection>, flow: &[FlowName]) -> String {
    let direction = match direction {
        None => "",
        Some(DataDirection::Forward) => " from an initiator to a responder",
        Some(DataDirection::Reverse) => " from a responder to an initiator",
    };
    let data = format!("TCP data{direction}");
    if flow.is_empty() {
        return format!("there is no {data} in {capture}");
    }
    format!("no {data} in {capture} matches {}", shown_names(flow))
}

fn data_bytes(rows: &[SequenceRow]) -> i64 {
    let bytes = rows.iter().map(|row| match row.mark {
        SequenceMark::Sent { start, end, .. } => end - start,
        SequenceMark::Acknowledged { .. } | SequenceMark::Selected { .. } => 0,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_without_data_names_what_was_asked_for() {
        let flow = ["7".parse().unwrap()];
        let reverse = Some(DataDirection::Reverse);
        assert_eq!(
            nothing("udp.pcap", None, &[]),
            "there is no TCP data in udp.pcap"
        );
        assert_eq!(
            nothing("udp.pcap", reverse, &flow),
            "no TCP data from a responder to an initiator in udp.pcap matches 7"
        );
    }
}
