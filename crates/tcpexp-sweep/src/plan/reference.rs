//! The reference of plans: a page of the guide, made from their schema.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::place::Place;
use super::presets;
use super::schema::{at, resolved, schema};
use super::tool::{COMMON_KEYS, Tool};

const BEGINNING: &str = "\
# Plan reference

All keys of a plan. This page is made from the types that plans are read into, as is the JSON Schema that
`tcpexp sweep --schema` prints. Editors with support for TOML check and complete a plan against it:

```text
$ tcpexp sweep --schema > plan.schema.json
$ head -n 1 plan.toml
#:schema plan.schema.json
```

A quantity is text with its unit; [the list](#quantities) has the units. [Sweeps](crate::guide::sweeps) explains plans
by example.
";

/// The tables of a plan: heading, and place in the schema.
const TABLES: [(&str, &[&str]); 15] = [
    ("Top of the file", &[]),
    ("`[hosts.NAME]`", &["hosts", "*"]),
    ("`[lab]`", &["lab"]),
    (
        "`[path.forward]` and `[path.reverse]`",
        &["path", "forward"],
    ),
    (
        "`[[path.forward.flows]]`",
        &["path", "forward", "flows", "*"],
    ),
    ("`[hops.ROUTER]`", &["hops", "*"]),
    ("`[[traffic]]`", &["traffic", "*"]),
    ("`[prepare]`", &["prepare"]),
    ("`[capture]`", &["capture"]),
    ("`[loggers]`", &["loggers"]),
    ("`[[log]]`", &["log", "*"]),
    ("`[calibration]`", &["calibration"]),
    ("`[run]`", &["run"]),
    ("`[[expect]]`", &["expect", "*"]),
    ("`[[change]]`", &["change", "*"]),
];

const MATRIX: &str = "
## `[matrix]`

Each key has a list of values; the cells are all combinations. A key is the dotted place of a parameter, such as
`path.forward.rate`, `traffic.NAME.cc` or `traffic.*.cc` for all traffic that takes it, or a short name. A list of
tables under a name of its own varies several parameters together; `name` in a table labels it. `exclude` and `include`
are lists of tables that remove and add cells. Two lists, or two keys of one table, that set the same parameter are
refused, such as `cc` and `traffic.NAME.cc`.

| short name | place |
|---|---|
";

/// Returns the page in Markdown.
pub fn reference() -> String {
    let root = schema();
    let mut page = BEGINNING.to_owned();
    for (heading, place) in TABLES {
        if let Some(table) = at(&root, place) {
            keys(&mut page, &root, heading, table);
        }
        if heading == "`[[traffic]]`" {
            tools(&mut page);
        }
    }
    page += MATRIX;
    for alias in Place::aliases() {
        let place = Place::new(alias).0.join(".");
        let _ = writeln!(page, "| `{alias}` | `{place}` |");
    }
    page += "\n## Presets\n\n`include = [\"preset:NAME\"]` takes these parts into a plan.\n\n| name | contents |\n|---|---|\n";
    for (name, contents) in presets::all() {
        let _ = writeln!(page, "| `{name}` | {contents} |");
    }
    definitions(&mut page, &root);
    page
}

fn keys(page: &mut String, root: &Value, heading: &str, table: &Value) {
    let table = resolved(root, table);
    let Some(Value::Object(properties)) = table.get("properties") else {
        return;
    };
    let _ = writeln!(
        page,
        "\n## {heading}\n\n| key | value | default | meaning |\n|---|---|---|---|"
    );
    let required = table.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|name| name == key));
    for (key, schema) in properties.iter().filter(|(key, _)| !key.contains('.')) {
        let default = match schema.get("default") {
            Some(value) => format!("`{value}`"),
            None if is_required(key) => "required".to_owned(),
            None => String::new(),
        };
        let meaning = description(root, schema).replace('|', "\\|");
        let value = value(root, schema);
        let _ = writeln!(page, "| `{key}` | {value} | {default} | {meaning} |");
    }
}

/// The description of a key, or of its type.
fn description(root: &Value, schema: &Value) -> String {
    let own = schema.get("description");
    let text = own.or_else(|| resolved(root, schema).get("description"));
    text.and_then(Value::as_str)
        .unwrap_or_default()
        .replace("\n\n", " ")
}

