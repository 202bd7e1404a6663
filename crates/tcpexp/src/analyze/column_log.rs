//! Log of a command that prints columns.

use std::sync::Arc;

use serde::Deserialize;
use tcpexp_units::Timestamp;

/// The first line of the log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    name: String,
    separator: Separator,
    /// Names from the left; empty if the first line of the command has them.
    columns: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Separator {
    Whitespace,
    Csv,
}

/// Name of a column that is left out.
const LEFT_OUT: &str = "-";

/// A line of the log.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Time, and name and text of each column.
    Values(Timestamp, Vec<(Arc<str>, String)>),
    /// The names of the columns.
    Heading,
}

/// Reads a log line by line.
pub(super) struct ColumnLog {
    /// Name of the log in the plan.
    pub(super) name: Arc<str>,
    separator: Separator,
    columns: Vec<Arc<str>>,
    /// The line of the command that names the columns.
    heading: Option<Vec<String>>,
}

impl ColumnLog {
    /// Reads the first line: `{"name": …, "separator": "whitespace" or "csv", "columns": […]}`.
    pub(super) fn of(line: &str) -> Option<Self> {
        let header: Header = serde_json::from_str(line).ok()?;
        Some(Self {
            name: header.name.into(),
            separator: header.separator,
            columns: header.columns.into_iter().map(Into::into).collect(),
            heading: None,
        })
    }

    /// Reads a further line: nanoseconds since 1970, a space, and a line of the command. The error is the
    /// reason why it cannot be used.
    pub(super) fn line(&mut self, line: &str) -> Result<Line, &'static str> {
        let (time, text) = line.split_once(' ').ok_or("no time before the line")?;
        let time: i64 = time.parse().map_err(|_| "no time before the line")?;
        let cells = self.separator.cells(text);
        if self.columns.is_empty() {
            self.columns = cells.iter().map(|cell| cell.as_str().into()).collect();
            self.heading = Some(cells);
            return Ok(Line::Heading);
        }
        // A command that runs again prints its heading again.
        if self.heading.as_ref() == Some(&cells) {
            return Ok(Line::Heading);
        }
        if cells.len() < self.columns.len() {
            return Err("fewer columns than names");
        }
        let named = self.columns.iter().cloned().zip(cells);
        let wanted = named.filter(|(name, cell)| &**name != LEFT_OUT && !cell.is_empty());
        Ok(Line::Values(Timestamp::from_nanos(time), wanted.collect()))
    }
}

impl Separator {
    fn cells(self, line: &str) -> Vec<String> {
        match self {
            Self::Whitespace => line.split_whitespace().map(str::to_owned).collect(),
            Self::Csv => csv_cells(line),
        }
    }
}

/// The fields of a line of CSV (RFC 4180, section 2), without the spaces around them.
fn csv_cells(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(line.as_bytes());
    let fields = reader.records().next().and_then(Result::ok);
    fields.map_or_else(Vec::new, |fields| {
        fields.iter().map(str::to_owned).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str, lines: &[&str]) -> Vec<String> {
        let mut log = ColumnLog::of(header).unwrap();
        let shown = |line: &&str| match log.line(line) {
            Ok(Line::Heading) => "heading".to_owned(),
            Ok(Line::Values(at, values)) => {
                let values = values
                    .iter()
                    .map(|(name, value)| format!(" {name}={value}"));
                format!("{}{}", at.as_nanos(), values.collect::<String>())
            }
            Err(reason) => reason.to_owned(),
        };
        lines.iter().map(shown).collect()
    }

    #[test]
    fn the_first_line_names_the_columns_and_may_come_again() {
        let header = r#"{"name":"vm","separator":"whitespace","columns":[]}"#;
        let lines = [
            "5 r  b free",
            "5 1  0 2000",
            "9 r b free",
            "9 2 0",
            "9 2 0 1900 7",
            "x",
        ];
        assert_eq!(
            read(header, &lines),
            [
                "heading",
                "5 r=1 b=0 free=2000",
                "heading",
                "fewer columns than names",
                "9 r=2 b=0 free=1900",
                "no time before the line",
            ]
        );
    }

    #[test]
    fn named_columns_of_csv_may_be_quoted_empty_or_left_out() {
        let header = r#"{"name":"x","separator":"csv","columns":["a","-","c"]}"#;
        let lines = [r#"1 "x, ""y""", 2 ,3"#, "2 ,,4"];
        assert_eq!(read(header, &lines), [r#"1 a=x, "y" c=3"#, "2 c=4"]);
    }

    #[test]
    fn another_first_line_is_of_another_log() {
        assert!(ColumnLog::of("5 1 0 2000").is_none());
        assert!(ColumnLog::of(r#"{"name":"x","separator":"tab","columns":[]}"#).is_none());
    }
}
