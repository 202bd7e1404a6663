//! Descriptions of all tables and columns, for people and programs.

use arrow::datatypes::{DataType, Schema, SchemaRef};

use crate::compare::{compare_columns, compare_run_columns, expected_columns};
use crate::dataset::{DatasetTable, RunColumns};
use crate::schema::{DESCRIPTION, SCHEMA_VERSION};
use crate::{
    cause_columns, connection_columns, control_columns, explained_columns, failed_pair_columns,
    interval_columns, pair_columns, path_columns, path_flow_columns, points_columns,
    points_flow_columns, rtt_columns, rtt_flow_columns, score_columns, sender_columns,
    sender_event_columns, series_columns, single_rtt_columns, throughput_columns,
};

/// One table and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDescription {
    /// Name of the table.
    pub name: String,
    /// Meaning of a row.
    pub description: String,
    /// The command that writes the table.
    pub command: String,
    /// Version of the columns.
    pub version: String,
    /// Columns from left to right.
    pub columns: Vec<ColumnDescription>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Name of the column.
    pub name: String,
    /// Data type, by its Arrow name.
    pub data_type: String,
    /// The unit of the numbers; `None` for text, flags and plain numbers.
    pub unit: Option<&'static str>,
    /// True if the column may contain nulls.
    pub is_nullable: bool,
    /// Meaning of the column and of null.
    pub description: String,
}

/// Describes the tables of a dataset, then the tables of single commands, named `command:…`.
pub fn described_tables() -> Vec<TableDescription> {
    let dataset = DatasetTable::ALL.into_iter().map(|table| {
        describe(
            table.name().to_owned(),
            table.description(),
            "tcpexp analyze",
            &table.schema(),
        )
    });
    let of_captures = of_captures();
    let of_logs = of_logs();
    let of_pairs = of_pairs();
    let of_comparisons = of_comparisons();
    let commands = of_captures
        .iter()
        .chain(&of_logs)
        .chain(&of_pairs)
        .chain(&of_comparisons)
        .map(|(name, description, command, schema)| {
            describe(format!("command:{name}"), description, command, schema)
        });
    dataset.chain(commands).collect()
}

