//! Summary of a kernel's log of senders, as text for a terminal.

use std::collections::BTreeMap;
use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_logs::import::SenderCounters;
use tcpexp_measure::sender::SenderSample;
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::by_flow::{OfFlow, by_flow};
use crate::cells::{self, NO_VALUE, Unit, count, number};
use crate::distribution::Distribution;
use crate::labels::SenderLabel;
use crate::top::Top;

/// Summarizes the log of each sender.
#[derive(Clone, Debug, Default)]
pub struct ImportTable {
    senders: BTreeMap<(FlowId, usize), Sender>,
}

/// Running totals of one sender.
#[derive(Clone, Debug)]
struct Sender {
    label: Arc<SenderLabel>,
    direction: Direction,
    samples: u64,
    times: Option<(Timestamp, Timestamp)>,
    cwnd: Distribution,
    ssthresh: Distribution,
    srtt: Quantiles,
    /// Retransmissions logged one by one.
    retransmits: Option<u64>,
    /// Retransmissions logged as a total.
    retransmitted: Option<u64>,
    changes: Option<u64>,
}

impl ImportTable {
    /// Adds a sample of a sender's state.
    pub fn sample(&mut self, label: &Arc<SenderLabel>, row: &SenderSample) {
        let sender = self.sender(label, row.direction);
        sender.samples += 1;
        let (first, last) = sender.times.get_or_insert((row.at, row.at));
        *first = (*first).min(row.at);
        *last = (*last).max(row.at);
        if let Some(cwnd) = row.cwnd_segments {
            sender.cwnd.add(cwnd);
        }
        if let Some(ssthresh) = row.ssthresh_segments {
            sender.ssthresh.add(ssthresh);
        }
        if let Some(srtt) = row.srtt {
            sender.srtt.add(srtt);
        }
    }

    /// Counts a state change of a sender's congestion control.
    pub fn state_change(&mut self, label: &Arc<SenderLabel>, direction: Direction) {
        *self.sender(label, direction).changes.get_or_insert(0) += 1;
    }

    /// Counts a retransmission of a sender.
    pub fn retransmit(&mut self, label: &Arc<SenderLabel>, direction: Direction) {
        *self.sender(label, direction).retransmits.get_or_insert(0) += 1;
    }

    /// Adds the final counters of a sender.
    pub fn totals(&mut self, label: &Arc<SenderLabel>, totals: &SenderCounters) {
        let sender = self.sender(label, totals.direction);
        // The counter runs from the start of the connection, so its largest value is the last.
        sender.retransmitted = sender.retransmitted.max(totals.retransmitted_segments);
    }

    fn sender(&mut self, label: &Arc<SenderLabel>, direction: Direction) -> &mut Sender {
        let key = (label.flow, direction.index());
        self.senders.entry(key).or_insert_with(|| Sender {
            label: Arc::clone(label),
            direction,
            samples: 0,
            times: None,
            cwnd: Distribution::default(),
            ssthresh: Distribution::default(),
            srtt: Quantiles::default(),
            retransmits: None,
            retransmitted: None,
            changes: None,
        })
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The `most` senders with the most samples come first; one line sums up the rest.
    pub fn into_text(self, most: usize, width: usize) -> String {
        let mut top = Top::new(most, |sender: &Sender| {
            (sender.samples, sender.label.flow.0)
        });
        self.senders
            .into_values()
            .for_each(|sender| top.add(sender));
        let lines = |sender: &Sender, srtt, unit: &Unit| vec![sender.line(srtt, unit)];
        by_flow(top, header, lines, ["more sender", "sample"], width)
    }
}

impl OfFlow for Sender {
    fn label(&self) -> &SenderLabel {
        &self.label
    }

    fn srtts(&mut self) -> &mut Quantiles {
        &mut self.srtt
    }
}

impl Sender {
    fn line(&self, srtt: Option<TimeDelta>, unit: &Unit) -> String {
        let span = self.times.map(|(first, last)| last - first);
        let [min, median, max] = [0, 50, 100].map(|percent| number(self.cwnd.quantile(percent)));
        let cell = |count_of: Option<u64>| count_of.map_or(NO_VALUE.to_owned(), |n| count(n, 6));
        row(
            self.direction.name(),
            [
                count(self.samples, 9),
                span.map_or(NO_VALUE.to_owned(), |span| cells::span(span, 8)),
                min,
                median,
                max,
                number(self.ssthresh.quantile(50)),
                srtt.map_or(NO_VALUE.to_owned(), |srtt| unit.show(srtt)),
                cell(self.retransmitted.or(self.retransmits)),
                cell(self.changes),
            ],
        )
    }
}

fn header(unit: &Unit) -> String {
    let cells = [
        "samples", "span", "cwnd min", "median", "max", "ssthresh", "SRTT", "retr.", "states",
    ];
    row(&format!("segs, {}", unit.name), cells.map(str::to_owned))
}

/// One line of numbers, 80 columns wide.
pub(crate) fn row(name: &str, cells: [String; 9]) -> String {
    let [
        samples,
        span,
        min,
        median,
        max,
        ssthresh,
        srtt,
        retransmitted,
        states,
    ] = cells;
    // The heading, which has a comma, starts at the margin; names of directions are indented.
    let name = if name.contains(',') {
        name.to_owned()
    } else {
        format!("  {name}")
    };
    format!(
        "{name:9} {samples:>9} {span:>8} {min:>8} {median:>6} {max:>5} {ssthresh:>8} {srtt:>6} {retransmitted:>6} {states:>6}"
    )
}
