//! A comparison as text for a terminal.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use tcpexp_metrics::compare::{CellClass, Measure};
use tcpexp_units::RateUnit;

use super::{ALL_CLASSES, CompareRow, ComparedCell, MAIN};
use crate::cells::{NO_VALUE, columns, four_digits, on_one_line, wrapped};

/// Layout options of the comparison's text.
#[derive(Clone, Copy, Debug)]
pub struct CompareText {
    /// Columns of the terminal, at least 80.
    pub width: usize,
    /// True if the user selected a baseline.
    pub has_baseline: bool,
    /// The number that sorts the lines, largest first; `None` for the order of the rows.
    pub order: Option<Measure>,
    /// Maximum number of lines.
    pub most: usize,
}

/// A column of the text: heading, measure, and factor that converts the measure to the unit shown.
struct Shown {
    head: String,
    measure: Measure,
    factor: f64,
    /// Rank of the column; if the line is too narrow, columns of the highest rank are omitted
    /// first.
    rank: usize,
}

/// Headings of the columns after the parameters.
const FIXED_HEADS: [&str; FIXED] = ["class", "runs"];
const FIXED: usize = 2;

/// Width of a number, with the space before it.
const NUMBER: usize = 7;

/// Formats one line per cell and class: the parameters that vary, and medians over the runs that have the class. A
/// median that is known only to be at least 1.200 shows as `>1.200`, and a time that most runs did not reach as
/// `never`. Lines below the table name the medians over fewer runs.
///
/// A cell with a single class has no line for all classes together. Parameters that need too much
/// room get lines of their own. Numbers that do not fit are omitted, those of the highest rank
/// first.
pub fn compare_text(rows: &[CompareRow], options: CompareText) -> String {
    let width = options.width.max(80);
    let mut rows = shown_rows(rows);
    let left_out = left_out(&rows, width);
    if let Some(measure) = options.order {
        rows.sort_by(|a, b| {
            let [a, b] = [a, b].map(|row| rank(row, measure));
            b.partial_cmp(&a).unwrap_or(Ordering::Equal)
        });
    }
    let hidden = rows.len().saturating_sub(options.most);
    rows.truncate(options.most);
    let (heads, labels) = labels(&rows);
    let mut widths: Vec<usize> = heads.iter().map(|head| columns(head)).collect();
    for label in &labels {
        for (width, cell) in widths.iter_mut().zip(label) {
            *width = columns(cell).max(*width);
        }
    }
    let label_width = widths.iter().sum::<usize>() + widths.len();
    let shown = shown(&rows, options.has_baseline);
    let least = 4 * NUMBER;
    let aside = label_width + least <= width;
    let room = if aside {
        width - label_width
    } else {
        width - 4
    };
    let numbers = fitting(shown, room);
    let mut lines = Vec::new();
    let indent = if aside { String::new() } else { " ".repeat(4) };
    if aside {
        lines.push(line(
            &padded(&heads, &widths),
            numbers.iter().map(|shown| shown.head.clone()),
        ));
    } else {
        lines.push(line(
            &indent,
            numbers.iter().map(|shown| shown.head.clone()),
        ));
    }
    for (row, label) in rows.iter().zip(&labels) {
        let values = numbers.iter().map(|shown| shown.value(row.class.as_ref()));
        if aside {
            lines.push(line(&padded(label, &widths), values));
        } else {
            let named = heads
                .iter()
                .zip(label)
                .map(|(head, value)| format!("{head}={value}"));
            lines.extend(wrapped(&named.collect::<Vec<_>>(), width));
            lines.push(line(&indent, values));
        }
    }
    if hidden > 0 {
        lines.push(format!("and {hidden} more"));
    }
    for (row, label) in rows.iter().zip(&labels) {
        let named = &label[..label.len() - 1];
        if let Some(line) = of_fewer_runs(row, named, &numbers) {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            lines.extend(wrapped(&words, width));
        }
    }
    lines.extend(left_out);
    lines.join("\n") + "\n"
}

