//! `[[expect]]`: what the results of a sweep are expected to be.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tcpexp_runs::compare::Expected;
use tcpexp_runs::only::Only;
use tcpexp_runs::record::Parameter;
use toml::Spanned;
use toml::de::DeTable;

use super::Cell;
use super::error::Fault;
use super::place;

/// One expectation, as written.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The expectation: `rtt_p95_ms < 80`.
    pub that: String,
    /// Name of the traffic; all traffic together by default.
    pub of: Option<String>,
    /// Values of parameters, which select cells; all cells by default.
    #[serde(default)]
    #[schemars(schema_with = "values_schema")]
    pub only: BTreeMap<String, Parameter>,
}

fn values_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": ["boolean", "number", "string"] },
    })
}

/// Checks the expectations of a plan: each must be about a result.
pub(super) fn all(cells: &[Cell], root: &Spanned<DeTable<'_>>) -> Result<Vec<Expected>, Fault> {
    let Some(first) = cells.first() else {
        return Ok(Vec::new());
    };
    let numbered = first.setup.expect.iter().enumerate();
    numbered
        .map(|(index, written)| one(written, index, cells, root))
        .collect()
}

fn one(
    written: &Expect,
    index: usize,
    cells: &[Cell],
    root: &Spanned<DeTable<'_>>,
) -> Result<Expected, Fault> {
    let index = index.to_string();
    let fault = |keys: &[&str], message: String| {
        let path: Vec<&str> = ["expect", index.as_str()]
            .iter()
            .chain(keys)
            .copied()
            .collect();
        Fault::new(place::span(root, &path), message)
    };
    let expected = Expected::parse(&written.that);
    let expected = expected.map_err(|error| fault(&["that"], error.to_string()))?;
    if let Some(name) = &written.of {
        let names = cells.iter().flat_map(|cell| &cell.setup.traffic);
        let names: Vec<&str> = names.map(|traffic| traffic.name.as_str()).collect();
        if !names.contains(&name.as_str()) {
            return Err(fault(&["of"], format!("no traffic is named {name}")));
        }
    }
    let values = written.only.iter();
    let only: Only = values
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    only.check(cells.iter().map(|cell| &cell.parameters))
        .map_err(|error| fault(&["only"], error.to_string()))?;
    Ok(Expected {
        class: written.of.clone(),
        only,
        ..expected
    })
}
