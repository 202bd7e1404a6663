//! Columns of a CSV, by the names in its header.

use super::error::Unusable;
use super::fields::Field;

/// The columns that a header names, in order.
#[derive(Clone, Debug)]
pub(super) struct Header(Vec<String>);

impl Header {
    /// Reads `header`. Columns with unknown names keep their places. The names may be those of the fields of
    /// `struct tcp_info`, with their prefix. Upper and lower case are equal.
    pub(super) fn of(header: &str) -> Self {
        let header = header.trim_start_matches('#');
        Self(
            header
                .split(',')
                .map(|text| name(text).to_ascii_lowercase())
                .collect(),
        )
    }

    /// True if the line is a header: it names one of the `known` columns. No row contains such a name,
    /// since values are numbers and addresses. A comment may contain one, so a line that begins with `#` is
    /// a header only if it consists of names.
    pub(super) fn is_one(line: &str, known: &[&str]) -> bool {
        // Most rows are numbers only, so most end here.
        let has_letters = line.bytes().any(|byte| byte.is_ascii_alphabetic());
        if !has_letters || line.starts_with('#') && !Self::may_be_one(line) {
            return false;
        }
        let mut names = line.trim_start_matches('#').split(',').map(name);
        names.any(|name| known.iter().any(|known| name.eq_ignore_ascii_case(known)))
    }

    /// True if the line looks like a header with unknown names: words without spaces, and no number.
    pub(super) fn may_be_one(line: &str) -> bool {
        let mut names = line.trim_start_matches('#').split(',').map(name);
        let count = names.clone().count();
        let is_word = |name: &str| {
            name.starts_with(|first: char| first.is_alphabetic() || first == '_')
                && !name.contains(char::is_whitespace)
                && name.parse::<f64>().is_err()
        };
        count >= MIN_NAMES && names.all(is_word)
    }

    /// True if a column has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    /// Splits a row.
    ///
    /// A shorter row was cut, and its first columns are in their places. A longer one has a comma
    /// within a value, such as a decimal comma, which shifts all later columns.
    pub(super) fn row<'a>(&'a self, text: &'a str) -> Result<Row<'a>, Unusable> {
        let fields: Vec<&str> = text.split(',').collect();
        let beyond = fields.iter().skip(self.0.len());
        // A comma at the end of each row names no column.
        if beyond.into_iter().any(|field| !field.trim().is_empty()) {
            return Err(Unusable::LongRow);
        }
        Ok(Row {
            header: self,
            fields,
        })
    }
}

/// Smallest number of words with commas between them that are taken for a header. Every format has more
/// columns; a sentence in a log has fewer words without spaces.
const MIN_NAMES: usize = 3;

/// Prefix of the fields of `struct tcp_info`.
const PREFIX: &str = "tcpi_";

/// The name of a column, without quotes and the prefix of `struct tcp_info`.
pub(super) fn name(text: &str) -> &str {
    let text = text.trim().trim_matches('"').trim();
    match text.split_at_checked(PREFIX.len()) {
        Some((prefix, name)) if prefix.eq_ignore_ascii_case(PREFIX) => name,
        _ => text,
    }
}

/// A row below its header.
pub(super) struct Row<'a> {
    header: &'a Header,
    fields: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// True if the row has fewer columns than the header.
    pub(super) fn is_cut(&self) -> bool {
        self.fields.len() < self.header.0.len()
    }

    pub(super) fn field(&self, name: &'static str) -> Result<Field<'a>, Unusable> {
        let column = self.header.0.iter().position(|known| known == name);
        column
            .and_then(|column| self.fields.get(column))
            .map(|text| Field::new(name, text))
            .ok_or(Unusable::Missing(name))
    }
}
