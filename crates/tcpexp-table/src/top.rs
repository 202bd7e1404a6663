//! The rows worth a line in a table for humans.

use std::cmp::Reverse;
use std::collections::HashMap;

use tcpexp_flow::FlowId;
use tcpexp_measure::spp::FlowSummary;

use crate::text::{RestOfFlows, flow_table};

/// Keeps the rows that weigh most and only adds up the others, so that millions need no more memory
/// than a screenful.
#[derive(Clone, Debug)]
pub(crate) struct Top<R> {
    most: usize,
    /// What a row weighs, and its number: of two that weigh the same the lower one comes first.
    weigh: fn(&R) -> (u64, u32),
    kept: Vec<R>,
    /// The rank that a row must be before to be shown: as many rows as are shown are not behind it.
    bar: Option<Rank>,
    rest: Rest,
}

/// Rows are in order of this.
type Rank = (Reverse<u64>, u32);

/// Rows that are not shown one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    /// How many.
    pub(crate) rows: u64,
    /// What they weigh together.
    pub(crate) weight: u64,
}

impl<R> Top<R> {
    pub(crate) fn new(most: usize, weigh: fn(&R) -> (u64, u32)) -> Self {
        Self {
            most,
            weigh,
            kept: Vec::new(),
            bar: None,
            rest: Rest::default(),
        }
    }

    pub(crate) fn add(&mut self, row: R) {
        if !self.passes_over(&row) {
            self.keep(row);
        }
    }

    /// Leaves out a row that is too light; of many rows nearly all are, and need not be sorted, nor
    /// even moved, for that.
    pub(crate) fn passes_over(&mut self, row: &R) -> bool {
        let is_light = self.bar.is_some_and(|bar| rank(self.weigh, row) > bar);
        if is_light {
            self.rest.add((self.weigh)(row).0);
        }
        is_light
    }

    /// Adds a row that was not passed over.
    pub(crate) fn keep(&mut self, row: R) {
        self.kept.push(row);
        if self.kept.len() > 2 * self.most + 1000 {
            self.prune();
        }
    }

    /// The heaviest rows, heaviest first, and the rest.
    pub(crate) fn into_rows(mut self) -> (Vec<R>, Rest) {
        self.prune();
        (self.kept, self.rest)
    }

    fn prune(&mut self) {
        let weigh = self.weigh;
        self.kept.sort_by_key(|row| rank(weigh, row));
        for row in self.kept.drain(self.most.min(self.kept.len())..) {
            self.rest.add(weigh(&row).0);
        }
        if self.kept.len() == self.most {
            self.bar = self.kept.last().map(|row| rank(weigh, row));
        }
    }
}

fn rank<R>(weigh: fn(&R) -> (u64, u32), row: &R) -> Rank {
    let (weight, number) = weigh(row);
    (Reverse(weight), number)
}

impl Rest {
    fn add(&mut self, weight: u64) {
        self.rows += 1;
        self.weight += weight;
    }
}

/// Brings rows of one flow together, at the place of the first of them.
pub(crate) fn together<R>(rows: &mut [R], flow: impl Fn(&R) -> FlowId) {
    let mut places = HashMap::new();
    for row in rows.iter() {
        let next = places.len();
        places.entry(flow(row)).or_insert(next);
    }
    rows.sort_by_key(|row| places[&flow(row)]);
}

/// The flows with most round-trip time samples.
#[derive(Clone, Debug)]
pub struct TopFlows(Top<FlowSummary>);

impl TopFlows {
    /// For `most` flows shown.
    pub fn new(most: usize) -> Self {
        Self(Top::new(most, |summary| {
            (summary.samples(), summary.flow.flow.0)
        }))
    }

    /// Adds a finished flow.
    pub fn add(&mut self, summary: FlowSummary) {
        self.0.add(summary);
    }

    /// The table for a terminal of `width` columns, 80 at least: flows with most samples first,
    /// the rest as one line.
    ///
    /// `matched` is the share of the packets sent while both captures ran that were found at both
    /// points, rounded down, so only a flow without a miss shows 100 %.
    pub fn into_text(self, width: usize) -> String {
        let (kept, rest) = self.0.into_rows();
        let rest = RestOfFlows {
            flows: rest.rows,
            samples: rest.weight,
        };
        flow_table(&kept, rest, width)
    }
}
