//! `tcpexp schema [TABLE]`.

use std::fmt::Write;

use anyhow::bail;
use clap::ValueEnum;
use serde::Serialize;
use tcpexp_table::{ColumnDescription, TableDescription, described_tables};

use crate::{known_names, output, report};

/// Define the columns of tables
///
/// Without TABLE, lists all tables. Tables named command:NAME are the output of single commands; the
/// others belong to a dataset of `tcpexp analyze`.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp schema rtt\n\
\x20 tcpexp schema command:compare --format json")]
pub(crate) struct SchemaArgs {
    /// Name of the table, such as rtt or command:rtt
    #[arg(value_parser = known_names::tables(), hide_possible_values = true)]
    table: Option<String>,

    /// Output format
    #[arg(long, default_value = "text")]
    format: SchemaFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SchemaFormat {
    /// Text
    Text,
    /// A JSON array of tables
    Json,
}

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    let mut tables = described_tables();
    if let Some(name) = &args.table {
        tables.retain(|table| table.name == *name);
        if tables.is_empty() {
            bail!("no table is named {name}: tcpexp schema lists all tables");
        }
    }
    let text = match args.format {
        SchemaFormat::Json => {
            let tables: Vec<TableJson<'_>> = tables.iter().map(TableJson::of).collect();
            serde_json::to_string_pretty(&tables)? + "\n"
        }
        SchemaFormat::Text if args.table.is_some() => tables.iter().map(in_full).collect(),
        SchemaFormat::Text => tables.iter().map(in_short).collect(),
    };
    output::print(&text)
}

fn in_short(table: &TableDescription) -> String {
    let name = format!("{:<22} ", table.name);
    format!("{name}{}\n", table.description)
}

fn in_full(table: &TableDescription) -> String {
    let mut text = String::new();
    report::line(&mut text, "table", &table.name);
    report::line(&mut text, "rows", &table.description);
    report::line(&mut text, "written by", &table.command);
    report::line(&mut text, "version", &table.version);
    for column in &table.columns {
        let null = if column.is_nullable { ", nullable" } else { "" };
        let unit = column
            .unit
            .map_or(String::new(), |unit| format!(", {unit}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}: {}{unit}{null}", column.name, column.data_type);
        report::line(&mut text, "", &column.description);
    }
    text
}

/// Definition of a table in JSON.
#[derive(Serialize)]
struct TableJson<'a> {
    name: &'a str,
    description: &'a str,
    command: &'a str,
    version: &'a str,
    columns: Vec<ColumnJson<'a>>,
}

#[derive(Serialize)]
struct ColumnJson<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    data_type: &'a str,
    unit: Option<&'a str>,
    nullable: bool,
    description: &'a str,
}

impl<'a> TableJson<'a> {
    fn of(table: &'a TableDescription) -> Self {
        let column = |column: &'a ColumnDescription| ColumnJson {
            name: &column.name,
            data_type: &column.data_type,
            unit: column.unit,
            nullable: column.is_nullable,
            description: &column.description,
        };
        Self {
            name: &table.name,
            description: &table.description,
            command: &table.command,
            version: &table.version,
            columns: table.columns.iter().map(column).collect(),
        }
    }
}
