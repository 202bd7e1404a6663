//! Columns that depend on all cells: reverse delays, and varied keys that no other column shows.
//!
//! Results of cells with equal columns would count as repetitions of one cell.

use std::collections::HashMap;

use toml::de::DeValue;

use super::cell::Cell;
use super::matrix::CellText;
use super::parameters::{self, DELAY, REVERSE, millis};
use super::place::Place;

/// The keys that the matrix sets in a cell, with the text of their values.
type Written = Vec<(Place, String)>;

/// Adds a column for each key that is the only difference between cells with equal parameters. Its value is the text
/// in the plan.
pub(super) fn add(cells: &mut [Cell], texts: &[CellText<'_>]) {
    let written: Vec<Written> = texts.iter().map(written).collect();
    for place in hidden(cells, &written) {
        let name = name(&place, cells);
        for (cell, written) in cells.iter_mut().zip(&written) {
            if let Some(value) = value(written, &place) {
                let value = Some(parameters::setting(value));
                cell.parameters.insert(name.clone(), value);
            }
        }
    }
}

/// Gives all cells the parameter of their reverse delay, if one of them has it.
///
/// A cell whose delays are equal has none of its own, and a selection by the value would miss it.
pub(super) fn complete_reverse_delays(cells: &mut [Cell]) {
    let has = |name: &String| cells.iter().any(|cell| cell.parameters.contains_key(name));
    let delays = |cell: &Cell| {
        let hops = cell.setup.hops.iter();
        let hops = hops.map(|(router, path)| (format!("{router}_{REVERSE}{DELAY}"), path));
        let all = std::iter::once((format!("{REVERSE}{DELAY}"), &cell.setup.path)).chain(hops);
        all.filter(|(name, _)| has(name))
            .map(|(name, path)| (name, path.resolved().reverse.delay.map(millis)))
            .collect::<Vec<_>>()
    };
    let delays: Vec<_> = cells.iter().map(delays).collect();
    for (cell, delays) in cells.iter_mut().zip(delays) {
        cell.parameters.extend(delays);
    }
}

fn written(text: &CellText<'_>) -> Written {
    let settings = text.settings.iter();
    settings
        .map(|setting| {
            let place = Place::new(setting.key.get_ref());
            (place, as_written(setting.value.get_ref()))
        })
        .collect()
}

/// The keys whose values differ between cells with equal parameters.
fn hidden(cells: &[Cell], written: &[Written]) -> Vec<Place> {
    let mut found = Vec::new();
    let mut firsts: HashMap<String, &Written> = HashMap::new();
    for (cell, written) in cells.iter().zip(written) {
        // Parameters hold floats, which have no hash.
        let first = firsts
            .entry(format!("{:?}", cell.parameters))
            .or_insert(written);
        for (place, _) in first.iter().chain(written) {
            if value(first, place) != value(written, place) && !found.contains(place) {
                found.push(place.clone());
            }
        }
    }
    found
}

fn value<'a>(written: &'a Written, place: &Place) -> Option<&'a str> {
    let last = written.iter().rfind(|(known, _)| known == place);
    last.map(|(_, text)| text.as_str())
}

/// The tables that the names of columns leave out.
const TABLES: [&str; 5] = ["path", "traffic", "prepare", "hops", "hosts"];
/// Parts of keys that the names of columns leave out.
const UNSAID: [&str; 2] = ["forward", "*"];

/// The name of a column: as short as those of other parameters, or the whole key if this name is taken.
fn name(place: &Place, cells: &[Cell]) -> String {
    let keys: Vec<&str> = place.0.iter().map(String::as_str).collect();
    let is_table = |first: &&str| TABLES.contains(first);
    let rest = &keys[usize::from(keys.first().is_some_and(is_table))..];
    let short: Vec<&str> = rest
        .iter()
        .copied()
        .filter(|key| !UNSAID.contains(key))
        .collect();
    let is_taken = |name: &String| cells.iter().any(|cell| cell.parameters.contains_key(name));
    let short = parameters::plain(&short.join("_"));
    if is_taken(&short) {
        parameters::plain(&keys.join("_"))
    } else {
        short
    }
}

/// A value as it stands in the plan, text without its quotes.
fn as_written(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| as_written(item.get_ref()));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        DeValue::Table(table) => {
            let pairs = table
                .iter()
                .map(|(key, value)| format!("{} = {}", key.get_ref(), as_written(value.get_ref())));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}
