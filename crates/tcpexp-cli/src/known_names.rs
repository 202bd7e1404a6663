//! Names of tables and columns, which the completions of shells offer.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use tcpexp_table::described_tables;

static TABLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    described_tables()
        .into_iter()
        .map(|table| table.name)
        .collect()
});

static COLUMNS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tables = described_tables();
    let columns = tables.iter().flat_map(|table| &table.columns);
    let names: BTreeSet<String> = columns.map(|column| column.name.clone()).collect();
    names.into_iter().collect()
});

/// Any text. Completions offer the names that are known from the schema: a table may have others, such
/// as parameters, and a column may be named without its unit.
#[derive(Clone, Copy)]
pub(crate) struct KnownNames(fn() -> &'static [String]);

/// Names of tables.
pub(crate) fn tables() -> KnownNames {
    KnownNames(|| &TABLES)
}

/// Names of columns.
pub(crate) fn columns() -> KnownNames {
    KnownNames(|| &COLUMNS)
}

impl TypedValueParser for KnownNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.0)().iter();
        Some(Box::new(
            names.map(|name| PossibleValue::new(name.as_str())),
        ))
    }
}
