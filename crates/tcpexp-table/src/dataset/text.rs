//! Summary of a written dataset, as text for a terminal.

use std::fmt::Write;

use crate::cells::count;

/// One line per table: file, rows and size.
pub fn written_text<'a>(tables: impl Iterator<Item = (&'a str, u64, u64)>) -> String {
    let mut text = format!("{:<20}{:>14}{:>12}\n", "table", "rows", "size");
    let mut total = 0;
    for (file, rows, bytes) in tables {
        total += bytes;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{file:<20}{:>14}{:>12}", count(rows, 13), size(bytes));
    }
    let _ = writeln!(text, "{:<20}{:>14}{:>12}", "all", "", size(total));
    text
}

/// Bytes in the unit that leaves one to three digits before the decimal point.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let fitting = units.iter().find(|(unit, _)| bytes as f64 >= *unit);
    fitting.map_or(format!("{bytes} B"), |(unit, name)| {
        format!("{:.1} {name}", bytes as f64 / unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_has_its_rows_and_its_size() {
        let tables = [
            ("flows.parquet", 4, 512),
            ("rtt.parquet", 12_345_678, 98_765_432),
        ];
        insta::assert_snapshot!(written_text(tables.into_iter()), @"
        table                         rows        size
        flows.parquet                    4       512 B
        rtt.parquet             12 345 678     98.8 MB
        all                                    98.8 MB
        ");
    }
}
