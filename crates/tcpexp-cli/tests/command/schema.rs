//! `tcpexp schema`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::desk::Desk;

#[test]
fn all_tables_are_listed() {
    let listed = Desk::new().text("schema");
    assert_snapshot!(listed);
    assert!(listed.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn schema_describes_a_table_column_by_column() {
    let desk = Desk::new();
    let text = desk.text("schema loss");
    assert_snapshot!(text);
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(
        desk.failure("schema losses"),
        "no table is named losses: tcpexp schema lists all tables"
    );
}

#[test]
fn json_schema_has_types_units_and_definitions() {
    let json = Desk::new().text("schema rtt --format json");
    let tables: Value = serde_json::from_str(&json).unwrap();
    let columns = tables[0]["columns"].as_array().unwrap();
    let rtt = columns.iter().find(|column| column["name"] == "rtt_ms");
    assert_snapshot!(rtt.unwrap(), @r#"{"description":"rtt_ns / 1e6, in milliseconds. Never null.","name":"rtt_ms","nullable":false,"type":"Float64","unit":"milliseconds"}"#);
}
