//! The grid: from `[matrix]` to the settings of each cell.
//!
//! ```toml
//! [matrix]
//! cc = ["cubic", "reno"]                       # a short name, or the dotted place
//! "path.forward.rate" = ["2mbit", "10mbit"]    # lists multiply
//! link = [                                     # tables vary together, under a name of their own
//!   { rate = "8mbit", "path.reverse.rate" = "1mbit" },
//!   { rate = "50mbit", "path.reverse.rate" = "10mbit" },
//! ]
//! exclude = [{ cc = "reno", rate = "10mbit" }] # a table with a name has the key of its list: link = "far"
//! include = [{ cc = "bbr", rate = "20mbit" }]
//! ```

mod ambiguity;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;
use super::place::Place;
use super::schema;
use ambiguity::{check_unique, unambiguous};

/// Key of the cells to leave out.
const EXCLUDE: &str = "exclude";
/// Key of the cells to add to the grid.
const INCLUDE: &str = "include";
/// Key of the name of a table in a list.
const LABEL: &str = "name";

/// Largest number of cells. A run takes some seconds at least, so this many take weeks.
const MAX_CELLS: usize = 100_000;

/// A value for one place of the plan.
#[derive(Clone, Debug)]
pub(super) struct Setting<'i> {
    /// The key as written.
    pub(super) key: Spanned<String>,
    pub(super) value: Spanned<DeValue<'i>>,
}

/// All settings of one cell, in the order of the axes.
pub(super) type Settings<'i> = Vec<Setting<'i>>;

/// One list of the matrix, with the settings of each entry.
#[derive(Debug)]
struct Axis<'i> {
    name: String,
    points: Vec<Point<'i>>,
}

#[derive(Debug)]
struct Point<'i> {
    label: Option<String>,
    settings: Settings<'i>,
}

/// A table of `exclude` or `include`.
#[derive(Debug)]
struct Rule<'i> {
    table: Range<usize>,
    name: Option<Spanned<DeValue<'i>>>,
    settings: Settings<'i>,
}

impl Rule<'_> {
    /// The first key, or else the whole table.
    fn span(&self) -> Range<usize> {
        let first = self.settings.first().map(|setting| setting.key.span());
        first.unwrap_or_else(|| self.table.clone())
    }
}

/// One cell, still as text.
#[derive(Debug)]
pub(super) struct CellText<'i> {
    /// Index into each list; empty for included cells.
    pub(super) point: Vec<usize>,
    /// Names of tables, by their axis.
    pub(super) labels: Vec<(String, String)>,
    pub(super) settings: Settings<'i>,
}

/// Returns the cells of a matrix: the product of its lists, the last list varying fastest, then the
/// included cells.
pub(super) fn cells<'i>(matrix: Option<&Spanned<DeValue<'i>>>) -> Result<Vec<CellText<'i>>, Fault> {
    let Some(matrix) = matrix else {
        return Ok(vec![CellText {
            point: Vec::new(),
            labels: Vec::new(),
            settings: Vec::new(),
        }]);
    };
    let DeValue::Table(table) = matrix.get_ref() else {
        return Err(Fault::new(matrix.span(), "expected a table of lists"));
    };
    let mut axes = Vec::new();
    let (mut excluded, mut included) = (Vec::new(), Vec::new());
    for (key, value) in table {
        match key.get_ref().as_ref() {
            EXCLUDE => excluded = rules(value)?,
            INCLUDE => included = rules(value)?,
            _ => flatten(key.get_ref().as_ref(), key, value, &mut axes)?,
        }
    }
    unambiguous(&axes)?;
    for rule in &excluded {
        check_exclusion(rule, &axes)?;
    }
    for cell in &included {
        check_inclusion(cell)?;
    }
    // The cells are counted before the product is built: twelve million cells take 12 GB.
    let count = axes
        .iter()
        .try_fold(1_usize, |count, axis| count.checked_mul(axis.points.len()));
    let count = count.unwrap_or(usize::MAX).saturating_add(included.len());
    if count > MAX_CELLS {
        let message = format!("expected at most {MAX_CELLS} cells, but the lists yield {count}");
        return Err(Fault::new(matrix.span(), message));
    }
    let mut cells = product(&axes);
    // An exclusion with a misspelt value would leave its cells in the grid silently.
    for rule in &excluded {
        if !cells.iter().any(|cell| cell.has_all(&rule.settings)) {
            let message = "expected keys and values of the lists; no cell matches all of these";
            return Err(Fault::new(rule.span(), message));
        }
    }
    cells.retain(|cell| !excluded.iter().any(|rule| cell.has_all(&rule.settings)));
    // Included cells come after the exclusions, which do not apply to them.
    cells.extend(included.into_iter().map(|rule| CellText {
        point: Vec::new(),
        labels: Vec::new(),
        settings: rule.settings,
    }));
    Ok(cells)
}

