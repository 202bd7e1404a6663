//! Settings of kernels: `sysctl` and `module` in `[prepare]` and `[hosts.*]`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;
use super::place::{MODULE, SYSCTL};
use super::traffic::is_word;

/// Values by key.
pub(super) type Values = BTreeMap<String, String>;

/// Settings of the kernels of a group of hosts, for the time of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Kernel {
    /// Kernel settings by their names for `sysctl`: `sysctl.net.ipv4.tcp_ecn = 1`.
    #[serde(
        deserialize_with = "values",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(schema_with = "values_schema")]
    pub sysctl: Values,
    /// Parameters of kernel modules: `module.tcp_cubic.hystart = 0`.
    #[serde(
        deserialize_with = "values",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(schema_with = "values_schema")]
    pub module: Values,
}

impl Kernel {
    /// True if nothing is set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first key that is wrong, and how.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let sysctl = sysctl_fault(&self.sysctl).map(|message| (SYSCTL, message));
        sysctl.or_else(|| module_fault(&self.module).map(|message| (MODULE, message)))
    }

    /// The settings, with these in place of equal keys.
    pub(super) fn overridden_by(mut self, sysctl: &Values, module: &Values) -> Self {
        self.sysctl.extend(sysctl.clone());
        self.module.extend(module.clone());
        self
    }
}

/// Returns the fault of kernel settings, if any. They are written to a script unquoted.
fn sysctl_fault(settings: &Values) -> Option<String> {
    let (key, value) = settings
        .iter()
        .find(|(key, value)| is_word(key).is_none() || !is_value(value))?;
    Some(format!("{key} = {value:?} is not a kernel setting"))
}

fn module_fault(settings: &Values) -> Option<String> {
    let is_name = |key: &str| {
        let parts = key.split_once('.');
        parts.is_some_and(|(module, name)| {
            [module, name]
                .iter()
                .all(|part| is_word(part).is_some() && !part.contains('.'))
        })
    };
    let (key, value) = settings
        .iter()
        .find(|(key, value)| !is_name(key) || !is_value(value))?;
    Some(format!(
        "{key} = {value:?} is not a parameter of a module: expected a key such as tcp_cubic.hystart"
    ))
}

fn is_value(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-+/, ".contains(&byte);
    !value.is_empty() && value.bytes().all(is_plain)
}

/// Writes the keys of kernel settings flat: an unquoted `sysctl.net.ipv4.tcp_ecn` is nested tables.
/// Thus a key of the matrix replaces the plan's, however the plan writes it.
pub(super) fn flatten(root: &mut DeTable<'_>) -> Result<(), Fault> {
    if let Some(prepare) = table(root, "prepare") {
        flatten_group(prepare)?;
        for group in ["source", "router", "sink"] {
            table(prepare, group).map_or(Ok(()), flatten_group)?;
        }
    }
    if let Some(hosts) = table(root, "hosts") {
        for (_, host) in hosts.iter_mut() {
            if let DeValue::Table(host) = host.get_mut() {
                flatten_group(host)?;
            }
        }
    }
    Ok(())
}

fn table<'a, 'i>(root: &'a mut DeTable<'i>, key: &str) -> Option<&'a mut DeTable<'i>> {
    match root.get_mut(key).map(Spanned::get_mut) {
        Some(DeValue::Table(table)) => Some(table),
        _ => None,
    }
}

fn flatten_group(group: &mut DeTable<'_>) -> Result<(), Fault> {
    for kind in [SYSCTL, MODULE] {
        if let Some(settings) = table(group, kind) {
            let mut flat = DeTable::new();
            leaves("", settings, &mut flat)?;
            *settings = flat;
        }
    }
    Ok(())
}

fn leaves<'i>(prefix: &str, table: &DeTable<'i>, flat: &mut DeTable<'i>) -> Result<(), Fault> {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            leaves(&format!("{name}."), inner, flat)?;
            continue;
        }
        if flat.contains_key(name.as_str()) {
            return Err(Fault::new(key.span(), format!("{name} is set twice")));
        }
        flat.insert(Spanned::new(key.span(), Cow::Owned(name)), value.clone());
    }
    Ok(())
}

/// Reads values: text, whole numbers, or `true` and `false` for 1 and 0.
pub(super) fn values<'de, D: Deserializer<'de>>(from: D) -> Result<Values, D::Error> {
    let values = BTreeMap::<String, Text>::deserialize(from)?;
    Ok(values
        .into_iter()
        .map(|(key, value)| (key, value.0))
        .collect())
}

/// The schema of [`values`]. An unquoted key is nested tables.
pub(super) fn values_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": ["string", "integer", "boolean", "object"] },
    })
}

/// A value as the kernel reads it.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsText;

        impl Visitor<'_> for AsText {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the value of a kernel setting: a whole number, text, true or false")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_bool<E: Error>(self, flag: bool) -> Result<Text, E> {
                Ok(Text(u8::from(flag).to_string()))
            }
        }

        from.deserialize_any(AsText)
    }
}
