//! The flows worth a line in the table.

use std::cmp::Reverse;

use tcpexp_measure::spp::FlowSummary;

use crate::text::{RestOfFlows, flow_table};

/// Keeps the flows with most samples and only counts the others, so that millions of flows need no
/// more memory than a screenful.
#[derive(Clone, Debug)]
pub struct TopFlows {
    most: usize,
    kept: Vec<FlowSummary>,
    rest: RestOfFlows,
}

impl TopFlows {
    /// For `most` flows shown.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::new(),
            rest: RestOfFlows::default(),
        }
    }

    /// Adds a finished flow.
    pub fn add(&mut self, summary: FlowSummary) {
        self.kept.push(summary);
        if self.kept.len() > 2 * self.most + 1000 {
            self.prune();
        }
    }

    /// The table for a terminal of `width` columns, 80 at least: flows with most samples first,
    /// the rest as one line.
    ///
    /// `matched` is the share of the packets sent while both captures ran that were found at both
    /// points, rounded down, so only a flow without a miss shows 100 %.
    pub fn into_text(mut self, width: usize) -> String {
        self.prune();
        flow_table(&self.kept, self.rest, width)
    }

    fn prune(&mut self) {
        self.kept
            .sort_by_key(|summary| (Reverse(summary.samples()), summary.flow.flow));
        for summary in self.kept.drain(self.most.min(self.kept.len())..) {
            self.rest.flows += 1;
            self.rest.samples += summary.samples();
        }
    }
}
