//! Places in the text of a plan: the value of a key, and the key at a position.
//!
//! Values keep the span where they were written. A value that the matrix sets points into the matrix,
//! so an error names the line that the user can correct.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;

/// All entries of an array of tables, in place of the name of one.
const ALL: &str = "*";

/// The keys that lead to a parameter.
///
/// In an array of tables, a key is the `name` of a table, or `*` for all tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(pub(super) Vec<String>);

/// Short names of often varied places.
const ALIASES: [(&str, &[&str]); 17] = [
    ("rate", &["path.forward.rate"]),
    ("trace", &["path.forward.trace"]),
    ("linklayer", &["path.forward.linklayer"]),
    ("overhead", &["path.forward.overhead"]),
    ("delay", &["path.forward.delay"]),
    ("jitter", &["path.forward.jitter"]),
    ("loss", &["path.forward.loss"]),
    ("buffer", &["path.forward.buffer"]),
    ("queue", &["path.forward.queue"]),
    ("ecn", &["path.forward.ecn"]),
    ("cc", &["traffic.*.cc"]),
    ("mss", &["traffic.*.mss"]),
    ("duration", &["traffic.*.duration"]),
    ("count", &["traffic.*.count"]),
    ("dscp", &["traffic.*.dscp"]),
    ("initcwnd", &["prepare.initcwnd"]),
    ("mtu", &["prepare.mtu"]),
];

/// The table of kernel settings by their names for `sysctl`.
pub(super) const SYSCTL: &str = "sysctl";
/// The table of parameters of kernel modules.
pub(super) const MODULE: &str = "module";
/// Tables that are those of `[prepare]` if a key begins with them.
const KERNEL: [&str; 2] = [SYSCTL, MODULE];

impl Place {
    /// The place of a dotted key or of a short name.
    pub(super) fn new(key: &str) -> Self {
        // The value at a short name may have keys of its own: `loss.enter_bad`.
        let (first, rest) = key.split_once('.').unwrap_or((key, ""));
        let alias = ALIASES.iter().find(|(alias, _)| *alias == first);
        let dotted = alias.map_or(first, |(_, places)| places[0]);
        let rest = rest.split('.').filter(|_| !rest.is_empty());
        let mut keys: Vec<String> = dotted.split('.').chain(rest).map(str::to_owned).collect();
        if KERNEL.contains(&keys[0].as_str()) {
            keys.insert(0, "prepare".to_owned());
        }
        // The name of a kernel setting has dots of its own.
        let first = match keys[0].as_str() {
            "prepare" => 1,
            "hosts" => 2,
            _ => return Self(keys),
        };
        let settings = keys
            .iter()
            .skip(first)
            .position(|key| KERNEL.contains(&key.as_str()));
        if let Some(settings) = settings
            .map(|at| first + at)
            .filter(|at| at + 1 < keys.len())
        {
            let name = keys.split_off(settings + 1).join(".");
            keys.push(name);
        }
        Self(keys)
    }

    /// True if the value at one place is the one at the other or a part of it.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let mut both = self.0.iter().zip(&other.0);
        both.all(|(key, other)| key == other || key == ALL || other == ALL)
    }

    /// All short names.
    pub(super) fn aliases() -> impl Iterator<Item = &'static str> {
        ALIASES.iter().map(|(alias, _)| *alias)
    }
}

/// Refuses two keys of one table that set the same value: only the later one would count. Each key comes with its
/// place and its span.
pub(super) fn check_unique<'k>(
    keys: impl IntoIterator<Item = (Place, &'k str, Range<usize>)>,
) -> Result<(), Fault> {
    let mut known: Vec<(Place, &str)> = Vec::new();
    for (place, key, span) in keys {
        if let Some((_, other)) = known.iter().find(|(known, _)| known.overlaps(&place)) {
            let message = format!("expected another key, because {other} sets it too");
            return Err(Fault::new(span, message));
        }
        known.push((place, key));
    }
    Ok(())
}

