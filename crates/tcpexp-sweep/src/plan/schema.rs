//! The JSON Schema of plans, for editors and for the reference page.
//!
//! It is generated from the types that plans are read into, and from the tables of tools and short
//! names. A schema sees few relations between keys, so it accepts some plans that are refused.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use toml::de::DeTable;

use super::Setup;
use super::error::Fault;
use super::place::Place;
use super::tool::{COMMON_KEYS, Tool};

/// Returns the JSON Schema of plans, draft 7, which editors of TOML read.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut root = Value::from(generator.into_root_schema_for::<Setup>());
    tidy(&mut root);
    root["title"] = json!("Plan of tcpexp sweep");
    root["description"] = json!("Hosts, the path between them, traffic, and what varies.");
    let complete = complete(&mut root);
    root["definitions"]["Traffic"]["allOf"] = Tool::all().map(keys_of).collect();
    let (matrix, change) = (matrix(&root), change(&root));
    root["properties"]["matrix"] = matrix;
    root["properties"]["change"] = json!({
        "type": "array",
        "items": change,
        "description": "Changes of the path during a run.",
    });
    root["properties"]["include"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "Files with parts of the plan, relative to it, or `preset:NAME`. A key of a later \
                        file replaces that of an earlier one, and the plan's own keys replace all. \
                        Tables are merged; lists, `[[traffic]]` among them, are not.",
    });
    // The matrix and included files may set any key, so only a plan without them must have all keys
    // itself.
    root["if"] = json!({
        "not": { "anyOf": [{ "required": ["matrix"] }, { "required": ["include"] }] },
    });
    root["then"] = complete;
    root
}

static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// Refuses a plan, or a part with the keys of a plan, that has another value where a table must be.
pub(super) fn check_tables(plan: &DeTable<'_>) -> Result<(), Fault> {
    match netem_ctl::wrong_table(&SCHEMA, plan) {
        Some((span, message)) => Err(Fault::new(span, message)),
        None => Ok(()),
    }
}

/// Refuses an unknown key of a plan. The error of [`Setup`] would lack `matrix`, `change` and `include`, which are
/// taken out before it is read.
pub(super) fn check_keys(plan: &DeTable<'_>) -> Result<(), Fault> {
    let known = || SCHEMA["properties"].as_object().into_iter().flatten();
    let is_known = |key: &str| known().any(|(known, _)| known == key);
    let Some(key) = plan.keys().find(|key| !is_known(key.get_ref())) else {
        return Ok(());
    };
    let names: Vec<String> = known().map(|(known, _)| format!("`{known}`")).collect();
    let names = names.join(", ");
    let message = format!("unknown field `{}`, expected one of {names}", key.get_ref());
    Err(Fault::new(key.span(), message))
}

/// True if the value at a place of a plan may be a table with all these keys.
pub(super) fn has_keys<'a>(place: &Place, keys: impl Iterator<Item = &'a str>) -> bool {
    let keys: Vec<&str> = keys.collect();
    let place: Vec<&str> = place.0.iter().map(String::as_str).collect();
    let Some(schema) = at(&SCHEMA, &place).map(|schema| resolved(&SCHEMA, schema)) else {
        return false;
    };
    let choices = schema.get("anyOf").and_then(Value::as_array);
    let mut forms = choices.into_iter().flatten().chain([schema]);
    forms.any(|form| {
        let known = resolved(&SCHEMA, form).get("properties");
        known.is_some_and(|known| keys.iter().all(|key| known.get(key).is_some()))
    })
}

/// Follows a reference.
pub(super) fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|target| root.pointer(target.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// The schema of the value at a place of a plan. `*` stands for an item of a list or table.
pub(super) fn at<'a>(root: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(root, |here, key| {
        let here = resolved(root, here);
        match *key {
            "*" => items(here),
            key => here.get("properties")?.get(key),
        }
    })
}

