//! Runs without a value, and why.

use tcpexp_metrics::compare::Measure;
use tcpexp_table::Frame;

use crate::bounded::Bounded;
use crate::runs::run_levels;
use crate::undrawn::Undrawn;
use crate::{Error, Quantity};

/// Column with the number of senders of a run.
pub const SENDERS: &str = "senders";

/// Numbers of runs without a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Without {
    /// Those of a single sender, if the column compares senders.
    single: usize,
    others: usize,
}

impl Without {
    /// Counts the runs without a value in the column `y`. Bounds of a value count as a value.
    pub(crate) fn of(frame: &Frame, y: &str) -> Self {
        let (Some(runs), Ok(column)) = (run_levels(frame), Bounded::of(frame, y)) else {
            return Self::default();
        };
        let compares_senders = Measure::named(y).is_some_and(Measure::compares_senders);
        let senders = frame.column(SENDERS).filter(|_| compares_senders);
        let mut has = vec![false; runs.len()];
        let mut is_single = vec![senders.is_some(); runs.len()];
        for row in 0..frame.rows() {
            let run = runs.of_row(row);
            has[run] |= column.number(row).is_some();
            is_single[run] &= senders.and_then(|senders| senders.whole(row)) == Some(1);
        }
        let without = |is_of_one: bool| {
            let runs = has.iter().zip(&is_single);
            runs.filter(|(has, is_single)| !**has && **is_single == is_of_one)
                .count()
        };
        Self {
            single: without(true),
            others: without(false),
        }
    }

    /// The end of the note below the figure.
    pub(crate) fn words(self) -> String {
        let runs = |number: usize, one: &str, several: &str| match number {
            0 => None,
            1 => Some(format!("1 run {one}")),
            _ => Some(format!("{number} runs {several}")),
        };
        let parts = [
            runs(self.single, "of a single sender", "of a single sender each"),
            runs(self.others, "that has no value", "that have no value"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.as_slice() {
            [] => String::new(),
            parts => format!("; without {}", parts.join(" and ")),
        }
    }

    /// The error of a figure without a median to draw: the runs have bounds only, or no values of the column.
    pub(crate) fn error(self, column: &str, quantity: &Quantity, undrawn: Undrawn) -> Error {
        undrawn
            .error(column, quantity)
            .unwrap_or_else(|| Error::NoValues {
                column: column.to_owned(),
                reason: match (self.single, self.others) {
                    (0, _) => "",
                    (_, 0) => ": each has a single sender, which shares with no other",
                    _ => ": some have a single sender, which shares with no other",
                },
            })
    }
}