/// The rank of a row in an order: the largest comes first. Medians that are known, or were never reached, rank
/// above those with only a lower bound, which may be of any size above it.
fn rank(row: &CompareRow, measure: Measure) -> Option<(bool, f64)> {
    let estimate = row.class.as_ref()?.estimate(measure)?;
    let known = estimate.known().map(|median| (true, median));
    known.or(Some((false, estimate.least)))
}

/// The rows to show: a cell with a single class has no row for all classes together.
pub fn shown_rows(rows: &[CompareRow]) -> Vec<&CompareRow> {
    rows.iter().filter(|row| is_shown(row, rows)).collect()
}

fn is_shown(row: &CompareRow, rows: &[CompareRow]) -> bool {
    let Some(class) = &row.class else { return true };
    if class.class.is_some() {
        return true;
    }
    // Probes have no goodput and enter no sum, so a single class beside a probe is all.
    let sums = |other: &&CompareRow| {
        let class = other.class.as_ref();
        let sums = class.is_some_and(|class| {
            class.class.is_some() && class.estimate(Measure::Goodput).is_some()
        });
        sums && Arc::ptr_eq(&other.cell, &row.cell)
    };
    rows.iter().filter(sums).count() != 1
}

/// Headings and cells of the columns that identify a row.
///
/// A parameter is omitted if it equals an earlier parameter in every row.
fn labels(rows: &[&CompareRow]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut heads = heads(rows);
    let mut labels: Vec<Vec<String>> = rows.iter().map(|row| label(row)).collect();
    let is_same = |a: usize, b: usize| labels.iter().all(|label| label[a] == label[b]);
    let parameters = 0..heads.len() - FIXED;
    // A plan that varies the congestion control varies the columns that follow from it too; these
    // only take room.
    let repeats = |place: &usize| (0..*place).any(|before| is_same(before, *place));
    let repeated: Vec<usize> = parameters.filter(repeats).collect();
    // From the right, a removal leaves the positions of the remaining ones valid.
    for place in repeated.into_iter().rev() {
        heads.remove(place);
        for label in &mut labels {
            label.remove(place);
        }
    }
    (heads, labels)
}

fn heads(rows: &[&CompareRow]) -> Vec<String> {
    let varied = rows.first().map_or(&[][..], |row| varied(&row.cell));
    let names = varied.iter().map(|column| column.name.clone());
    names.chain(FIXED_HEADS.map(str::to_owned)).collect()
}

fn varied(cell: &ComparedCell) -> &[crate::dataset::RunColumn] {
    let columns = cell.parameters.columns();
    &columns[..cell.varied.min(columns.len())]
}

fn label(row: &CompareRow) -> Vec<String> {
    let value = |value: Option<String>| {
        let value = value.as_deref().map_or(NO_VALUE.into(), on_one_line);
        value.into_owned()
    };
    let varied = varied(&row.cell)
        .iter()
        .map(|column| value(column.value.text()));
    let class = row
        .class
        .as_ref()
        .map(|class| class.class.as_deref().unwrap_or(ALL_CLASSES).to_owned());
    let all: u64 = row.cell.runs.iter().sum();
    let runs = match row.runs() {
        counted if counted == all => counted.to_string(),
        counted => format!("{counted}/{all}"),
    };
    varied.chain([value(class), runs]).collect()
}

fn padded(cells: &[String], widths: &[usize]) -> String {
    let cells = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:width$}"));
    cells.collect::<Vec<_>>().join(" ")
}

fn line(label: &str, numbers: impl Iterator<Item = String>) -> String {
    const WIDTH: usize = NUMBER - 1;
    let cells = numbers.map(|number| format!(" {number:>WIDTH$}"));
    let line: String = std::iter::once(label.to_owned()).chain(cells).collect();
    line.trim_end().to_owned()
}

