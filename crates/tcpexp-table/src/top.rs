//! Selection of the heaviest rows for text tables.

use std::cmp::Reverse;

use crate::cells::counted;
use crate::order::Order;

/// Keeps the heaviest rows and sums up the others, so that memory does not grow with the number of
/// rows.
#[derive(Clone, Debug)]
pub(crate) struct Top<R> {
    most: usize,
    /// Weight and number of a row; of two rows with equal weight the lower number comes first.
    weigh: fn(&R) -> (u64, u32),
    /// What the rows are sorted by, largest first, if not by their weight.
    order: Option<fn(&R) -> Option<u64>>,
    kept: Vec<R>,
    /// Rank of the last row that can still be shown: `most` rows have this rank or a better one.
    bar: Option<Rank>,
    rest: Rest,
}

/// Sort key of the rows: weight in descending order, then number.
type Rank = (Reverse<Option<u64>>, u32);

/// Totals of the rows that are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Number of rows.
    pub(crate) rows: u64,
    /// Sum of the rows' weights.
    pub(crate) weight: u64,
}

impl<R> Top<R> {
    pub(crate) fn new(most: usize, weigh: fn(&R) -> (u64, u32)) -> Self {
        Self {
            most,
            weigh,
            order: None,
            kept: Vec::new(),
            bar: None,
            rest: Rest::default(),
        }
    }

    /// Keeps the first rows of the order of this name in place of the heaviest. An unknown name changes nothing.
    pub(crate) fn sorted_by(self, orders: &[Order<R>], name: &str) -> Self {
        match orders.iter().find(|order| order.name.0 == name) {
            Some(order) => Self {
                order: Some(order.key),
                ..self
            },
            None => self,
        }
    }

    pub(crate) fn add(&mut self, row: R) {
        if !self.passes_over(&row) {
            self.keep(row);
        }
    }

    /// Returns true for a row that is too light, and adds the row to the rest.
    ///
    /// Of many rows nearly all are too light; this check saves moving and sorting them.
    pub(crate) fn passes_over(&mut self, row: &R) -> bool {
        let is_light = self.bar.is_some_and(|bar| self.rank(row) > bar);
        if is_light {
            self.rest.add((self.weigh)(row).0);
        }
        is_light
    }

    /// Adds a row that [`passes_over`](Self::passes_over) did not reject.
    pub(crate) fn keep(&mut self, row: R) {
        self.kept.push(row);
        // Sorting waits for at least 1000 new rows, so that its cost per row stays small.
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
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_by_key(|row| self.rank(row));
        for row in kept.drain(self.most.min(kept.len())..) {
            self.rest.add((self.weigh)(&row).0);
        }
        // With fewer rows, any further row can still be shown.
        if kept.len() == self.most {
            self.bar = kept.last().map(|row| self.rank(row));
        }
        self.kept = kept;
    }

    fn rank(&self, row: &R) -> Rank {
        let (weight, number) = (self.weigh)(row);
        let order = self.order.map_or(Some(weight), |order| order(row));
        (Reverse(order), number)
    }
}

impl Rest {
    fn add(&mut self, weight: u64) {
        self.rows += 1;
        self.weight += weight;
    }

    /// The line that sums up these rows, such as `and 2 more flows (799 bytes of payload)`; `None` without rows.
    ///
    /// `of` follows the weight.
    pub(crate) fn line(self, row: &str, weight: &str, of: &str) -> Option<String> {
        let [rows, weight] = [counted(self.rows, row), counted(self.weight, weight)];
        (self.rows > 0).then(|| format!("and {rows} ({weight}{of})"))
    }

    /// The line of flows below `shown` others.
    pub(crate) fn line_of_flows(self, shown: usize, weight: &str, of: &str) -> Option<String> {
        let flow = if shown > 0 { "more flow" } else { "flow" };
        self.line(flow, weight, of)
    }
}
