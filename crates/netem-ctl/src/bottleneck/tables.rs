//! Finds the values of a TOML text that must be tables and are not.
//!
//! `serde` fills a structure from a list too, by position: two `[[path]]` would be the forward and the reverse
//! path. The schema of the structure names all tables, so the text is compared with it first.

use std::ops::Range;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Bottleneck;

/// Finds the first value that must be a table by the schema and is not. Returns its place and the message.
///
/// `schema` is a JSON Schema whose references are to itself. Its relations between keys are ignored.
pub fn wrong_table(schema: &Value, table: &DeTable<'_>) -> Option<(Range<usize>, String)> {
    in_table(schema, schema, table)
}

/// As [`wrong_table`], for the description of a bottleneck.
pub(super) fn wrong_table_of_bottleneck(table: &DeTable<'_>) -> Option<(Range<usize>, String)> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let generator = SchemaSettings::draft07().into_generator();
        Value::from(generator.into_root_schema_for::<Bottleneck>())
    });
    wrong_table(&SCHEMA, table)
}

fn in_table(root: &Value, schema: &Value, table: &DeTable<'_>) -> Option<(Range<usize>, String)> {
    let properties = schema.get("properties");
    let others = schema.get("additionalProperties");
    table.iter().find_map(|(key, value)| {
        let own = properties.and_then(|known| known.get(key.get_ref().as_ref()));
        in_value(root, own.or(others)?, value)
    })
}

fn in_value(
    root: &Value,
    schema: &Value,
    value: &Spanned<DeValue<'_>>,
) -> Option<(Range<usize>, String)> {
    let forms = forms(root, schema);
    match value.get_ref() {
        DeValue::Table(table) => forms
            .iter()
            .find(|form| is_of(form, "object"))
            .and_then(|form| in_table(root, form, table)),
        _ if !forms.is_empty() && forms.iter().all(|form| is_of(form, "object")) => {
            let message = format!("expected a table, found {}", kind(value.get_ref()));
            Some((value.span(), message))
        }
        DeValue::Array(items) => {
            let of_item = forms.iter().find_map(|form| form.get("items"))?;
            items.iter().find_map(|item| in_value(root, of_item, item))
        }
        _ => None,
    }
}

/// The forms that a value may have, without null, which TOML does not have.
fn forms<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let target = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
        return forms(root, target);
    }
    let choices = ["anyOf", "oneOf", "allOf"].map(|key| schema.get(key).and_then(Value::as_array));
    // A structure with relations between its keys is an object already.
    match choices.into_iter().flatten().next() {
        Some(choices) if schema.get("type").is_none() => {
            let all = choices.iter().flat_map(|choice| forms(root, choice));
            all.filter(|form| !is_of(form, "null")).collect()
        }
        _ => vec![schema],
    }
}

/// True if a form is of this type only; null beside it does not count.
fn is_of(form: &Value, name: &str) -> bool {
    match form.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(names)) => {
            let mut known = names.iter().filter(|known| *known != "null").peekable();
            known.peek().is_some() && known.all(|known| known == name)
        }
        _ => false,
    }
}

const fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
