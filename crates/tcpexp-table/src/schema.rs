//! Construction of schemas, with the columns' definitions as metadata.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::Error;

/// Metadata key of a schema's name.
pub(crate) const SCHEMA_NAME: &str = "tcpexp.schema";
/// Metadata key of a schema's version.
pub(crate) const SCHEMA_VERSION: &str = "tcpexp.schema_version";
/// Version of all tables; it increases when a column changes its meaning or type or is removed.
///
/// Version 1 had times as integers and text without dictionaries.
pub const TABLE_VERSION: u32 = 2;
/// Metadata key of a column's definition.
pub(crate) const DESCRIPTION: &str = "description";

pub(crate) fn required(name: &str, data_type: DataType, description: &str) -> Field {
    Field::new(name, data_type, false)
        .with_metadata([(DESCRIPTION.to_owned(), description.to_owned())])
}

pub(crate) fn optional(name: &str, data_type: DataType, description: &str) -> Field {
    required(name, data_type, description).with_nullable(true)
}

pub(crate) fn named(name: &str, columns: Vec<Field>) -> SchemaRef {
    let version = TABLE_VERSION.to_string();
    let metadata = [(SCHEMA_NAME, name), (SCHEMA_VERSION, version.as_str())];
    let owned = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Arc::new(Schema::new_with_metadata(columns, owned))
}

/// Zone of all times.
pub(crate) const UTC: &str = "UTC";

/// Type of points in time.
pub(crate) fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()))
}

/// Type of text.
pub(crate) fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The schema with other types where `other` gives one.
pub(crate) fn with_types(schema: &Schema, other: impl Fn(&DataType) -> Option<DataType>) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let field = field.as_ref().clone();
        match other(field.data_type()) {
            Some(data_type) => field.with_data_type(data_type),
            None => field,
        }
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// Refuses a table that another version of `tcpexp` wrote with other columns, and one to which another
/// program added a column under a name that the table already has. CSV and JSON do not state a version.
pub(crate) fn check_schema(schema: &Schema) -> Result<(), Error> {
    let Some(version) = schema.metadata().get(SCHEMA_VERSION) else {
        return Ok(());
    };
    if *version != TABLE_VERSION.to_string() {
        return Err(Error::Version {
            version: version.clone(),
            known: TABLE_VERSION,
        });
    }
    let mut names = BTreeSet::new();
    let repeated = schema
        .fields()
        .iter()
        .find(|field| !names.insert(field.name()));
    match repeated {
        None => Ok(()),
        Some(field) => Err(Error::RepeatedColumn {
            column: field.name().clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{compare_columns, compare_run_columns};
    use crate::dataset::RunColumns;
    use crate::{
        cause_columns, connection_columns, control_columns, explained_columns, interval_columns,
        path_columns, path_flow_columns, points_columns, points_flow_columns, rtt_columns,
        rtt_flow_columns, score_columns, sender_columns, sender_event_columns, single_rtt_columns,
        throughput_columns,
    };

    /// The schema in the form of the reference documentation.
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
        insta::assert_snapshot!(written_out(&rtt_columns().schema()));
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
    fn the_schema_of_named_controls_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&control_columns().schema()));
    }

    #[test]
    fn the_schema_of_explained_packets_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&explained_columns().schema()));
    }

    #[test]
    fn the_schema_of_causes_is_part_of_the_interface() {
        insta::assert_snapshot!(written_out(&cause_columns().schema()));
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
    fn tables_of_more_points_have_a_segment_and_the_columns_of_two_points() {
        let fields = |schema: &Schema| schema.fields().iter().cloned().collect::<Vec<_>>();
        for (more, two) in [
            (points_columns().schema(), path_columns().schema()),
            (points_flow_columns().schema(), path_flow_columns().schema()),
        ] {
            assert_eq!(more.field(0).name(), "segment");
            assert_eq!(fields(&more)[1..], fields(&two)[..]);
        }
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
        insta::assert_snapshot!(written_out(&rtt_flow_columns().schema()));
    }
}
