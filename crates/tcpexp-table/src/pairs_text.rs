//! The table of pairs as text for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use tcpexp_pair::spp::Point;

use crate::cells::count;
use crate::dataset::size;
use crate::pairs::PairFileRow;

/// Captures beyond this number, which fills a terminal, are counted only.
const MOST_LISTED: usize = 20;

/// One line per pair, then the captures that are in no pair, each with its reason, and the number of
/// files that are no captures.
pub fn pairs_text(rows: &[PairFileRow]) -> String {
    let mut pairs: BTreeMap<u64, Vec<&PairFileRow>> = BTreeMap::new();
    for row in rows {
        if let Some(pair) = &row.pair {
            pairs.entry(pair.number).or_default().push(row);
        }
    }
    let names = pairs.values().flatten().filter_map(|row| row.pair.as_ref());
    let widest = names.map(|pair| pair.name.chars().count()).max();
    let width = widest.unwrap_or(0).max("name".len());
    let mut text = String::new();
    // Writing to a string cannot fail.
    if !pairs.is_empty() {
        let _ = writeln!(
            text,
            "{:>6}  {:<width$}{:>7}{:>7}{:>14}{:>11}",
            "pair", "name", "src", "dst", "records", "size"
        );
    }
    for (number, files) in &pairs {
        let name = files.iter().find_map(|row| row.pair.as_ref());
        let name = name.map_or("", |pair| &pair.name);
        let at = |point: Point| files.iter().filter(|row| row.point == Some(point)).count();
        let [src, dst] = Point::BOTH.map(at);
        let records: u64 = files.iter().filter_map(|row| row.records).sum();
        let bytes: u64 = files.iter().map(|row| row.bytes).sum();
        let _ = writeln!(
            text,
            "{number:>6}  {name:<width$}{src:>7}{dst:>7}{:>14}{:>11}",
            count(records, 13),
            size(bytes)
        );
    }
    let (others, files): (Vec<_>, Vec<_>) = rows
        .iter()
        .filter(|row| row.reason.is_some())
        .partition(|row| row.pair.is_none() && row.records.is_none());
    for row in files.iter().take(MOST_LISTED) {
        let what = if row.pair.is_some() {
            "unread"
        } else {
            "no pair"
        };
        let reason = row.reason.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{what}  {}: {reason}", row.file);
    }
    if files.len() > MOST_LISTED {
        let _ = writeln!(
            text,
            "and {} more without a pair",
            files.len() - MOST_LISTED
        );
    }
    if !others.is_empty() {
        let _ = writeln!(text, "files that are no captures: {}", others.len());
    }
    text
}