/// The form of a value, in words.
fn value(root: &Value, schema: &Value) -> String {
    if let Some(name) = named(schema) {
        let definition = resolved(root, schema);
        return match (names(definition), definition.get("pattern")) {
            (Some(names), _) => names,
            (None, Some(_)) => name.to_ascii_lowercase(),
            (None, None) if definition.get("anyOf").is_some() => value(root, definition),
            (None, None) => "table".to_owned(),
        };
    }
    let choices = schema.get("anyOf").and_then(Value::as_array);
    if let Some(choices) = choices {
        let choices: Vec<String> = choices.iter().map(|choice| value(root, choice)).collect();
        return choices.join(" or ");
    }
    if let Some(names) = names(schema) {
        return names;
    }
    let inner = |key: &str| {
        schema
            .get(key)
            .map_or_else(|| "values".to_owned(), |inner| value(root, inner))
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("string") => "text".to_owned(),
        Some("array") => format!("list of {}", inner("items")),
        Some("object") if schema.get("properties").is_some() => "table".to_owned(),
        Some("object")
            if schema
                .get("additionalProperties")
                .is_some_and(Value::is_object) =>
        {
            format!("table of {}", inner("additionalProperties"))
        }
        Some("object") => "table".to_owned(),
        _ => "value".to_owned(),
    }
}

/// The name of a referenced definition.
fn named(schema: &Value) -> Option<&str> {
    let target = schema.get("$ref").and_then(Value::as_str)?;
    target.strip_prefix("#/definitions/")
}

/// The names that a value may have, if there is a list of them.
fn names(schema: &Value) -> Option<String> {
    let listed = schema.get("enum").and_then(Value::as_array);
    let described = schema.get("oneOf").and_then(Value::as_array);
    let all: Vec<&Value> = match (listed, described) {
        (Some(listed), _) => listed.iter().collect(),
        (None, Some(described)) => described
            .iter()
            .filter_map(|one| one.get("const"))
            .collect(),
        (None, None) => return None,
    };
    let text = |name: &Value| format!("`{name}`");
    Some(all.into_iter().map(text).collect::<Vec<_>>().join(", "))
}

/// The keys of each tool.
fn tools(page: &mut String) {
    let listed = |keys: &[&str], between| {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        keys.join(between)
    };
    let common = listed(&COMMON_KEYS, ", ");
    let _ = writeln!(
        page,
        "\nAll tools take {common}.\n\n| tool | further keys | needs |\n|---|---|---|"
    );
    for tool in Tool::all() {
        let needs: Vec<String> = tool
            .needs()
            .iter()
            .map(|keys| listed(keys, " or "))
            .collect();
        let (name, keys, needs) = (tool.name(), listed(tool.keys(), ", "), needs.join(", "));
        let _ = writeln!(page, "| `{name}` | {keys} | {needs} |");
    }
}

/// The values with names, then the quantities.
fn definitions(page: &mut String, root: &Value) {
    let none = Map::new();
    let all = root
        .get("definitions")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    for (name, definition) in all {
        let Some(choices) = definition.get("oneOf").and_then(Value::as_array) else {
            continue;
        };
        let _ = writeln!(
            page,
            "\n## Values: `{name}`\n\n| value | meaning |\n|---|---|"
        );
        for choice in choices {
            let meaning = description(root, choice).replace('|', "\\|");
            let _ = writeln!(
                page,
                "| {} | {meaning} |",
                choice
                    .get("const")
                    .map_or_else(String::new, |name| format!("`{name}`"))
            );
        }
    }
    // Tables that are one form of a value, such as loss in bursts.
    if let Some(bursts) = all.get("GilbertElliott") {
        keys(
            page,
            root,
            "`loss = { enter_bad = …, leave_bad = … }`",
            bursts,
        );
    }
    *page += "\n## Quantities\n\n| quantity | form |\n|---|---|\n";
    for (name, definition) in all.iter().filter(|(_, one)| one.get("pattern").is_some()) {
        let form = description(root, definition);
        let _ = writeln!(page, "| {} | {form} |", name.to_ascii_lowercase());
    }
}