/// Refuses an exclusion without keys, which would match every cell, and one by `name`, which does not state the
/// list that has the name.
fn check_exclusion(rule: &Rule<'_>, axes: &[Axis<'_>]) -> Result<(), Fault> {
    let Some(name) = &rule.name else {
        let message = "expected keys and values of the cells to leave out";
        let is_empty = rule.settings.is_empty();
        return if is_empty {
            Err(Fault::new(rule.span(), message))
        } else {
            Ok(())
        };
    };
    let label = name.get_ref().as_str().unwrap_or_default();
    let has_label = |axis: &&Axis<'_>| {
        let mut points = axis.points.iter();
        points.any(|point| point.label.as_deref() == Some(label))
    };
    let forms: Vec<String> = axes
        .iter()
        .filter(has_label)
        .map(|axis| format!("{} = {label:?}", axis.name))
        .collect();
    let message = if forms.is_empty() {
        format!(
            "expected the name of a list and of a table in it; no list has a table named {label:?}"
        )
    } else {
        format!(
            "expected {}: the key is the name of the list",
            forms.join(" or ")
        )
    };
    Err(Fault::new(name.span(), message))
}

/// Refuses the name of an included cell: it is not in a list, so no column has its name.
fn check_inclusion(cell: &Rule<'_>) -> Result<(), Fault> {
    if let Some(name) = &cell.name {
        let message = "expected no name: only tables in a list have names";
        return Err(Fault::new(name.span(), message));
    }
    check_unique(&cell.settings)
}

/// Reads a list, or nested tables of lists: an unquoted `path.forward.rate = […]` is nested tables.
fn flatten<'i>(
    name: &str,
    key: &Spanned<std::borrow::Cow<'i, str>>,
    value: &Spanned<DeValue<'i>>,
    axes: &mut Vec<Axis<'i>>,
) -> Result<(), Fault> {
    match value.get_ref() {
        DeValue::Array(items) if items.is_empty() => {
            Err(Fault::new(value.span(), "expected at least one value"))
        }
        DeValue::Array(items) => {
            let points: Result<_, Fault> =
                items.iter().map(|item| point(name, key, item)).collect();
            axes.push(Axis {
                name: name.to_owned(),
                points: points?,
            });
            Ok(())
        }
        DeValue::Table(inner) => inner.iter().try_for_each(|(key, value)| {
            flatten(&format!("{name}.{}", key.get_ref()), key, value, axes)
        }),
        _ => Err(Fault::new(
            value.span(),
            "expected a list of values, each for one part of the grid",
        )),
    }
}