/// The measures that occur in the rows, in order; the least important measure has the highest rank.
fn shown(rows: &[&CompareRow], has_baseline: bool) -> Vec<Shown> {
    let of = |measure| {
        rows.iter()
            .filter_map(move |row| row.class.as_ref()?.estimate(measure))
    };
    let highest = of(Measure::Goodput)
        .map(|rate| rate.median)
        .fold(0.0, f64::max);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is not negative, and one beyond 2^64 bit/s has the largest unit too"
    )]
    let unit = RateUnit::of(highest as u64);
    let per_unit = unit.value(1);
    // Friendliness compares with a baseline, so without one the column is empty.
    let against = |rank| if has_baseline { rank } else { usize::MAX };
    let heads = [
        (unit.name(), per_unit, 0),
        ("util %", 100.0, 1),
        ("RTT ms", 1.0, 2),
        ("p95", 1.0, 5),
        ("loss %", 100.0, 3),
        ("retx %", 100.0, 8),
        ("Jain", 1.0, 4),
        ("conv s", 1.0, 9),
        ("FCT s", 1.0, 6),
        ("friend", 1.0, against(2)),
    ];
    let columns = MAIN
        .into_iter()
        .zip(heads)
        .filter(|(measure, _)| of(*measure).next().is_some());
    columns
        .filter(|(_, (_, _, rank))| *rank < usize::MAX)
        .map(|(measure, (head, factor, rank))| Shown {
            head: head.to_owned(),
            measure,
            factor,
            rank,
        })
        .collect()
}

/// The columns that fit into `room`, in order.
fn fitting(mut shown: Vec<Shown>, room: usize) -> Vec<Shown> {
    while shown.len() * NUMBER > room {
        let Some(last) = shown.iter().map(|shown| shown.rank).max() else {
            break;
        };
        shown.retain(|shown| shown.rank < last);
    }
    shown
}

impl Shown {
    fn value(&self, class: Option<&CellClass>) -> String {
        match class.and_then(|class| class.estimate(self.measure)) {
            None => NO_VALUE.to_owned(),
            Some(estimate) => match estimate.known() {
                None if estimate.least <= 0.0 => NO_VALUE.to_owned(),
                None => format!(">{}", four_digits(estimate.least * self.factor)),
                // Infinity stands for a time that a run did not reach (`Bootstrap::estimate`).
                Some(median) if median.is_infinite() => "never".to_owned(),
                Some(median) => four_digits(median * self.factor),
            },
        }
    }
}

/// The numbers of a row that fewer runs have than the column `runs` states: `bulk: RTT ms, p95 over 1 of 3 runs`.
fn of_fewer_runs(row: &CompareRow, names: &[String], numbers: &[Shown]) -> Option<String> {
    let class = row.class.as_ref()?;
    let mut fewer: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for shown in numbers {
        let estimate = class.estimate(shown.measure);
        let runs = estimate.map(|estimate| estimate.runs);
        if let Some(runs) = runs.filter(|runs| (*runs as u64) < class.runs) {
            fewer.entry(runs).or_default().push(&shown.head);
        }
    }
    let parts = fewer.iter().map(|(runs, heads)| {
        let heads = heads.join(", ");
        format!("{heads} over {runs} of {} runs", class.runs)
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{}: {}", names.join(" "), parts.join("; ")))
}

/// The runs that do not count: one line per affected cell.
fn left_out(rows: &[&CompareRow], width: usize) -> Vec<String> {
    let mut cells: Vec<&Arc<ComparedCell>> = rows.iter().map(|row| &row.cell).collect();
    // Rows of one cell are adjacent, and their cell lists its runs once.
    cells.dedup_by(|a, b| Arc::ptr_eq(a, b));
    let mut lines = Vec::new();
    for cell in cells {
        if let Some(left_out) = &cell.left_out {
            let left_out = on_one_line(left_out);
            let parts = std::iter::once("left out:").chain(left_out.split(' '));
            lines.extend(wrapped(
                &parts.map(str::to_owned).collect::<Vec<_>>(),
                width,
            ));
        }
    }
    lines
}
