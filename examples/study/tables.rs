//! Tables of measured and published numbers for a README.

use anyhow::bail;

use crate::definition::{Row, Study, Table};
use crate::numbers::{Number, Numbers};

/// One table row, and whether its number meets its requirement.
struct Line {
    cells: [String; 4],
    must: Option<(String, bool)>,
}

/// Returns all tables, and how many numbers miss their requirement.
///
/// The full grid has all rows; the others omit those of cells that they do not have.
pub fn all(study: &Study, numbers: &Numbers, grid: &str) -> anyhow::Result<(String, usize)> {
    let (mut text, mut missed) = (String::new(), 0);
    for table in &study.tables {
        let mut lines = Vec::new();
        let mut last = None;
        for row in &table.rows {
            match line(table, row, numbers, &mut last)? {
                Some(line) => lines.push(line),
                None if grid == "full" => bail!("the grid has no cell for \"{}\"", row.what),
                None => {}
            }
        }
        if lines.is_empty() {
            continue;
        }
        let must = lines.iter().filter_map(|line| line.must.as_ref());
        missed += must.filter(|(_, is_met)| !is_met).count();
        text += &drawn(table, &lines);
    }
    Ok((text, missed))
}

fn drawn(table: &Table, lines: &[Line]) -> String {
    let unit = match table.unit.as_str() {
        "1" => String::new(),
        unit => format!(", {unit}"),
    };
    let has_must = lines.iter().any(|line| line.must.is_some());
    let (head, rule) = if has_must {
        (" must be |", "---|")
    } else {
        ("", "")
    };
    let mut text = format!(
        "| {}{unit} | published | here | difference |{head}\n|---|--:|--:|--:|{rule}\n",
        table.title
    );
    for line in lines {
        let must = match &line.must {
            Some((must, true)) => format!(" {must}: it is |"),
            Some((must, false)) => format!(" {must}: **it is not** |"),
            None if has_must => " |".to_owned(),
            None => String::new(),
        };
        text += &["| ", &line.cells.join(" | "), " |", &must, "\n"].concat();
    }
    text + "\n"
}

/// Builds one row; `None` if the grid does not contain its cell. `last` is the number of the row
/// above.
fn line(
    table: &Table,
    row: &Row,
    numbers: &Numbers,
    last: &mut Option<f64>,
) -> anyhow::Result<Option<Line>> {
    let published = row.published.map_or_else(|| "–".to_owned(), digits);
    let what = row.what.clone();
    let (value, interval) = match number(row, numbers)? {
        Number::NoCell => return Ok(None),
        Number::Invalid(why) => {
            let cells = [
                what,
                published,
                format!("no valid run: {why}"),
                "–".to_owned(),
            ];
            return Ok(Some(Line { cells, must: None }));
        }
        Number::Known { value, interval } => (value, interval),
    };
    let factor = match row.over {
        Some(_) => 1.0,
        None => factor(&row.measure, &table.unit)?,
    };
    let value = value * factor;
    let mut here = digits(value);
    if let Some((low, high)) = interval {
        let ends = [low, high].map(|end| digits(end * factor));
        here = format!("{here} ({})", ends.join(" – "));
    }
    let difference = row
        .published
        .map(|published| (value / published - 1.0) * 100.0);
    let must = must(table, row, value, *last);
    *last = Some(value);
    let difference = difference.map_or_else(|| "–".to_owned(), |off| format!("{off:+.1} %"));
    Ok(Some(Line {
        cells: [what, published, here, difference],
        must,
    }))
}

/// Returns the number of a row; a quotient has no interval.
fn number(row: &Row, numbers: &Numbers) -> anyhow::Result<Number> {
    let number = numbers.of(&row.measure, &row.cell)?;
    let Some(over) = &row.over else {
        return Ok(number);
    };
    let mut other = row.cell.clone();
    other.extend(over.clone());
    Ok(match (number, numbers.of(&row.measure, &other)?) {
        (Number::Known { value, .. }, Number::Known { value: other, .. }) => Number::Known {
            value: value / other,
            interval: None,
        },
        (Number::Known { .. }, other) => other,
        (number, _) => number,
    })
}

/// Returns the requirement on a number as text, and whether the number meets it.
fn must(table: &Table, row: &Row, value: f64, last: Option<f64>) -> Option<(String, bool)> {
    let mut all = Vec::new();
    if let (Some(within), Some(published)) = (row.within_percent, row.published) {
        let is_met = (value / published - 1.0).abs() * 100.0 <= within;
        all.push((format!("within {within} %"), is_met));
    }
    if let Some(most) = row.at_most {
        all.push((format!("at most {most}"), value <= most));
    }
    if let Some(least) = row.at_least {
        all.push((format!("at least {least}"), value >= least));
    }
    if let (true, Some(last)) = (table.ascending, last) {
        all.push(("more than the one above".to_owned(), value > last));
    }
    let is_met = all.iter().all(|(_, is_met)| *is_met);
    let texts: Vec<String> = all.into_iter().map(|(text, _)| text).collect();
    (!texts.is_empty()).then(|| (texts.join(", "), is_met))
}