type OfCommand = (&'static str, &'static str, &'static str, SchemaRef);

/// The tables of captures.
fn of_captures() -> [OfCommand; 14] {
    [
        (
            "flows",
            "a row per connection and direction",
            "tcpexp flows -o",
            connection_columns().schema(),
        ),
        (
            "rtt",
            "a row per round-trip time between two captures",
            "tcpexp rtt SRC DST -o",
            rtt_columns().schema(),
        ),
        (
            "rtt_flows",
            "a row per flow and direction",
            "tcpexp rtt SRC DST --flows",
            rtt_flow_columns().schema(),
        ),
        (
            "single_rtt",
            "a row per round-trip time in one capture",
            "tcpexp rtt CAPTURE -o",
            single_rtt_columns().schema(),
        ),
        (
            "path",
            "a row per packet",
            "tcpexp path -o",
            path_columns().schema(),
        ),
        (
            "path_flows",
            "a row per flow and direction",
            "tcpexp path --flows",
            path_flow_columns().schema(),
        ),
        (
            "points",
            "a row per packet and segment of three points or more",
            "tcpexp path SRC DST MORE -o",
            points_columns().schema(),
        ),
        (
            "points_flows",
            "a row per flow, direction and segment of these points",
            "tcpexp path SRC DST MORE --flows",
            points_flow_columns().schema(),
        ),
        (
            "throughput",
            "a row per bin, flow and direction",
            "tcpexp throughput -o",
            throughput_columns().schema(),
        ),
        (
            "sender",
            "a row per ACK that reaches a sender",
            "tcpexp cwnd -o, tcpexp import -o",
            sender_columns().schema(),
        ),
        (
            "sender_events",
            "a row per event",
            "tcpexp cwnd --events, tcpexp import --events",
            sender_event_columns().schema(),
        ),
        (
            "controls",
            "a row per sender, with its congestion control",
            "tcpexp cwnd --control-table",
            control_columns().schema(),
        ),
        (
            "explained",
            "a row per packet of a flow",
            "tcpexp explain -o",
            explained_columns().schema(),
        ),
        (
            "causes",
            "a row per large flow and cause that limited it",
            "tcpexp why -o",
            cause_columns().schema(),
        ),
    ]
}

/// The tables of logs.
fn of_logs() -> [OfCommand; 3] {
    [
        (
            "intervals",
            "a row per interval of a load generator",
            "tcpexp import iperf3 -o",
            interval_columns().schema(),
        ),
        (
            "series",
            "a row per value of a series of a test tool",
            "tcpexp import flent -o",
            series_columns().schema(),
        ),
        (
            "scores",
            "a row per sender and number",
            "tcpexp score -o",
            score_columns().schema(),
        ),
    ]
}

/// The tables of many pairs of captures.
fn of_pairs() -> [OfCommand; 2] {
    [
        (
            "pairs",
            "a row per capture file, with the pair that it belongs to",
            "tcpexp pairs -o",
            pair_columns().schema(),
        ),
        (
            "errors",
            "a row per pair of captures that could not be analysed",
            "tcpexp merge --pairs",
            failed_pair_columns().schema(),
        ),
    ]
}

/// The comparison tables; the sweep's parameters add further columns.
fn of_comparisons() -> [OfCommand; 3] {
    let parameters = RunColumns::default();
    [
        (
            "compare",
            "a row per cell and class of traffic",
            "tcpexp compare -o",
            compare_columns(&parameters).schema(),
        ),
        (
            "compare_runs",
            "a row per run and class of traffic",
            "tcpexp compare --runs",
            compare_run_columns(&parameters).schema(),
        ),
        (
            "check",
            "a row per expectation and cell",
            "tcpexp check -o",
            expected_columns(&parameters).schema(),
        ),
    ]
}

fn describe(name: String, description: &str, command: &str, schema: &Schema) -> TableDescription {
    let columns = schema.fields().iter().map(|field| ColumnDescription {
        name: field.name().clone(),
        data_type: field.data_type().to_string(),
        unit: is_number(field.data_type())
            .then(|| unit(field.name()))
            .flatten(),
        is_nullable: field.is_nullable(),
        description: field
            .metadata()
            .get(DESCRIPTION)
            .cloned()
            .unwrap_or_default(),
    });
    TableDescription {
        name,
        description: description.to_owned(),
        command: command.to_owned(),
        version: schema
            .metadata()
            .get(SCHEMA_VERSION)
            .cloned()
            .unwrap_or_default(),
        columns: columns.collect(),
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

/// The unit in the suffix of a column's name.
fn unit(name: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 13] = [
        ("ns", "nanoseconds"),
        ("ms", "milliseconds"),
        ("s", "seconds"),
        ("bytes", "bytes"),
        ("bps", "bits per second"),
        ("packets", "packets"),
        ("segments", "segments"),
        ("share", "share, 1 is all"),
        ("seq", "sequence number"),
        ("record", "record number"),
        ("samples", "samples"),
        ("percent", "percent"),
        ("runs", "runs"),
    ];
    // A column may have the name of its unit alone: `packets`.
    let last = name.rsplit('_').next()?;
    UNITS
        .into_iter()
        .find_map(|(ending, unit)| (last == ending).then_some(unit))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_column_has_a_definition_and_the_meaning_of_null() {
        let tables = described_tables();
        let names: BTreeSet<_> = tables.iter().map(|table| table.name.clone()).collect();
        assert_eq!(names.len(), tables.len());
        for table in tables {
            let names: BTreeSet<_> = table.columns.iter().map(|column| &column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            for column in &table.columns {
                let says = column.description.to_lowercase();
                assert!(says.contains("null"), "{}.{}", table.name, column.name);
            }
        }
    }

    #[test]
    fn no_definition_says_twice_that_a_column_is_never_null() {
        for table in described_tables() {
            for column in &table.columns {
                let times = column.description.matches("Never null.").count();
                assert!(times <= 1, "{}.{}", table.name, column.name);
            }
        }
    }

    #[test]
    fn a_name_ends_in_its_unit() {
        let units = [
            "rtt_ns",
            "time_s",
            "packets",
            "snd_una_seq",
            "flow_id",
            "kind",
        ]
        .map(unit);
        assert_eq!(
            units,
            [
                Some("nanoseconds"),
                Some("seconds"),
                Some("packets"),
                Some("sequence number"),
                None,
                None
            ]
        );
    }
}
