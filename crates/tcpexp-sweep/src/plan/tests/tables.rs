//! Tables of a plan cannot be lists, which would be read by position.

use insta::assert_snapshot;
use serde_json::Value;
use toml::de::DeTable;

use super::*;
use crate::plan::schema::resolved;

/// The text of a list in place of each table below `schema`, as the value of a key.
fn lists(root: &Value, schema: &Value, all: &mut Vec<String>) {
    let schema = resolved(root, schema);
    for choice in ["anyOf", "allOf"] {
        let choices = schema.get(choice).and_then(Value::as_array);
        let is_wrapper = schema.get("type").is_none();
        // A value that may be text too has a message of its own.
        if let Some([one] | [one, Value::Object(_)]) = choices.map(Vec::as_slice)
            && is_wrapper
            && resolved(root, one)["type"] == "object"
        {
            lists(root, one, all);
        }
    }
    if let Some(items) = schema.get("items") {
        let mut inner = Vec::new();
        lists(root, items, &mut inner);
        all.extend(inner.iter().map(|value| format!("[{value}]")));
    }
    if schema["type"] != "object" {
        return;
    }
    all.push("[\"x\"]".to_owned());
    let properties = schema.get("properties").and_then(Value::as_object);
    let named = properties.into_iter().flatten();
    let free = schema
        .get("additionalProperties")
        .filter(|free| free.is_object());
    let named = named.map(|(key, value)| (key.as_str(), value));
    for (key, value) in named.chain(free.map(|free| ("any", free))) {
        let mut inner = Vec::new();
        lists(root, value, &mut inner);
        all.extend(inner.iter().map(|value| format!("{{ {key} = {value} }}")));
    }
}

#[test]
fn no_table_of_the_schema_can_be_a_list() {
    let schema = schema();
    let mut all = Vec::new();
    for (key, value) in schema["properties"].as_object().unwrap() {
        // The matrix and changes have other checks, because their keys are places of the plan.
        if !["matrix", "change"].contains(&key.as_str()) {
            let mut inner = Vec::new();
            lists(&schema, value, &mut inner);
            all.extend(inner.iter().map(|value| format!("{key} = {value}")));
        }
    }
    for text in [
        "path = [\"x\"]",
        "hops = { any = { forward = { flows = [[\"x\"]] } } }",
        "prepare = { sink = { sysctl = [\"x\"] } }",
        "traffic = [[\"x\"]]",
        "expect = [{ only = [\"x\"] }]",
        "log = [[\"x\"]]",
    ] {
        assert!(all.iter().any(|known| known == text), "{text} of {all:#?}");
    }
    for text in &all {
        let table = DeTable::parse(text).unwrap();
        let refused = schema::check_tables(table.get_ref()).map_err(|fault| fault.message);
        assert_eq!(
            refused,
            Err("expected a table, found a list".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn value_in_place_of_a_table_is_refused_with_its_place() {
    assert_snapshot!(refusal(&format!("run = [3, 7]\n{PLAN}")), @"plan.toml:1: run: expected a table, found a list");
    assert_snapshot!(refusal(&format!("run = 1\n{PLAN}")), @"plan.toml:1: run: expected a table, found a number");
    assert_snapshot!(refusal(&format!("log = [[\"m\", \"rtr1\", [\"free\"]]]\n{PLAN}")), @"plan.toml:1: log[1]: expected a table, found a list");
    let twice = "[[path]]\nrate = \"1mbit\"\n[[path]]\n";
    let twice = PLAN
        .replace("rate = [", "mss = [")
        .replace("[path.forward]\n", twice);
    assert_snapshot!(refusal(&twice), @"plan.toml:7: path[1]: expected a table, found a list");
    assert_snapshot!(refusal(&format!("{PLAN}[[change]]\nat = \"1s\"\nforward = [\"1mbit\"]\n")), @"plan.toml:17: change[1].forward: expected a table, found a list");
}
