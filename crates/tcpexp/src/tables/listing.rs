//! The columns that an error lists.

use std::collections::BTreeSet;

use tcpexp_chart::Quantity;
use tcpexp_table::described_tables;

/// Tables with more columns list only those that the reader may have meant: 30 names are about five
/// lines of a terminal.
const ALL_LISTED: usize = 30;

/// Lists the columns of a table that lacks the columns `wanted`.
///
/// If there are many columns, lists only the parameters, which `tcpexp schema` does not describe, and
/// the columns whose names contain a word of `wanted`.
pub(super) fn listed(columns: &BTreeSet<&str>, wanted: &[&str]) -> String {
    if columns.len() <= ALL_LISTED {
        return joined(columns.iter().copied());
    }
    let wanted: BTreeSet<&str> = wanted.iter().copied().flat_map(words).collect();
    let tables = described_tables();
    let described = tables.iter().flat_map(|table| &table.columns);
    let described: BTreeSet<&str> = described.map(|column| column.name.as_str()).collect();
    let is_meant =
        |name: &&str| !described.contains(name) || words(name).any(|word| wanted.contains(word));
    let meant: Vec<&str> = columns.iter().copied().filter(is_meant).collect();
    let others = columns.len() - meant.len();
    match (meant.is_empty(), others) {
        (_, 0) => joined(meant),
        (true, _) => format!("{others} columns, which tcpexp schema lists"),
        (false, 1) => format!("{} and 1 other column", joined(meant)),
        (false, _) => {
            let meant = joined(meant);
            format!("{meant} and {others} other columns, which tcpexp schema lists")
        }
    }
}

/// The words of a column's name, without its unit.
fn words(name: &str) -> impl Iterator<Item = &str> {
    Quantity::stem(name).split('_')
}

fn joined<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use tcpexp_table::dataset::DatasetTable;

    use super::*;

    #[test]
    fn few_columns_are_all_listed() {
        let columns = BTreeSet::from(["rtt_ns", "cc", "time"]);
        assert_eq!(listed(&columns, &["goodput"]), "cc, rtt_ns, time");
    }

    #[test]
    fn many_columns_are_reduced_to_those_that_the_reader_may_have_meant() {
        let schema = DatasetTable::Flows.schema();
        let mut columns: BTreeSet<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        assert!(columns.len() > ALL_LISTED);
        let all = columns.len();
        let none = format!("{all} columns, which tcpexp schema lists");
        assert_eq!(listed(&columns, &["nowhere"]), none);
        columns.extend(["cc", "delay_ms"]);
        let found = listed(&columns, &["goodput_mbps"]);
        assert!(
            found.contains("arrived_goodput_bps, ")
                && found.ends_with(" other columns, which tcpexp schema lists"),
            "{found}"
        );
    }
}