/// Returns the factor that converts a column's numbers to a unit.
fn factor(measure: &str, unit: &str) -> anyhow::Result<f64> {
    let of = measure.rsplit('_').next().unwrap_or_default();
    Ok(match (of, unit) {
        ("ms", "ms") | ("s", "s") | ("percent", "%") => 1.0,
        ("bps", "kbit/s") => 1e-3,
        ("bps", "Mbit/s") => 1e-6,
        ("bps" | "ms" | "s", _) => bail!("{measure} is not shown in {unit}"),
        (_, "%") => 100.0,
        (_, "1") => 1.0,
        _ => bail!("{measure} is not shown in {unit}"),
    })
}

/// Prints up to four significant digits.
fn digits(value: f64) -> String {
    let whole = value.abs().log10().floor();
    let places = if value == 0.0 {
        0.0
    } else {
        (3.0 - whole).clamp(0.0, 4.0)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 4"
    )]
    let places = places as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use insta::assert_snapshot;

    use super::*;

    const COMPARED: &str = r#"{"cell":"a","count":0,"class":"all","rtt_mean_ms":1300.0,"goodput_bps":765000.0,"goodput_low_bps":760000.0,"goodput_high_bps":766000.0}
{"cell":"b","count":1,"class":"all","rtt_mean_ms":440.0,"goodput_bps":600000.0}
{"cell":"c","count":2,"class":null,"left_out":"0003 invalid (too slow)"}"#;

    fn tables(study: &str, grid: &str) -> String {
        let study: Study = toml::from_str(study).unwrap();
        let numbers = Numbers::new(COMPARED, Path::new("/nowhere")).unwrap();
        match all(&study, &numbers, grid) {
            Ok((text, missed)) => format!("{text}{missed} missed"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn measured_numbers_appear_beside_published_ones() {
        assert_snapshot!(tables("
            [[table]]
            title = 'Goodput'
            unit = 'kbit/s'
            row = [
              { what = 'alone', measure = 'goodput_bps', cell = { count = 0 }, published = 801, within_percent = 5 },
              { what = 'beside one', measure = 'goodput_bps', cell = { count = 1 }, published = 729, within_percent = 5 },
              { what = 'beside two', measure = 'goodput_bps', cell = { count = 2 }, published = 1 },
              { what = 'beside three', measure = 'goodput_bps', cell = { count = 3 }, published = 1 },
            ]
            [[table]]
            title = 'RTT'
            unit = '1'
            row = [{ what = 'beside one, of that alone', measure = 'rtt_mean_ms', cell = { count = 1 }, over = { count = 0 }, at_most = 0.5 }]
        ", "short"), @r"
        | Goodput, kbit/s | published | here | difference | must be |
        |---|--:|--:|--:|---|
        | alone | 801 | 765 (760 – 766) | -4.5 % | within 5 %: it is |
        | beside one | 729 | 600 | -17.7 % | within 5 %: **it is not** |
        | beside two | 1 | no valid run: 0003 invalid (too slow) | – | |

        | RTT | published | here | difference | must be |
        |---|--:|--:|--:|---|
        | beside one, of that alone | – | 0.3385 | – | at most 0.5: it is |

        1 missed
        ");
    }

    #[test]
    fn the_full_grid_has_a_cell_for_each_row() {
        let study = "
            [[table]]
            title = 'RTT'
            unit = 'ms'
            row = [{ what = 'beside ten', measure = 'rtt_mean_ms', cell = { count = 10 } }]
        ";
        assert_snapshot!(tables(study, "full"), @r#"the grid has no cell for "beside ten""#);
        assert_snapshot!(tables(study, "short"), @"0 missed");
    }

    #[test]
    fn values_out_of_order_are_reported() {
        assert_snapshot!(tables("
            [[table]]
            title = 'RTT'
            unit = 'ms'
            ascending = true
            row = [
              { what = 'alone', measure = 'rtt_mean_ms', cell = { count = 0 } },
              { what = 'beside one', measure = 'rtt_mean_ms', cell = { count = 1 } },
            ]
        ", "short"), @r"
        | RTT, ms | published | here | difference | must be |
        |---|--:|--:|--:|---|
        | alone | – | 1300 | – | |
        | beside one | – | 440 | – | more than the one above: **it is not** |

        1 missed
        ");
    }
}
