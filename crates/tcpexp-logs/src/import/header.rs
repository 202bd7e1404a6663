//! Columns of a CSV, by the names in its header.

use super::error::Unusable;
use super::fields::Field;

/// The columns that a header names, in order.
#[derive(Clone, Debug)]
pub(super) struct Header(Vec<String>);

impl Header {
    /// Reads `header`. Columns with unknown names keep their places. The names may be those of the fields of
    /// `struct tcp_info`, with their prefix.
    pub(super) fn of(header: &str) -> Self {
        Self(
            header
                .split(',')
                .map(|name| name.trim().trim_start_matches("tcpi_").to_owned())
                .collect(),
        )
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
