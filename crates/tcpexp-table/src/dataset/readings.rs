//! The table `readings`: what commands of the plan printed.

use std::sync::Arc;

use tcpexp_units::Timestamp;

use super::flow::time_part;
use crate::columns::Columns;

/// The value of one column in one line of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingRow {
    /// Time of the line on the clock of its host.
    pub at: Timestamp,
    /// Name of the log's file.
    pub log: Arc<str>,
    /// Name of the log in the plan.
    pub name: Arc<str>,
    /// Name of the column.
    pub column: Arc<str>,
    /// The value, if it is a number.
    pub value: Option<f64>,
    /// The value, if it is not.
    pub text: Option<Arc<str>>,
}

pub(super) fn columns(origin: Timestamp) -> Columns<ReadingRow> {
    let columns = Columns::named("dataset_readings")
        .name("log", "The log file.", |row: &ReadingRow| &row.log)
        .name(
            "name",
            "Name of the log: `name` of its `[[log]]` in the plan.",
            |row| &row.name,
        )
        .name(
            "column",
            "Name of the column in the output of the command.",
            |row| &row.column,
        );
    time_part(
        columns,
        "Time of the line: when the command began, if it runs at intervals, or when it printed the line",
        origin,
        |row| row.at,
    )
    .maybe_float("value", "The value. Null if it is not a number.", |row| row.value)
    .maybe_name("text", "The value as text. Null if it is a number.", |row| row.text.as_deref())
    .done()
}
