//! Changes of the path during a run: `[[change]]`.

use netem_ctl::Bottleneck;
use serde::{Deserialize, Serialize};
use tcpexp_units::TimeDelta;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;
use super::place::{self, Place};
use super::schema;

/// One change of the path.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Time after the start of the traffic.
    pub at: TimeDelta,
    /// The changed keys and values, as in the plan.
    pub what: String,
    /// The path after the change.
    pub path: Bottleneck,
}

/// The changes of a plan, in order of time. `path` is the path before them.
pub(super) fn all<'i>(
    changes: Option<&Spanned<DeValue<'i>>>,
    path: &Spanned<DeValue<'i>>,
) -> Result<Vec<Change>, Fault> {
    let Some(changes) = changes else {
        return Ok(Vec::new());
    };
    let DeValue::Array(changes) = changes.get_ref() else {
        return Err(Fault::new(changes.span(), "expected [[change]]"));
    };
    // Changes add up: each starts from the path of the one before.
    let mut plan = DeTable::new();
    let key = Spanned::new(path.span(), "path".into());
    plan.insert(key, path.clone());
    let mut all: Vec<Change> = Vec::new();
    for change in changes {
        let change = one(change, &mut plan)?;
        // Each change is a process of its own on the router, so changes at one time would have no
        // order.
        if let Some(before) = all.last().filter(|before| before.at >= change.0.at) {
            let message = format!("expected a time after {}, the previous change", before.at);
            return Err(Fault::new(change.1, message));
        }
        all.push(change.0);
    }
    Ok(all)
}

/// A time after the start of the traffic.
fn after_start(at: &Spanned<DeValue<'_>>) -> Result<TimeDelta, Fault> {
    let time = TimeDelta::deserialize(de(at))?;
    if time < TimeDelta::ZERO {
        return Err(Fault::new(at.span(), "expected a time of 0s or later"));
    }
    Ok(time)
}

fn one<'i>(
    change: &Spanned<DeValue<'i>>,
    plan: &mut DeTable<'i>,
) -> Result<(Change, std::ops::Range<usize>), Fault> {
    let expected = |what: &str| Fault::new(change.span(), what);
    let DeValue::Table(table) = change.get_ref() else {
        return Err(expected("expected a table"));
    };
    let at = table
        .get("at")
        .ok_or_else(|| expected("expected at, a time such as \"30s\""))?;
    let mut changed = Vec::new();
    for (key, span, value) in keys(table).into_iter().filter(|(key, ..)| key != "at") {
        let mut place = Place::new(&key);
        if !matches!(place.0[0].as_str(), "path" | "forward" | "reverse") {
            let message = "expected a parameter of the path: rate, delay, loss, buffer, or \
                           a full key such as path.reverse.rate";
            return Err(Fault::new(span, message));
        }
        if place.0[0] != "path" {
            place.0.insert(0, "path".to_owned());
        }
        changed.push((place, key, span, value));
    }
    let keys = changed.iter();
    let keys = keys.map(|(place, key, span, _)| (place.clone(), key.as_str(), span.clone()));
    place::check_unique(keys)?;
    let mut what = Vec::new();
    for (place, key, span, value) in changed {
        place::set(plan, &place.0, value).map_err(|why| Fault::new(span, why))?;
        let text = value
            .get_ref()
            .as_str()
            .map_or_else(String::new, |text| format!(" {text}"));
        what.push(format!("{key}{text}"));
    }
    if what.is_empty() {
        return Err(expected(
            "expected at least one change, such as rate = \"5mbit\"",
        ));
    }
    schema::check_tables(plan)?;
    let path = plan
        .get("path")
        .ok_or_else(|| expected("there is no path"))?;
    Ok((
        Change {
            at: after_start(at)?,
            what: what.join(", "),
            path: Bottleneck::deserialize(de(path))?,
        },
        at.span(),
    ))
}

/// A key, its place and its value.
type Changed<'a, 'i> = (String, std::ops::Range<usize>, &'a Spanned<DeValue<'i>>);

/// The changed keys of a table. An unquoted `path.forward.rate` is nested tables, which would replace
/// all of the path; the value of a parameter may be a table too.
fn keys<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Changed<'a, 'i>> {
    let mut all = Vec::new();
    for (key, value) in table {
        let name = key.get_ref();
        match value.get_ref() {
            DeValue::Table(inner) if matches!(name.as_ref(), "path" | "forward" | "reverse") => {
                let inner = keys(inner).into_iter();
                all.extend(inner.map(|(key, span, value)| (format!("{name}.{key}"), span, value)));
            }
            _ => all.push((name.to_string(), key.span(), value)),
        }
    }
    all
}

fn de<'i>(value: &Spanned<DeValue<'i>>) -> toml::de::ValueDeserializer<'i> {
    value.clone().into()
}
