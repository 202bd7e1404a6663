//! The columns of each table and what they mean.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// Metadata key of a schema's name.
pub(crate) const SCHEMA_NAME: &str = "tcpexp.schema";
/// Metadata key of a schema's version; it counts up when a column changes its meaning or goes.
pub(crate) const SCHEMA_VERSION: &str = "tcpexp.schema_version";
/// Metadata key of a column's definition.
pub(crate) const DESCRIPTION: &str = "description";

/// One row per round-trip time sample between two measurement points.
pub fn rtt_schema() -> SchemaRef {
    use DataType::Int64;
    let mut columns = flow_columns().to_vec();
    columns.extend([
        required("direction", DataType::Utf8, "Which way the pair's first packet went: forward (initiator to responder) or reverse. Never null."),
        required("reference", DataType::Utf8, "The measurement point where the pair starts and ends: src (first capture) or dst (second capture). Never null."),
        required("time_ns", Int64, "When the pair's first packet passed the reference point: nanoseconds since 1970-01-01 UTC on that point's clock. Never null."),
        required("rtt_ns", Int64, "Round-trip time between the two points without the turnaround, in nanoseconds. A constant offset between the clocks cancels; their skew is removed where it was detected. Not clamped: a negative value is a finding. Never null."),
        required("turnaround_ns", Int64, "Time between the pair's two packets at the far point, in nanoseconds on that point's clock; not part of rtt_ns. Never null."),
        required("owd_out_ns", Int64, "One-way time of the first packet from the reference point to the far one, in nanoseconds: far clock minus reference clock, so the clocks' offset is in it. Never null."),
        required("owd_back_ns", Int64, "One-way time of the second packet back to the reference point, in nanoseconds: reference clock minus far clock, so the clocks' offset is in it with the other sign. owd_out_ns + owd_back_ns is rtt_ns before the skew is removed. Never null."),
    ]);
    named("rtt", columns)
}

/// One row per flow and direction: packet counts and round-trip time quantiles.
pub fn rtt_flows_schema() -> SchemaRef {
    use DataType::{Int64, UInt64, Utf8};
    const NO_SAMPLE: &str = "nanoseconds; interpolated between samples (SQL: quantile_cont), exact up to 16384 samples and within 0.1 % beyond. Null when there is no sample.";
    let extreme = |name, what| {
        optional(
            name,
            Int64,
            &format!("{what}, nanoseconds. Null when there is no sample."),
        )
    };
    let rtt = |name, what| optional(name, Int64, &format!("{what}, {NO_SAMPLE}"));
    let mut columns = flow_columns().to_vec();
    columns.extend([
        optional("initiator_at_dst", Utf8, "Address and port of the initiator as seen at the destination point. Null when no address or port was translated on the way."),
        optional("responder_at_dst", Utf8, "Address and port of the responder as seen at the destination point. Null when no address or port was translated on the way."),
        required("direction", Utf8, "The direction this row is about: forward (initiator to responder) or reverse. Never null."),
        required("samples", UInt64, "Round-trip time samples whose first packet went this way. Never null."),
        extreme("rtt_min_ns", "Smallest round-trip time"),
        rtt("rtt_p5_ns", "5th percentile of the round-trip times"),
        rtt("rtt_median_ns", "Median of the round-trip times"),
        rtt("rtt_p95_ns", "95th percentile of the round-trip times"),
        rtt("rtt_p99_ns", "99th percentile of the round-trip times"),
        extreme("rtt_max_ns", "Largest round-trip time"),
        required("duration_ns", Int64, "Time from the flow's first packet to its last, either direction, in nanoseconds on the source point's clock. Never null."),
    ]);
    columns.extend(count_columns());
    named("rtt_flows", columns)
}

/// Who talks to whom; every table about flows starts with these.
fn flow_columns() -> [Field; 4] {
    use DataType::{UInt32, Utf8};
    [
        required(
            "flow_id",
            UInt32,
            "The flow's number in this run, counted from 0 in order of first appearance. Never null.",
        ),
        required(
            "protocol",
            Utf8,
            "Transport protocol: tcp or udp. Never null.",
        ),
        required(
            "initiator",
            Utf8,
            "Address and port of the initiator as seen at the source point: 10.0.0.1:5201 or [2001:db8::1]:443. Never null.",
        ),
        required(
            "responder",
            Utf8,
            "Address and port of the responder as seen at the source point. Never null.",
        ),
    ]
}