/// The schema of the items of a list or of a table with free keys.
fn items(schema: &Value) -> Option<&Value> {
    let inner = |key| schema.get(key).filter(|inner| inner.is_object());
    inner("items").or_else(|| inner("additionalProperties"))
}

/// Takes the required keys that the matrix may set, and returns the schema that requires them.
fn complete(root: &mut Value) -> Value {
    root["required"] = json!([]);
    root["definitions"]["Bottleneck"]["required"] = json!([]);
    root["definitions"]["Traffic"]["required"] = json!(["name"]);
    json!({
        "required": ["path", "traffic"],
        "properties": {
            "path": { "required": ["forward"] },
            "traffic": {
                "minItems": 1,
                "items": {
                    "required": ["tool"],
                    "allOf": Tool::all().map(needs_of).collect::<Value>(),
                },
            },
        },
    })
}

/// Limits a tool to its keys.
fn keys_of(tool: Tool) -> Value {
    let keys: Vec<&str> = COMMON_KEYS.iter().chain(tool.keys()).copied().collect();
    of_tool(tool, &json!({ "propertyNames": { "enum": keys } }))
}

/// Requires the keys that a tool needs.
fn needs_of(tool: Tool) -> Value {
    let one_of = |keys: &&[&str]| {
        let required = keys.iter().map(|key| json!({ "required": [key] }));
        json!({ "anyOf": required.collect::<Value>() })
    };
    let all: Vec<Value> = tool.needs().iter().map(one_of).collect();
    of_tool(tool, &json!({ "allOf": all }))
}

fn of_tool(tool: Tool, then: &Value) -> Value {
    json!({
        "if": { "properties": { "tool": { "const": tool.name() } }, "required": ["tool"] },
        "then": then,
    })
}

/// The tables whose keys may vary between cells.
const VARIED: [&str; 7] = [
    "path",
    "traffic",
    "hosts",
    "prepare",
    "capture",
    "loggers",
    "calibration",
];

/// The schema of `[matrix]`: lists under short names, dotted keys, nested tables, or names of the
/// user's own for lists of tables.
fn matrix(root: &Value) -> Value {
    let tables = json!({ "type": "array", "items": { "type": "object" } });
    let mut lists = Map::new();
    lists.insert("exclude".to_owned(), tables.clone());
    lists.insert("include".to_owned(), tables);
    for key in VARIED {
        if let Some(schema) = at(root, &[key]) {
            lists.insert(key.to_owned(), nested_lists(root, schema));
        }
    }
    for alias in Place::aliases() {
        let place = Place::new(alias);
        let keys: Vec<&str> = place.0.iter().map(String::as_str).collect();
        if let Some(schema) = at(root, &keys) {
            lists.insert(alias.to_owned(), list(schema));
        }
    }
    for (key, schema) in path_keys(root) {
        lists.insert(format!("path.{key}"), list(schema));
    }
    json!({
        "type": "object",
        "description": "Lists of values: the cells are all their combinations.",
        "properties": lists,
        "patternProperties": { "\\.": { "type": "array", "minItems": 1 } },
        "additionalProperties": {
            "anyOf": [
                { "type": "array", "minItems": 1, "items": { "type": "object" } },
                { "type": "object" },
            ],
        },
    })
}

/// A list of values, or of tables that set several keys together.
fn list(value: &Value) -> Value {
    let mut list = json!({
        "type": "array",
        "minItems": 1,
        "items": { "anyOf": [value, { "type": "object" }] },
    });
    if let Some(description) = value.get("description") {
        list["description"] = description.clone();
    }
    list
}