fn point<'i>(
    name: &str,
    key: &Spanned<std::borrow::Cow<'i, str>>,
    item: &Spanned<DeValue<'i>>,
) -> Result<Point<'i>, Fault> {
    if let DeValue::Table(table) = item.get_ref() {
        let label = table.get(LABEL).map(|label| {
            let text = label.get_ref().as_str().map(str::to_owned);
            text.ok_or_else(|| Fault::new(label.span(), "expected text, which names the table"))
        });
        let mut settings = settings(table);
        let keys = || {
            settings
                .iter()
                .map(|setting| setting.key.get_ref().as_str())
        };
        // A table that is a value of the parameter: `loss = ["1%", { enter_bad = "1%", leave_bad = "20%" }]`.
        if schema::has_keys(&Place::new(name), keys()) {
            for setting in &mut settings {
                let inner = format!("{name}.{}", setting.key.get_ref());
                setting.key = Spanned::new(setting.key.span(), inner);
            }
        }
        return Ok(Point {
            label: label.transpose()?,
            settings,
        });
    }
    if Place::new(name).0.len() < 2 {
        let aliases: Vec<_> = Place::aliases().collect();
        return Err(Fault::new(
            key.span(),
            format!(
                "expected the key of a parameter, such as path.forward.rate or \
                 traffic.NAME.cc, or a short name: {}",
                aliases.join(", ")
            ),
        ));
    }
    Ok(Point {
        label: None,
        settings: vec![Setting {
            key: Spanned::new(key.span(), name.to_owned()),
            value: item.clone(),
        }],
    })
}

fn rules<'i>(value: &Spanned<DeValue<'i>>) -> Result<Vec<Rule<'i>>, Fault> {
    let expected = || Fault::new(value.span(), "expected a list of tables");
    let DeValue::Array(items) = value.get_ref() else {
        return Err(expected());
    };
    let rule = |item: &Spanned<DeValue<'i>>| match item.get_ref() {
        DeValue::Table(table) => Ok(Rule {
            table: item.span(),
            name: table.get(LABEL).cloned(),
            settings: settings(table),
        }),
        _ => Err(expected()),
    };
    items.iter().map(rule).collect()
}

/// The settings of a table, without its name.
fn settings<'i>(table: &DeTable<'i>) -> Settings<'i> {
    let mut all = Vec::new();
    collect("", table, &mut all);
    all.retain(|setting| setting.key.get_ref() != LABEL);
    all
}

fn collect<'i>(prefix: &str, table: &DeTable<'i>, all: &mut Settings<'i>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => collect(&format!("{name}."), inner, all),
            _ => all.push(Setting {
                key: Spanned::new(key.span(), name),
                value: value.clone(),
            }),
        }
    }
}

fn product<'i>(axes: &[Axis<'i>]) -> Vec<CellText<'i>> {
    let mut cells = vec![CellText {
        point: Vec::new(),
        labels: Vec::new(),
        settings: Vec::new(),
    }];
    for axis in axes {
        cells = cells
            .iter()
            .flat_map(|cell| {
                let points = axis.points.iter().enumerate();
                points.map(move |(index, point)| cell.with(axis, index, point))
            })
            .collect();
    }
    cells
}

impl<'i> CellText<'i> {
    fn with(&self, axis: &Axis<'i>, index: usize, point: &Point<'i>) -> Self {
        let mut indices = self.point.clone();
        indices.push(index);
        let mut labels = self.labels.clone();
        labels.extend(
            point
                .label
                .iter()
                .map(|label| (axis.name.clone(), label.clone())),
        );
        let mut settings = self.settings.clone();
        settings.extend(point.settings.iter().cloned());
        Self {
            point: indices,
            labels,
            settings,
        }
    }

    fn has_all(&self, rule: &Settings<'_>) -> bool {
        rule.iter().all(|wanted| {
            // A list may have the short name and the rule the dotted key, or the reverse, so places
            // are compared.
            let place = Place::new(wanted.key.get_ref());
            let is_label = self.labels.iter().any(|(axis, label)| {
                axis == wanted.key.get_ref() && wanted.value.get_ref().as_str() == Some(label)
            });
            is_label
                || self.settings.iter().any(|setting| {
                    Place::new(setting.key.get_ref()) == place
                        && is_same(setting.value.get_ref(), wanted.value.get_ref())
                })
        })
    }
}

/// True if two values have the same text.
fn is_same(a: &DeValue<'_>, b: &DeValue<'_>) -> bool {
    match (a, b) {
        (DeValue::String(a), DeValue::String(b)) => a == b,
        (DeValue::Integer(a), DeValue::Integer(b)) => a.as_str() == b.as_str(),
        (DeValue::Float(a), DeValue::Float(b)) => a.as_str() == b.as_str(),
        (DeValue::Boolean(a), DeValue::Boolean(b)) => a == b,
        _ => false,
    }
}