/// Sets a value, creating tables as needed. The error is a message.
pub(super) fn set<'i>(
    table: &mut DeTable<'i>,
    place: &[String],
    value: &Spanned<DeValue<'i>>,
) -> Result<(), String> {
    let [first, rest @ ..] = place else {
        return Err("an empty key".to_owned());
    };
    if rest.is_empty() {
        let key = Spanned::new(value.span(), Cow::Owned(first.clone()));
        table.insert(key, value.clone());
        return Ok(());
    }
    if !table.contains_key(first.as_str()) {
        let key = Spanned::new(value.span(), Cow::Owned(first.clone()));
        let empty = Spanned::new(value.span(), DeValue::Table(DeTable::new()));
        table.insert(key, empty);
    }
    match table.get_mut(first.as_str()).map(Spanned::get_mut) {
        Some(DeValue::Table(inner)) => set(inner, rest, value),
        Some(DeValue::Array(items)) => set_in_array(items, first, rest, value),
        _ => Err(format!("{first} has no keys")),
    }
}

fn set_in_array<'i>(
    items: &mut [Spanned<DeValue<'i>>],
    array: &str,
    place: &[String],
    value: &Spanned<DeValue<'i>>,
) -> Result<(), String> {
    let [wanted, rest @ ..] = place else {
        return Err(format!("{array} is a list: name one of them, or *"));
    };
    let mut is_there = false;
    for item in items {
        let DeValue::Table(item) = item.get_mut() else {
            continue;
        };
        let is_wanted = match wanted.as_str() {
            // Skip tools that do not take the parameter: ping has no cc.
            ALL => takes(item, rest),
            name => text(item, "name") == Some(name),
        };
        if is_wanted {
            is_there = true;
            set(item, rest, value)?;
        }
    }
    if is_there {
        Ok(())
    } else {
        Err(format!("no {array} is named {wanted}"))
    }
}

/// True if the tool of an entry takes the parameter at `place`.
fn takes(generator: &DeTable<'_>, place: &[String]) -> bool {
    let [key] = place else { return true };
    let tool = text(generator, "tool").unwrap_or_default();
    // An unknown tool is reported when the setup is read.
    super::tool::Tool::named(tool).is_none_or(|tool| tool.takes(key))
}

fn text<'a>(table: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    table.get(key)?.get_ref().as_str()
}

/// Returns the span of the value at `keys`, or of its nearest enclosing value.
pub(super) fn span(root: &Spanned<DeTable<'_>>, keys: &[&str]) -> Range<usize> {
    nearest(root, keys).0
}

/// True if the plan has a value at `keys`.
pub(super) fn is_written(root: &Spanned<DeTable<'_>>, keys: &[&str]) -> bool {
    nearest(root, keys).1
}

/// The span of the value at `keys`, or of its nearest enclosing value, and whether there is a value at `keys`.
fn nearest(root: &Spanned<DeTable<'_>>, keys: &[&str]) -> (Range<usize>, bool) {
    let mut here = root.span();
    let mut table = root.get_ref();
    let mut keys = keys.iter();
    while let Some(key) = keys.next() {
        let Some((written, value)) = table.get_key_value(*key) else {
            return (here, false);
        };
        here = written.span();
        let value = match value.get_ref() {
            DeValue::Array(items) => {
                let Some(item) = keys
                    .next()
                    .and_then(|at| items.get(at.parse::<usize>().ok()?))
                else {
                    return (here, false);
                };
                here = item.span();
                item
            }
            _ => value,
        };
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => return (here, keys.next().is_none()),
        }
    }
    (here, true)
}

/// Returns the dotted key at `span`, or the key of the value at `span`.
pub(super) fn key_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<String> {
    for (key, value) in table {
        let name = key.get_ref();
        if contains(&key.span(), span) {
            return Some(name.to_string());
        }
        // The span of a table covers only its header, so always search its values.
        if let Some(inner) = key_in(value, span) {
            return Some(if inner.is_empty() {
                name.to_string()
            } else {
                format!("{name}.{inner}").replace(".[", "[")
            });
        }
    }
    None
}

fn key_in(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> Option<String> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => key_at(table, span),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let inner = key_in(item, span)?;
            Some(if inner.is_empty() {
                format!("[{}]", index + 1)
            } else {
                format!("[{}].{inner}", index + 1)
            })
        }),
        _ => None,
    };
    inner.or_else(|| contains(&value.span(), span).then(String::new))
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