/// Lists in nested tables: an unquoted dotted key of the matrix.
fn nested_lists(root: &Value, schema: &Value) -> Value {
    let inner = resolved(root, schema);
    if let Some(Value::Object(properties)) = inner.get("properties") {
        let lists = properties.iter();
        let lists = lists.map(|(key, schema)| (key.clone(), nested_lists(root, schema)));
        return json!({
            "type": "object",
            "properties": lists.collect::<Map<_, _>>(),
            "additionalProperties": false,
        });
    }
    match items(inner).filter(|items| resolved(root, items).get("properties").is_some()) {
        // By the names of hosts or of traffic.
        Some(items) => json!({
            "anyOf": [
                { "type": "object", "additionalProperties": nested_lists(root, items) },
                list(schema),
            ],
        }),
        None if inner.get("additionalProperties").is_some() => json!({ "type": "object" }),
        None => list(schema),
    }
}

/// The schema of a `[[change]]`: a time, and keys of the path.
fn change(root: &Value) -> Value {
    let mut keys = Map::new();
    let at_time = json!({
        "$ref": "#/definitions/Time",
        "description": "Time after the start of the traffic.",
    });
    keys.insert("at".to_owned(), at_time);
    for alias in Place::aliases() {
        let place = Place::new(alias);
        let place: Vec<&str> = place.0.iter().map(String::as_str).collect();
        if let (["path", ..], Some(schema)) = (place.as_slice(), at(root, &place)) {
            keys.insert(alias.to_owned(), schema.clone());
        }
    }
    for (key, schema) in path_keys(root) {
        keys.insert(format!("path.{key}"), schema.clone());
        keys.insert(key, schema.clone());
    }
    for (key, place) in [
        ("path", &["path"][..]),
        ("forward", &["path", "forward"]),
        ("reverse", &["path", "reverse"]),
    ] {
        if let Some(schema) = at(root, place) {
            keys.insert(key.to_owned(), schema.clone());
        }
    }
    json!({
        "type": "object",
        "required": ["at"],
        "minProperties": 2,
        "properties": keys,
        "additionalProperties": false,
    })
}

/// The keys of the path, such as `forward.rate`.
fn path_keys(root: &Value) -> impl Iterator<Item = (String, &Value)> {
    ["forward", "reverse"].into_iter().flat_map(|direction| {
        let path = at(root, &["path", direction]).map(|path| resolved(root, path));
        let keys = path.and_then(|path| path.get("properties")?.as_object());
        let keys = keys.into_iter().flatten();
        keys.map(move |(key, schema)| (format!("{direction}.{key}"), schema))
    })
}

/// Removes what TOML does not have (null), and what readers do not need.
fn tidy(schema: &mut Value) {
    let Value::Object(keys) = schema else { return };
    if let Some(Value::Array(types)) = keys.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            keys.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = keys.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = keys.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            keys.remove("anyOf");
            for (key, value) in only {
                keys.entry(key).or_insert(value);
            }
        }
    }
    // Draft 7 ignores what is beside a reference, but these are only descriptions and defaults.
    if let Some(Value::Array(all)) = keys.get("allOf")
        && let [only] = all.as_slice()
        && let Some(reference) = only.get("$ref")
    {
        let reference = reference.clone();
        keys.remove("allOf");
        keys.insert("$ref".to_owned(), reference);
    }
    // Defaults of tables repeat those of their keys, and names of formats repeat limits.
    let is_scalar = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    if keys.get("default").is_some_and(|value| !is_scalar(value)) {
        keys.remove("default");
    }
    keys.remove("format");
    keys.remove("writeOnly");
    if let Some(Value::String(text)) = keys.get_mut("description") {
        *text = text
            .replace("\n\n", "\u{1}")
            .replace('\n', " ")
            .replace('\u{1}', "\n\n");
    }
    for key in ["properties", "definitions"] {
        let inner = keys.get_mut(key).and_then(Value::as_object_mut);
        inner
            .into_iter()
            .flatten()
            .for_each(|(_, inner)| tidy(inner));
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let inner = keys.get_mut(key).and_then(Value::as_array_mut);
        inner.into_iter().flatten().for_each(tidy);
    }
    for key in ["items", "additionalProperties"] {
        keys.get_mut(key).into_iter().for_each(tidy);
    }
}