fn count_columns() -> impl Iterator<Item = Field> {
    [
        ("seen_packets", "Packets of this direction at the point it passes first (upstream): the sum of matched, ambiguous, duplicate, lost and outside"),
        ("matched_packets", "Of seen, found again at the other point (downstream)"),
        ("ambiguous_packets", "Of seen, like another packet in every field that identifies one, so not used"),
        ("duplicate_packets", "Of seen, second records of a packet at the capture"),
        ("lost_packets", "Of seen, never found downstream though that capture was running"),
        ("outside_packets", "Of seen, sent while the downstream capture was not running"),
        ("arrived_packets", "Packets of this direction downstream: the sum of arrivals_matched, arrivals_ambiguous, arrivals_duplicate, unseen_upstream and arrivals_outside"),
        ("arrivals_matched_packets", "Of arrived, found upstream too"),
        ("arrivals_ambiguous_packets", "Of arrived, like another packet in every field that identifies one, so not used"),
        ("arrivals_duplicate_packets", "Of arrived, second records of a packet at the capture, and duplicates made on the path"),
        ("unseen_upstream_packets", "Of arrived, not found upstream though that capture was running"),
        ("arrivals_outside_packets", "Of arrived, sent while the upstream capture was not running"),
    ]
    .into_iter()
    .map(|(name, what)| required(name, DataType::UInt64, &format!("{what}. Packets. Never null.")))
}

pub(crate) fn required(name: &str, data_type: DataType, description: &str) -> Field {
    Field::new(name, data_type, false)
        .with_metadata([(DESCRIPTION.to_owned(), description.to_owned())])
}

pub(crate) fn optional(name: &str, data_type: DataType, description: &str) -> Field {
    required(name, data_type, description).with_nullable(true)
}

pub(crate) fn named(name: &str, columns: Vec<Field>) -> SchemaRef {
    let metadata = [(SCHEMA_NAME, name), (SCHEMA_VERSION, "1")];
    let owned = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Arc::new(Schema::new_with_metadata(columns, owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{compare_columns, compare_run_columns};
    use crate::dataset::RunColumns;
    use crate::{
        connection_columns, interval_columns, path_columns, path_flow_columns, score_columns,
        sender_columns, sender_event_columns, single_rtt_columns, throughput_columns,
    };

    /// The schema as a reader of the documentation would write it down.
    fn written_out(schema: &Schema) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (key, value) in schema.metadata() {
            writeln!(text, "{key} = {value}").unwrap();
        }
        for field in schema.fields() {
            let null = if field.is_nullable() {
                ", nullable"
            } else {
                ""
            };
            writeln!(text, "\n{}: {}{null}", field.name(), field.data_type()).unwrap();
            assert_eq!(field.metadata().len(), 1);
            writeln!(text, "    {}", field.metadata()[DESCRIPTION]).unwrap();
        }
        text
    }

    #[test]
    fn the_rtt_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&rtt_schema()));
    }

    #[test]
    fn the_flows_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&connection_columns().schema()));
    }

    #[test]
    fn the_schema_of_single_capture_rtt_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&single_rtt_columns().schema()));
    }

    #[test]
    fn the_sender_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&sender_columns().schema()));
    }

    #[test]
    fn the_schema_of_sender_events_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&sender_event_columns().schema()));
    }

    #[test]
    fn the_schema_of_scores_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&score_columns().schema()));
    }

    #[test]
    fn the_schema_of_intervals_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&interval_columns().schema()));
    }

    #[test]
    fn the_throughput_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&throughput_columns().schema()));
    }

    #[test]
    fn the_path_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&path_columns().schema()));
    }

    #[test]
    fn the_schema_of_a_comparison_is_part_of_the_interface() {
        let columns = compare_columns(&RunColumns::default());
        insta::assert_snapshot!(written_out(&columns.schema()));
    }

    #[test]
    fn the_schema_of_compared_runs_is_part_of_the_interface() {
        let columns = compare_run_columns(&RunColumns::default());
        insta::assert_snapshot!(written_out(&columns.schema()));
    }

    #[test]
    fn the_path_flows_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&path_flow_columns().schema()));
    }

    #[test]
    fn the_schemas_of_a_dataset_are_part_of_the_interface() {
        for table in crate::dataset::DatasetTable::ALL {
            insta::assert_snapshot!(
                format!("dataset_{}", table.name()),
                written_out(&table.schema())
            );
        }
    }

    #[test]
    fn the_rtt_flows_schema_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&rtt_flows_schema()));
    }
}
